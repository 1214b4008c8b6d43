"""The exact arguments that a program may be given."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Operands = Literal["paths", "texts", "none"]


@dataclass(frozen=True, slots=True)
class ArgumentSpec:
    """What a program may be given so that it only reads."""

    flags: frozenset[str] = frozenset()
    """One-letter options without a value; they may stand in a cluster."""
    values: Mapping[str, str] = field(default_factory=dict)
    """One-letter options with one, and similar programsd."""
    long: frozenset[str] = frozenset()
    """Options of several letters without a value."""
    joined: Mapping[str, str] = field(default_factory=dict)
    """Those that may have one after `=`."""
    apart: Mapping[str, str] = field(default_factory=dict)
    """Those whose value may also be the next word."""
    texts: int = 0
    """So many first operands are a pattern or a program's text; fewer when one of `instead` is given."""
    instead: frozenset[str] = frozenset()
    most: int = 1_000
    """More operands than that do more than read."""
    operands: Operands = "paths"
    beginning: str = ""
    """How each operand must begin."""
    has_digits: bool = False
    """`-20` is an option."""
    joins_values: bool = True
    """`-n5` and `-qn 5` are read as by getopt; otherwise a letter with a value must stand by itself."""
    is_free: bool = False
    """No option of it, listed here or not, does more than read what is named: a glob may meet any name."""


def arguments(
    flags: str = "",
    values: str = "",
    long: str = "",
    *,
    texts: int = 0,
    instead: str = "",
    most: int = 1_000,
    operands: Operands = "paths",
    beginning: str = "",
    has_digits: bool = False,
    joins_values: bool = True,
    is_free: bool = False,
) -> ArgumentSpec:
    """Return a specification, written shortly: `values` as `n:N`, `long` as `--flag`, `--value=T`, or
    `--value:T` where the value may also be the next word."""
    words = long.split()
    return ArgumentSpec(
        flags=frozenset(flags),
        values=dict(one.split(":", 1) for one in values.split()),
        long=frozenset(one for one in words if not re.search(r"[=:]", one)),
        joined=dict(re.split(r"[=:]", one) for one in words if re.search(r"[=:]", one)),
        apart=dict(one.split(":") for one in words if ":" in one),
        texts=texts,
        instead=frozenset(instead.split()),
        most=most,
        operands=operands,
        beginning=beginning,
        has_digits=has_digits,
        joins_values=joins_values,
        is_free=is_free,
    )
