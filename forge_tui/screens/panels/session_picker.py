"""The picker of saved sessions: found by any part of their title or messages, renamed, copied, deleted."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Input, Static

from forge_core.commands.figures import session_cost_text
from forge_core.durations import time_ago
from forge_core.errors import ForgeError
from forge_core.sanitize import safe_line
from forge_core.text_width import clip
from forge_tui import workers
from forge_tui.keymap import KeyContext, bindings
from forge_tui.keys.effective import effective_keys
from forge_tui.screens.panels.overlay import Overlay, PanelInput
from forge_tui.widgets.choices import NONE_CHOSEN, Choice, ChoiceList

if TYPE_CHECKING:
    from forge_core.session.saved_sessions import SavedSessions, SessionSummary
    from forge_core.session.session import ForgeSession

_TITLE_CELLS = 40
"""Of a title in a sentence."""


def _keys_hint(*, is_empty: bool = False) -> str:
    """Return the keys of the picker."""
    keys = effective_keys()
    folders = f"{keys.hint('Tab', 'sessions.folders')} folders"
    if is_empty:
        return f"{folders} · Esc close"
    rename, fork = keys.hint("Ctrl+R", "sessions.rename"), keys.hint("Ctrl+F", "sessions.fork")
    delete = keys.hint("Ctrl+X", "sessions.delete")
    return f"Enter continue · {folders} · {rename} rename · {fork} fork · {delete} delete"


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
    SessionPicker .about { color: $forge-muted; height: 2; margin-top: 1; }
    SessionPicker .about.-facts { text-wrap: nowrap; text-overflow: ellipsis; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyContext.SESSIONS)]

    def __init__(
        self,
        sessions: SavedSessions,
        folder: Path,
        session: ForgeSession | None = None,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`session` is the one that is open; `clock` gives seconds since the epoch."""
        super().__init__()
        self._sessions = sessions
        self._folder = folder
        self._session = session
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
        self._is_changing = False
        """Whether a session is being renamed or deleted."""

    def compose(self) -> ComposeResult:
        with Vertical(classes="panel"):
            self.show_keys(_keys_hint())
            search = PanelInput(placeholder="Type to search")
            yield search
            reading = Choice("Reading the sessions …")
            yield ChoiceList([reading], chosen=NONE_CHOSEN, max_rows=self.list_rows(12, 8), label_share=None)
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

    def _is_open(self, one: SessionSummary) -> bool:
        return self._session is not None and self._session.id == one.id

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
        self._doomed = ""
        self.show_keys(_keys_hint(is_empty=not self._found))
        if self._found:
            self.query_one(ChoiceList).show([*map(self._row, self._found)], chosen)
        else:
            self.query_one(ChoiceList).show([self._nothing()], NONE_CHOSEN)
        self._show_about()

    def _nothing(self) -> Choice:
        """Return the row of an empty list."""
        if self._query and self._here():
            return Choice("Nothing found")
        if self._all:
            return Choice("There are no sessions of this folder yet; Tab shows those of all folders")
        return Choice("There are no saved sessions yet")

    def _row(self, one: SessionSummary) -> Choice:
        facts = [
            "open" if self._is_open(one) else time_ago(self._clock() - one.updated),
            f"{one.turns} turn{'s'[: one.turns != 1]}",
            session_cost_text(one.cost_usd, one.provider),
            safe_line(Path(one.working_dir).name) if self._is_everywhere else "",
        ]
        return Choice(safe_line(one.title), detail=" · ".join(filter(None, facts)))

    def _show_about(self, text: str = "") -> None:
        self.query_one(".about").set_class(not text, "-facts")
        if not text and (one := self._chosen()) is not None:
            facts = filter(None, (one.working_dir, one.model, "a copy" if one.parent else "", one.id))
            text = safe_line(" · ".join(facts)) + "\n" + safe_line(f"› {one.preview}")
        self.query_one(".about", Static).update(text)

    def _chosen(self) -> SessionSummary | None:
        index = self.query_one(ChoiceList).chosen
        return self._found[index] if 0 <= index < len(self._found) else None

    # Keys

    def on_input_changed(self, event: Input.Changed) -> None:
        self._doomed = ""
        if self._renamed is None and event.value != self._query:
            self._query = event.value
            self._show()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if self._renamed is None:
            self._accept(is_fork=False)
        elif not self._is_changing:
            self._rename(self._renamed, event.value)

    def on_choice_list_clicked(self, event: ChoiceList.Clicked) -> None:
        if self._renamed is None and not self._is_changing:
            event.choices.choose(event.index)
            self._accept(is_fork=False)

    def action_move(self, by: int) -> None:
        self._doomed = ""
        if self._renamed is None and self._found:
            self.query_one(ChoiceList).move(by)
            self._show_about()

    def action_toggle_folders(self) -> None:
        if self._renamed is None:
            chosen = self._chosen()
            self._is_everywhere = not self._is_everywhere
            self._show(keeps="" if chosen is None else chosen.id)

    def action_fork(self) -> None:
        self._accept(is_fork=True)

    def action_rename(self) -> None:
        """Take a new title for the chosen session from the input."""
        if self._renamed is None and (one := self._chosen()) is not None:
            self._renamed = one
            search = self.query_one(Input)
            search.value = safe_line(one.title)
            search.cursor_position = len(search.value)
            self._show_about("The new title; Enter saves it, Esc keeps the old one")

    def action_delete(self) -> None:
        """Delete the chosen session at the second press."""
        one = self._chosen()
        if one is None or self._renamed is not None or self._is_changing:
            return
        if self._is_open(one):
            self._show_about("This session is open. Leave it before you delete it.")
        elif self._doomed != one.id:
            self._doomed = one.id
            title = clip(safe_line(one.title), _TITLE_CELLS)
            self._show_about(f"Ctrl+X again deletes {title!r} with its undo data")
        else:
            self._change(partial(self._delete, one.id))

    def action_leave(self) -> None:
        if self._renamed is not None:
            self._end_renaming()
            self._show_about()
        else:
            self.dismiss(None)

    def _accept(self, *, is_fork: bool) -> None:
        if self._renamed is None and not self._is_changing and (one := self._chosen()) is not None:
            self.dismiss((one.id, is_fork))

    # Changes

    def _end_renaming(self) -> None:
        self._renamed = None
        self.query_one(Input).value = self._query

    def _rename(self, one: SessionSummary, title: str) -> None:
        if not safe_line(title).strip():
            self._show_about("A title needs at least one character that is visible")
        elif self._session is not None and self._is_open(one):  # this process has locked its journal
            self._change(partial(self._renamed_list, one, self._session.rename(title)), keeps=one.id)
        else:
            self._change(partial(self._rename_saved, one, title), keeps=one.id)

    def _rename_saved(self, one: SessionSummary, title: str) -> list[SessionSummary]:
        return self._renamed_list(one, self._sessions.rename(one.id, title))

    def _renamed_list(self, one: SessionSummary, title: str) -> list[SessionSummary]:
        return [replace(other, title=title) if other.id == one.id else other for other in self._all or ()]

    def _delete(self, session_id: str) -> list[SessionSummary]:
        self._sessions.delete(session_id)
        return [other for other in self._all or () if other.id != session_id]

    def _change(self, change: Callable[[], list[SessionSummary]], *, keeps: str = "") -> None:
        """Change a session in a thread, and show the list that `change` returns."""
        self._is_changing = True
        workers.start(self, partial(self._run_change, change, keeps), "change")

    async def _run_change(self, change: Callable[[], list[SessionSummary]], keeps: str) -> None:
        at = self.query_one(ChoiceList).chosen
        try:
            self._all = await asyncio.to_thread(change)
        except ForgeError as error:
            self._doomed = ""
            self._show_about(safe_line(str(error)))
            return
        finally:
            self._is_changing = False
        if self._renamed is not None:
            self._query = ""  # which the new title may not match
            self._end_renaming()
        self._show(keeps=keeps)
        if not keeps and self._found:  # the row after a deleted one
            self.query_one(ChoiceList).choose(min(at, len(self._found) - 1))
            self._show_about()
