"""Where the text to replace stands in a file.

A tier is a way to look at both texts. The first tier with a hit decides, and there must be exactly one hit:
nothing is guessed, and no looser tier is tried once something was found. From strict to loose:

    exact, line ends         as sent; line ends of any kind are equal
    trailing blanks          blanks at the ends of lines are looked past
    look-alike characters    so are kinds of quotes, dashes and blanks, and invisible marks
    blanks within lines      so is how many blanks stand between words; whole lines only
    indentation              the lines stand deeper or less deep, all alike; whole lines only
    line numbers             the line numbers of read are taken off; whole lines only
    blank edges              a blank line too many at an edge is taken off; whole lines only
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator

from forge_core.tools.editing.loose import half_lines, splits_word, whole_lines
from forge_core.tools.editing.parts import parts_with
from forge_core.tools.editing.pasted import without_blank_edges, without_numbers
from forge_core.tools.editing.places import Match, Pair, Place, Span, match_of, together
from forge_core.tools.editing.text import with_newlines
from forge_core.tools.editing.views import Key, Views


def find(text: str, old: str, new: str, *, every: bool = False) -> Match:
    """The hits of `old` in `text`, none when no tier has any. `old` is not empty. The places of more than one
    are worked out only for `every`."""
    has_old_ends = "\r" in text and "\n" not in text
    pair = Pair(with_newlines(old), with_newlines(new) if has_old_ends else new.replace("\r\n", "\n"))
    match = _as_sent(text, old, pair, every)
    if match.starts or not _says_enough(old):
        return match
    parts = parts_with(text, pair.old)
    is_ascii = text.isascii() and old.isascii()
    for matches in zip(*(_relaxed(Views(text, part), pair, is_ascii, every) for part in parts), strict=True):
        match = together(matches[0].tier, matches)
        if match.starts:
            return match
    return Match()


def _says_enough(old: str) -> bool:
    """Whether a text may be looked for by looser ways. Lines of nothing but brackets and blanks are told from
    others like them by these blanks alone."""
    return bool(old.strip()) and ("\n" not in old or any(char.isalnum() for char in old))


def _as_sent(text: str, old: str, pair: Pair, every: bool) -> Match:
    """Exactly, or but for line ends. The model sees no line ends: what differs in nothing else counts as the
    same, unless it sends carriage returns itself and these stand there."""
    if "\r" in old and old in text:
        match = match_of("exact", text, old, lambda at: _untorn(text, at, at + len(old), pair), every=every)
        if match.starts:
            return match
    view, source = _newline_view(text, every)
    wanted = pair.old

    def place(at: int) -> Place:
        return Place(Span(source(at), source(at + len(wanted))), pair)

    match = match_of("line ends", view, wanted, place, every=every)
    if match.starts and all(text[one.span.start : one.span.end] == old for one in match.places):
        return Match("exact", match.places, match.starts, match.is_all)
    return match if match.starts else _without_final_newline(text, view, source, pair)


def _untorn(text: str, start: int, end: int, pair: Pair) -> Place | None:
    """The place, when no \\r\\n is torn at its edges: that is one line end."""
    if (start and text.startswith("\r\n", start - 1)) or text.startswith("\r\n", end - 1):
        return None
    return Place(Span(start, end), pair)


def _newline_view(text: str, every: bool) -> tuple[str, Callable[[int], int]]:
    """The text with every line end as \\n, and the way back from a position in it."""
    pairs = text.count("\r\n") if "\r" in text else 0
    if not pairs:
        return with_newlines(text), lambda at: at
    view = with_newlines(text)
    if pairs == view.count("\n") and not every:
        return view, lambda at: at + view.count("\n", 0, at)
    dropped = [found.start() - number for number, found in enumerate(re.finditer("\r\n", text))]
    return view, lambda at: at + bisect_right(dropped, at - 1)


def _without_final_newline(text: str, view: str, source: Callable[[int], int], pair: Pair) -> Match:
    """The last line of a file that ends without a newline, sent with one: it is to get none."""
    bare = pair.old[:-1]
    start = len(view) - len(bare)
    is_end = pair.old.endswith("\n") and bare.strip() and view.endswith(bare) and not view.endswith("\n")
    if not is_end or splits_word(view, start):
        return Match()
    place = Place(Span(source(start), len(text)), Pair(bare, pair.new.removesuffix("\n")))
    return Match("line ends", (place,), (place.span.start,))


def _relaxed(views: Views, pair: Pair, is_ascii: bool, every: bool) -> Iterator[Match]:
    yield half_lines("trailing blanks", views[Key.TRIMMED], pair, every=every)
    if not is_ascii:
        yield half_lines("look-alike characters", views[Key.FOLDED], pair, every=every)
    yield from whole_lines(views, pair, every=every)
    unnumbered = without_numbers(pair)
    if unnumbered is not None:
        yield from whole_lines(views, unnumbered, "line numbers", every=every)
    trimmed = without_blank_edges(unnumbered or pair)
    if trimmed is not None:
        yield from whole_lines(views, trimmed, "blank edges", every=every)
