"""The containers of a line of Markdown, quotes and list items (CommonMark 0.31, "Container blocks"), and how
the rest of a split block continues them."""

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
    """As written in the source."""

    @property
    def shown_width(self) -> int:
        """Cells of its bar on the screen."""
        return 2


@dataclass(frozen=True, slots=True)
class ListItem:
    marker: str
    """As written in the source, with the blanks around it: the item's content is indented by its length."""
    number: int | None = None
    """None for a bullet."""

    @property
    def shown_width(self) -> int:
        """Cells of its marker on the screen."""
        return 2 if self.number is None else len(str(self.number)) + 2


def markers(containers: Sequence[Container]) -> str:
    """Return the beginning of a line that opens `containers`."""
    return "".join(container.marker for container in containers)


def open_quote(text: str) -> BlockQuote | None:
    """Return the quote at the beginning of `text`, or None."""
    match = _QUOTE.match(text)
    return None if match is None else BlockQuote(match.group())


def open_item(text: str) -> ListItem | None:
    """Return the list item at the beginning of `text`, or None."""
    match = _ITEM.match(text)
    if match is None:
        return None
    marker = match.group() if match.end() < len(text) else match.group().rstrip() + " "
    return ListItem(marker, int(match["number"]) if match["number"] else None)


def spaced(line: str) -> str:
    """Return `line` with the tabs before its text expanded."""
    leading = _LEADING.match(line)
    assert leading is not None
    if "\t" not in leading.group():
        return line
    return leading.group().expandtabs(4) + line[leading.end() :]


def enter(line: str, containers: Sequence[Container]) -> tuple[int, str]:
    """Return how many of `containers`, from the outermost, the line continues, and its text inside them."""
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
    """The context of the rest of a block that was split."""

    containers: tuple[Container, ...] = ()
    """The quotes and list items around it. Their markers are parsed again, but not shown again."""
    is_mid_line: bool = False
    """Whether the split was inside a line, so that the rest begins without markers."""
    head: str = ""
    """A table's header and delimiter row, parsed again for the rows that follow, but not shown again."""
    widths: tuple[int, ...] = ()
    """The natural widths of the table's columns, common to all its pieces."""
    rows: int = 0
    """The rows of the table in earlier pieces."""
    number: int | None = None
    """The number of the first list item."""

    @property
    def hidden_items(self) -> int:
        """The number of list markers at the beginning that are not shown."""
        return sum(isinstance(container, ListItem) for container in self.containers)

    @property
    def added_lines(self) -> int:
        return self.head.count("\n")

    def source(self, rest: str) -> str:
        """Return `rest` (from the split point on, as received) as Markdown that can be parsed by itself."""
        if self.head:
            return self.head + rest
        if not self.containers:
            return rest
        first, line_end, more = rest.partition("\n")
        inside = first if self.is_mid_line else enter(first, self.containers)[1]
        return markers(self.containers) + inside + line_end + more


WHOLE = Lead()
"""The lead of a block that is not the rest of another one."""
