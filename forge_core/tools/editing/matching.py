"""Finds the text to replace in a file.

A tier is a way to compare the two texts. The first tier with a hit decides, and there must be exactly one
hit: nothing is guessed, and no looser tier is tried once something was found. From strict to loose:

    exact, line ends         as sent; all kinds of line endings are equal
    trailing blanks          ignores blanks at the ends of lines
    look-alike characters    also ignores kinds of quotes, dashes and blanks, and invisible characters
    blanks within lines      also ignores the number of blanks between words; whole lines only
    indentation              all lines are indented more or less by one rule; whole lines only
    line numbers             without the line numbers of read; whole lines only
    blank edges              without an extra blank line at either end; whole lines only
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from forge_core.errors import ToolError
from forge_core.tools.editing.indentation import is_clear, keeps_unit, reindent
from forge_core.tools.editing.line_views import BLANKS, LineKey, LineView, TextLines, candidate_ranges, folded
from forge_core.tools.editing.occurrences import (
    EditPair,
    MatchTier,
    Occurrence,
    TextMatch,
    find_all,
    match_in_view,
    merge_matches,
)
from forge_core.tools.editing.text import with_newlines

_NUMBERED = re.compile(r" *(\d{1,9}|\u21aa)\t")
_NUMBER_ALONE = re.compile(r" *(\d{1,9})[ \t]*")
"""The row of an empty line, of which the tab is easily lost."""


def find(text: str, old: str, new: str, *, every: bool = False) -> TextMatch:
    """Return the matches of `old`, which is not empty, in `text`; empty if no tier has any.

    If there are several, only the first occurrence is computed, unless `every` is set.
    """
    # Where \r is the only terminator, a lone \r in the new text ends a line too; elsewhere it is content.
    has_old_ends = "\r" in text and "\n" not in text
    pair = EditPair(with_newlines(old), with_newlines(new) if has_old_ends else new.replace("\r\n", "\n"))
    match = _match_as_sent(text, old, pair, every)
    if match.starts or not _is_distinctive(old):
        return match
    # The tolerant tiers build several views of the text; on long files they only look around a rare word.
    parts = candidate_ranges(text, pair.old)
    is_ascii = text.isascii() and old.isascii()
    # Tier by tier over all ranges: a looser tier in one range must not win over a stricter one in another.
    for matches in zip(
        *(_tolerant_matches(TextLines(text, part), pair, is_ascii, every) for part in parts), strict=True
    ):
        match = merge_matches(matches[0].tier, matches)
        if match.starts:
            return match
    return TextMatch()


def _is_distinctive(old: str) -> bool:
    """Return whether a text may be matched by the tolerant tiers.

    Lines of brackets and blanks differ from others like them in these blanks alone.
    """
    return bool(old.strip()) and ("\n" not in old or any(char.isalnum() for char in old))


def _match_as_sent(text: str, old: str, pair: EditPair, every: bool) -> TextMatch:
    """Match exactly, or except for line endings.

    The model does not see line endings, so texts that differ in nothing else count as the same, unless the
    model sends carriage returns that the file has too.
    """
    if "\r" in old and old in text:
        match = match_in_view(
            "exact", text, old, lambda at: _unless_splitting_crlf(text, at, at + len(old), pair), every=every
        )
        if match.starts:
            return match
    view, source = _newline_view(text, every)
    wanted = pair.old

    def place(at: int) -> Occurrence:
        return Occurrence(source(at), source(at + len(wanted)), pair)

    match = match_in_view("line ends", view, wanted, place, every=every)
    if match.starts and all(text[one.start : one.end] == old for one in match.places):
        return TextMatch("exact", match.places, match.starts, match.is_all)
    return match if match.starts else _without_final_newline(text, view, source, pair)


def _unless_splitting_crlf(text: str, start: int, end: int, pair: EditPair) -> Occurrence | None:
    """Return the place, when no \\r\\n is torn at its edges: that is one line end."""
    if (start and text.startswith("\r\n", start - 1)) or text.startswith("\r\n", end - 1):
        return None
    return Occurrence(start, end, pair)


def _newline_view(text: str, every: bool) -> tuple[str, Callable[[int], int]]:
    """Return the text with every line end as \\n, and the way back from a position in it."""
    pairs = text.count("\r\n") if "\r" in text else 0
    if not pairs:
        return with_newlines(text), lambda at: at
    view = with_newlines(text)
    if pairs == view.count("\n") and not every:
        return view, lambda at: at + view.count("\n", 0, at)
    # dropped[k] is where the k-th \r would be in the view: bisect counts those before a position.
    dropped = [found.start() - number for number, found in enumerate(re.finditer("\r\n", text))]
    return view, lambda at: at + bisect_right(dropped, at - 1)


def _without_final_newline(text: str, view: str, source: Callable[[int], int], pair: EditPair) -> TextMatch:
    """Match the last line of a file without a final newline, sent with one; the new text gets none either."""
    bare = pair.old[:-1]
    start = len(view) - len(bare)
    is_end = pair.old.endswith("\n") and bare.strip() and view.endswith(bare) and not view.endswith("\n")
    if not is_end or splits_word(view, start):
        return TextMatch()
    place = Occurrence(source(start), len(text), EditPair(bare, pair.new.removesuffix("\n")))
    return TextMatch("line ends", (place,), (place.start,))


def _tolerant_matches(lines: TextLines, pair: EditPair, is_ascii: bool, every: bool) -> Iterator[TextMatch]:
    yield match_partial_lines("trailing blanks", lines.view(LineKey.TRIMMED), pair, every=every)
    if not is_ascii:
        yield match_partial_lines("look-alike characters", lines.view(LineKey.FOLDED), pair, every=every)
    yield from match_whole_lines(lines, pair, every=every)
    unnumbered = without_numbers(pair)
    if unnumbered is not None:
        yield from match_whole_lines(lines, unnumbered, "line numbers", every=every)
    trimmed = without_blank_edges(unnumbered or pair)
    if trimmed is not None:
        yield from match_whole_lines(lines, trimmed, "blank edges", every=every)


def match_partial_lines(tier: MatchTier, view: LineView, pair: EditPair, *, every: bool) -> TextMatch:
    """Return hits that may begin and end within a line, but never within a word or an indentation."""
    old = pair.old.split("\n")
    wanted = "\n".join(view.key.of(old))
    if not wanted.strip():
        return TextMatch(tier)
    first, last = (folded(line) if view.key is LineKey.FOLDED else line for line in (old[0], old[-1]))
    starts_blank = bool(first) and not first.strip(BLANKS)
    reaches_end = last != last.rstrip(BLANKS)
    is_longer = "\n" in pair.new

    def place(at: int) -> Occurrence | None:
        end = at + len(wanted)
        # Position 0 is the \n that the view has before its first line.
        if at == 0 or splits_word(view.text, at) or splits_word(view.text, end):
            return None
        start = _start(view, at, starts_blank=starts_blank, is_longer=is_longer)
        stop = _end(view, end, reaches_end=reaches_end)
        if start is None or stop is None:
            return None
        is_cut = view.place(end)[0] == len(view.keys) and not view.lines.has_final_newline
        return Occurrence(start, stop, _drop_final_newline(pair) if is_cut else pair)

    return match_in_view(tier, view.text, wanted, place, every=every)


def _start(view: LineView, at: int, *, starts_blank: bool, is_longer: bool) -> int | None:
    line, column = view.place(at)
    if line == len(view.keys):
        return None
    key = view.keys[line]
    if starts_blank:
        return view.lines.starts[line] if column == 0 and not key else None
    if column == len(key):
        return view.lines.content_end(line)
    if column and not key[:column].strip(BLANKS) and (is_longer or key[column] in BLANKS):
        return None  # within or after the indentation: the depth of further lines is not clear
    return view.source(line, column, is_end=False)


def _end(view: LineView, at: int, *, reaches_end: bool) -> int | None:
    line, column = view.place(at)
    if line == len(view.keys):
        return view.lines.part.stop
    if column == len(view.keys[line]):
        return view.lines.content_end(line)  # blanks at the end of the line belong to it
    if reaches_end:
        return None
    return view.source(line, column, is_end=True)


def _drop_final_newline(pair: EditPair) -> EditPair:
    """Return the pair for the last line of a file that has no final newline and gets none."""
    return EditPair(pair.old[:-1], pair.new.removesuffix("\n"))


def splits_word(text: str, at: int) -> bool:
    """Return whether `at` is within a word."""
    return 0 < at < len(text) and _is_word(text[at - 1]) and _is_word(text[at])


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"


def match_whole_lines(
    lines: TextLines, pair: EditPair, tier: MatchTier | None = None, *, every: bool
) -> Iterator[TextMatch]:
    """Yield matches of whole lines: with other blanks within the lines, then with other indentation.

    A `tier` given names the correction that the pair has had; then lines that match as they are count too.
    """
    if tier is not None:
        yield _match_lines(tier, lines.view(LineKey.FOLDED), pair, every)
    yield _match_lines(tier or "blanks within lines", lines.view(LineKey.COLLAPSED), pair, every)
    yield _match_lines(tier or "indentation", lines.view(LineKey.STRIPPED), pair, every)


def match_hunk_lines(lines: TextLines, pair: EditPair) -> Iterator[TextMatch]:
    """Yield matches of whole lines, from exact to differently indented."""
    yield _match_lines("exact", lines.view(LineKey.BARE), pair, False)
    yield _match_lines("trailing blanks", lines.view(LineKey.TRIMMED), pair, False)
    yield _match_lines("look-alike characters", lines.view(LineKey.FOLDED), pair, False)
    yield from match_whole_lines(lines, pair, every=False)


def _match_lines(tier: MatchTier, view: LineView, pair: EditPair, every: bool) -> TextMatch:
    lines = view.lines
    wanted = pair.old.split("\n")
    takes_end = len(wanted) > 1 and not wanted[-1]
    if takes_end:
        wanted.pop()
        if pair.new and not pair.new.endswith("\n"):
            return TextMatch(tier)  # would join the next line to the new text, which is unlikely to be meant
    keys = view.key.of(wanted)
    if not any(keys) or (view.key is LineKey.STRIPPED and _is_vague(keys, view)):
        return TextMatch(tier)
    # The view has \n before and after each line, so the block only matches whole lines.
    block = "\n" + "\n".join(keys) + "\n"
    is_one = every or view.key is not LineKey.STRIPPED or len(find_all(view.text, block)[0]) == 1

    def place(at: int) -> Occurrence | None:
        first, _ = view.place(at + 1)
        last = first + len(wanted) - 1
        has_end = takes_end and (last + 1 < len(lines.bare) or lines.has_final_newline)
        end = lines.starts[last + 1] if has_end else lines.content_end(last)
        here = Occurrence(
            lines.starts[first], end, pair if has_end == takes_end else _drop_final_newline(pair)
        )
        return here if view.key is not LineKey.STRIPPED else _indented(lines, here, first, is_one=is_one)

    match = match_in_view(tier, view.text, block, place, every=every)
    return match if is_one else replace(match, places=())  # also with another indentation: ambiguous


def _is_vague(keys: list[str], view: LineView) -> bool:
    """Return whether only one of several lines has more than brackets, and that line occurs more than once.

    Brackets match at any depth, so such a block may match in the wrong place.
    """
    telling = [key for key in keys if any(char.isalnum() for char in key)]
    if len(keys) < 2 or len(telling) != 1:
        return False
    return view.lines.whole.count(telling[0]) > 1 or view.text.count(telling[0]) > 1


def _indented(lines: TextLines, place: Occurrence, first: int, *, is_one: bool) -> Occurrence | None:
    """Return the occurrence if all its lines are indented more or less by one rule.

    Raise ToolError if that is the only one, but the indentation meant for the new text is not clear.
    """
    old, new = _rows(place.pair.old), _rows(place.pair.new)
    file = lines.bare[first : first + len(old)]
    shift = reindent(old, file)
    if shift is None:
        return None
    if is_one and not (is_clear(shift, old, file, new, lines) and keeps_unit(shift, new, lines)):
        number = lines.number(first)
        where = f"line {number}" if len(old) == 1 else f"lines {number}-{number + len(old) - 1}"
        raise ToolError(
            f"old_string matches {where} except for the indentation, and the indentation meant for "
            "new_string is not clear. Nothing was written. Send both with the file's indentation; the file "
            "has:\n" + "\n".join(file[:40])
        )
    return replace(place, reindent=shift)


def _rows(text: str) -> list[str]:
    lines = text.split("\n")
    return lines if len(lines) == 1 or lines[-1] else lines[:-1]


def without_numbers(pair: EditPair) -> EditPair | None:
    """Return the pair without line numbers, None when the old text has none on each line, one after the
    other.

    Raise ToolError when the new text has them on some lines only: their meaning there is ambiguous.
    """
    rows = _numbered_rows(pair.old)
    if rows is None or not _is_consecutive(rows):
        return None
    old = _joined(rows)
    if any(_NUMBERED.match(line) for line in old):
        return None  # the file itself contains numbers and tabs: ambiguous
    ending = "\n" if pair.old.endswith("\n") else ""
    new = pair.new
    numbered = [bool(_NUMBERED.match(line)) for line in new.split("\n") if line.strip()]
    if any(numbered):
        rows = _numbered_rows(new)
        if rows is None:
            raise ToolError(
                "new_string has the line numbers of read on some of its lines. Nothing was written. Send "
                "old_string and new_string without them."
            )
        new = "\n".join(_joined(rows)) + ("\n" if new.endswith("\n") else "")
    return EditPair("\n".join(old) + ending, new)


def without_blank_edges(pair: EditPair) -> EditPair | None:
    """Return the pair without one blank line at each edge that has one.

    None if there is none, if the new text does not have the same, or if one of them has more: then blank
    lines may be the intended change.
    """
    old, new = pair.old.split("\n"), pair.new.split("\n")
    if _is_blank_first(old) and old[0] == new[0] and len(new) > 1:
        old, new = old[1:], new[1:]
    if _is_blank_last(old) and _is_blank_last(new) and old[-2] == new[-2]:
        del old[-2], new[-2]
    is_left = any(_is_blank_first(lines) or _is_blank_last(lines) for lines in (old, new))
    corrected = EditPair("\n".join(old), "\n".join(new))
    return None if corrected == pair or is_left or not corrected.old.strip() else corrected


def _numbered_rows(text: str) -> list[tuple[str, str]] | None:
    """Return number and content of each line; None when a line has no number."""
    lines = text.split("\n")
    if len(lines) > 1 and not lines[-1]:
        lines.pop()
    rows: list[tuple[str, str]] = []
    for line in lines:
        found = _NUMBERED.match(line)
        alone = None if found else _NUMBER_ALONE.fullmatch(line)
        if found is None and alone is None:
            return None
        rows.append((found[1], line[found.end() :]) if found else (alone[1] if alone else "", ""))
    return rows if any(content for _, content in rows) else None


def _is_consecutive(rows: Sequence[tuple[str, str]]) -> bool:
    numbers = [int(number) for number, _ in rows if number.isdigit()]
    return bool(numbers) and numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def _joined(rows: Sequence[tuple[str, str]]) -> list[str]:
    """Return the lines; a continuation row is joined to the row before it."""
    lines: list[str] = []
    for number, content in rows:
        if not number.isdigit() and lines:
            lines[-1] += content
        else:
            lines.append(content)
    return lines


def _is_blank_first(lines: Sequence[str]) -> bool:
    return len(lines) > 1 and not lines[0].strip()


def _is_blank_last(lines: Sequence[str]) -> bool:
    """Return whether the last line before the final newline is blank, and not the only one."""
    return len(lines) > 2 and not lines[-1] and not lines[-2].strip()
