"""The picker of saved sessions: found by any part of their title or messages, renamed, copied, deleted."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Input, Static

from forge_core.commands.figures import dollars
from forge_core.durations import time_ago
from forge_core.errors import ForgeError
from forge_core.sanitize import safe_line
from forge_tui import workers
from forge_tui.keymap import KeyContext, bindings
from forge_tui.screens.panels.overlay import Overlay
from forge_tui.widgets.choices import Choice, ChoiceList

if TYPE_CHECKING:
    from forge_core.session.saved_sessions import SavedSessions, SessionSummary

_KEYS = "Enter continue · Tab folders · ^R rename · ^F fork · ^X delete"


def matching(sessions: Sequence[SessionSummary], query: str) -> list[SessionSummary]:
    """Return the sessions that match, the best first, else in their order.

    A match has all words of the query in its title, folder and last message, or all letters in order in its
    title.
    """
    words = query.casefold().split()
    ranked = [(rank, one) for one in sessions if (rank := _rank(one, words)) is not None]
    return [one for _, one in sorted(ranked, key=lambda entry: entry[0])]


def _rank(one: SessionSummary, words: Sequence[str]) -> int | None:
    title = one.title.casefold()
    if all(word in title for word in words):
        return 0
    text = f"{title}\n{one.preview}\n{one.working_dir}\n{one.id}".casefold()
    if all(word in text for word in words):
        return 1
    letters = iter(title)
    return 2 if all(letter in letters for letter in "".join(words)) else None


class SessionPicker(workers.WorkerErrorsEndApp, Overlay[tuple[str, bool] | None]):
    """Returns the id of the chosen session and whether to continue in a copy; None without a choice."""

    DEFAULT_CSS = """
    SessionPicker { align: center top; }
    SessionPicker > .panel { margin-top: 2; width: 96; }
    SessionPicker Input { border: none; padding: 0; height: 1; background: $surface; margin-bottom: 1; }
    SessionPicker .about { color: $forge-muted; height: 1; margin-top: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyContext.SESSIONS)]

    def __init__(
        self,
        sessions: SavedSessions,
        folder: Path,
        *,
        current: str = "",
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`current` is the id of the session that is open; `clock` gives seconds since the epoch."""
        super().__init__()
        self._sessions = sessions
        self._folder = folder
        self._current = current
        self._clock = clock
        self._is_everywhere = False
        self._all: list[SessionSummary] | None = None
        self._found: list[SessionSummary] = []
        self._renamed: SessionSummary | None = None
        """The session whose new title is being typed."""
        self._query = ""
        """What was searched for before."""
        self._doomed = ""
        """The id of the session that the next Ctrl+X deletes."""

    def compose(self) -> ComposeResult:
        with Vertical(classes="panel") as panel:
            panel.border_subtitle = _KEYS
            search = Input(placeholder="Type to search", compact=True, select_on_focus=False)
            search.cursor_blink = False
            yield search
            yield ChoiceList([Choice("Reading the sessions …")], max_rows=12)
            yield Static("", classes="about", markup=False)

    def on_mount(self) -> None:
        self.query_one(Input).focus()
        self._show_title()
        workers.start(self, self._load, "sessions")

    async def _load(self) -> None:
        self._all = await asyncio.to_thread(self._sessions.list)
        if self._all and not self._here():
            self._is_everywhere = True
        self._show()

    def _here(self) -> list[SessionSummary]:
        folder = str(self._folder)
        return [one for one in self._all or () if self._is_everywhere or one.working_dir == folder]

    # What shows

    def _show_title(self) -> None:
        where = "all folders" if self._is_everywhere else "this folder"
        self.query_one(".panel").border_title = f"Sessions of {where}"

    def _show(self, *, keeps: str = "") -> None:
        """Show what is found, with the session of the id `keeps` chosen if it is among them."""
        if self._all is None:
            return
        self._show_title()
        self._found = matching(self._here(), self._query)
        chosen = next((at for at, one in enumerate(self._found) if one.id == keeps), 0)
        nothing = "Nothing found" if self._query else "There are no saved sessions yet"
        self.query_one(ChoiceList).show([*map(self._row, self._found)] or [Choice(nothing)], chosen)
        self._show_about()

    def _row(self, one: SessionSummary) -> Choice:
        facts = [
            "open" if one.id == self._current else time_ago(self._clock() - one.updated),
            f"{one.turns} turn{'s'[: one.turns != 1]}",
            "" if one.cost_usd is None else dollars(one.cost_usd),
            safe_line(Path(one.working_dir).name) if self._is_everywhere else "",
        ]
        return Choice(safe_line(one.title), detail=" · ".join(filter(None, facts)))

    def _show_about(self, text: str = "") -> None:
        if not text and (one := self._chosen()) is not None:
            text = safe_line(f"{one.preview}")
        self.query_one(".about", Static).update(text)

    def _chosen(self) -> SessionSummary | None:
        index = self.query_one(ChoiceList).chosen
        return self._found[index] if 0 <= index < len(self._found) else None

    # Keys

    def on_input_changed(self, event: Input.Changed) -> None:
        self._doomed = ""
        if self._renamed is None:
            self._query = event.value
            self._show()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if self._renamed is None:
            self._accept(is_fork=False)
        else:
            self._change(partial(self._sessions.rename, self._renamed.id, event.value), self._renamed.id)

    def on_choice_list_clicked(self, event: ChoiceList.Clicked) -> None:
        event.choices.choose(event.index)
        self._accept(is_fork=False)

    def action_move(self, by: int) -> None:
        self._doomed = ""
        if self._renamed is None:
            self.query_one(ChoiceList).move(by)
            self._show_about()

    def action_toggle_folders(self) -> None:
        if self._renamed is None:
            self._is_everywhere = not self._is_everywhere
            self._show()

    def action_fork(self) -> None:
        self._accept(is_fork=True)

    def action_rename(self) -> None:
        """Take a new title for the chosen session from the input."""
        if self._renamed is None and (one := self._chosen()) is not None:
            self._renamed = one
            search = self.query_one(Input)
            search.value, search.cursor_position = one.title, len(one.title)
            self._show_about("The new title; Enter saves it, Esc keeps the old one")

    def action_delete(self) -> None:
        """Delete the chosen session at the second press."""
        one = self._chosen()
        if one is None or self._renamed is not None:
            return
        if one.id == self._current:
            self._show_about("This session is open. Leave it before you delete it.")
        elif self._doomed != one.id:
            self._doomed = one.id
            self._show_about(f"Ctrl+X again deletes {safe_line(one.title)!r} with its undo data")
        else:
            self._change(partial(self._sessions.delete, one.id), "")

    def action_leave(self) -> None:
        if self._renamed is not None:
            self._end_renaming()
            self._show_about()
        else:
            self.dismiss(None)

    def _accept(self, *, is_fork: bool) -> None:
        if self._renamed is None and (one := self._chosen()) is not None:
            self.dismiss((one.id, is_fork))

    # Changes

    def _end_renaming(self) -> None:
        self._renamed = None
        self.query_one(Input).value = self._query

    def _change(self, change: Callable[[], object], keeps: str) -> None:
        workers.start(self, partial(self._run_change, change, keeps), "change")

    async def _run_change(self, change: Callable[[], object], keeps: str) -> None:
        """Change a session in a thread, and show the list that results."""
        self._doomed = ""
        try:
            await asyncio.to_thread(change)
        except ForgeError as error:
            self._show_about(safe_line(str(error)))
            return
        if self._renamed is not None:
            self._end_renaming()
        self._all = await asyncio.to_thread(self._sessions.list)
        self._show(keeps=keeps)
