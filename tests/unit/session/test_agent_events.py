"""The events of a sub-agent in the stream of its session."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

from forge_core.events import AgentEvent, LLMEnd, LLMStart, ToolEnd, ToolStart
from forge_core.extensions.agents import AgentCatalog
from forge_core.llm.models import TokenUsage
from forge_core.redact import Redactor
from forge_core.session.agents.agent_events import AgentEvents
from forge_core.session.agents.sub_agent import SubAgent
from forge_core.store.journal import Journal
from forge_core.tools.base import AgentTask


def ended() -> LLMEnd:
    usage = TokenUsage(prompt_tokens=7)
    return LLMEnd(usage=usage, cost_usd=Decimal(1), finish_reason="stop", duration_s=1.0, total_usage=usage)


def test_a_call_that_ends_first_gets_the_ends_of_what_is_open_and_nothing_later(tmp_path: Path) -> None:
    definition = AgentCatalog().find("general")
    assert definition is not None
    agent = SubAgent(1, "id", "t1", definition, AgentTask("general", "d", "p"), "a/model")
    passed: list[AgentEvent] = []
    counted: list[LLMEnd] = []
    journal = Journal(tmp_path / "journal.jsonl", Redactor())
    events = AgentEvents(agent, journal, passed.append, counted.append)
    events.emit(LLMStart(iteration=1, model="a/model"))
    events.emit(ToolStart(call_id="c1", name="read", arguments={}))

    later: list[AgentEvent] = []
    events.detach(TokenUsage(), later.append)
    events.emit(ToolEnd(call_id="c1", name="read", result="late", success=True, duration_s=1.0))
    events.emit(ended())
    journal.close()

    assert [type(one) for one in passed] == [LLMStart, ToolStart, LLMEnd, ToolEnd]
    assert [type(one) for one in later] == [ToolEnd, LLMEnd]
    assert {one.parent_id for one in (*passed, *later)} == {"t1"}
    assert [one.usage.prompt_tokens for one in counted] == [7]
    assert '"late"' in journal.path.read_text()
