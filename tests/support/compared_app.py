"""The real app on two emulated terminals at once: one gets each frame by the output stage, the other as
Textual itself writes it, from all layers of the screen. After each frame both must show the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from rich.console import RenderableType
from textual import events
from textual._compositor import ChopsUpdate, Compositor, LayoutUpdate
from textual.app import App
from textual.driver import Driver
from textual.geometry import Region, Size
from textual.screen import Screen
from wcwidth import wcswidth

from forge_tui.terminal import compositor
from forge_tui.terminal.input import TerminalInput
from forge_tui.terminal.screen_model import Piece
from tests.support.chat_app import ChatApp
from tests.support.terminal import Emulator


class View:
    """An emulated terminal, and how much has been written to it."""

    def __init__(self, size: tuple[int, int], rubbish: str) -> None:
        self.emulator = Emulator(*size)
        self.emulator.feed("\x1b[?7l")
        self.bytes = 0
        self._rubbish = rubbish

    def feed(self, data: str) -> None:
        self.bytes += len(data.encode())
        self.emulator.feed(data)

    def resize(self, width: int, height: int) -> None:
        """Nobody knows what a terminal makes of its screen now: it shows something else in each of them."""
        self.emulator.resize(width, height)
        rows = (f"\x1b[{y + 1};1H{self._rubbish * width}" for y in range(height))
        self.emulator.feed("\x1b[0;35m" + "".join(rows) + "\x1b[0m")


class ComparedDriver(Driver):
    """Writes to the view that `target` is, and reads what `feed` gives."""

    target: View

    def write(self, data: str) -> None:
        self.target.feed(data)

    def start_application_mode(self) -> None:
        assert self._size is not None
        self.resize(*self._size)

    def stop_application_mode(self) -> None: ...

    def disable_input(self) -> None: ...

    def resize(self, width: int, height: int) -> None:
        self.send_message(events.Resize(Size(width, height), Size(width, height)))


class _TwiceCompositor(compositor.DirtyRegionCompositor):
    """Draws what is painted once more, as Textual does: from everything on the screen."""

    def render_partial_update(self) -> ChopsUpdate | None:
        regions = set(self._dirty_regions)
        update = super().render_partial_update()
        self._dirty_regions = regions
        whole = Compositor.render_partial_update(self)
        if update is not None:
            update.whole = whole  # type: ignore[attr-defined]
        return update


class ComparedApp(ChatApp):
    """Set up by `compared`."""

    ours: View
    theirs: View
    frames: int
    """Compared so far."""
    pieces: int
    """Frames that were painted past the compositor."""
    difference: str
    """The first one found."""
    halves: int
    """How often Textual left half of a wide character out, so that its screen had to be painted again."""
    is_repainted: bool
    """Whether all of the screen has been written since the last change of size."""

    def compare_from(self, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
        """Gets the app ready to be run at `size`."""
        monkeypatch.setattr(compositor, "DirtyRegionCompositor", _TwiceCompositor)
        self.chat._compositor = _TwiceCompositor()
        self.driver_class = ComparedDriver
        self.ours, self.theirs = View(size, "/"), View(size, "#")
        self.frames, self.halves, self.difference, self.is_repainted = 0, 0, "", False
        self.pieces = 0
        self._input = TerminalInput()

    @property
    def driver(self) -> ComparedDriver:
        assert isinstance(self._driver, ComparedDriver)
        return self._driver

    def _build_driver(
        self, headless: bool, inline: bool, mouse: bool, size: tuple[int, int] | None
    ) -> Driver:
        driver = super()._build_driver(headless, inline, mouse, size)
        assert isinstance(driver, ComparedDriver)
        driver.target = self.ours
        return driver

    async def type(self, keys: str) -> None:
        """Bytes come from the terminal, then nothing for so long that an Escape is one."""
        messages = self._input.feed(keys.encode())
        if (wait_s := self._input.wait_s) is not None:
            await asyncio.sleep(wait_s)
            messages += self._input.tick()
        for message in messages:
            self.driver.process_message(message)

    def resize(self, width: int, height: int) -> None:
        """The terminal gets another size."""
        self.is_repainted = False
        for view in (self.ours, self.theirs):
            view.resize(width, height)
        self.driver.resize(width, height)

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        super()._display(screen, renderable)
        if renderable is None or self._batch_count or not self._running or self._driver is None:
            return
        with self._written_to_theirs():
            App._display(self, screen, getattr(renderable, "whole", renderable))
        width, height = self.ours.emulator.screen.columns, self.ours.emulator.screen.lines
        if isinstance(renderable, LayoutUpdate) and renderable.region.size == (width, height):
            self.is_repainted = True
        if self.is_repainted:
            self.compare()

    def paint_pieces(self, pieces: Sequence[Piece]) -> bool:
        is_painted = super().paint_pieces(pieces)
        if is_painted:
            self.pieces += 1
            painter = self.screen._compositor
            due, painter._dirty_regions = (
                painter._dirty_regions,
                {Region(x, y, strip.cell_length, 1) for y, x, strip in pieces},
            )
            with self._written_to_theirs():
                App._display(self, self.screen, Compositor.render_partial_update(painter))
            painter._dirty_regions = due
            if self.is_repainted:
                self.compare()
        return is_painted

    @contextmanager
    def _written_to_theirs(self) -> Iterator[None]:
        cursor, self.driver.target = self._previous_cursor_position, self.theirs
        try:
            yield
        finally:
            self._previous_cursor_position, self.driver.target = cursor, self.ours

    def compare(self, rows: Iterable[int] = ()) -> None:
        """Compares what has been written to since the last time, and `rows`; keeps the first difference."""
        self.frames += 1
        one, other = self.ours.emulator, self.theirs.emulator
        changed = sorted(one.screen.dirty | other.screen.dirty | set(rows))
        different = _differences(one, other, changed)
        if different and all(cell.is_half for cell in different):
            self.halves += 1
            self._repaint_theirs()
            different = _differences(one, other, range(one.screen.lines))
        one.screen.dirty.clear()
        other.screen.dirty.clear()
        expected, cursor = self._cursor()[1], one.screen.cursor
        if (cursor.x, cursor.y) != expected:  # Textual moves it to the caret only now and then
            different.append(_Difference(-1, -1, (cursor.x, cursor.y), tuple(expected)))
        if not self.difference:
            self.difference = "\n".join(map(str, different[:9]))

    def _repaint_theirs(self) -> None:
        compositor = self.screen._compositor
        regions = set(compositor._dirty_regions)
        whole = compositor.render_full_update()
        compositor._dirty_regions = regions
        with self._written_to_theirs():
            App._display(self, self.screen, whole)


@dataclass(frozen=True, slots=True)
class _Difference:
    """What the two terminals show at one place; row -1 is the cursor, and what it should be."""

    row: int
    column: int
    one: Any
    other: Any

    @property
    def is_half(self) -> bool:
        """Whether Textual has cut a wide character: it writes no more of it than lies in what it paints."""
        if self.row < 0 or self.other.data != " " or self.one[1:] != self.other[1:]:
            return False
        return self.one.data == "" or wcswidth(self.one.data) == 2


def _differences(one: Emulator, other: Emulator, rows: Iterable[int]) -> list[_Difference]:
    """Every cell of the rows that differs."""
    for terminal in (one, other):
        terminal.lines()  # draws what was held back
    found = []
    for y in rows:
        a, b = one.screen.buffer[y], other.screen.buffer[y]
        if y < one.screen.lines and a != b:
            pairs = ((x, a[x], b[x]) for x in range(one.screen.columns))
            found += [_Difference(y, x, *pair) for x, *pair in pairs if pair[0] != pair[1]]
    return found
