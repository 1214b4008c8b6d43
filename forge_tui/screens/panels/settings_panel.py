"""The panel of `/config`: all settings with their values and sources, changed in place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum, auto
from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Input, Static

from forge_core.config.forge_config import Origin
from forge_core.config.listing import NOT_SET, value_text
from forge_core.config.permission_mode import PermissionMode
from forge_core.config.running_settings import NO_VALUE, RunningSettings, SettingState
from forge_core.config.settings import SETTINGS
from forge_core.errors import ConfigError
from forge_core.sanitize import safe_line
from forge_core.text_width import cell_len, clip
from forge_tui import workers
from forge_tui.keymap import KeyContext, bindings
from forge_tui.keys.effective import effective_keys
from forge_tui.screens.panels.overlay import LIST_FRAME_CELLS, PANEL_CELLS, Overlay, PanelInput
from forge_tui.widgets.choices import GAP, MARK, NONE_CHOSEN, Choice, ChoiceList

_OTHER_ROWS = 9
"""Rows of the panel beside the list."""
_MOST_ROWS = 16
_NAME_CELLS = max(map(len, SETTINGS)) + GAP
_SOURCE_CELLS = max(map(len, Origin))
_SWITCH = ("true", "false")
_PAGE = 10


class PanelStep(Enum):
    """What Enter does."""

    LIST = auto()
    """It changes the chosen setting."""
    CHOICE = auto()
    """It takes the chosen value."""
    TEXT = auto()
    """It saves the value that is being typed."""


def matching(states: Sequence[SettingState], query: str) -> list[SettingState]:
    """Return the settings that match, the best first, else in their order.

    A match has all words of the query in its name, or in its name, summary and value, or all letters in order
    in its name.
    """
    words = query.casefold().replace("-", "_").split()
    ranked = [(rank, one) for one in states if (rank := _rank(one, words)) is not None]
    return [one for _, one in sorted(ranked, key=lambda entry: entry[0])]


def _rank(one: SettingState, words: Sequence[str]) -> int | None:
    if all(word in one.name for word in words):
        return 0
    text = f"{one.name} {SETTINGS[one.name].summary} {one.value} {one.source}".casefold()
    if all(word in text for word in words):
        return 1
    letters = iter(one.name)
    return 2 if all(letter in letters for letter in "".join(words)) else None


class SettingsPanel(workers.WorkerErrorsEndApp, Overlay[None]):
    """Lists the settings; Enter changes the chosen one."""

    DEFAULT_CSS = """
    SettingsPanel .about { color: $forge-muted; height: 2; margin-top: 1; }
    SettingsPanel .report { height: 2; }
    SettingsPanel .report.-error { color: $error; }
    SettingsPanel .report.-remark { color: $forge-muted; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyContext.SETTINGS)]

    def __init__(self, settings: RunningSettings, changed: Callable[[], None], first: str = "") -> None:
        """`changed` is called after a change; the setting `first` is chosen at the beginning."""
        super().__init__()
        self._settings = settings
        self._changed = changed
        self._first = first
        self._step = PanelStep.LIST
        self._query = ""
        """What was searched for, also while a value is chosen or typed."""
        self._found: list[SettingState] = []
        self._edited = ""
        """The setting whose value is chosen or typed."""
        self._values: list[str] = []
        """The values to choose from."""
        self._report = ""
        """What the last change has done, until something else is chosen."""
        self._is_failure = False
        """Whether the report says why there was no change."""

    def compose(self) -> ComposeResult:
        with Vertical(classes="panel"):
            search = PanelInput()
            yield search
            rows = self.list_rows(_MOST_ROWS, _OTHER_ROWS)
            choices = ChoiceList(chosen=NONE_CHOSEN, max_rows=rows, label_share=None)
            choices.styles.height = rows  # what is below stays in its place while the search narrows the list
            yield choices
            yield Static("", classes="about", markup=False)
            yield Static("", classes="report", markup=False)

    def on_mount(self) -> None:
        self.query_one(Input).focus()
        self._begin(PanelStep.LIST)
        workers.start(self, self._load, "settings")

    async def _load(self) -> None:
        await self._settings.read_file()
        self._show(keeps=self._first)

    # What shows

    def on_resize(self) -> None:
        self._show(keeps=self._chosen_name)

    @property
    def _chosen_name(self) -> str:
        """The chosen setting; empty for none."""
        if self._step is not PanelStep.LIST:
            return self._edited
        index = self.query_one(ChoiceList).chosen
        return self._found[index].name if 0 <= index < len(self._found) else ""

    def _begin(self, step: PanelStep, text: str = "") -> None:
        """Go to a step whose input holds `text`."""
        self._step = step
        panel, search = self.query_one(".panel"), self.query_one(Input)
        panel.border_title = "Settings" if step is PanelStep.LIST else f"Settings · {self._edited}"
        self.show_keys(_keys(step))
        search.placeholder = "Type the value" if step is PanelStep.TEXT else "Type to search"
        search.value = text
        search.cursor_position = len(text)

    def _show(self, *, keeps: str = "") -> None:
        """Show what is found, with the setting `keeps` chosen if it is among them."""
        if self._step is PanelStep.CHOICE:
            self._show_values()
            return
        self._found = matching(self._settings.states(), self._query)
        at = next((at for at, one in enumerate(self._found) if one.name == keeps), 0)
        rows = [self._row(one) for one in self._found] or [Choice("Nothing found")]
        self.query_one(ChoiceList).show(rows, at if self._found else NONE_CHOSEN)
        self._show_about()

    def _row(self, state: SettingState) -> Choice:
        width = min(PANEL_CELLS, self.app.size.width)
        room = max(width - LIST_FRAME_CELLS - len(MARK) - _NAME_CELLS - GAP - _SOURCE_CELLS, 8)
        name, value = state.name.ljust(_NAME_CELLS), _padded(safe_line(state.value), room)
        if state.source == Origin.DEFAULT:  # the user's own values stand out
            return Choice(name[:-1], hint=value, detail=state.source.ljust(_SOURCE_CELLS))
        return Choice(name + value, detail=state.source.ljust(_SOURCE_CELLS))

    def _show_values(self) -> None:
        """Show the values that contain what is typed."""
        typed = self.query_one(Input).value.strip().lower()
        self._values = [one for one in self._choices(self._edited) if typed in one.lower()]
        chosen = _typed(self._settings.chosen(self._edited))
        rows = [
            Choice(safe_line(one), detail=_about_value(self._edited, one, chosen)) for one in self._values
        ]
        at = self._values.index(chosen) if chosen in self._values else 0
        self.query_one(ChoiceList).show(
            rows or [Choice("Nothing found")], at if self._values else NONE_CHOSEN
        )

    def _show_about(self) -> None:
        """Show what the chosen setting is for, and below it the report, or what else there is to know."""
        name = self._chosen_name
        remark = self._settings.state(name).remark if name else ""
        self.query_one(".about", Static).update(SETTINGS[name].summary if name else "")
        line = self.query_one(".report", Static)
        line.set_class(self._is_failure, "-error")
        line.set_class(not self._report, "-remark")
        line.update(safe_line(self._report or remark))

    def _forget_report(self) -> None:
        self._report, self._is_failure = "", False

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self._step is PanelStep.LIST or action not in ("cycle", "unset")

    def on_input_changed(self, event: Input.Changed) -> None:
        if self._step is PanelStep.CHOICE:
            self._show_values()
        elif self._step is PanelStep.LIST and event.value != self._query:
            self._query = event.value
            self._forget_report()
            self._show()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        match self._step:
            case PanelStep.TEXT:
                self._change(self._edited, event.value)
            case PanelStep.CHOICE:
                self._take()
            case PanelStep.LIST:
                self._open()

    def on_choice_list_clicked(self, event: ChoiceList.Clicked) -> None:
        """Choose a row; a click on the chosen one, or on a value, is Enter."""
        was_chosen = event.index == event.choices.chosen
        if self._step is PanelStep.CHOICE and event.index < len(self._values):
            event.choices.choose(event.index)
            self._take()
        elif self._step is PanelStep.LIST and event.index < len(self._found):
            event.choices.choose(event.index)
            self._forget_report()
            self._show_about()
            if was_chosen:
                self._open()

    def action_move(self, by: int) -> None:
        listed = self._values if self._step is PanelStep.CHOICE else self._found
        if listed and self._step is not PanelStep.TEXT:
            self.query_one(ChoiceList).move(by)
            self._forget_report()
            if self._step is PanelStep.LIST:
                self._show_about()

    def action_page(self, direction: int) -> None:
        """Choose the row a page further, at most the first or the last."""
        choices = self.query_one(ChoiceList)
        listed = self._values if self._step is PanelStep.CHOICE else self._found
        at = min(max(choices.chosen + direction * choices.shown_rows, 0), len(listed) - 1)
        self.action_move(at - choices.chosen)

    def action_cycle(self, by: int) -> None:
        """Set the chosen setting to the next of its values."""
        if (name := self._chosen_name) and (values := self._choices(name)):
            now = _typed(self._settings.chosen(name))
            at = values.index(now) + by if now in values else 0
            self._change(name, values[at % len(values)])

    def action_unset(self) -> None:
        """Remove the chosen setting from the user's file."""
        if name := self._chosen_name:
            self._change(name, NO_VALUE)

    def action_leave(self) -> None:
        if self._step is PanelStep.LIST:
            self.dismiss(None)
        else:
            self._return()

    def _open(self) -> None:
        """Change the chosen setting: switch it, or ask for its value."""
        if not (name := self._chosen_name):
            return
        choices = self._choices(name)
        if choices == _SWITCH:
            self.action_cycle(1)
            return
        self._edited = name
        self._forget_report()
        self._begin(
            PanelStep.CHOICE if choices else PanelStep.TEXT, "" if choices else self._settings.editable(name)
        )
        self._show(keeps=name)

    def _take(self) -> None:
        index = self.query_one(ChoiceList).chosen
        if 0 <= index < len(self._values):
            self._change(self._edited, self._values[index])

    def _return(self) -> None:
        """Go back to the list, as it was searched."""
        self._forget_report()
        self._begin(PanelStep.LIST, self._query)
        self._show(keeps=self._edited)

    def _choices(self, name: str) -> tuple[str, ...]:
        """Return the values that a setting can be changed to; empty where it is typed."""
        choices = self._settings.choices(name)
        return (NO_VALUE, *choices) if choices and SETTINGS[name].default is None else choices

    # Changes

    def _change(self, name: str, text: str) -> None:
        # A worker of the app: a change is saved although the panel is closed meanwhile.
        workers.start(self.app, partial(self._run_change, name, text), "setting")

    async def _run_change(self, name: str, text: str) -> None:
        error = report = ""
        try:
            report = await self._settings.set(name, text)
        except ConfigError as problem:
            error = str(problem)
        self._changed()
        if not self.is_attached:
            return
        if not error and self._step is not PanelStep.LIST:
            self._return()
        self._report, self._is_failure = error or report, bool(error)
        if self._step is PanelStep.LIST:
            self._show(keeps=name)
        self._show_about()


def _keys(step: PanelStep) -> str:
    match step:
        case PanelStep.LIST:
            hint = effective_keys().hint
            values = hint("←→", "settings.previous_value", "settings.next_value")
            unset = hint("Del", "settings.unset")
            return f"Enter change · {values} value · {unset} default · Esc close"
        case PanelStep.CHOICE:
            return "Enter use · Esc back"
        case PanelStep.TEXT:
            return "Enter save · empty: the default · Esc back"


def _about_value(name: str, value: str, chosen: str) -> str:
    """Return what there is to say of a value in the list of values."""
    is_mode = name == "permission_mode"
    about = PermissionMode(value).sandboxed_summary if is_mode else NOT_SET if value == NO_VALUE else ""
    return " · ".join(filter(None, ("now" if value == chosen else "", about)))


def _typed(value: object) -> str:
    return NO_VALUE if value is None else value_text(value)


def _padded(text: str, cells: int) -> str:
    shown = clip(text, cells)
    return shown + " " * (cells - cell_len(shown))
