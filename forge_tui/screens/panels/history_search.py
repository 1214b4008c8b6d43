"""The search of what was sent in all sessions, here and in other folders."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Input, Static

from forge_core.durations import time_ago
from forge_core.sanitize import safe_line, safe_text
from forge_tui import workers
from forge_tui.keymap import KeyContext, bindings
from forge_tui.keys.effective import effective_keys
from forge_tui.pastes.folded_text import with_labels
from forge_tui.screens.panels.overlay import Overlay, PanelInput
from forge_tui.widgets.choices import NONE_CHOSEN, Choice, ChoiceList

if TYPE_CHECKING:
    from forge_core.session.prompt_history import SentPrompt

_MOST_ROWS = 500
_LABEL_CHARACTERS = 200
_PREVIEW_LINES = 5
_PREVIEW_CHARACTERS = 2_000


def newest_first(sent: Iterable[SentPrompt]) -> list[SentPrompt]:
    """Return each text once, as it was sent last."""
    found = {one.text: one for one in sorted(sent, key=lambda one: one.at)}
    return sorted(found.values(), key=lambda one: one.at, reverse=True)


def search(sent: Sequence[SentPrompt], query: str) -> list[SentPrompt]:
    """Return the texts that contain all words of the query, in their order; if there is none, those with all
    its letters in order in their first characters."""
    words = query.casefold().split()
    found = [one for one in sent if _has_words(one.text.casefold(), words)]
    if not found:
        letters = "".join(words)
        found = [one for one in sent if _has_letters(one.text[:_LABEL_CHARACTERS].casefold(), letters)]
    return found


def _has_words(text: str, words: Sequence[str]) -> bool:
    return all(word in text for word in words)


def _has_letters(text: str, letters: str) -> bool:
    at = -1
    for letter in letters:
        at = text.find(letter, at + 1)
        if at < 0:
            return False
    return True


class HistorySearch(workers.WorkerErrorsEndApp, Overlay[str | None]):
    """Returns the chosen text as it was typed; None without a choice."""

    DEFAULT_CSS = """
    HistorySearch .preview { color: $forge-muted; height: 5; margin-top: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyContext.HISTORY)]

    def __init__(
        self,
        read: Callable[[], Awaitable[list[SentPrompt]]],
        folder: Path,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`clock` gives seconds since the epoch."""
        super().__init__()
        self._read = read
        self._folder = str(folder)
        self._clock = clock
        self._is_everywhere = False
        self._all: list[SentPrompt] | None = None
        self._here: list[SentPrompt] = []
        self._found: list[SentPrompt] = []

    def compose(self) -> ComposeResult:
        with Vertical(classes="panel"):
            tab = effective_keys().hint("Tab", "history.folders")
            self.show_keys(f"Enter put into the composer · {tab} folders · Esc close")
            entry = PanelInput(placeholder="Type to search")
            yield entry
            reading = Choice("Reading the history …")
            yield ChoiceList([reading], chosen=NONE_CHOSEN, max_rows=self.list_rows(8, 11), label_share=None)
            yield Static("", classes="preview", markup=False)

    def on_mount(self) -> None:
        self.query_one(Input).focus()
        self._show_title()
        workers.start(self, self._load, "history")

    async def _load(self) -> None:
        self._all = await self._read()
        self._is_everywhere = all(one.folder != self._folder for one in self._all) and bool(self._all)
        self._show_folders()

    # What shows

    def _show_folders(self) -> None:
        """Show what was sent in this folder, or in all."""
        self._here = newest_first(
            one for one in self._all or () if self._is_everywhere or one.folder == self._folder
        )
        self._show_title()
        self._show()

    def _show_title(self) -> None:
        where = "all folders" if self._is_everywhere else "this folder"
        self.query_one(".panel").border_title = f"Sent in {where}"

    def _show(self) -> None:
        if self._all is None:
            return
        self._found = search(self._here, self.query_one(Input).value)[:_MOST_ROWS]
        choices = self.query_one(ChoiceList)
        if self._found:
            choices.show([*map(self._row, self._found)])
        else:
            choices.show([Choice("Nothing found" if self._here else "Nothing was sent yet")], NONE_CHOSEN)
        self._show_preview()

    def _row(self, one: SentPrompt) -> Choice:
        first, _, rest = with_labels(one.text).strip().partition("\n")
        lines = rest.count("\n") + 1 if rest else 0
        facts = [
            f"+{lines} line{'s'[: lines != 1]}" if lines else "",
            safe_line(Path(one.folder).name) if self._is_everywhere else "",
            time_ago(self._clock() - one.at),
        ]
        return Choice(safe_line(first[:_LABEL_CHARACTERS]), detail=" · ".join(filter(None, facts)))

    def _show_preview(self) -> None:
        one = self._chosen()
        text = "" if one is None else with_labels(one.text).strip()[:_PREVIEW_CHARACTERS]
        lines = safe_text(text).expandtabs(4).split("\n")
        if len(lines) > _PREVIEW_LINES:
            lines = [*lines[: _PREVIEW_LINES - 1], f"… {len(lines) - _PREVIEW_LINES + 1} more lines"]
        self.query_one(".preview", Static).update("\n".join(lines))

    def _chosen(self) -> SentPrompt | None:
        index = self.query_one(ChoiceList).chosen
        return self._found[index] if 0 <= index < len(self._found) else None

    # Keys

    def on_input_changed(self) -> None:
        self._show()

    def on_input_submitted(self) -> None:
        if (one := self._chosen()) is not None:
            self.dismiss(one.text)

    def on_choice_list_clicked(self, event: ChoiceList.Clicked) -> None:
        event.choices.choose(event.index)
        self.on_input_submitted()

    def action_move(self, by: int) -> None:
        if self._found:
            self.query_one(ChoiceList).move(by)
            self._show_preview()

    def action_toggle_folders(self) -> None:
        self._is_everywhere = not self._is_everywhere
        self._show_folders()
