"""The quotes and list items that a line of Markdown stands in (CommonMark 0.31, "Container blocks")."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

_QUOTE = re.compile(r" {0,3}> ?")
_ITEM = re.compile(r" {0,3}(?:[-+*]|(?P<number>\d{1,9})[.)])(?: {1,4}(?=\S)| (?= )|\Z)")
_LEADING = re.compile(r"[ \t>]*")
Container: TypeAlias = "BlockQuote | ListItem"


@dataclass(frozen=True, slots=True)
class BlockQuote:
    marker: str = "> "
    """As it stands in the source."""

    @property
    def shown_width(self) -> int:
        """Cells that its bar takes on the screen."""
        return 2


@dataclass(frozen=True, slots=True)
class ListItem:
    marker: str
    """As it stands in the source, with the blanks around it: what belongs to the item is indented as far."""
    number: int | None = None
    """None for a bullet."""

    @property
    def shown_width(self) -> int:
        """Cells that its marker takes on the screen."""
        return 2 if self.number is None else len(str(self.number)) + 2


def markers(containers: Sequence[Container]) -> str:
    """What opens `containers` at the beginning of a line."""
    return "".join(container.marker for container in containers)


def open_quote(text: str) -> BlockQuote | None:
    """The quote that `text` begins with."""
    match = _QUOTE.match(text)
    return None if match is None else BlockQuote(match.group())


def open_item(text: str) -> ListItem | None:
    """The list item that `text` begins with."""
    match = _ITEM.match(text)
    if match is None:
        return None
    marker = match.group() if match.end() < len(text) else match.group().rstrip() + " "
    return ListItem(marker, int(match["number"]) if match["number"] else None)


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
            case BlockQuote():
                opening = _QUOTE.match(rest)
                if opening is None:
                    return depth, rest
                rest = rest[opening.end() :]
            case ListItem(marker=marker):
                if rest.strip() and rest[: len(marker)].strip():
                    return depth, rest
                rest = rest[len(marker) :]
    return len(containers), rest


@dataclass(frozen=True, slots=True)
class Lead:
    """What stands before the rest of a block that was cut."""

    containers: tuple[Container, ...] = ()
    """The quotes and list items it is in. Their markers are parsed again and not shown again."""
    is_mid_line: bool = False
    """Whether the cut went through a line, so that the rest has no markers to take off."""
    head: str = ""
    """A table's header and the line under it, parsed again for the rows that follow and not shown again."""
    widths: tuple[int, ...] = ()
    """The cells that the table's columns would like to have: its pieces share them."""
    number: int | None = None
    """Of the list item that comes first."""

    @property
    def hidden_items(self) -> int:
        """List markers at the beginning that are not shown."""
        return sum(isinstance(container, ListItem) for container in self.containers)

    @property
    def added_lines(self) -> int:
        return self.head.count("\n")

    def source(self, rest: str) -> str:
        """`rest` (raw, from the cut on) as Markdown that can be parsed by itself."""
        if self.head:
            return self.head + rest
        if not self.containers:
            return rest
        first, line_end, more = rest.partition("\n")
        inside = first if self.is_mid_line else enter(first, self.containers)[1]
        return markers(self.containers) + inside + line_end + more


WHOLE = Lead()
"""Of a block that begins by itself."""
