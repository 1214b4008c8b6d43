"""Exact text, for decisions: nothing hidden, invisible or reordered.

In a command or a path, each character that shows nothing, or that can be mistaken for another, is written
`‹U+202E›`; a control character as its symbol (␛), a tab as →, easily missed spaces as dots. Characters that
look like these are escaped themselves, so two texts that differ never look the same. What would only push
the rest out of sight is folded and counted: many blank lines (`fold_blank_lines`), many spaces in a row.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TypeAlias

from forge_core.text_width import cell_len, hard_wrap
from forge_tui.widgets.confusables import (
    is_hidden,
    is_ideographic,
    is_mark_like,
    is_right_to_left,
    like_ascii,
    odd_marks,
)

ExactSpan: TypeAlias = "tuple[str, str]"
"""(role, text). Of a part with a mark, the role is the line's and the mark's, with a space between."""
Mark: TypeAlias = "tuple[int, int, str]"
"""The indexes of the first character and after the last one, and a role besides that of the line."""
ExactRow: TypeAlias = "tuple[ExactSpan, ...]"
"""The spans of one screen row."""

NAMED_AT_MOST = 4
CHANGED = ("added", "removed")
_SIGNS = {"+": "added", "-": "removed", " ": "plain"}
TAB_SHOWN = "→   "
BLANK_SHOWN = "·"
MANY_BLANKS = 4
"""Spaces in a row that are shown as dots in a command: they can push what follows out of sight."""
FOLDED_SPACES = 40
"""Spaces in a row from which only their number is shown."""
FOLDED_TABS = 10
FOLDED_LINES = 4
"""Blank lines in a row from which only their number is shown."""

_WORDS = re.compile(r"[ ]+|\t+|[^\W_][\w]*|.", re.DOTALL)
_PICTURE = {code: chr(0x2400 + code) for code in range(0x20)} | {0x7F: "␡"}


@dataclass(frozen=True, slots=True)
class ExactLine:
    """One line to show."""

    text: str
    role: str = "plain"
    gutter: str = ""
    is_code: bool = False
    """Whether signs matter as much as letters (a command, a path), or only letters do (a file's text)."""
    marks: tuple[Mark, ...] = ()
    """Parts that look different, in order, without overlaps. They change no text."""


def command_lines(
    command: str, risky: Sequence[tuple[int, int]] = (), *, sign: str = "$ "
) -> list[ExactLine]:
    """Return the lines of a command, with a prompt sign before the first one and the risky parts marked."""
    lines = []
    at = 0
    for number, text in enumerate(command.split("\n")):
        end = at + len(text)
        marks = [(max(first, at) - at, min(last, end) - at, "risky") for first, last in risky]
        shown = tuple((first, last, role) for first, last, role in marks if first < last)
        lines.append(
            ExactLine(text, gutter=sign if number == 0 else " " * len(sign), is_code=True, marks=shown)
        )
        at = end + 1
    return lines


def diff_lines(diff: str) -> list[ExactLine]:
    """Return the lines of a unified diff, each in the role of its sign."""
    return [
        ExactLine(text[1:], _SIGNS[text[0]], f"{text[0]} ") if text[:1] in _SIGNS else ExactLine(text, "hunk")
        for text in diff.removesuffix("\n").split("\n")
    ]


def fold_blank_lines(lines: Iterable[ExactLine]) -> list[ExactLine]:
    """Return the lines with each long run of blank ones (empty, or of spaces and tabs) as one line that
    counts them."""
    folded: list[ExactLine] = []
    for (role, is_blank), group in groupby(lines, lambda line: (line.role, not line.text.strip(" \t"))):
        run = list(group)
        if is_blank and len(run) >= FOLDED_LINES:
            kind = "blank" if any(line.text for line in run) else "empty"
            gutter = _folded_gutter(run[0].gutter, has_sign=role in CHANGED)
            shown_role = role if role in CHANGED else "blank"
            folded.append(ExactLine(f"… {len(run):,} {kind} lines …", shown_role, gutter))
        else:
            folded += run
    return folded


def _folded_gutter(gutter: str, *, has_sign: bool) -> str:
    """Return ⋮ in place of the line numbers, before the sign of a changed line."""
    sign = gutter[-2:] if has_sign else ""
    return "⋮".rjust(len(gutter) - len(sign) - 1) + (f" {sign}" if sign else " ")


def is_deceptive(lines: Iterable[ExactLine]) -> bool:
    """Return whether the lines contain characters that show nothing, or that can be mistaken for others."""
    return any(role == "strange" for line in lines for role, _ in spans(line))


def exact_rows(lines: Iterable[ExactLine], width: int) -> list[ExactRow]:
    """Return the screen rows of these lines; continuation rows have a mark in the gutter."""
    return [row for line in lines for row in _line_rows(line, width)]


def exact_line(text: str) -> str:
    """Return a command or path in one line, newlines as ⏎."""
    lines = ("".join(shown for _, shown in spans(ExactLine(line, is_code=True))) for line in text.split("\n"))
    return "⏎".join(lines)


def spans(line: ExactLine) -> Iterator[ExactSpan]:
    """Yield the spans of a line by role: the line's own, "blank", "strange" or "foreign"."""
    text = line.text
    if text.isascii() and text.isprintable() and not text.endswith(" ") and " " * MANY_BLANKS not in text:
        yield from _marked(line, 0, text)
        return
    if text.endswith("\r") and not line.is_code:  # a file's line with a Windows line end
        yield from spans(replace(line, text=text[:-1]))
        yield "blank", _PICTURE[0x0D]
        return
    at = 0
    for part, span, _ in _parts(line):
        if span == (line.role, part):
            yield from _marked(line, at, part)
        else:
            yield span
        at += len(part)


def _marked(line: ExactLine, at: int, part: str) -> Iterator[ExactSpan]:
    """Yield a part of a line that is shown as it is, divided where marks begin and end; `at` is its index."""
    end = at + len(part)
    for first, last, role in line.marks:
        if last > at and first < end:
            if first > at:
                yield line.role, line.text[at:first]
            start, at = max(first, at), min(last, end)
            yield f"{line.role} {role}", line.text[start:at]
    if at < end or not line.text:
        yield line.role, line.text[at:end]


def _parts(line: ExactLine) -> Iterator[tuple[str, ExactSpan, bool]]:
    """Yield a line in words of ASCII and other single characters: each part, how it is shown, and whether it
    is an odd mark."""
    solid = len(line.text.rstrip(" "))
    marks = odd_marks(line.text)
    for word in _WORDS.finditer(line.text):
        if (blanks := _folded_blanks(word[0])) is not None:
            yield word[0], ("blank", blanks), False
        elif word[0][0] == " ":
            is_marked = word.start() >= solid or (
                line.is_code and 0 < word.start() <= word.end() - MANY_BLANKS
            )
            yield word[0], ("blank", BLANK_SHOWN * len(word[0])) if is_marked else (line.role, word[0]), False
        elif word[0].isascii() and word[0].isprintable():
            yield word[0], (line.role, word[0]), False
        else:
            alike = like_ascii(word[0])
            for index, character in enumerate(word[0], word.start()):
                is_odd = index in marks
                yield character, _span(character, line, character in alike, is_odd), is_odd


def _folded_blanks(word: str) -> str | None:
    """Return what is shown for a long run of spaces or of tabs; None for any other word."""
    if word[0] == " " and len(word) >= FOLDED_SPACES:
        return f"‹{len(word):,} spaces›"
    if word[0] == "\t" and len(word) >= FOLDED_TABS:
        return f"‹{len(word):,} tabs›"
    return None


def _span(character: str, line: ExactLine, is_alike: bool, is_odd_mark: bool) -> ExactSpan:
    if character == "\t":
        return "blank", TAB_SHOWN
    if character.isascii() and character.isprintable():
        return line.role, character
    is_strange = is_hidden(character) or is_odd_mark or (is_alike and (line.is_code or character.isalpha()))
    if line.is_code:
        is_strange = is_strange or is_mark_like(character) or is_right_to_left(character)
    if is_strange:
        return "strange", _PICTURE.get(ord(character), f"‹U+{ord(character):04X}›")
    return ("foreign" if line.is_code else line.role), character


def _line_rows(line: ExactLine, width: int) -> Iterator[ExactRow]:
    room = max(width - cell_len(line.gutter), 4)
    for number, row in enumerate(_wrapped(line, room)):
        gutter = line.gutter if number == 0 else "↪".ljust(cell_len(line.gutter))[: cell_len(line.gutter)]
        role = f"{line.role} {line.role}-sign" if line.role in CHANGED else "gutter"
        yield ((role, gutter), *row)


def _wrapped(line: ExactLine, room: int) -> Iterator[ExactRow]:
    row: list[ExactSpan] = []
    used = 0
    for role, shown in spans(line):
        if not cell_len(shown):  # a combining mark stays with its letter
            _append(row, role, shown)
            continue
        if not used:
            parts = hard_wrap(shown, room)
        else:
            first = hard_wrap(shown, room - used)[0] if used < room else ""
            if cell_len(first) > room - used or (role == "strange" and first != shown):
                first = ""  # an escape is only split if it is wider than a row
            parts = [first, *(hard_wrap(shown[len(first) :], room) if first != shown else ())]
        for number, part in enumerate(parts):
            if number:
                yield tuple(row)
                row, used = [], 0
            if part:
                _append(row, role, part)
                used += cell_len(part)
    yield tuple(row)


def _append(row: list[ExactSpan], role: str, text: str) -> None:
    if row and row[-1][0] == role:
        row[-1] = (role, row[-1][1] + text)
    else:
        row.append((role, text))


def oddities(text: str, *, is_code: bool = True) -> str:
    """Return a sentence about characters that do not show, or that can be mistaken for others; "" if there
    are none.

    Letters that nobody mistakes for Latin ones (Chinese, Japanese, Korean) are not named. In a file's text
    (not `is_code`), only what is hidden or can be mistaken for a Latin letter is.
    """
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return ""
    hidden: dict[str, None] = {}
    alike: dict[str, None] = {}
    foreign: dict[str, None] = {}
    for line in text.split("\n"):
        shown = ExactLine(line if is_code else line.removesuffix("\r"), is_code=is_code)
        for part, (role, _), is_odd in _parts(shown):
            if role == "foreign" and part.isalnum() and not is_ideographic(part):
                foreign[part] = None
            elif role == "strange":
                (hidden if is_hidden(part) or is_odd else alike)[part] = None
    return " ".join(
        f"{what}: {_named(tuple(found))}."
        for what, found in (
            ("Invisible", hidden),
            ("Looks like another character", alike),
            ("Not ASCII", foreign),
        )
        if found
    )


def _named(characters: Sequence[str]) -> str:
    names = [f"U+{ord(c):04X} {unicodedata.name(c, 'control')}" for c in characters[:NAMED_AT_MOST]]
    more = len(characters) - NAMED_AT_MOST
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")
