"""The welcome block: what Forge has found, and what to try, which keys or the mouse select."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.reactive import var
from textual.strip import Strip
from textual.widget import Widget

from forge_tui.keys.effective import effective_keys
from forge_tui.widgets.edges import RIGHT_MARGIN, TEXT_COLUMN
from forge_tui.widgets.role_strip import role_style
from forge_tui.widgets.status_text import Figures
from forge_tui.widgets.welcome import ember
from forge_tui.widgets.welcome.welcome_text import (
    HELP_OFFER,
    ROOMY,
    WelcomeContent,
    WelcomeOffer,
    continue_offer,
    lines,
    offer_at,
)


def _hint() -> str:
    """Return how to take an offer: `TRY_HINT`, unless its keys are changed."""
    keys = effective_keys()
    selects, takes = keys.hint("Tab or Down", "welcome.next"), keys.hint("Enter", "welcome.take")
    return f"{selects} selects, {takes} sends"


class Welcome(Widget):
    """The block shown until the first message."""

    DEFAULT_CSS = f"""
    Welcome {{
        padding: 1 {RIGHT_MARGIN} 0 {TEXT_COLUMN};
        height: auto;
        color: $foreground;
        & > .welcome--brand {{ color: $accent; text-style: bold; }}
        & > .welcome--accent {{ color: $accent; }}
        & > .welcome--chosen {{ color: $foreground; text-style: bold; }}
        & > .welcome--dim {{ color: $forge-muted; }}
        & > .welcome--warning {{ color: $warning; }}
    }}
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"welcome--{role}" for role in ("brand", "accent", "chosen", "dim", "warning")
    }

    figures: var[Figures] = var(Figures())

    def __init__(self, figures: Figures, version: str, examples: Sequence[str]) -> None:
        super().__init__()
        self.set_reactive(Welcome.figures, figures)
        self._version = version
        self._examples = examples
        self._first: WelcomeOffer | None = None
        self._chosen: int | None = None
        self._found = ""
        self._window_rows = ROOMY
        self._rows_below = 0

    def offer_last(self, session_id: str, title: str, age: str, turns: int) -> None:
        """Offer to continue the folder's last session, in the row kept for it."""
        self._offer_first(continue_offer(session_id, title, age, turns))

    def offer_help(self) -> None:
        """Offer the help instead: there is no session to continue, or it has just been left."""
        self._offer_first(HELP_OFFER)

    def _offer_first(self, offer: WelcomeOffer) -> None:
        self._first = offer
        self.refresh(layout=self._window_rows < ROOMY)  # a low window keeps no place for it

    def show_found(self, found: str) -> None:
        """Show what the folder contains, in the row kept for it."""
        self._found = found
        self.refresh()

    def make_room(self, rows: int) -> None:
        """Leave out what would push so many rows below it, after a blank one, out of a low window."""
        self._rows_below = rows + 1
        self.refresh(layout=True)

    @property
    def has_found(self) -> bool:
        """Whether everything is known that is looked up after the first frame."""
        return bool(self._found) and self._first is not None

    # Offers

    @property
    def has_choice(self) -> bool:
        """Whether an offer is selected."""
        return self._chosen is not None

    @property
    def offers(self) -> list[WelcomeOffer]:
        """What can be taken."""
        return self._content().offers(self._window_rows)

    def choose(self, index: int | None) -> None:
        """Select the offer of this index, or none."""
        if index != self._chosen:
            self._chosen = index
            self.refresh()

    def end_choice(self) -> bool:
        """Select no offer; return whether one was selected."""
        was_chosen = self.has_choice
        self.choose(None)
        return was_chosen

    def move(self, by: int) -> None:
        """Select the next offer or the one before; before the first, none."""
        chosen, offers = self._chosen, len(self.offers)
        if not offers:
            return
        following = (0 if by > 0 else None) if chosen is None else min(chosen + by, offers - 1)
        self.choose(None if following is None or following < 0 else following)

    def take(self) -> str:
        """Return the line of the selected offer, which is selected no longer; empty without one."""
        chosen, offers = self._chosen, self.offers
        self.choose(None)
        return offers[chosen].line if chosen is not None and chosen < len(offers) else ""

    def on_click(self, event: events.Click) -> None:
        """Select the offer that was clicked: a click alone sends nothing."""
        if (offset := event.get_content_offset(self)) is not None:
            found = offer_at(offset.y, self.figures, self._content(), self.size.width, self._window_rows)
            self.choose(found)

    # Drawing

    def watch_figures(self, before: Figures, after: Figures) -> None:
        """Repaint if a value changes that the block shows."""
        if self.display and self._lines(before, self.size.width) != self._lines(after, self.size.width):
            self.refresh(layout=True)

    def _content(self) -> WelcomeContent:
        return WelcomeContent(
            self._version,
            self._examples,
            self._found,
            self._first,
            self._chosen,
            has_ember=not self.app.no_color,
            hint=_hint(),
        )

    def _lines(self, figures: Figures, width: int) -> list[list[tuple[str, str]]]:
        return lines(figures, self._content(), width, self._window_rows)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        # The container's height changes by a row when the transcript appears, and the examples would vanish.
        self._window_rows = viewport.height - self._rows_below
        return len(self._lines(self.figures, width)) + (self._rows_below > 0)

    def render_line(self, y: int) -> Strip:
        rows, base = self._lines(self.figures, self.size.width), self.rich_style
        segments = [
            Segment(text, base + self._style(role)) for role, text in (rows[y] if y < len(rows) else [])
        ]
        return Strip(segments).adjust_cell_length(self.size.width, base)

    def _style(self, role: str) -> Style:
        if role == "plain":
            return Style.null()
        if not ember.is_ember(role):
            return role_style(self, "welcome", role)
        front, behind = (ember.COLORS.get(name) for name in ember.color_names(role))
        return Style(color=front, bgcolor=behind)
