"""The panel of `/mcp`: the MCP servers of the session, a line each."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Static

from forge_core.commands.mcp_command import DEFERRED, load_rows
from forge_core.commands.server_page import ServerRow, file_problems
from forge_tui.keymap import KeyContext, bindings
from forge_tui.screens.panels.servers.server_panel import ServerPanel
from forge_tui.screens.panels.servers.watching_panel import WatchingPanel
from forge_tui.widgets.choices import Choice, ChoiceList

if TYPE_CHECKING:
    from forge_core.session.session import ForgeSession

_MOST_SERVERS = 12
_ABOUT_ROWS = 3
_OTHER_ROWS = 4 + _ABOUT_ROWS
_SIGN_ROLES = {"✓": "good", "✗": "bad", "!": "warning"}


class ServerList(ChoiceList):
    """Servers, each with a sign of its state."""

    DEFAULT_CSS = """
    ServerList {
        & > .choices--good { color: $success; }
        & > .choices--bad { color: $error; }
        & > .choices--warning { color: $warning; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"choices--{role}" for role in _SIGN_ROLES.values()}


class ServersPanel(WatchingPanel):
    """Lists the servers; Enter opens the page of the chosen one."""

    DEFAULT_CSS = f"""
    ServersPanel .about {{ color: $forge-muted; height: {_ABOUT_ROWS}; margin-top: 1; }}
    """
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyContext.SERVERS)]

    def __init__(
        self, session: ForgeSession, approve: Callable[[], None], clock: Callable[[], float]
    ) -> None:
        """`approve` asks the user about the programs that wait for approval; `clock` measures the time
        between keys."""
        super().__init__()
        self._session = session
        self._approve = approve
        self._clock = clock
        self._rows: list[ServerRow] = []
        self._has_shown = False
        self._about = Static("", classes="about", markup=False)

    def compose(self) -> ComposeResult:
        self._list = ServerList(
            [], max_rows=self.list_rows(_MOST_SERVERS, _OTHER_ROWS), label_share=(1, 2), counts=True
        )
        with Vertical(classes="panel"):
            yield self._list
            yield self._about

    async def refresh_shown(self) -> None:
        """Look at the servers again, and show what has changed."""
        rows = await load_rows(self._session)
        if not self.is_attached or (rows == self._rows and self._has_shown):
            return
        self._has_shown = True
        self._rows = rows
        self._list.show([*map(_choice, rows)], self._list.chosen)
        ready = sum(row.state == "ready" for row in rows)
        self.query_one(".panel").border_title = f"MCP servers ({ready} of {len(rows)} ready)"
        self._show_about()

    def _show_about(self) -> None:
        row, lines = self._chosen(), file_problems(self._session)
        self.show_keys(f"{'Enter show it · ' if row is not None and row.has_page else ''}Esc close")
        if row is not None:
            about = row.error or (DEFERRED if self._session.tools.deferred else "")
            lines = [f"{row.name}, from {row.source}" if row.source else row.name, about, *lines]
        self._about.update("\n".join(filter(None, lines)) or "The files declare no servers.")

    def _chosen(self) -> ServerRow | None:
        return self._rows[self._list.chosen] if self._rows else None

    def action_move(self, by: int) -> None:
        self._list.move(by)
        self._show_about()

    def action_page(self, by: int) -> None:
        if self._rows:
            at = self._list.chosen + by * max(self._list.shown_rows - 1, 1)
            self._list.choose(min(max(at, 0), len(self._rows) - 1))
            self._show_about()

    def action_take(self) -> None:
        """Open the page of the chosen server."""
        row = self._chosen()
        if row is not None and row.has_page:
            self.app.push_screen(ServerPanel(self._session, row.name, self._approve, self._clock))

    def on_choice_list_clicked(self, event: ChoiceList.Clicked) -> None:
        event.choices.choose(event.index)
        self._show_about()
        self.action_take()


def _choice(row: ServerRow) -> Choice:
    role = _SIGN_ROLES.get(row.sign)
    sign = (0, len(row.sign), role) if role else None
    return Choice(f"{row.sign} {row.name}", detail=row.summary, name=sign)
