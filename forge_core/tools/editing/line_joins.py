"""Keeps lines apart that an edit would join only because a newline was left out of the new text.

A literal replacement of "\\nfoo" by "bar", or of "foo\\n" by "bar", joins the new text to the adjacent line,
which is hardly ever intended. What is done instead:

    "foo\\n" → "bar"        keeps the newline: it was sent with the old text by habit
    "\\n  foo" → "  bar"    keeps the line before: the leading newline was invented, as the indentation shows
    ",\\n" → ", "           joins the lines: the edit only replaces the newline by a blank
    "\\n\\n" → " "           joins the lines: only newlines were quoted
    "foo\\n" → ""           deletes the whole line; refused if it begins within a line
    anything else           refused, with the way to join the lines on purpose

Before an empty line and at the end of a file there is nothing to join with, so the edit is made as sent.
"""

from __future__ import annotations

from dataclasses import replace

from forge_core.errors import ToolError
from forge_core.tools.editing.line_views import BLANKS, indent_of
from forge_core.tools.editing.occurrences import EditPair, MatchTier, Occurrence, TextMatch, is_as_sent
from forge_core.tools.editing.text import line_number, with_newlines

_SHOWN = 60
_NOTHING = ("", "\n", "\r")
"""What follows where there is nothing to join with."""


def keep_lines_apart(text: str, match: TextMatch) -> TextMatch:
    """Return the match with the line ends that the new text lacks removed from its places. Raise ToolError
    where a line would be joined to another and it is not clear what was meant instead."""
    tier: MatchTier = match.tier
    places: list[Occurrence] = []
    for place in match.places:
        apart = _apart_from_line_after(text, _apart_from_line_before(text, place, match.tier), match.tier)
        if apart is not place:
            tier = "blank edges" if apart.start != place.start else "line ends"
        places.append(apart)
    return replace(match, tier=tier, places=tuple(places))


def _apart_from_line_before(text: str, place: Occurrence, tier: MatchTier) -> Occurrence:
    """Return the place when no line before it is joined to the new text."""
    start, old, new = place.start, place.pair.old, place.pair.new
    head, newline, rest = old.partition("\n")
    if not newline or head.strip(BLANKS) or not rest.strip() or _is_line_start(text, start):
        return place
    if _begins_blank(new) or new == " " + rest:
        return place
    if not new and (not rest.endswith("\n") or text[place.end : place.end + 1] in _NOTHING):
        return place
    is_made_up = (not new and rest[0] != "\n") or (rest[0] in BLANKS and indent_of(new) == indent_of(rest))
    is_made_up = is_made_up and not head and old.endswith("\n\n") == new.endswith("\n\n")
    if not is_made_up or not is_as_sent(tier) or _occurs_at_start(text, rest):
        line = line_number(text, start)
        raise ToolError(
            "old_string begins with a line ending that new_string lacks, so the new text would be joined "
            f"to line {line}, {_line_at(text, start)!r}. Nothing was written. Send old_string without that "
            f"line ending to leave line {line} alone, or, to join them on purpose, with the end of line "
            f"{line} too."
        )
    size = 2 if text.startswith("\r\n", start) else 1
    return replace(place, start=start + size, pair=EditPair(rest, new))


def _apart_from_line_after(text: str, place: Occurrence, tier: MatchTier) -> Occurrence:
    """Return the place when no line after it is joined to the new text."""
    end, old, new = place.end, place.pair.old, place.pair.new
    bare = old[:-1]
    if not old.endswith("\n") or not bare.strip() or end == len(text):
        return place
    if text[end] in _NOTHING and is_as_sent(tier):
        return place
    if with_newlines(new).endswith("\n") or new == bare + " ":
        return place
    if not new and _is_line_start(text, place.start):
        return place
    is_habit = new and new[-1] not in BLANKS and new != bare and bare.rpartition("\n")[2].strip(BLANKS)
    if not is_habit or not is_as_sent(tier) or _begins_blank(new) != _begins_blank(old):
        line = line_number(text, end)
        raise ToolError(
            "old_string ends with a line ending that new_string lacks, so the new text would be joined to "
            f"line {line}, {_line_at(text, end)!r}. Nothing was written. End new_string with a line ending "
            f"too, or, to join them on purpose, send old_string with the beginning of line {line} too."
        )
    size = 2 if text.endswith("\r\n", place.start, end) else 1
    return replace(place, end=end - size, pair=EditPair(bare, new))


def _is_line_start(text: str, at: int) -> bool:
    return at == 0 or text[at - 1] in "\r\n"


def _begins_blank(new: str) -> bool:
    head, newline, _ = with_newlines(new).partition("\n")
    return bool(newline) and not head.strip(BLANKS)


def _occurs_at_start(text: str, rest: str) -> bool:
    """Return whether the old text without its first newline also occurs at the start of the file."""
    return with_newlines(text[: 2 * len(rest)]).startswith(rest)


def _line_at(text: str, at: int) -> str:
    start = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
    return with_newlines(text[start : start + _SHOWN]).partition("\n")[0]
