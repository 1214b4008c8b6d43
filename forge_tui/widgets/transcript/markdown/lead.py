"""How a piece of Markdown goes on inside what an earlier piece has opened."""

from __future__ import annotations

from dataclasses import dataclass

from forge_tui.widgets.transcript.markdown.containers import Container, Item, enter, markers


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
        return sum(isinstance(container, Item) for container in self.containers)

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
