"""The model picker: found by any letters of id and name, with prices, window and abilities in columns."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Input, Static

from forge_core.commands.figures import window_text
from forge_core.config.model_lists import ModelLists
from forge_core.config.settings import choices
from forge_core.errors import ProviderError
from forge_core.sanitize import safe_line
from forge_core.text_width import cell_len, clip
from forge_tui import workers
from forge_tui.keymap import KeyContext, bindings
from forge_tui.keys.effective import effective_keys
from forge_tui.screens.panels.overlay import LIST_FRAME_CELLS, PANEL_CELLS, Overlay, PanelInput
from forge_tui.widgets.choices import GAP, MARK, NONE_CHOSEN, Choice, ChoiceList

if TYPE_CHECKING:
    from forge_core.session.model_selection import ModelSelection
    from forge_core.session.status import Ability, ModelChoice

_PRICE_CELLS, _WINDOW_CELLS = 6, 6
_ABILITIES: Mapping[Ability, str] = {"tools": "tools", "images": "images", "reasoning": "reason"}
_HEADER = f"{'In/M':>{_PRICE_CELLS}} {'Out/M':>{_PRICE_CELLS}} {'Window':>{_WINDOW_CELLS}}  Can use"
_DETAIL_CELLS = 2 * (_PRICE_CELLS + 1) + _WINDOW_CELLS + 2 + len(" ".join(_ABILITIES.values()))


def _keys_hint() -> str:
    """Return the keys of the picker."""
    hint = effective_keys().hint
    favourite = hint("Ctrl+F", "models.favourite")
    effort = hint("←→", "models.less_effort", "models.more_effort")
    return f"Enter use · {favourite} favourite · {effort} effort · Esc close"


def matching(models: Sequence[ModelChoice], query: str, lists: ModelLists) -> list[ModelChoice]:
    """Return the models that match: favourites first, then those used last, then the others in their order.

    A match has all words of the query in its id or name, or else all letters in order; those come last.
    """
    words = query.casefold().split()
    ranked = [(rank, _place(one.id, lists), one) for one in models if (rank := _rank(one, words)) is not None]
    return [one for *_, one in sorted(ranked, key=lambda entry: entry[:2])]


def _place(model: str, lists: ModelLists) -> tuple[int, int]:
    if model in lists.favourites:
        return 0, lists.favourites.index(model)
    if model in lists.recent:
        return 1, lists.recent.index(model)
    return 2, 0


def _rank(one: ModelChoice, words: Sequence[str]) -> int | None:
    text = f"{one.id} {one.name}".casefold()
    if all(word in text for word in words):
        return 0
    letters = iter(text)
    return 1 if all(letter in letters for letter in "".join(words)) else None


def facts(one: ModelChoice) -> str:
    """Return the columns after the name; "?" for what is unknown."""
    has = one.abilities
    words = [word if has and name in has else " " * len(word) for name, word in _ABILITIES.items()]
    can = "?" if has is None else " ".join(words)
    window = window_text(one.window)
    columns = f"{_price(one.input_price_usd):>{_PRICE_CELLS}} {_price(one.output_price_usd):>{_PRICE_CELLS}}"
    return f"{columns} {window:>{_WINDOW_CELLS}}  {can}".ljust(_DETAIL_CELLS)


def _price(per_token: Decimal | None) -> str:
    if per_token is None:
        return "?"
    return f"${float(per_token * 1_000_000):.4g}" if per_token else "free"


class ModelPicker(workers.WorkerErrorsEndApp, Overlay[str | None]):
    """Returns the id of the chosen model; None without a choice."""

    DEFAULT_CSS = """
    ModelPicker .header { color: $forge-muted; height: 1; }
    ModelPicker .about {
        color: $forge-muted; height: 2; margin-top: 1; text-wrap: nowrap; text-overflow: ellipsis;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyContext.MODELS)]

    def __init__(self, models: ModelSelection) -> None:
        super().__init__()
        self._models = models
        self._all = list(models.known())
        self._lists = models.lists.read()
        self._found: list[ModelChoice] = []
        self._query = ""
        self._note = ""
        """Why the endpoint's models are not listed."""

    def compose(self) -> ComposeResult:
        with Vertical(classes="panel") as panel:
            panel.border_title = "Models"
            self.show_keys(_keys_hint())
            search = PanelInput(placeholder="Type to search")
            yield search
            yield Static("", classes="header", markup=False)
            yield ChoiceList(max_rows=self.list_rows(14, 9), label_share=None)
            yield Static("", classes="about", markup=False)

    def on_mount(self) -> None:
        self.query_one(Input).focus()
        self._show(keeps=self._models.current)
        workers.start(self, self._ask_endpoint, "models")

    async def _ask_endpoint(self) -> None:
        """Add what the endpoint offers, if its models are not known without."""
        try:
            async with asyncio.timeout(3.0):
                offered = await self._models.offered()
        except (ProviderError, TimeoutError) as error:
            self._note = f"The endpoint did not list its models. {safe_line(str(error))}".strip()
            self._show_about()
            return
        if offered:
            keeps = self._chosen()
            known = {one.id for one in offered}
            self._all = [*offered, *(one for one in self._all if one.id not in known)]
            self._show(keeps=keeps.id if keeps else "")

    # What shows

    def on_resize(self) -> None:
        chosen = self._chosen()
        self._show(keeps=chosen.id if chosen else "")

    def _show(self, *, keeps: str = "") -> None:
        """Show what is found, with the model `keeps` chosen if it is among them."""
        self._found = matching(self._all, self._query, self._lists)
        room = min(PANEL_CELLS, self.app.size.width) - LIST_FRAME_CELLS - len(MARK) - GAP - _DETAIL_CELLS
        self.query_one(".header", Static).update(_padded("Model", room) + " " * GAP + _HEADER)
        chosen = next((at for at, one in enumerate(self._found) if one.id == keeps), 0)
        if self._found:
            self.query_one(ChoiceList).show([self._row(one, room) for one in self._found], chosen)
        else:
            self.query_one(ChoiceList).show(
                [Choice("Nothing found; Enter uses the name as it is typed")], NONE_CHOSEN
            )
        self._show_about()

    def _row(self, one: ModelChoice, room: int) -> Choice:
        mark = "★ " if one.id in self._lists.favourites else ""
        return Choice(_padded(mark + safe_line(one.id), room), detail=facts(one))

    def _show_about(self) -> None:
        one, models = self._chosen(), self._models
        about = []
        if one is not None:
            is_recent = one.id in self._lists.recent
            about += [one.name, "in use" if one.id == models.current else "used before" * is_recent]
        fallbacks = ", ".join(models.fallbacks)
        below = [
            _effort(models),
            f"fallbacks {fallbacks}" if fallbacks else "",
            f"routing {models.routing}" if models.routing else "",
            self._note,
        ]
        lines = (" · ".join(filter(None, line)) for line in (about, below))
        self.query_one(".about", Static).update("\n".join(map(safe_line, lines)))

    def _chosen(self) -> ModelChoice | None:
        index = self.query_one(ChoiceList).chosen
        return self._found[index] if 0 <= index < len(self._found) else None

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "effort" or not self._query

    def on_input_changed(self, event: Input.Changed) -> None:
        if event.value != self._query:
            self._query = event.value
            self._show()

    def on_input_submitted(self) -> None:
        typed = self._query.strip()
        if (one := self._chosen()) is not None:
            self.dismiss(one.id)
        elif typed and " " not in typed:
            self.dismiss(typed)

    def on_choice_list_clicked(self, event: ChoiceList.Clicked) -> None:
        if event.index < len(self._found):
            self.dismiss(self._found[event.index].id)

    def action_move(self, by: int) -> None:
        if self._found:
            self.query_one(ChoiceList).move(by)
            self._show_about()

    def action_toggle_favourite(self) -> None:
        if (one := self._chosen()) is None:
            return
        try:
            self._lists = self._models.lists.toggle_favourite(one.id)
        except OSError as error:
            self._note = f"The favourites were not saved: {error.strerror}"
        self._show(keeps=one.id)

    def action_effort(self, by: int) -> None:
        """Change the effort of the model in use."""
        if self._models.takes_effort:
            efforts = (None, *choices("effort"))
            at = efforts.index(self._models.effort) + by
            self._models.set_effort(efforts[at % len(efforts)])  # type: ignore[arg-type]
            self._show_about()


def _effort(models: ModelSelection) -> str:
    """Return how much the model in use reasons; empty while none is."""
    if models.takes_effort:
        return f"effort {models.effort or 'default'}"
    return "no reasoning" if models.current else ""


def _padded(text: str, cells: int) -> str:
    shown = clip(text, cells)
    return shown + " " * (cells - cell_len(shown))
