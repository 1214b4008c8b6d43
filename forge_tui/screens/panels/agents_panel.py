"""The panel of `/agents`: the sub-agents of the session as they run, and the available agents."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from forge_core.commands.agents_command import state_text
from forge_core.sanitize import safe_line
from forge_core.text_width import clip
from forge_tui import workers
from forge_tui.keymap import KeyContext, bindings
from forge_tui.keys.effective import effective_keys
from forge_tui.screens.panels.overlay import FRAME_CELLS, PANEL_CELLS, Overlay
from forge_tui.screens.panels.second_press import SecondPress
from forge_tui.widgets.blockview.styles import AGENT_VARIABLES
from forge_tui.widgets.choices import NONE_CHOSEN, Choice, ChoiceList

if TYPE_CHECKING:
    from forge_core.extensions.agents import AgentDefinition
    from forge_core.session.agents.sub_agent import SubAgent
    from forge_core.session.agents.subagents import SubAgents

REFRESH_S = 0.5
"""Time between two looks at the sub-agents while the panel is open."""
MOST_AGENTS = 8
_OTHER_ROWS = 5
_STOP = "jobs.stop"
_NONE = "No agent has been started in this session"
_SIGNS = {"waiting": "○", "running": "●", "done": "✓", "failed": "✗", "stopped": "◌"}


class AgentList(ChoiceList):
    """Sub-agents, their names in the colours of their definitions."""

    DEFAULT_CSS = "\n".join(
        f"AgentList > .choices--{color} {{ color: ${variable}; }}"
        for color, variable in AGENT_VARIABLES.items()
    )
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"choices--{color}" for color in AGENT_VARIABLES}


class AgentsPanel(workers.WorkerErrorsEndApp, Overlay[int | None]):
    """Returns the number of the sub-agent to show; None to show none."""

    DEFAULT_CSS = """
    AgentsPanel .about { color: $forge-muted; height: 1; margin-top: 1; text-wrap: nowrap; }
    AgentsPanel .defined { height: auto; margin-top: 1; text-wrap: nowrap; text-overflow: ellipsis; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyContext.JOBS)]

    def __init__(
        self, agents: SubAgents, defined: str, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`defined` lists the available agents; `clock` measures the time between keys."""
        super().__init__()
        self._stopping = SecondPress(_STOP, clock)
        self._agents = agents
        self._defined = _with_names_coloured(defined, agents.catalog.agents)
        listed = agents.list()
        running = [one for one in listed if one.is_running]
        self._chosen_number = (running or listed)[-1].number if listed else 0
        self._shown: tuple[Choice, ...] = ()
        self._about = Static("", classes="about", markup=False)

    def compose(self) -> ComposeResult:
        rows = min(MOST_AGENTS, max(self.app.size.height // 4, 2))
        self._list = AgentList([], max_rows=rows, label_share=None)
        with Vertical(classes="panel"):
            yield self._list
            yield self._about
            yield Static(self._defined, classes="defined", markup=False)

    def on_mount(self) -> None:
        self._show()
        self._timer = self.set_interval(REFRESH_S, self._show)

    def on_screen_suspend(self) -> None:
        self._timer.pause()

    def on_screen_resume(self) -> None:
        self._timer.resume()

    def on_resize(self) -> None:
        self._show()

    def _show(self) -> None:
        agents, panel = self._agents.list(), self.query_one(".panel")
        rows = tuple(map(_row, agents)) or (Choice(_NONE),)
        if rows != self._shown:
            self._shown = rows
            at = (at for at, one in enumerate(agents) if one.number == self._chosen_number)
            self._list.show([*rows], next(at, len(agents) - 1) if agents else NONE_CHOSEN)
        running = self._agents.running_count
        panel.border_title = f"Agents ({running} running)" if running else "Agents"
        chosen = self._chosen()
        self.show_keys(self._keys(chosen))
        width = max(min(self.size.width, PANEL_CELLS) - FRAME_CELLS, 8)
        self._about.display = chosen is not None
        self._about.update(Content("" if chosen is None else clip(_facts(chosen), width)))

    def _keys(self, agent: SubAgent | None) -> str:
        stop = effective_keys().hint("X", _STOP)
        if agent is None:
            return "Esc close"
        if self._stopping.row == agent.number and agent.is_running:
            return f"{stop} again stops agent {agent.number} · Esc close"
        keys = ["Enter what it has done", *([f"{stop} stop"] if agent.is_running else [])]
        return " · ".join([*keys, "Esc close"])

    def _chosen(self) -> SubAgent | None:
        agents = self._agents.list()
        return next((one for one in agents if one.number == self._chosen_number), None)

    def action_move(self, by: int) -> None:
        agents = self._agents.list()
        if agents and self._list.chosen != NONE_CHOSEN:
            self._list.move(by)
            self._choose(agents[min(self._list.chosen, len(agents) - 1)])

    def on_choice_list_clicked(self, event: ChoiceList.Clicked) -> None:
        agents = self._agents.list()
        if event.index < len(agents):
            event.choices.choose(event.index)
            self._choose(agents[event.index])

    def _choose(self, agent: SubAgent) -> None:
        self._stopping.forget()
        self._chosen_number = agent.number
        self._show()

    def action_stop(self) -> None:
        """Stop the chosen sub-agent at the second press."""
        agent = self._chosen()
        if agent is None or not agent.is_running:
            return
        if self._stopping.press(agent.number):
            workers.start(self, partial(self._stop, agent.number), "stop")
        self._show()

    async def _stop(self, number: int) -> None:
        await self._agents.stop(number)
        self._show()

    def action_read(self) -> None:
        """Show what the chosen sub-agent has done."""
        if (agent := self._chosen()) is not None:
            self.dismiss(agent.number)


def _row(agent: SubAgent) -> Choice:
    before, color = f"{_SIGNS[agent.state]} {agent.number} ", agent.definition.color
    name = (len(before), len(before) + len(agent.name), color) if color else None
    return Choice(f"{before}{safe_line(agent.label)}", detail=state_text(agent), name=name)


def _with_names_coloured(defined: str, agents: Iterable[AgentDefinition]) -> Content:
    """Return the list of the available agents, the names that have a colour in it."""
    variables = {one.name: AGENT_VARIABLES[one.color] for one in agents if one.color}
    content, at = Content(defined), 0
    for line in defined.split("\n"):
        name = line.removeprefix("  ").partition("  ")[0]
        if line.startswith("  ") and name in variables:
            content = content.stylize(f"${variables[name]}", at + 2, at + 2 + len(name))
        at += len(line) + 1
    return content


def _facts(agent: SubAgent) -> str:
    """Return where a sub-agent comes from, its model and its session."""
    parts = (f"{agent.name} ({agent.definition.origin})", safe_line(agent.model), f"session {agent.id}")
    return " · ".join(parts)
