"""The card of a sub-agent: its step, calls, tokens and cost while it runs, then its report."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from rich.style import Style

from forge_core.events import AgentEvent, LLMEnd, LLMStart, Notice, Permission
from forge_core.llm.models import TokenUsage
from forge_tui.widgets.transcript.calls.tool_card import AgentCard
from tests.support.tool_events import tool_start
from tests.support.transcripts import STYLES, drawn, layout_of, tool_ended, tool_started, turn_ended

REPORT = "\n".join(f"finding {number}" for number in range(1, 11))


def thinks() -> LLMStart:
    return LLMStart(iteration=1, model="m", parent_id="1")


def thought(tokens: int, usd: str) -> LLMEnd:
    usage = TokenUsage(prompt_tokens=tokens, cost_usd=Decimal(usd))
    return LLMEnd(
        usage=usage,
        cost_usd=usage.cost_usd,
        finish_reason=None,
        duration_s=1.0,
        total_usage=usage,
        parent_id="1",
    )


def reads(call_id: str, path: str) -> list[AgentEvent]:
    return [
        tool_start(call_id, "read", {"file_path": path}, parent_id="1", timestamp=100.0),
        tool_ended("read", "text", call_id=call_id, parent_id="1"),
    ]


def rows_after(*events: AgentEvent, is_open: bool = False) -> list[str]:
    begun = tool_started("task", "1", agent="explore", description="find the parser", prompt="look")
    (card,) = layout_of(begun, *events).blocks
    assert isinstance(card, AgentCard)
    drawn(card, 100)
    if is_open:
        assert card.toggle(0)
    return [" ".join(row.split()) for row in drawn(card, 100)]


def test_a_running_sub_agent_shows_its_step_and_what_it_has_used() -> None:
    assert rows_after(thinks()) == ["● Agent explore: find the parser thinking"]
    assert rows_after(thinks(), thought(1200, "0.01"), *reads("2", "a.py"), thinks(), thought(800, "0.02"),
                      *reads("3", "b.py"), thinks()) == [
        "● Agent explore: find the parser 2 calls · 2.0k tokens · $0.030 · thinking",
        "│ ✓ Read 2 files a.py, b.py 0.4 s",
    ]  # fmt: skip
    waits = Notice(level="warning", text="Busy. Trying again in 4 s.", parent_id="1")
    assert rows_after(thinks(), waits) == ["● Agent explore: find the parser Busy. Trying again in 4 s."]


def test_the_name_has_the_colour_of_the_agent() -> None:
    begun = tool_started("task", "1", agent="user:explore", description="find: the parser", prompt="look")

    def parts(color: str, width: int = 100, *later: AgentEvent) -> dict[str, Style | None]:
        card, *_ = layout_of(replace(begun, color=color), *later).blocks
        return {one.text.strip(): one.style for one in card.render(width, STYLES).rows[0].segments}

    named = parts("cyan")
    assert (named["user:explore"], named[": find: the parser"]) == (STYLES.agents["cyan"], STYLES.text)
    for uncoloured in (parts("chartreuse"), parts(""), parts("cyan", 100, turn_ended("cancelled"))):
        assert "user:explore: find: the parser" in uncoloured
    assert "user:explore" not in parts("cyan", 24)  # clipped within the name


def test_an_ended_sub_agent_shows_the_beginning_of_its_report_and_unfolded_its_calls() -> None:
    ended = tool_ended("task", REPORT, summary="1 call, 1.2k tokens, $0.0100")
    events = [thinks(), thought(1200, "0.01"), *reads("2", "a.py"), ended]
    head = "✓ Agent explore: find the parser 1 call, 1.2k tokens, $0.0100 0.4 s"
    folded = rows_after(*events)
    assert folded == [head, *(f"│ finding {number}" for number in range(1, 7)), "│ … 4 more lines (Ctrl+O)"]
    unfolded = rows_after(*events, is_open=True)
    assert unfolded == [head, "│ ✓ Read a.py 0.4 s", *(f"│ finding {number}" for number in range(1, 11))]


def test_what_a_sub_agent_does_changes_nothing_outside_its_card() -> None:
    denied = Permission(call_id="2", decision="deny", rule="no", by="rule", parent_id="1")
    started, _ = reads("2", "a.py")
    layout = layout_of(
        tool_started("task", "1", description="look", prompt="look"),
        thinks(), started, denied, thought(10, "0"), Notice(level="info", text="x", parent_id="1"),
    )  # fmt: skip
    assert len(layout.blocks) == 1
