"""The exact arguments that a program may be given."""

from __future__ import annotations

import re
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Literal


@dataclass(frozen=True)
class ArgumentSpec:
    """What a program may be given so that it only reads. Lists of words are separated by blanks."""

    flags: str = ""
    """One-letter options without a value, in a row; they may be combined in one word."""
    values: str = ""
    """One-letter options with a value, as `n:N`: the letter and the kind of the value."""
    long: str = ""
    """Options of several letters: `--flag`, `--value=T`, or `--value:T` where the value may also be the next
    word."""
    _: KW_ONLY
    texts: int = 0
    """So many first operands are a pattern or a program's text; fewer when one of `instead` is given."""
    instead: str = ""
    most: int = 1_000
    """More operands than that do more than read."""
    operands: Literal["paths", "texts", "none"] = "paths"
    beginning: str = ""
    """How each operand must begin."""
    has_digits: bool = False
    """`-20` is an option."""
    joins_values: bool = True
    """`-n5` and `-qn 5` are read as by getopt; otherwise a letter with a value must be a word of its own."""
    is_free: bool = False
    """No option of it, listed here or not, does more than read what is named: a glob may meet any name."""

    @cached_property
    def value_kinds(self) -> dict[str, str]:
        """The kinds of the values of one-letter options."""
        return dict(one.split(":") for one in self.values.split())

    @cached_property
    def long_kinds(self) -> dict[tuple[str, str], str]:
        """The kinds of the values of long options, by the name and what follows it in the list: `=`, `:` or
        nothing."""
        return {(name, sign): kind for name, sign, kind in re.findall(r"([^\s=:]+)([=:]?)(\S*)", self.long)}
