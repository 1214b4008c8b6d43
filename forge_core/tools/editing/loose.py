"""The looser ways to find the text to replace: line by line, on views that leave something out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from forge_core.errors import ToolError
from forge_core.tools.editing.fold import folded
from forge_core.tools.editing.indent import is_clear, keeps_unit, reindent
from forge_core.tools.editing.lines import Lines
from forge_core.tools.editing.places import Match, Pair, Place, Span, Tier, match_of, occurrences
from forge_core.tools.editing.views import BLANKS, Key, View, Views


def half_lines(tier: Tier, view: View, pair: Pair, *, every: bool) -> Match:
    """Hits that may begin and end within a line, but never within a word or an indentation."""
    old = pair.old.split("\n")
    wanted = "\n".join(view.key.of(old))
    if not wanted.strip():
        return Match(tier)
    first, last = (folded(line) if view.key is Key.FOLDED else line for line in (old[0], old[-1]))
    starts_blank = bool(first) and not first.strip(BLANKS)
    reaches_end = last != last.rstrip(BLANKS)
    is_longer = "\n" in pair.new

    def place(at: int) -> Place | None:
        end = at + len(wanted)
        if at == 0 or splits_word(view.text, at) or splits_word(view.text, end):
            return None
        start = _start(view, at, starts_blank=starts_blank, is_longer=is_longer)
        stop = _end(view, end, reaches_end=reaches_end)
        if start is None or stop is None:
            return None
        is_cut = view.place(end)[0] == len(view.keys) and not view.lines.has_final_newline
        return Place(Span(start, stop), _cut(pair) if is_cut else pair)

    return match_of(tier, view.text, wanted, place, every=every)


def _start(view: View, at: int, *, starts_blank: bool, is_longer: bool) -> int | None:
    line, column = view.place(at)
    if line == len(view.keys):
        return None
    key = view.keys[line]
    if starts_blank:
        return view.lines.starts[line] if column == 0 and not key else None
    if column == len(key):
        return view.lines.content_end(line)
    if column and not key[:column].strip(BLANKS) and (is_longer or key[column] in BLANKS):
        return None  # within or after the indentation: how deep further lines are to stand is not clear
    return view.source(line, column, is_end=False)


def _end(view: View, at: int, *, reaches_end: bool) -> int | None:
    line, column = view.place(at)
    if line == len(view.keys):
        return view.lines.part.stop
    if column == len(view.keys[line]):
        return view.lines.content_end(line)  # blanks at the end of the line belong to it
    if reaches_end:
        return None
    return view.source(line, column, is_end=True)


def _cut(pair: Pair) -> Pair:
    """The pair for the last line of a file that ends without a newline: it is to get none."""
    return Pair(pair.old[:-1], pair.new.removesuffix("\n"))


def splits_word(text: str, at: int) -> bool:
    """Whether a cut at `at` goes through a word."""
    return 0 < at < len(text) and _is_word(text[at - 1]) and _is_word(text[at])


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"


def whole_lines(views: Views, pair: Pair, tier: Tier | None = None, *, every: bool) -> Iterator[Match]:
    """Hits of whole lines: with other blanks within the lines, then indented otherwise. With a `tier` of its
    own, what the pair was freed of is the reason, and the lines may also stand as they are."""
    if tier is not None:
        yield _whole(tier, views[Key.FOLDED], pair, every)
    yield _whole(tier or "blanks within lines", views[Key.COLLAPSED], pair, every)
    yield _whole(tier or "indentation", views[Key.STRIPPED], pair, every)


def whole_lines_as_sent(views: Views, pair: Pair) -> Iterator[Match]:
    """Hits of whole lines, from exact to indented otherwise."""
    yield _whole("exact", views[Key.BARE], pair, False)
    yield _whole("trailing blanks", views[Key.TRIMMED], pair, False)
    yield _whole("look-alike characters", views[Key.FOLDED], pair, False)
    yield from whole_lines(views, pair, every=False)


def _whole(tier: Tier, view: View, pair: Pair, every: bool) -> Match:
    lines = view.lines
    wanted = pair.old.split("\n")
    takes_end = len(wanted) > 1 and not wanted[-1]
    if takes_end:
        wanted.pop()
        if pair.new and not pair.new.endswith("\n"):
            return Match(tier)  # would join the next line to the new text, which is hardly meant
    keys = view.key.of(wanted)
    if not any(keys) or (view.key is Key.STRIPPED and _is_vague(keys, view)):
        return Match(tier)
    block = "\n" + "\n".join(keys) + "\n"
    is_one = every or view.key is not Key.STRIPPED or len(occurrences(view.text, block)[0]) == 1

    def place(at: int) -> Place | None:
        first, _ = view.place(at + 1)
        last = first + len(wanted) - 1
        has_end = takes_end and (last + 1 < len(lines.bare) or lines.has_final_newline)
        span = Span(lines.starts[first], lines.starts[last + 1] if has_end else lines.content_end(last))
        here = pair if has_end == takes_end else _cut(pair)
        if view.key is not Key.STRIPPED:
            return Place(span, here)
        return _indented(lines, span, here, first, is_one=is_one)

    match = match_of(tier, view.text, block, place, every=every)
    return match if is_one else replace(match, places=())  # in another shape: which is meant is not sure


def _is_vague(keys: list[str], view: View) -> bool:
    """Whether of several lines one alone is more than brackets, and that stands in the file again: beside a
    bracket at any depth it may be the wrong one."""
    telling = [key for key in keys if any(char.isalnum() for char in key)]
    if len(keys) < 2 or len(telling) != 1:
        return False
    return view.lines.whole.count(telling[0]) > 1 or view.text.count(telling[0]) > 1


def _indented(lines: Lines, span: Span, pair: Pair, first: int, *, is_one: bool) -> Place | None:
    """The place when all its lines stand deeper or less deep alike. Raises ToolError when they do and it is
    the only one, but how deep the new text is to stand there is not clear."""
    old, new = _rows(pair.old), _rows(pair.new)
    file = lines.bare[first : first + len(old)]
    shift = reindent(old, file)
    if shift is None:
        return None
    if is_one and not (is_clear(shift, old, file, new, lines) and keeps_unit(shift, new, lines)):
        number = lines.number(first)
        where = f"line {number}" if len(old) == 1 else f"lines {number}-{number + len(old) - 1}"
        raise ToolError(
            f"old_string stands at {where} but for the indentation, and how deep new_string is to stand "
            "there is not clear. Nothing was written. Send both with the file's indentation; the file has:\n"
            + "\n".join(file[:40])
        )
    return Place(span, pair, shift)


def _rows(text: str) -> list[str]:
    lines = text.split("\n")
    return lines if len(lines) == 1 or lines[-1] else lines[:-1]
