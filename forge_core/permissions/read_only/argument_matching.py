"""The exact options and operands that a program may be given; whatever is spelled otherwise is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from forge_core.permissions.path_info import is_secret
from forge_core.permissions.programs.argument_spec import ArgumentSpec
from forge_core.permissions.shell.shell_words import Word

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


@dataclass(frozen=True, slots=True)
class ParsedArguments:
    """The words of a command by their roles."""

    options: frozenset[str]
    operands: tuple[Word, ...]
    paths: tuple[Word, ...]
    """The operands that are paths."""


def parse_arguments(words: Sequence[Word], allowed: ArgumentSpec) -> ParsedArguments | None:
    """Return the words behind the program's name, or None when one of them is not exactly as the form
    says."""
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
    texts = 0 if options.intersection(allowed.instead.split()) else allowed.texts
    if len(operands) > max(allowed.most, texts) or (operands and allowed.operands == "none"):
        return None
    if not all(_is_plain(word, allowed, is_text=at < texts) for at, word in enumerate(operands)):
        return None
    paths = operands[texts:] if allowed.operands == "paths" else []
    return ParsedArguments(frozenset(options), tuple(operands), tuple(paths))


def _is_plain(word: Word, allowed: ArgumentSpec, *, is_text: bool) -> bool:
    if not word.text.startswith(allowed.beginning) or word.is_dynamic:
        return False
    if is_text or allowed.operands == "texts":
        return not word.has_glob  # it may expand to several words, and reveals the contents of other folders
    if allowed.operands == "paths" and re.match(r"[@+]", word.text) and not allowed.beginning:
        return False
    return allowed.is_free or not word.has_glob or _WILD.match(word.text) is None


def _option(word: Word, allowed: ArgumentSpec, rest: Iterator[Word]) -> set[str] | None:
    """Return the options that the word is, with the next word as value where one is due; None for an
    unknown one."""
    text, kinds = word.text, allowed.long_kinds
    if word.is_dynamic:
        return None
    if text.startswith("--"):
        name, equals, value = text.partition("=")
        if equals:
            kind = kinds.get((name, "=")) or kinds.get((name, ":"))
            return {name} if kind and _is_value(value, kind) else None
        if word.has_glob:
            return None
        is_known = (name, "") in kinds or ((name, ":") in kinds and _has_value(rest, kinds[name, ":"]))
        return {name} if is_known else None
    if word.has_glob:
        return None
    if allowed.has_digits and re.fullmatch(r"-\d{1,9}", text):
        return {text}
    return _cluster(text[1:], allowed, rest)


def _cluster(letters: str, allowed: ArgumentSpec, rest: Iterator[Word]) -> set[str] | None:
    found: set[str] = set()
    for at, letter in enumerate(letters):
        found.add(f"-{letter}")
        kind = allowed.value_kinds.get(letter)
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
