"""What all prompts share: a place, a grace before keys count, and a draft that loses nothing.

A prompt stands where the composer was, so the conversation above stays visible. Keys count only after half a
second without any, so that what was being typed when it appeared never answers it.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Callable
from typing import Generic, TypeAlias, TypeVar

from textual import events
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Size
from textual.widgets import Static

from forge_tui.terminal import internals
from forge_tui.widgets.composer import writes

Reply = TypeVar("Reply")
StrayKeys: TypeAlias = Callable[[events.Key | events.Paste], None]

GRACE_S = 0.5
FRAME_CELLS = 4
"""Of a row: the border and the padding."""
FRAME_ROWS = 2
BESIDE_ROWS = 2
"""The activity line and the status bar."""
SMALL = 20
"""Rows of a terminal below which a prompt has no blank lines."""


class Prompt(Vertical, Generic[Reply], can_focus=True):
    """Puts something to the person and resolves `reply`."""

    DEFAULT_CSS = """
    Prompt {
        height: auto;
        max-height: 100%;
        padding: 0 1;
        background: $background;
        border: round $accent;
        border-title-color: $accent;
        border-title-style: bold;
        border-subtitle-color: $forge-muted;
        & > #problem { color: $warning; display: none; }
        & > LineInput { display: none; }
        &.-writing > LineInput { display: block; }
    }
    """

    def __init__(self, *, id: str, clock: Callable[[], float], on_stray: StrayKeys) -> None:  # noqa: A002
        super().__init__(id=id)
        self._clock = clock
        self._on_stray = on_stray
        self._armed_at = clock() + GRACE_S
        self.reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()

    @property
    @abstractmethod
    def heading(self) -> str:
        """The title, safe to show."""

    @property
    def counts(self) -> str:
        """What the title ends with, where there is room; safe to show."""
        return ""

    @property
    def is_writing(self) -> bool:
        """Whether a line of the prompt has the keys."""
        return self.has_class("-writing")

    def show_waiting(self, count: int) -> None:
        """Say how many more prompts wait."""
        more = f" ({count} more waiting)" if count else ""
        counts = f" · {self.counts}" if self.counts else ""
        self.border_title = Content(self.heading + more + counts)

    def rearm(self) -> None:
        """Let keys and clicks count only after another grace."""
        self._armed_at = self._clock() + GRACE_S

    @property
    def is_armed(self) -> bool:
        return self._clock() >= self._armed_at

    def resolve(self, reply: Reply) -> None:
        if not self.reply.done():
            self.reply.set_result(reply)

    def takes(self, key: str) -> bool:
        """Whether a printable key means something here; else it is text for the next message."""
        return bool(internals.bound(self, key))

    async def on_event(self, event: events.Event) -> None:
        """Keys in the grace, text that is no answer and pastes go to the draft, and start the grace anew."""
        if isinstance(event, events.Key | events.Paste) and self._is_stray(event):
            self.rearm()
            event.stop()
            self._on_stray(event)
            return
        await super().on_event(event)

    def _is_stray(self, event: events.Key | events.Paste) -> bool:
        if self.is_writing:
            return False  # the line's own
        if isinstance(event, events.Paste) or not self.is_armed:
            return True
        return writes(event) and not self.takes(event.key)


def place(part: Static, text: str, width: int, rows: int) -> int:
    """Show the text in at most so many rows; gives the rows it takes."""
    part.display = bool(text) and rows > 0
    if not part.display:
        return 0
    part.update(Content(text))
    part.styles.max_height = rows
    return min(part.get_content_height(Size(width, rows), Size(width, rows), width), rows)


def first_fitting(variants: list[str], width: int) -> str:
    """The first of these texts that fits, else the last."""
    return next((text for text in variants if len(text) <= width), variants[-1])
