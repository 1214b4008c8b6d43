"""All output of a background command, full screen."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content

from forge_tui import workers
from forge_tui.screens.panels.overlay import Overlay
from forge_tui.widgets.blockview.block_view import BlockView
from forge_tui.widgets.blockview.blocks import TextBlock

LOG_BYTES = 8 * 1024 * 1024
"""As much of the end of the output as is shown; all of it is in the file."""
_BLOCK_LINES = 100
"""Lines per block; only visible blocks are drawn."""
_KEYS = "R read again · Esc back"


def read_end(path: Path, size: int) -> str:
    """Return the whole lines in the last `size` bytes of a file; "" if it cannot be read."""
    try:
        with path.open("rb") as file:
            length = file.seek(0, os.SEEK_END)
            file.seek(max(length - size, 0))
            data = file.read(size)
    except OSError:
        return ""
    if length > size:
        data = data.partition(b"\n")[2] or data
    return data.decode("utf-8", "replace")


def _blocks(path: Path) -> tuple[list[TextBlock], bool]:
    """Return the output in blocks, and whether it is the end only."""
    lines = read_end(path, LOG_BYTES).rstrip("\n").split("\n")
    blocks = [
        TextBlock("\n".join(lines[at : at + _BLOCK_LINES])) for at in range(0, len(lines), _BLOCK_LINES)
    ]
    for block in blocks:
        block.gap = 0
    return blocks, path.stat().st_size > LOG_BYTES


class JobLog(workers.WorkerErrorsEndApp, Overlay[None]):
    """Shows the output as it was when it was read, from its end."""

    DEFAULT_CSS = """
    JobLog {
        background: $background;
        & > Vertical {
            background: $background;
            border: round $forge-muted;
            border-title-color: $foreground;
            border-subtitle-color: $forge-muted;
        }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,Q", "leave", show=False),
        Binding("ctrl+c,super+c", "copy", show=False),
        Binding("r,R", "reload", show=False),
        Binding("down,j", "scroll(1)", show=False),
        Binding("up,k", "scroll(-1)", show=False),
        Binding("pagedown,space", "page(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("home,g,ctrl+home", "end(-1)", show=False),
        Binding("end,G,ctrl+end", "end(1)", show=False),
    ]

    def __init__(self, title: str, path: Path | None) -> None:
        """`title` must be safe to show; without a `path` there is nothing to show."""
        super().__init__()
        self._path = path
        self._view = BlockView()
        self._frame = Vertical()  # a view of blocks draws no border
        self._frame.border_title = Content(title)
        self._frame.border_subtitle = _KEYS

    def compose(self) -> ComposeResult:
        with self._frame:
            yield self._view

    def on_mount(self) -> None:
        self.action_reload()

    def action_reload(self) -> None:
        """Read the output again, and go to its end."""
        workers.start(self, self._load, "log", is_replacing=True)

    async def _load(self) -> None:
        problem = "Its output could not be kept in a file, or the file is gone."
        blocks, is_cut = [TextBlock(problem)], False
        if self._path is not None and self._path.exists():
            blocks, is_cut = await asyncio.to_thread(_blocks, self._path)
        self._view.reset()
        for block in blocks:
            self._view.model.append(block)
        cut = f"the last {LOG_BYTES >> 20} MB · " if is_cut else ""
        self._frame.border_subtitle = f"{cut}{_KEYS}"
        self._view.scroll_to_end()

    def action_scroll(self, rows: int) -> None:
        self._view.scroll_rows(rows)

    def action_page(self, direction: int) -> None:
        self._view.page(direction)

    def action_end(self, direction: int) -> None:
        self._view.scroll_to_end() if direction > 0 else self._view.scroll_to_start()

    def action_copy(self) -> None:
        """Copy the selection; without one close the screen, as in the other overlays."""
        if text := self._view.selected_text():
            self.app.copy_to_clipboard(text)
            self._view.select(None)
        else:
            self.action_leave()
