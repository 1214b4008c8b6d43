"""One sub-agent: its task, its progress, and how it is stopped."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum

from forge_core.events import AgentEvent, LLMEnd, LLMStart, ToolEnd, ToolStart
from forge_core.extensions.agents import AgentDefinition
from forge_core.llm.models import TokenUsage
from forge_core.result import AgentResult
from forge_core.tools.base import AgentTask, ToolResult


class AgentState(StrEnum):
    WAITING = "waiting"
    """Until another one ends: `max_agents` are running."""
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"
    """By the user, alone or with the turn."""


@dataclass(eq=False, slots=True)
class SubAgent:
    """A sub-agent of a session, running or ended. All its texts are untrusted."""

    number: int
    """1, 2, 3 … in the session."""
    id: str
    """Of its own session."""
    call_id: str
    definition: AgentDefinition
    task: AgentTask
    model: str
    state: AgentState = AgentState.WAITING
    step: str = ""
    """Its current step: the heading of its last call, or "thinking"."""
    calls: int = 0
    usage: TokenUsage = field(default_factory=TokenUsage)
    started: float = field(default_factory=time.time)
    ended: float | None = None
    """Seconds since the epoch, like `started`."""
    report: str = ""
    note: str = ""
    """Where the work of an isolated agent is; follows its report."""
    stopped: asyncio.Event = field(default_factory=asyncio.Event)
    """Set to stop it."""
    is_in_background: bool = False
    is_stopped_alone: bool = False
    """Whether the user stopped it, and not the turn."""
    interrupt: Callable[[], None] = lambda: None
    """Ends its run; partial results are kept."""
    detach: Callable[[], None] = lambda: None
    """Ends what it has passed on to the session's stream; later events are not in the stream."""

    @property
    def name(self) -> str:
        return self.definition.name

    @property
    def label(self) -> str:
        """Its name and its task in a few words."""
        return f"{self.name}: {self.task.description}"

    @property
    def is_running(self) -> bool:
        return self.ended is None

    @property
    def known_cost_usd(self) -> Decimal | None:
        return self.usage.cost_usd

    @property
    def summary(self) -> str:
        """The number of its calls, its tokens and its cost."""
        return agent_summary(self.calls, self.usage)

    def stop(self, *, is_alone: bool = False) -> None:
        """Stop it; its partial results are kept. Do nothing if it has ended."""
        if self.is_running and not self.stopped.is_set():
            self.is_stopped_alone = is_alone
            self.stopped.set()
            self.interrupt()

    def follow(self, event: AgentEvent) -> None:
        """Update the progress by one of its events."""
        match event:
            case LLMStart():
                self.step = "thinking"
            case LLMEnd():
                self.usage += event.usage
            case ToolStart():
                self.calls += 1
                self.step = " ".join(filter(None, event.heading))
            case ToolEnd():
                self.step = "thinking"
            case _:
                pass

    def end(self, result: AgentResult | None) -> ToolResult:
        """Record its end, and return the result of its call."""
        self.ended, self.step = time.time(), ""
        outcome = self._outcome(result)
        self.report = outcome.for_model()
        return outcome

    def _outcome(self, result: AgentResult | None) -> ToolResult:
        text = "" if result is None else result.output.strip()
        problem = self._problem(result, bool(text))
        note = f"\n\n{self.note}" if self.note else ""
        if not problem:
            self.state = AgentState.DONE
            return ToolResult(True, text + note, summary=self.summary, usage=self.usage)
        is_stopped = self.stopped.is_set() or result is None or result.stopped_reason == "cancelled"
        self.state = AgentState.STOPPED if is_stopped else AgentState.FAILED
        return ToolResult(
            False,
            (f"Its last message was:\n{text}" if text else "") + note,
            error=problem,
            summary=f"{'stopped' if is_stopped else 'failed'}, {self.summary}",
            outcome="interrupted" if is_stopped else "failed",
            usage=self.usage,
        )

    def _problem(self, result: AgentResult | None, has_text: bool) -> str:
        """Return why there is no complete report, for the model; empty if there is one."""
        if result is None or result.stopped_reason == "cancelled":
            if self.is_stopped_alone:
                return f"the user stopped the agent {self.name}. Do not start it again unless they ask for it"
            return f"interrupted before the agent {self.name} finished"
        match result.stopped_reason:
            case "complete" | "denied" | "stop_tool" if has_text:
                return ""
            case "error":
                return f"the agent {self.name} failed: {result.error}"
            case "max_iterations":
                return f"the agent {self.name} was ended after {result.iterations} model calls, its limit"
            case reason:
                why = result.warning or f"its run ended with {reason!r}"
                return f"the agent {self.name} ended without a report: {why}"


def agent_summary(calls: int, usage: TokenUsage) -> str:
    """Return what a sub-agent has used so far: "7 calls, 12.3k tokens, $0.0213"."""
    usd = usage.cost_usd
    cost = "" if not usd else f"${usd:.2f}" if usd >= 1 else f"${usd:.4f}"
    count = usage.total_tokens
    tokens = f"{count / 1000:,.1f}k tokens" if count >= 1000 else f"{count} tokens" if count else ""
    made = f"{calls:,} call{'s'[: calls != 1]}" if calls else ""
    return ", ".join(filter(None, (made, tokens, cost))) or "no calls"
