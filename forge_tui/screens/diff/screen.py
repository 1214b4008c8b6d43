"""The screen of `/diff`: changes, file by file. Those of the last turn can be kept or reverted."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, ParamSpec

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Static

from forge_core.errors import ForgeError
from forge_core.sanitize import safe_line
from forge_core.text_width import cell_len, clip, clip_middle
from forge_core.workspace.change_source import ChangedFile, ChangeList, ChangeSource, Counts, FilePatch
from forge_tui import workers
from forge_tui.keymap import KeyContext, bindings
from forge_tui.keys.effective import effective_keys
from forge_tui.screens.diff.reviewer import Reviewer
from forge_tui.screens.panels.overlay import Overlay
from forge_tui.widgets.activity import mouse_released
from forge_tui.widgets.blockview.highlighting import language_of
from forge_tui.widgets.diff.diff_pane import DiffPane, ReadingPosition
from forge_tui.widgets.diff.drawing import fits_split
from forge_tui.widgets.diff.file_list import FileList, list_width
from forge_tui.widgets.diff.unified_diff import Patch, read_patch

if TYPE_CHECKING:
    from forge_core.session.changes import Source
    from forge_core.session.review import ChangeReview

P = ParamSpec("P")

WIDE = 120
"""Columns of the diff below which the list of files gives way to a requested side-by-side view."""
PANE_CELLS = 2
"""Columns of the diff that its lines do not have: the margin and the scroll bar."""
LIST_FROM = 100
"""Columns of the screen from which the list of files is shown by default."""
_KEYS = (
    ("] [", "hunk"),
    ("n p", "file"),
    ("b", "files"),
    ("v", "view"),
    ("E", "whole file"),
    ("s", "patch"),
    ("d", "source"),
    ("r", "reload"),
    ("?", "keys"),
    ("q", "close"),
)
_REVIEW_KEYS = (("a", "keep"), ("x", "revert"), ("X", "revert file"), ("u", "restore"))
"""Shown after the first keys, if the changes can be reverted."""
_SHORT_REVIEW_KEYS = (("a A", "keep"), ("x X", "revert"), ("u", "restore"))
"""The same keys, where there is no room for those."""
_IDS = {
    "] [": ("diff.next_hunk", "diff.previous_hunk"),
    "n p": ("diff.next_file", "diff.previous_file"),
    "b": ("diff.toggle_files",),
    "v": ("diff.toggle_split",),
    "E": ("diff.toggle_whole_file",),
    "s": ("diff.toggle_patch",),
    "d": ("diff.switch_source",),
    "r": ("diff.reload",),
    "?": ("diff.help",),
    "q": ("diff.close",),
    "a": ("diff.keep",),
    "x": ("diff.revert",),
    "X": ("diff.revert_file",),
    "u": ("diff.restore",),
    "a A": ("diff.keep", "diff.keep_file"),
    "x X": ("diff.revert", "diff.revert_file"),
}
_KEYS_BEFORE_REVIEW = 2
_LAST_KEYS = ("?", "q")
"""The keys that are shown also if there is no room for all."""


class DiffScreen(workers.WorkerErrorsEndApp, Overlay[None]):
    """Shows the changed files of one source. A file is read when it is shown."""

    DEFAULT_CSS = """
    DiffScreen {
        align: left top;
        background: $background;
        layout: vertical;
        & > .bar { height: 1; padding: 0 1; background: $surface; text-wrap: nowrap; }
        & > .keys.-long { height: auto; max-height: 3; text-wrap: wrap; }
        & > Horizontal { height: 1fr; }
        & > .keys { color: $forge-muted; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyContext.DIFF)]

    def __init__(
        self,
        changes_of: Callable[[Source], ChangeSource],
        source: Source,
        review: ChangeReview | None = None,
    ) -> None:
        """Without `review`, nothing can be reverted."""
        super().__init__()
        self._reviewer = Reviewer(review)
        self._changes_of = changes_of
        self._source: Source = source
        self._shown_source = source
        self._changes: ChangeSource = changes_of(source)
        self._list = ChangeList("")
        self._counts: dict[str, Counts] = {}
        self._index = 0
        self._patch = FilePatch()
        self._read = Patch()
        """The hunks of `_patch`."""
        self._is_split: bool | None = None
        """None: if both sides of the file have room."""
        self._is_whole = False
        self._is_raw = False
        self._left_at: ReadingPosition | None = None
        """The position in the file before it was shown as a patch."""
        self._drawn_split = False
        self._reverted = ""
        """The path of a file of which only kept hunks are left, until the list is read again."""
        self._shows_list: bool | None = None
        """None: if there is room and more than one file."""
        self._header = Static(classes="bar", markup=False)
        self._footer = Static(classes="bar keys", markup=False)
        self.files = FileList()
        self.pane = DiffPane()

    def compose(self) -> ComposeResult:
        yield self._header
        with Horizontal():
            yield self.files
            yield self.pane
        yield self._footer

    def on_mount(self) -> None:
        self.files.display = False
        if self.activity is not None:  # this screen covers it, and shows its notes
            self.watch(self.activity, "note_text", self._say)
            self.watch(self.activity, "is_mouse_released", self._say)
        self.action_reload()

    def on_resize(self) -> None:
        self._arrange()

    @property
    def file(self) -> ChangedFile | None:
        """The current file."""
        return self._list.files[self._index] if self._list.files else None

    # Reading

    def action_reload(self) -> None:
        """Read the list of files again, then the figures."""
        workers.start(self, self._read_list, "diff-list", is_replacing=True)

    async def _read_list(self) -> None:
        path = self.file.path if self.file is not None else ""
        changes = self._changes_of(self._source)
        found = await changes.read()
        self._changes, self._list, self._counts = changes, found, {}
        paths = [file.path for file in found.files]
        near = min(self._index, max(0, len(paths) - 1)) if self._shown_source == self._source else 0
        reverted, self._reverted = self._reverted, ""
        is_done = path in paths[:-1] and path == reverted
        self._index = paths.index(path) + is_done if path in paths else near
        self._shown_source = self._source
        self._load(place=self.pane.place if path in paths and not is_done else None)
        self._read = Patch()  # the previous file stays on screen until the next one has been read
        self._arrange()
        async for counts in changes.counts(found.files):
            self._counts |= counts
            self.files.show_counts(self._counts)
            self._say()

    def _load(self, *, place: ReadingPosition | None = None, is_last: bool = False) -> None:
        self._reviewer.hide()
        workers.start(self, partial(self._read_file, place, is_last), "diff-file", is_replacing=True)

    async def _read_file(self, place: ReadingPosition | None, is_last: bool) -> None:
        file = self.file
        if file is not None:
            self._patch = await self._changes.patch(file, is_whole=self._is_whole)
            self._read = await asyncio.to_thread(read_patch, self._patch.text)
        await self._reviewer.show(self._changes, file)
        self._draw(place=place, is_last=is_last)

    # Showing

    @property
    def _has_list(self) -> bool:
        """Whether the list of files shows. A requested side-by-side view takes precedence over it."""
        if self._shows_list is not None:
            return self._shows_list
        width = self.size.width
        is_in_the_way = self._is_split is True and width - list_width(width) < WIDE
        return width >= LIST_FROM and len(self._list.files) > 1 and not is_in_the_way

    @property
    def _splits(self) -> bool:
        if self._is_split is not None:
            return self._is_split
        list_cells = list_width(self.size.width) if self._has_list else 0
        return fits_split(self._read, self.size.width - list_cells - PANE_CELLS)

    def _draw(self, *, place: ReadingPosition | None = None, is_last: bool = False) -> None:
        """Show the file in the pane, in the selected form."""
        file = self.file
        if file is None:
            other = "d shows the working tree." if self._source == "turn" else "d shows the last turn."
            self.pane.show_words(self._list.remark, other)
        elif self._is_raw and self._patch.text:
            self.pane.show_raw(self._patch.text)
        elif self._patch.remark or not len(self._read):
            mark = "✓ kept" if self._reviewer.is_whole_kept else ""
            self.pane.show_words(self._patch.remark or "There is nothing to show of it.", mark)
        else:
            language = language_of(file.path)
            self.pane.show_patch(
                self._read,
                language,
                is_split=self._splits,
                place=place,
                is_last=is_last,
                kept=self._reviewer.kept,
            )
        self._drawn_split = self._splits
        self._say()

    def _arrange(self) -> None:
        """Fit the parts to the screen."""
        self.files.display = self._has_list
        self.files.styles.width = list_width(self.size.width)
        self.files.show(self._list.files, self._counts, self._index)
        if self._read.hunks and not self._is_raw and self._drawn_split != self._splits:
            self._draw(place=self.pane.place)
        self._say()

    def _say(self) -> None:
        width = max(8, self.size.width - 2)
        counts = self._counts.get(self.file.path) if self.file is not None else None
        self._header.update(header_line(self._list, self.file, self._index, counts, width))
        text = self._footer_text(width)
        self._footer.set_class(text.cell_length > width, "-long")
        self._footer.update(text)

    def _footer_text(self, width: int) -> Content:
        """Return the keys in one row, or the current note of the activity line, which is covered, of any
        length."""
        line = self.activity
        if line is not None and line.note_text:
            return Content.styled(line.note_text, "$foreground")
        lent = f"{mouse_released()[0]} · " if line is not None and line.is_mouse_released else ""
        return Content(lent) + footer_line(
            width - cell_len(lent),
            is_raw=self._is_raw,
            is_whole=self._is_whole,
            can_revert=self._reviewer.can_revert,
        )

    # Keys

    def _go_to_file(self, index: int, *, is_last: bool = False) -> bool:
        if not 0 <= index < len(self._list.files) or index == self._index:
            return False
        self._index, self._left_at = index, None
        self.files.choose(index)
        self._say()
        self._load(is_last=is_last)
        return True

    def action_hunk(self, direction: int) -> None:
        if not self.pane.step(direction) and not self._go_to_file(
            self._index + direction, is_last=direction < 0
        ):
            self.app.bell()

    def action_file(self, direction: int) -> None:
        if not self._go_to_file(self._index + direction):
            self.app.bell()

    def action_keep(self) -> None:
        """Mark the current hunk as kept and go to the next one that is not, or remove the mark."""
        is_kept = self._mark(partial(self._reviewer.keep, self.pane.current))
        if is_kept and not self.pane.step_past_kept():
            self.action_file(1)

    def action_keep_file(self) -> None:
        """Mark the whole file as kept, or remove the marks."""
        self._mark(self._reviewer.keep_file)

    def _mark(self, act: Callable[[], bool]) -> bool:
        try:
            is_kept = act()
        except ForgeError as error:
            self._note(str(error))
            return False
        self._draw(place=self.pane.place)
        return is_kept

    def action_revert(self) -> None:
        """Revert the current hunk; a file without hunks as a whole."""
        workers.start(
            self, partial(self._run_review, self._reviewer.revert, self.pane.current), "diff-revert"
        )

    def action_revert_file(self) -> None:
        """Revert what is not kept of the file, and go to the next one."""
        workers.start(self, partial(self._run_review, self._revert_file), "diff-revert")

    async def _revert_file(self) -> str:
        path = self.file.path if self.file is not None else ""
        done = await self._reviewer.revert_file()
        self._reverted = path
        return done

    def action_restore(self) -> None:
        """Undo the last revert."""
        workers.start(self, partial(self._run_review, self._reviewer.restore), "diff-revert")

    async def _run_review(self, act: Callable[P, Awaitable[str]], *args: P.args, **kwargs: P.kwargs) -> None:
        try:
            done = await act(*args, **kwargs)
        except ForgeError as error:
            self._note(str(error))
        else:
            self._note(f"{done}.")
            self.action_reload()

    def _note(self, text: str) -> None:
        if self.activity is not None:
            self.activity.note(text)

    def action_list(self) -> None:
        self._shows_list = not self._has_list
        self._arrange()

    def action_split(self) -> None:
        self._is_split = not self._splits
        self._arrange()

    def action_raw(self) -> None:
        self._left_at, place = self.pane.place, self._left_at
        self._is_raw = not self._is_raw
        self._draw(place=place)

    def action_whole(self) -> None:
        self._is_whole = not self._is_whole
        self._load(place=self.pane.place)
        self._say()

    def action_source(self) -> None:
        self._source = "worktree" if self._source == "turn" else "turn"
        self._left_at = None
        self.action_reload()

    def action_scroll(self, rows: int) -> None:
        self.pane.scroll_rows(rows)

    def action_page(self, direction: int) -> None:
        self.pane.page(direction)

    def action_end(self, direction: int) -> None:
        self.pane.scroll_to_end() if direction > 0 else self.pane.scroll_to_start()

    def action_copy(self) -> None:
        """Copy the selection; without one close the screen, as in the other overlays."""
        if text := self.pane.selected_text():
            self.app.copy_to_clipboard(text)
            self.pane.select(None)
        else:
            self.action_leave()

    def action_keys(self) -> None:
        from forge_tui.screens.panels.help import HelpScreen, keys_content

        self.app.push_screen(HelpScreen(partial(keys_content, part=KeyContext.DIFF)))

    def on_file_list_clicked(self, event: FileList.Clicked) -> None:
        event.stop()
        self._go_to_file(event.index)


