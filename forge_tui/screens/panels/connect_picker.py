"""The overlay of `/connect`: which endpoint, and its key, which is checked before it is saved."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Input, Static

from forge_core.config.saved_keys import SavedKeys, remember_entered
from forge_core.errors import AuthenticationError, ConfigError, ProviderError
from forge_core.redact import Redactor
from forge_core.runtime.connecting import url_of
from forge_core.runtime.endpoint_list import KnownEndpoint, check, endpoint_at, known_endpoints
from forge_core.sanitize import safe_line
from forge_tui import workers
from forge_tui.keymap import KeyContext, bindings
from forge_tui.keys.effective import effective_keys
from forge_tui.screens.panels.overlay import Overlay, PanelInput
from forge_tui.widgets.choices import NONE_CHOSEN, Choice, ChoiceList

if TYPE_CHECKING:
    from forge_core.config.forge_config import ForgeConfig

_ROWS, _FEW_ROWS = 12, 6
_TALL = 24
"""Rows of a terminal on which most endpoints show."""
OTHER_URL = "Another URL"
_URL_HINT = "https://host/v1"
_LOOKING = "Looking for model servers on this machine …"
_NO_SERVER = "No model server runs on this machine (Ollama, LM Studio, llama.cpp)"


class ChosenEndpoint(NamedTuple):
    """An endpoint that can be used: with a key, or without one if it needs none."""

    base_url: str
    report: str
    """What became of its key; empty if none was entered."""


class ConnectStep(StrEnum):
    """What the overlay shows; also its CSS class."""

    LIST = "list"
    URL = "url"
    KEY = "key"
    CHECKING = "checking"
    UNCHECKED = "unchecked"
    """The key could not be checked: the user decides."""


class SecretInput(PanelInput):
    """An input whose text is never shown, copied or cut."""

    def __init__(self) -> None:
        super().__init__(password=True)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action not in ("copy", "cut")

    @property
    def selected_text(self) -> str:
        return ""

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.replace("".join(event.text.split()), *self.selection)


class ConnectPicker(workers.WorkerErrorsEndApp, Overlay[ChosenEndpoint | None]):
    """Returns the chosen endpoint when it has what it needs; None without a choice."""

    DEFAULT_CSS = """
    ConnectPicker .asks { height: auto; margin-bottom: 1; }
    ConnectPicker .about { color: $forge-muted; height: auto; min-height: 2; margin-top: 1; }
    ConnectPicker.-key .about, ConnectPicker.-checking .about, ConnectPicker.-unchecked .about,
    ConnectPicker.-url .about { margin-top: 0; }
    ConnectPicker .about.-problem { color: $warning; }
    ConnectPicker.-list .asks, ConnectPicker.-list SecretInput, ConnectPicker.-url SecretInput,
    ConnectPicker.-given SecretInput {
        display: none;
    }
    ConnectPicker.-url ChoiceList, ConnectPicker.-key ChoiceList, ConnectPicker.-checking ChoiceList,
    ConnectPicker.-unchecked ChoiceList { display: none; }
    ConnectPicker.-key .search, ConnectPicker.-checking .search, ConnectPicker.-unchecked .search {
        display: none;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyContext.ENDPOINTS)]

    def __init__(
        self,
        config: ForgeConfig,
        base_url: str = "",
        known: Callable[[ForgeConfig], Sequence[KnownEndpoint]] = known_endpoints,
    ) -> None:
        """`base_url` is that of an endpoint that is chosen already."""
        super().__init__(classes=f"-{ConnectStep.LIST}")
        self._config = config
        self._first_url = base_url
        self._known = known
        self._all: list[KnownEndpoint] | None = None
        """None until it is known which servers run."""
        self._found: list[KnownEndpoint] = []
        self._step = ConnectStep.LIST
        self._query = ""
        """What is in the search."""
        self._endpoint: KnownEndpoint | None = None
        """The one whose key is asked for or checked."""
        self._key = ""
        """The key that is being checked; empty for one that Forge has already."""

    def compose(self) -> ComposeResult:
        with Vertical(classes="panel") as panel:
            panel.border_title = "Connect"
            search = PanelInput(classes="search")
            yield Static("", classes="asks", markup=False)
            yield search
            yield ChoiceList(
                max_rows=_ROWS if self.app.size.height >= _TALL else _FEW_ROWS, label_share=(1, 3)
            )
            yield SecretInput()
            yield Static("", classes="about", markup=False)

    def on_mount(self) -> None:
        if self._first_url:
            self._ask_key(endpoint_at(self._config, self._first_url))
        else:
            self._show_list()

    # What shows

    def _show_step(self, step: ConnectStep, keys: str) -> None:
        self.remove_class(*(f"-{one}" for one in ConnectStep))
        self.add_class(f"-{step}")
        self._step = step
        self.show_keys(keys)

    def _show_list(self) -> None:
        """Show the endpoints, as they were left; look for them the first time."""
        was_url = self._step is ConnectStep.URL
        self._endpoint, self._key = None, ""
        other = effective_keys().hint("Ctrl+K", "endpoints.other_key")
        self._show_step(ConnectStep.LIST, f"Enter connect · {other} other key · Esc close")
        search = self.query_one(".search", Input)
        if was_url:
            search.value = self._query = ""
        search.placeholder = "Type to search, or a URL"
        search.focus()
        if was_url or self._all is None:
            self._show_rows()
        else:
            self._show_chosen()
        if self._all is None:
            workers.start(self, self._find, "endpoints")

    async def _find(self) -> None:
        self._all = list(await workers.in_thread(lambda: self._known(self._config)))
        if self._step is ConnectStep.LIST:
            self._show_rows()

    def _show_rows(self) -> None:
        """Show what matches the search, and the row for another URL below it."""
        rows = self.query_one(ChoiceList)
        if self._all is None:
            rows.show([Choice(_LOOKING)], NONE_CHOSEN)
            self._show_about("")
            return
        typed = self.query_one(".search", Input).value.strip()
        words = typed.casefold().split()
        self._found = [one for one in self._all if _matches(one, words)]
        is_url = _is_url(typed)
        other = Choice("Use this URL", detail=safe_line(typed)) if is_url else Choice(OTHER_URL)
        rows.show([*map(_row, self._found), other], len(self._found) if is_url else 0)
        self._show_chosen()

    def _show_chosen(self) -> None:
        one = self._chosen()
        lines = [
            _about(one) if one is not None else "Any server that speaks OpenAI's protocol",
            "" if any(one.running for one in self._all or ()) else _NO_SERVER,
        ]
        self._show_about("\n".join(lines))

    def _show_about(self, text: str, *, is_problem: bool = False) -> None:
        about = self.query_one(".about", Static)
        about.set_class(is_problem, "-problem")
        about.update("\n".join(map(safe_line, text.split("\n"))))

    def _chosen(self) -> KnownEndpoint | None:
        index = self.query_one(ChoiceList).chosen
        return self._found[index] if 0 <= index < len(self._found) else None

    # Keys

    def action_move(self, by: int) -> None:
        if self._step is ConnectStep.LIST and self._all is not None:
            self.query_one(ChoiceList).move(by)
            self._show_chosen()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self._step is ConnectStep.LIST or action not in ("move", "other_key")

    def action_other_key(self) -> None:
        """Ask for a key although there is one."""
        if self._all is not None and (one := self._chosen()) is not None and one.base_url:
            self._ask_key(endpoint_at(self._config, one.base_url))

    def action_leave(self) -> None:
        match self._step:
            case ConnectStep.URL:
                self._show_list()
            case ConnectStep.CHECKING | ConnectStep.UNCHECKED if self._key and self._endpoint is not None:
                self._ask_key(self._endpoint)
            case ConnectStep.KEY | ConnectStep.CHECKING | ConnectStep.UNCHECKED if not self._first_url:
                self._show_list()
            case _:
                self.withdraw()

    def withdraw(self) -> None:
        self.query_one(SecretInput).value = ""
        self.dismiss(None)

    def on_input_changed(self, event: Input.Changed) -> None:
        if isinstance(event.input, SecretInput):
            if (
                self._step in (ConnectStep.CHECKING, ConnectStep.UNCHECKED)
                and event.value.strip() != self._key
            ):
                self._edit_key()
        elif event.input.has_class("search") and self._step in (ConnectStep.LIST, ConnectStep.URL):
            if event.value == self._query:
                return
            self._query = event.value
            if Redactor()(event.value) != event.value:
                event.input.value = self._query = ""
                self._show_about("Choose the endpoint first; its key is asked for next.", is_problem=True)
            elif self._step is ConnectStep.LIST:
                self._show_rows()

    def on_choice_list_clicked(self, event: ChoiceList.Clicked) -> None:
        if self._all is not None:
            event.choices.choose(event.index)
            self._take_row()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        match self._step:
            case ConnectStep.LIST if self._all is not None:
                self._take_row()
            case ConnectStep.URL:
                self._take_url(event.value)
            case ConnectStep.KEY:
                self._take_key(event.value.strip())
            case ConnectStep.UNCHECKED if self._key:
                self._finish("not checked")

    def on_key(self, event: events.Key) -> None:
        """Accept a key from a variable that could not be checked: no input has the focus."""
        if event.key == "enter" and self._step is ConnectStep.UNCHECKED and not self._key:
            event.stop()
            self._finish("not checked")

    def _take_row(self) -> None:
        one, typed = self._chosen(), self.query_one(".search", Input).value.strip()
        if one is not None:
            self._take(one)
        elif _is_url(typed):
            self._take_url(typed)
        else:
            self._ask_url()

    def _take(self, one: KnownEndpoint) -> None:
        if one.key_source is not None:
            self._check(one, "")
        elif one.is_ready:
            self.dismiss(ChosenEndpoint(one.base_url, ""))
        else:
            self._ask_key(one)

    # The URL and the key

    def _ask_url(self) -> None:
        self._show_step(ConnectStep.URL, "Enter continue · Esc back")
        self._show_question("Base URL of a server that speaks OpenAI's protocol:")
        search = self.query_one(".search", Input)
        search.value = self._query = ""
        search.placeholder = _URL_HINT
        self._show_about("Its key is asked for next, if it needs one.")

    def _take_url(self, typed: str) -> None:
        try:
            url = url_of(typed.strip())
        except ConfigError as error:
            self._show_about(str(error), is_problem=True)
            return
        self._take(endpoint_at(self._config, url))

    def _ask_key(self, endpoint: KnownEndpoint, problem: str = "") -> None:
        if endpoint.has_fixed_key:
            self._show_list()
            unset = f"{endpoint.key_source} comes before a saved key: unset it to use another."
            self._show_about(f"{problem} {unset}".strip(), is_problem=True)
            return
        self._endpoint, self._key = endpoint, ""
        self._show_step(ConnectStep.KEY, "Enter check and save · Esc back")
        self._show_question(f"API key for {endpoint.label}, sent to {endpoint.base_url} only:")
        secret = self.query_one(SecretInput)
        self.remove_class("-given")
        secret.value, secret.placeholder = "", "Paste or type it; it is not shown"
        secret.focus()
        about = "It is checked, then saved." if endpoint.needs_key else "Without a key, Enter connects too."
        exposed = "The key would be sent unencrypted." if endpoint.is_exposed else ""
        self._show_about(problem or exposed or about, is_problem=bool(problem or exposed))

    def _edit_key(self) -> None:
        """Go back to the input of the key, as it is."""
        self._key = ""
        self._show_step(ConnectStep.KEY, "Enter check and save · Esc back")
        self._show_about("It is checked, then saved.")

    def _show_question(self, text: str) -> None:
        self.query_one(".asks", Static).update(safe_line(text))

    def _take_key(self, key: str) -> None:
        endpoint = self._endpoint
        assert endpoint is not None
        if key:
            self._check(endpoint, key)
        elif not endpoint.needs_key and endpoint.key_source is None:
            self.dismiss(ChosenEndpoint(endpoint.base_url, ""))

    # The check

    def _check(self, endpoint: KnownEndpoint, key: str) -> None:
        """Check a key that was entered, or, if it is empty, the one that Forge has."""
        if key:
            remember_entered(key)
        self._endpoint, self._key = endpoint, key
        self.set_class(not key, "-given")
        self._show_step(ConnectStep.CHECKING, "Esc stop")
        self._show_question(f"API key for {endpoint.label}" + ("" if key else f" from {endpoint.key_source}"))
        self._show_about("Checking it …")
        workers.start(self, partial(self._run_check, endpoint, key), "check", is_replacing=True)

    async def _run_check(self, endpoint: KnownEndpoint, key: str) -> None:
        work = partial(check, self._config, endpoint.base_url, key)
        try:
            found = await workers.in_thread(lambda: asyncio.run(work()))
        except (AuthenticationError, ConfigError) as error:
            if self._is_checking(endpoint, key):
                self._ask_key(endpoint, f"The key was refused: {error}")
        except ProviderError as error:
            if self._is_checking(endpoint, key):
                saves = "saves it unchecked" if key else "connects nevertheless"
                self._show_step(ConnectStep.UNCHECKED, f"Enter {saves} · Esc back")
                self._show_about(f"The key could not be checked: {error}", is_problem=True)
        else:
            if self._is_checking(endpoint, key):
                self._finish(found)

    def _is_checking(self, endpoint: KnownEndpoint, key: str) -> bool:
        """Whether the result of a check is still wanted."""
        return self._step is ConnectStep.CHECKING and (self._endpoint, self._key) == (endpoint, key)

    def _finish(self, found: str) -> None:
        """Save the key if it was entered, and return the endpoint."""
        endpoint, key = self._endpoint, self._key
        assert endpoint is not None
        self.query_one(SecretInput).value = ""
        if key:
            workers.start(self, partial(self._save, endpoint, key, found), "save")
        else:
            self.dismiss(ChosenEndpoint(endpoint.base_url, ""))

    async def _save(self, endpoint: KnownEndpoint, key: str, found: str) -> None:
        keys = SavedKeys(self._config.state_dir)
        try:
            saved = await workers.in_thread(lambda: keys.save(endpoint.base_url, key))
        except ConfigError as error:
            self._ask_key(endpoint, str(error))
            return
        where = "in the system keyring" if saved.place == "keyring" else "in a file that only you can read"
        report = f"The key for {endpoint.label} was saved {where} ({found}). {saved.problem}".rstrip()
        self.dismiss(ChosenEndpoint(endpoint.base_url, report))


def _row(one: KnownEndpoint) -> Choice:
    detail = " · ".join(filter(None, ("in use" if one.is_current else "", one.note)))
    return Choice(one.label, detail=safe_line(detail))


def _about(one: KnownEndpoint) -> str:
    if not one.base_url:
        return "Follows rules and needs no network: for a look at Forge without a provider"
    needs_key = one.needs_key and one.key_source is None
    return f"{one.base_url} · needs a key" if needs_key else one.base_url


def _matches(one: KnownEndpoint, words: Sequence[str]) -> bool:
    text = f"{one.label} {one.base_url}".casefold()
    return all(word in text for word in words)


def _is_url(typed: str) -> bool:
    return typed.lower().startswith(("http://", "https://"))
