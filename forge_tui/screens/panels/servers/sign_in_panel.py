"""The panel in which the user signs in to an MCP server: the URL, and a field for the address to paste."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input, Static

from forge_core.mcp.sign_in_attempt import SignInState
from forge_core.mcp.wire import SIGN_IN_S
from forge_core.text_width import clip, hard_wrap
from forge_tui import workers
from forge_tui.screens.panels.overlay import Overlay, PanelInput
from forge_tui.widgets.choices import NONE_CHOSEN, Choice, ChoiceList

if TYPE_CHECKING:
    from forge_core.mcp.sign_in_attempt import SignInAttempt
    from forge_core.session.session_servers import SessionServers

REFRESH_S = 0.1
"""Time between two looks at the attempt."""
_MOST_URL_ROWS = 24
_OTHER_ROWS = 15
"""Rows of the panel beside those of the URL."""
_OPEN, _COPY, _AGAIN = "Open it in the browser", "Copy the URL", "Try again"
_ELSEWHERE = "No browser can be opened from here: open this URL on any machine."


class UrlText(Widget):
    """A URL in rows that are one link. If there are too many rows, the end of it does not show."""

    DEFAULT_CSS = "UrlText { height: auto; color: $forge-link; }"

    def __init__(self) -> None:
        super().__init__()
        self._url = ""
        self._link = Style()
        self._most_rows = 1

    def show(self, url: str, most_rows: int) -> None:
        self._url, self._link, self._most_rows = url, Style(link=url), most_rows
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._rows(width))

    def render_line(self, y: int) -> Strip:
        rows = self._rows(self.size.width)
        segments = [Segment(rows[y], self.rich_style + self._link)] if y < len(rows) else []
        return Strip(segments).adjust_cell_length(self.size.width, self.rich_style)

    def _rows(self, width: int) -> list[str]:
        rows = hard_wrap(self._url, width)
        most = self._most_rows
        return rows if len(rows) <= most else [*rows[: most - 1], clip(rows[most - 1] + "…", width)]


class SignInPanel(workers.WorkerErrorsEndApp, Overlay[str | None]):
    """Closes with the report of the sign-in once it has succeeded. Esc cancels the sign-in; closed for a
    prompt, the panel leaves it alone."""

    DEFAULT_CSS = """
    SignInPanel UrlText { margin: 1 0; }
    SignInPanel .asks { color: $forge-muted; margin-top: 1; }
    SignInPanel PanelInput { margin-bottom: 0; }
    SignInPanel .report { color: $warning; }
    SignInPanel UrlText, SignInPanel .asks, SignInPanel PanelInput { display: none; }
    SignInPanel.-waiting {
        & UrlText, & .asks, & PanelInput { display: block; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,ctrl+n", "move(1)", show=False),
        Binding("up,ctrl+p", "move(-1)", show=False),
        Binding("enter", "take", show=False),
    ]

    def __init__(self, attempt: SignInAttempt, servers: SessionServers, clock: Callable[[], float]) -> None:
        """`clock` measures the time between keys."""
        super().__init__()
        self._attempt = attempt
        self._servers = servers
        self._clock = clock
        self._has_browser = False
        self._shown: tuple[object, ...] = ()
        self._note = ""
        self._status = Static("", classes="state", markup=False)
        self._url = UrlText()
        self._report = Static("", classes="report", markup=False)

    def compose(self) -> ComposeResult:
        with Vertical(classes="panel") as panel:
            panel.border_title = f"Sign in to {self._attempt.server}"
            yield self._status
            yield self._url
            yield ChoiceList([])
            yield Static("If the last page cannot be displayed, paste its address here:", classes="asks")
            yield PanelInput("http://127.0.0.1…")
            yield self._report

    async def on_mount(self) -> None:
        self._has_browser = await self._servers.has_browser()
        self._follow()
        self.set_interval(REFRESH_S, self._follow)

    # What shows

    def _follow(self) -> None:
        """Show the state of the attempt if it has changed."""
        attempt = self._attempt
        now = (attempt, attempt.state, attempt.url, attempt.refusal, self._note)
        if now == self._shown or not self.is_attached:
            return
        is_new_state = now[:2] != self._shown[:2]
        self._shown = now
        if attempt.state is SignInState.DONE:
            self.dismiss(attempt.report)
            return
        self._report.update(attempt.refusal or self._note)
        if is_new_state:
            self._show_state(attempt)

    def _show_state(self, attempt: SignInAttempt) -> None:
        self.set_class(attempt.state is SignInState.WAITING, "-waiting")
        choices, field = self.query_one(ChoiceList), self.query_one(Input)
        match attempt.state:
            case SignInState.CONNECTING:
                self._status.update("Finding out where to sign in …")
                choices.show([Choice("")], NONE_CHOSEN)
                self.show_keys("Esc cancel")
            case SignInState.WAITING:
                self.guard(self._clock)  # an Enter that was on its way must not open a browser
                self._status.update(_waiting_text(attempt, self._has_browser))
                self._url.show(attempt.url, self.list_rows(_MOST_URL_ROWS, _OTHER_ROWS))
                choices.show([*([Choice(_OPEN)] if self._has_browser else []), Choice(_COPY)])
                field.focus()
                self.show_keys("Enter do it, or take the address · Esc cancel")
            case _:
                self._status.update(attempt.report)
                field.value = ""
                self.set_focus(None)
                choices.show([Choice(_AGAIN)])
                self.show_keys("Enter try again · Esc back")

    # Keys

    def action_move(self, by: int) -> None:
        if self.query_one(ChoiceList).chosen != NONE_CHOSEN:
            self.query_one(ChoiceList).move(by)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if address := event.value.strip():
            self._attempt.paste(address)
            event.input.value = ""
        else:
            self.action_take()

    def on_choice_list_clicked(self, event: ChoiceList.Clicked) -> None:
        if not self.refuses_click():
            event.choices.choose(event.index)
            self.action_take()

    def action_take(self) -> None:
        """Do what is chosen."""
        choices = self.query_one(ChoiceList)
        if choices.chosen == NONE_CHOSEN:
            return
        match choices.rows[choices.chosen].label:
            case label if label == _OPEN:
                workers.start(self, self._open, "browser")
            case label if label == _COPY:
                self.app.copy_to_clipboard(self._attempt.url)
                self._tell("Copied.")
            case label if label == _AGAIN:
                self._attempt = self._servers.sign_in(self._attempt.server)
                self._note = ""
                self._follow()

    async def _open(self) -> None:
        is_open = await self._attempt.open_page()
        self._tell("The browser has been opened." if is_open else _ELSEWHERE)

    def _tell(self, text: str) -> None:
        self._note = text
        self._follow()

    def action_leave(self) -> None:
        """Cancel the sign-in, and close."""
        workers.start(self, self._cancel, "cancel")

    async def _cancel(self) -> None:
        await self._attempt.cancel()
        self.dismiss(None)


def _waiting_text(attempt: SignInAttempt, has_browser: bool) -> str:
    where = f"Sign in at {attempt.host}." if has_browser else f"{_ELSEWHERE} You sign in at {attempt.host}."
    limit = f"for at most {SIGN_IN_S / 60:g} minutes"
    return f"{where} Forge waits for the browser to come back to {attempt.redirect_uri}, {limit}."