def header_line(
    found: ChangeList, file: ChangedFile | None, index: int, counts: Counts | None, width: int
) -> Content:
    """Return the source, the file, its index, and the numbers of added and removed lines."""
    if file is None:
        return Content.styled(clip(safe_line(found.title), width), "bold")
    added, removed = (counts.added, counts.removed) if counts is not None else (0, 0)
    figures = (
        (safe_line(file.note), "$forge-muted"),
        (f"{index + 1}/{len(found.files)}", "$forge-muted"),
        (f"+{added}" if added else "", "$diff-added"),
        (f"−{removed}" if removed else "", "$diff-removed"),
    )
    right = [(f"  {text}", style) for text, style in figures if text]
    room = max(12, width - sum(cell_len(text) for text, _ in right))
    name = safe_line(f"{file.old_path} → {file.path}" if file.old_path else file.path)
    name = clip_middle(name, room * 2 // 3)
    title = clip(safe_line(found.title), max(8, room - cell_len(name) - 2))
    blank = " " * max(0, room - cell_len(title) - cell_len(name) - 2)
    return Content.assemble((title, "$forge-muted"), "  ", (name, "bold"), blank, *right)


def footer_line(width: int, *, is_raw: bool, is_whole: bool, can_revert: bool = False) -> Content:
    """Return as many keys as there is room for."""
    names = {"s": "hunks" if is_raw else "patch", "E": "hunks only" if is_whole else "whole file"}
    keys = [(key, names.get(key, name)) for key, name in _KEYS]
    if can_revert:
        first, rest = keys[:_KEYS_BEFORE_REVIEW], keys[_KEYS_BEFORE_REVIEW:]
        last = [one for one in rest if one[0] in _LAST_KEYS]
        fits = _keys_width([*first, *_REVIEW_KEYS, *last]) <= width
        keys = [*first, *(_REVIEW_KEYS if fits else _SHORT_REVIEW_KEYS), *rest]
    while _keys_width(keys) > width and len(keys) > len(_LAST_KEYS):
        keys.pop(next(at for at in range(len(keys) - 1, -1, -1) if keys[at][0] not in _LAST_KEYS))
    parts: list[Content] = [Content.assemble((_shown(key), "$foreground"), f" {name}") for key, name in keys]
    return Content(" · ").join(parts)


def _keys_width(keys: Sequence[tuple[str, str]]) -> int:
    return sum(cell_len(f"{_shown(key)} {name}") + 3 for key, name in keys) - 3


def _shown(key: str) -> str:
    """Return the key in effect for one of the footer's."""
    return effective_keys().hint(key, *_IDS[key])
