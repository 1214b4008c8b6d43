"""The exact options and operands that a program may be given; whatever is spelled otherwise is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from forge_core.permissions.path_info import is_secret
from forge_core.permissions.shell.words import Word

_KINDS = {
    "N": re.compile(r"[-+]?\d{1,12}[a-zA-Z]{0,3}"),
    "K": re.compile(r"[\w.,]{1,40}"),
    "D": re.compile(r"(?!@)[^\n]*"),
    "G": re.compile(r"(?!@)[^\n]*"),
    "T": re.compile(r"(?!@)(?:.|\n)*"),
}
"""What the value of an option looks like: a number, a key of sort, a delimiter, a pattern for file names, a
text. None is a path; no program of the list reads one of them as more than it is."""
_WILD = re.compile(r"[*?\[]")

Operands = Literal["paths", "texts", "none"]


@dataclass(frozen=True, slots=True)
class Form:
    """What a program may be given so that it only reads."""

    flags: frozenset[str] = frozenset()
    """One-letter options without a value; they may stand in a cluster."""
    values: Mapping[str, str] = field(default_factory=dict)
    """One-letter options with one, and its kind."""
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


@dataclass(frozen=True, slots=True)
class Given:
    """The words of a command, told apart."""

    options: frozenset[str]
    operands: tuple[Word, ...]
    paths: tuple[Word, ...]
    """The operands that are paths."""


def form(
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
) -> Form:
    """A form, written shortly: `values` as `n:N`, `long` as `--flag`, `--value=T`, or `--value:T` where the
    value may also be the next word."""
    words = long.split()
    return Form(
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


def given(words: Sequence[Word], allowed: Form) -> Given | None:
    """The words behind the program's name, or None when one of them is not exactly as the form says."""
    options: set[str] = set()
    operands: list[Word] = []
    rest = iter(words)
    for word in rest:
        text = word.text
        if text == "--":
            operands += rest
        elif text.startswith("-") and len(text) > 1:
            names = _option(word, allowed, rest)
            if names is None:
                return None
            options |= names
        else:
            operands.append(word)
    texts = 0 if options & allowed.instead else allowed.texts
    if len(operands) > max(allowed.most, texts) or (operands and allowed.operands == "none"):
        return None
    if not all(_is_plain(word, allowed, is_text=at < texts) for at, word in enumerate(operands)):
        return None
    paths = operands[texts:] if allowed.operands == "paths" else []
    return Given(frozenset(options), tuple(operands), tuple(paths))


def _is_plain(word: Word, allowed: Form, *, is_text: bool) -> bool:
    if not word.text.startswith(allowed.beginning) or word.is_dynamic:
        return False
    if is_text or allowed.operands == "texts":
        return not word.has_glob  # it may stand for several words, and tells what lies elsewhere
    if allowed.operands == "paths" and re.match(r"[@+]", word.text) and not allowed.beginning:
        return False
    return allowed.is_free or not word.has_glob or _WILD.match(word.text) is None


def _option(word: Word, allowed: Form, rest: Iterator[Word]) -> set[str] | None:
    """The options that the word is, with the next word as value where one is due; None for an unknown one."""
    text = word.text
    if word.is_dynamic:
        return None
    if text.startswith("--"):
        name, equals, value = text.partition("=")
        if equals:
            kind = allowed.joined.get(name)
            return {name} if kind is not None and _is_value(value, kind) else None
        if word.has_glob:
            return None
        if name in allowed.long:
            return {name}
        return {name} if name in allowed.apart and _has_value(rest, allowed.apart[name]) else None
    if word.has_glob:
        return None
    if allowed.has_digits and re.fullmatch(r"-\d{1,9}", text):
        return {text}
    return _cluster(text[1:], allowed, rest)


def _cluster(letters: str, allowed: Form, rest: Iterator[Word]) -> set[str] | None:
    found: set[str] = set()
    for at, letter in enumerate(letters):
        found.add(f"-{letter}")
        kind = allowed.values.get(letter)
        if kind is not None:
            value = letters[at + 1 :]
            if not allowed.joins_values and (at or value):
                return None
            is_good = _is_value(value, kind) if value else _has_value(rest, kind)
            return found if is_good else None
        if letter not in allowed.flags:
            return None
    return found


def _has_value(rest: Iterator[Word], kind: str) -> bool:
    word = next(rest, None)
    return word is not None and not word.has_glob and not word.is_dynamic and _is_value(word.text, kind)


def _is_value(text: str, kind: str) -> bool:
    return _KINDS[kind].fullmatch(text) is not None and not (kind == "G" and is_secret(text))
