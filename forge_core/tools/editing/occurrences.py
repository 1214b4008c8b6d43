"""The result of a search for the text to replace: the places, their new text, and how they were found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from forge_core.tools.editing.indentation import Reindent

MatchTier: TypeAlias = Literal[
    "exact",
    "line ends",
    "trailing blanks",
    "look-alike characters",
    "blanks within lines",
    "indentation",
    "line numbers",
    "blank edges",
]

_MAX_HITS = 200
_MAX_HIT_CHARS = 2_000_000
"""Hits times length; beyond it the exact number of hits is not worth the time."""


@dataclass(frozen=True, slots=True)
class EditPair:
    """Old and new text, as sent or corrected."""

    old: str
    """With \\n as its only line end."""
    new: str


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One place where the old text occurs."""

    start: int
    end: int
    """Of a half-open range of the file's text."""
    pair: EditPair
    """The text found there, line for line, and its replacement."""
    reindent: Reindent | None = None


@dataclass(frozen=True, slots=True)
class TextMatch:
    """The hits of the tier that decided, in order."""

    tier: MatchTier = "exact"
    places: tuple[Occurrence, ...] = ()
    """The first, or all that do not overlap where every one was wanted."""
    starts: tuple[int, ...] = ()
    """Where each hit begins, overlapping ones too: there must be exactly one."""
    is_all: bool = True
    """False when there are more hits than were counted."""


def is_as_sent(tier: MatchTier) -> bool:
    """Return whether the old text was found as it was sent, line endings aside."""
    return tier in ("exact", "line ends")


def merge_matches(tier: MatchTier, matches: Sequence[TextMatch]) -> TextMatch:
    """Return the hits of several searches by one tier."""
    hits = [match for match in matches if match.starts]
    if len(hits) < 2:
        return hits[0] if hits else TextMatch(tier)
    return TextMatch(
        tier,
        tuple(place for match in hits for place in match.places),
        tuple(start for match in hits for start in match.starts),
        all(match.is_all for match in hits),
    )


def find_all(text: str, wanted: str) -> tuple[list[int], bool]:
    """Return where `wanted` begins in `text`, also where hits overlap; and whether these are all."""
    limit = max(2, min(_MAX_HITS, _MAX_HIT_CHARS // max(len(wanted), 1)))
    starts: list[int] = []
    at = text.find(wanted)
    while at >= 0:
        if len(starts) == limit:
            return starts, False
        starts.append(at)
        at = text.find(wanted, at + 1)
    return starts, True


def match_in_view(
    tier: MatchTier, view: str, wanted: str, place: Callable[[int], Occurrence | None], *, every: bool = False
) -> TextMatch:
    """Return the hits of `wanted` in a view of the text.

    `place` maps a position in the view to the text, or returns None if it is not a hit. If there are several
    hits, only the first is kept, unless `every` is set.
    """
    starts, is_all = find_all(view, wanted)
    hits = [(at, one) for at in starts if (one := place(at)) is not None]
    found = tuple(one.start for _, one in hits)
    if not every or not hits:
        return TextMatch(tier, tuple(one for _, one in hits[:1]), found, is_all or not hits)
    places: list[Occurrence] = []
    at = view.find(wanted)
    while at >= 0:
        one = place(at)
        if one is not None:
            places.append(one)
        at = view.find(wanted, at + (len(wanted) if one is not None else 1))
    return TextMatch(tier, tuple(places), found, is_all)
