"""The quotes and list items that a line of Markdown stands in (CommonMark 0.31, "Container blocks")."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

_QUOTE = re.compile(r" {0,3}> ?")
_ITEM = re.compile(r" {0,3}(?:[-+*]|(?P<number>\d{1,9})[.)])(?: {1,4}(?=\S)| (?= )|\Z)")
_LEADING = re.compile(r"[ \t>]*")


@dataclass(frozen=True, slots=True)
class Quote:
    marker: str = "> "
    """As it stands in the source."""

    @property
    def shown_width(self) -> int:
        """Cells that its bar takes on the screen."""
        return 2


@dataclass(frozen=True, slots=True)
class Item:
    marker: str
    """As it stands in the source, with the blanks around it: what belongs to the item is indented as far."""
    number: int | None = None
    """None for a bullet."""

    @property
    def shown_width(self) -> int:
        """Cells that its marker takes on the screen."""
        return 2 if self.number is None else len(str(self.number)) + 2


Container: TypeAlias = "Quote | Item"


def markers(containers: Sequence[Container]) -> str:
    """What opens `containers` at the beginning of a line."""
    return "".join(container.marker for container in containers)


def open_quote(text: str) -> Quote | None:
    """The quote that `text` begins with."""
    match = _QUOTE.match(text)
    return None if match is None else Quote(match.group())


def open_item(text: str) -> Item | None:
    """The list item that `text` begins with."""
    match = _ITEM.match(text)
    if match is None:
        return None
    marker = match.group() if match.end() < len(text) else match.group().rstrip() + " "
    return Item(marker, int(match["number"]) if match["number"] else None)


def spaced(line: str) -> str:
    """`line` with the tabs before its text as spaces."""
    leading = _LEADING.match(line)
    assert leading is not None
    if "\t" not in leading.group():
        return line
    return leading.group().expandtabs(4) + line[leading.end() :]


def enter(line: str, containers: Sequence[Container]) -> tuple[int, str]:
    """How many of `containers` the line goes on in, from the outermost; and what it says inside them."""
    if not containers:
        return 0, line
    rest = spaced(line)
    for depth, container in enumerate(containers):
        match container:
            case Quote():
                opening = _QUOTE.match(rest)
                if opening is None:
                    return depth, rest
                rest = rest[opening.end() :]
            case Item(marker=marker):
                if rest.strip() and rest[: len(marker)].strip():
                    return depth, rest
                rest = rest[len(marker) :]
    return len(containers), rest
