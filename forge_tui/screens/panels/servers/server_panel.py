"""The page of one MCP server: what it offers, with a switch for each tool, and what can be done with it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Static

from forge_core.commands.mcp_command import load_page
from forge_core.commands.server_page import (
    ServerAction,
    ServerPage,
    SwitchState,
    ToolRow,
    page_version,
    switch_tool,
)
from forge_core.errors import ForgeError
from forge_tui import workers
from forge_tui.keymap import KeyContext, bindings
from forge_tui.screens.panels.overlay import FRAME_CELLS, PANEL_CELLS
from forge_tui.screens.panels.servers.row_view import RowView, ViewRow
from forge_tui.screens.panels.servers.sign_in_panel import SignInPanel
from forge_tui.screens.panels.servers.watching_panel import WatchingPanel
from forge_tui.widgets.choices import NOT_TICKED, TICKED

if TYPE_CHECKING:
    from forge_core.session.session import ForgeSession

_OTHER_ROWS = 3
"""The border, and the row of the report."""
_SCROLLBAR = 1
_PROBLEM_FACTS = ("error", "warning")


class ServerPanel(workers.WorkerErrorsEndApp, WatchingPanel):
    """Enter does the chosen action, or switches the chosen tool."""

    DEFAULT_CSS = """
    ServerPanel .report { height: 1; color: $forge-muted; text-wrap: nowrap; text-overflow: ellipsis; }
    ServerPanel .report.-problem { color: $warning; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyContext.SERVERS)]

    def __init__(
        self,
        session: ForgeSession,
        name: str,
        approve: Callable[[], None],
        clock: Callable[[], float],
        *,
        signs_in: bool = False,
    ) -> None:
        """`approve` asks the user about the programs that wait for approval; `clock` measures the time
        between keys. If it `signs_in`, the user is to sign in to the server first."""
        super().__init__()
        self._session = session
        self._server = name
        self._approve = approve
        self._clock = clock
        self._signs_in = signs_in
        self._page: ServerPage | None = None
        self._version: Hashable = None
        self._view = RowView()
        self._report = Static("", classes="report", markup=False)

    def compose(self) -> ComposeResult:
        with Vertical(classes="panel") as panel:
            panel.border_title = f"MCP server {self._server}"
            yield self._view
            yield self._report

    def opened(self) -> None:
        if self._signs_in:
            self._sign_in()

    def on_resize(self) -> None:
        self._show()

    # What shows

    async def follow(self) -> None:
        """Read the page again if it may have changed: that of many tools takes a while."""
        if page_version(self._session, self._server) != self._version:
            await self.refresh_shown()

    async def refresh_shown(self) -> None:
        """Look at the server again, and show what has changed."""
        self._version = page_version(self._session, self._server)
        page = await load_page(self._session, self._server)
        if self.is_attached and page != self._page:
            self._page = page
            self._show()

    def _show(self) -> None:
        if self._page is None:
            return
        width = max(min(self.app.size.width, PANEL_CELLS) - FRAME_CELLS - _SCROLLBAR, 20)
        self._view.show([*_rows(self._page)], width)
        self._view.styles.height = min(self._view.virtual_size.height, self._most_rows)
        self._show_keys()

    @property
    def _most_rows(self) -> int:
        return self.list_rows(self.app.size.height, _OTHER_ROWS)

    def _show_keys(self) -> None:
        match self._view.chosen:
            case ServerAction():
                keys = "Enter do it · "
            case ToolRow() as tool if tool.can_be_switched:
                keys = f"Enter switch it {'off' if tool.state is SwitchState.ON else 'on'} · "
            case _:
                keys = ""
        is_cut = self._view.virtual_size.height > self._most_rows
        self.show_keys(f"{keys}Esc back{' · PageDown more' if is_cut else ''}")

    def _tell(self, text: str, *, is_problem: bool = False) -> None:
        self._report.set_class(is_problem, "-problem")
        self._report.update(text)

    # Keys

    def action_move(self, by: int) -> None:
        self._tell("")
        self._view.move(by)
        self._show_keys()

    def action_page(self, by: int) -> None:
        self._view.page(by)

    def on_row_view_clicked(self, event: RowView.Clicked) -> None:
        self._view.choose(event.key)
        self._show_keys()
        self.action_take()

    def action_take(self) -> None:
        """Do the chosen action, or switch the chosen tool."""
        match self._view.chosen:
            case ServerAction.APPROVE:
                self._approve()
            case ServerAction.SIGN_IN:
                self._sign_in()
            case ServerAction() as action:
                workers.start(self, partial(self._do, action), "server")
            case ToolRow() as tool if tool.can_be_switched:
                workers.start(self, partial(self._switch, tool), "server")

    async def _do(self, action: ServerAction) -> None:
        servers, name, done = self._session.servers, self._server, ""
        try:
            match action:
                case ServerAction.RESTART:
                    await servers.restart(name)
                    done = "It is started again."
                case ServerAction.SIGN_OUT:
                    await servers.sign_out(name)
                    done = "Signed out."
                case ServerAction.REVOKE:
                    await servers.revoke(name)
                    done = "It is not approved any more, and was stopped."
        except ForgeError as error:
            self._tell(str(error), is_problem=True)
        else:
            self._tell(done)
        await self.refresh_shown()

    async def _switch(self, tool: ToolRow) -> None:
        is_on = tool.state is not SwitchState.ON
        problem = switch_tool(self._session, tool.name, is_on=is_on)
        kept = f"in this session only: {problem}" if problem else "in this folder, from now on"
        self._tell(f"{tool.title} is {'on' if is_on else 'off'} {kept}", is_problem=bool(problem))
        self._view.chosen = None
        await self.refresh_shown()
        for row in self._view.rows:
            if isinstance(row.key, ToolRow) and row.key.name == tool.name:
                self._view.choose(row.key)
        self._show_keys()

    def _sign_in(self) -> None:
        try:
            attempt = self._session.servers.sign_in(self._server)
        except ForgeError as error:
            self._tell(str(error), is_problem=True)
            return
        self.app.push_screen(SignInPanel(attempt, self._session.servers, self._clock), self._signed_in)

    def _signed_in(self, report: str | None) -> None:
        self._tell(report or "")


def _rows(page: ServerPage) -> Iterator[ViewRow]:
    for name, text in page.facts:
        role = "plain"
        if name == "state":
            role = {"✓": "good", "✗": "problem", "!": "problem"}.get(page.row.sign, "plain")
        elif name in _PROBLEM_FACTS:
            role = "problem"
        yield ViewRow(name, text, role="hint", text_role=role)
    if page.actions:
        yield ViewRow("")
        yield from (ViewRow(str(action), key=action) for action in page.actions)
    if page.tools:
        yield from _heading(page.tools_head)
        yield from map(_tool_row, page.tools)
    for head, found in (("Prompts", page.prompts), ("Resources", page.resources)):
        if found:
            yield from _heading(head)
            yield from (ViewRow(name, about or " ") for name, about in found)
    if page.log:
        yield from _heading("Standard error")
        yield from (ViewRow(line, role="hint") for line in page.log)


def _heading(text: str) -> Iterator[ViewRow]:
    yield ViewRow("")
    yield ViewRow(text, role="heading")


def _tool_row(tool: ToolRow) -> ViewRow:
    is_on = tool.state is SwitchState.ON
    tick = TICKED if is_on else NOT_TICKED
    about = tool.summary if is_on else f"{tool.state}. {tool.summary}"
    role = "plain" if is_on else "hint"
    return ViewRow(f"{tick} {tool.title}", about or " ", tool, role, is_short=True)
