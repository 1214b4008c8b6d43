"""The words of a command of sed or awk: its scripts, and what it reads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from forge_core.permissions.shell.shell_words import Word

_SCRIPT_OPTIONS = ("--expression", "--source")
_VALUE_OPTIONS = ("-F", "-v", "-l", "--assign", "--field-separator", "--line-length")
"""Their next word is neither a script nor a file."""

_ADDRESS = r"(?:\d+(?:~\d+)?|\$|/(?:\\.|\[[^]/\\\n]+\]|[^/\\\n\[])*/[IM]*)"
_PART = r"(?:\\.|\[(?:(?!\1)[^]\\\n])+\]|(?!\1)[^\\\n\[])*"
"""Up to the delimiter. One in brackets is left out: versions of sed do not agree on what it means there."""
_HARMLESS_SED = re.compile(
    rf"(?:{_ADDRESS}(?:,[ \t]*[+~]?{_ADDRESS})?)?[ \t!]*"
    r"(?:[{}]|(?:[=dDgGhHlnNpPqQxz][ \t]*\d*|[bt:T][ \t]*[\w.-]*|[aic][ \t]*\\?[^\n]*"
    rf"|s([^\w\s\\]){_PART}\1{_PART}\1[gpiIMm\d]*)(?=[\s;}}]|$))"
)
"""A command that neither runs a program (e) nor reads or writes another file (r, R, w, W)."""
_BETWEEN = re.compile(r"[\s;]*")
_AWK_RUNS = re.compile(r"system|getline|[|>@`]|\bARG[VC]\b.*=")
"""In a program for awk: runs a command, or reads or writes another file."""


@dataclass(frozen=True, slots=True)
class FilterWords:
    """The words behind the name of sed or awk, by their roles."""

    scripts: tuple[str, ...]
    paths: tuple[Word, ...]
    """Its files, and its options, whose values may be files."""


def filter_words(words: Sequence[Word]) -> FilterWords:
    """Return which of the words are scripts: the values of options for them, else the first operand."""
    scripts: list[str] = []
    operands: list[Word] = []
    options: list[Word] = []
    rest = iter(words)
    for word in rest:
        if word.text == "--":
            operands += rest
        elif (script := _attached_script(word.text)) is not None:
            scripts.append(script or _next(rest))
        elif word.text in _VALUE_OPTIONS or _abbreviates(word.text, _VALUE_OPTIONS):
            _next(rest)
        elif word.text.startswith("-") and len(word.text) > 1:
            options.append(word)
        else:
            operands.append(word)
    if not scripts and operands:
        scripts.append(operands.pop(0).text)
    return FilterWords(tuple(scripts), (*options, *operands))


def only_filters(program: str, words: Sequence[Word]) -> bool:
    """Return whether the scripts among these words only change the text that passes through."""
    scripts = filter_words(words).scripts
    if program.endswith("sed"):
        return _is_harmless_sed("\n".join(scripts))
    return not any(_AWK_RUNS.search(script.replace("||", "")) for script in scripts)


def _is_harmless_sed(script: str) -> bool:
    at = 0
    while (at := _BETWEEN.match(script, at).end()) < len(script):  # type: ignore[union-attr]
        found = _HARMLESS_SED.match(script, at)
        if found is None:
            return False
        at = found.end()
    return True


def _attached_script(text: str) -> str | None:
    """Return the script that belongs to an option, "" when it is the next word; None for other words."""
    name, equals, value = text.partition("=")
    if _abbreviates(name, _SCRIPT_OPTIONS):
        return value if equals else ""
    short = re.fullmatch(r"-[nErsuz]*e(.*)", text, re.DOTALL)
    return None if short is None else short[1]


def _abbreviates(name: str, options: Sequence[str]) -> bool:
    return len(name) > 2 and name.startswith("--") and any(option.startswith(name) for option in options)


def _next(words: Iterator[Word]) -> str:
    return next((word.text for word in words), "")
