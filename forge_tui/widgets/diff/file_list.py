"""The list of changed files, one per row with its counts. Only visible rows are drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from forge_core.sanitize import safe_line
from forge_core.text_width import cell_len, clip, clip_middle
from forge_core.workspace.change_source import ChangedFile, ChangeStatus, Counts
from forge_tui.widgets.role_strip import role_strip, role_style

_LETTERS = {
    ChangeStatus.ADDED: "A",
    ChangeStatus.UNTRACKED: "?",
    ChangeStatus.CHANGED: "M",
    ChangeStatus.DELETED: "D",
    ChangeStatus.RENAMED: "R",
    ChangeStatus.CONFLICT: "!",
}


def list_width(columns: int) -> int:
    """Return the width of the list on a screen of so many columns: names are readable, and the diff has most
    of it."""
    return min(46, max(28, columns // 4))


def cut_path(path: str, room: int) -> str:
    """Return `path` in `room` cells, with its last part whole if that fits."""
    head, slash, last = path.rpartition("/")
    if cell_len(path) <= room or not slash or cell_len(last) + 2 > room:
        return clip_middle(path, room)
    return f"{clip(head, room - cell_len(last) - 1)}/{last}"


class FileList(ScrollView):
    """The files; the screen handles the keys, a click chooses one."""

    DEFAULT_CSS = """
    FileList {
        height: 1fr;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size-vertical: 1;
        scrollbar-background: $background;
        scrollbar-background-hover: $background;
        scrollbar-background-active: $background;
        scrollbar-color: $foreground 15%;
        border-right: solid $forge-faint;
        & > .files--chosen { background: $panel; text-style: bold; }
        & > .files--muted { color: $forge-muted; }
        & > .files--added { color: $diff-added; }
        & > .files--removed { color: $diff-removed; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"files--{role}" for role in ("chosen", "muted", "added", "removed")
    }
    can_focus = False

    class Clicked(Message):
        """A row was clicked."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    def __init__(self) -> None:
        super().__init__()
        self._files: Sequence[ChangedFile] = ()
        self._counts: Mapping[str, Counts] = {}
        self._chosen = 0

    def show(self, files: Sequence[ChangedFile], counts: Mapping[str, Counts], chosen: int) -> None:
        """Show other files."""
        self._files, self._counts = files, counts
        self.virtual_size = Size(1, len(files))
        self.choose(chosen)

    def show_counts(self, counts: Mapping[str, Counts]) -> None:
        """Show the counts of the files; the scroll position does not change."""
        self._counts = counts
        self.refresh()

    def choose(self, index: int) -> None:
        """Mark a row, and scroll it into view."""
        self._chosen = index
        self.scroll_to_region(Region(0, index, 1, 1), animate=False, force=True)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        index = y + round(self.scroll_y)
        width = self.scrollable_content_region.width
        if not 0 <= index < len(self._files):
            return Strip.blank(width, self.rich_style)
        file = self._files[index]
        is_chosen = index == self._chosen
        base = self.rich_style + role_style(self, "files", "chosen") if is_chosen else self.rich_style
        figures = self._figures(file)
        room = max(4, width - 3 - sum(cell_len(text) for text, _ in figures))
        name = safe_line(file.path)
        _, slash, last = name.rpartition("/")
        shown = cut_path(name, room)
        # The last part identifies the file; if it is whole, the folders before it are muted.
        tail = last if slash and shown.endswith("/" + last) else shown
        texts = [
            ("muted", f" {_LETTERS[file.status]} {shown[: len(shown) - len(tail)]}"),
            ("plain", tail + " " * max(0, room - cell_len(shown))),
            *((name, text) for text, name in figures),
        ]
        return role_strip(self, "files", texts, base).adjust_cell_length(width, base)

    def _figures(self, file: ChangedFile) -> list[tuple[str, str]]:
        counts = self._counts.get(file.path)
        if counts is None:
            return []
        if counts.added is None or counts.removed is None:
            return [(" binary ", "muted")]
        parts = []
        if counts.added:
            parts.append((f" +{counts.added}", "added"))
        if counts.removed:
            parts.append((f" −{counts.removed}", "removed"))
        return [*parts, (" ", "muted")]

    async def _on_click(self, event: events.Click) -> None:
        index = event.y + round(self.scroll_y)
        if 0 <= index < len(self._files):
            self.post_message(self.Clicked(index))
