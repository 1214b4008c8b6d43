"""Every event is a labelled line in plain text, and every type of event has its place in the app too."""

from __future__ import annotations

import ast
import inspect
import io
from decimal import Decimal
from typing import get_args

import pytest

from forge_core import events
from forge_core.approval import ToolKind
from forge_core.events import (
    AgentEnd,
    AgentEvent,
    AgentEventType,
    Compaction,
    Error,
    LLMChunk,
    LLMEnd,
    LLMStart,
    Notice,
    Permission,
    Retry,
    Steered,
    ToolEnd,
    ToolProgress,
    ToolStart,
)
from forge_core.llm.models import TokenUsage
from forge_core.redact import Redactor
from forge_core.result import AgentResult, FileDiff
from forge_tui.plain.event_text import EventText, KnownEvent
from forge_tui.plain.labelled_output import LabelledOutput
from forge_tui.screens.chat import turn
from forge_tui.widgets.transcript import transcript_builder

USAGE = TokenUsage(prompt_tokens=1200, completion_tokens=80, cost_usd=Decimal("0.0021"))
RUN = ToolStart(
    timestamp=100.0,
    call_id="1",
    name="bash",
    arguments={},
    title="Run",
    target="pytest",
    kind=ToolKind.RUN,
    preview_rows=5,
)
END = AgentEnd(result=AgentResult("", [], [], USAGE, 1, duration=12.0))
CALL_END = LLMEnd(usage=USAGE, cost_usd=None, finish_reason="stop", duration_s=1.0, total_usage=USAGE)
SAMPLES: dict[type[AgentEvent], tuple[list[AgentEvent], str]] = {
    LLMStart: ([LLMStart(iteration=1, model="m/one")], "Status: m/one is working.\n"),
    LLMChunk: ([LLMChunk(text="It works. And so")], "Forge: It works. "),
    LLMEnd: ([LLMChunk(text="And so"), CALL_END], "Forge: And so\n"),
    ToolStart: ([RUN], "Tool run pytest: requested\n"),
    ToolProgress: (
        [RUN, ToolProgress(timestamp=115.0, call_id="1", text="12 of 40\n13 of 40")],
        "Tool run pytest: requested\nTool run pytest: still running, 15 s. Last line: 13 of 40\n",
    ),
    ToolEnd: (
        [ToolEnd(call_id="2", name="read", result="1", success=True, duration_s=0.1, summary="120 lines")],
        "Tool read: done, 120 lines, 0.1 s\n",
    ),
    Permission: (
        [Permission(call_id="1", decision="deny", rule="plan mode", by="mode")],
        "Warning: Denied: plan mode\n",
    ),
    Steered: ([Steered(text="Only the tests.")], "You, while it worked: Only the tests.\n"),
    Compaction: (
        [Compaction(before=9000, after=1000)],
        "Notice: Conversation summarised: ~9,000 → ~1,000 tokens\n",
    ),
    Notice: ([Notice(level="error", text="No disk.")], "Error: No disk.\n"),
    Retry: (
        [Retry.of("Busy. Try again later.", attempt=1, max_retries=2, wait_s=3.0)],
        "Warning: Busy. Trying again in 3 s.\n",
    ),
    Error: (
        [Error(error="The key is wrong.", kind="AuthError", recoverable=False)],
        "Error: The key is wrong.\n",
    ),
    AgentEnd: ([END], "Status: Turn ended, 12 s, 1.2k tokens in, 80 out, $0.0021.\n"),
}


def written(*happened: AgentEvent, speaks_diffs: bool = False, redact: Redactor | None = None) -> str:
    """What a turn writes."""
    out, redact = io.StringIO(), redact or Redactor()
    text = EventText(LabelledOutput(out, redact), redact, "folded", speaks_diffs=speaks_diffs)
    for event in happened:
        text.apply(event)
    return out.getvalue()


def event_classes() -> set[type[AgentEvent]]:
    """All classes of events."""
    return {
        one
        for one in vars(events).values()
        if isinstance(one, type) and issubclass(one, AgentEvent) and one is not AgentEvent
    }


def test_the_plain_text_knows_every_event() -> None:
    assert set(get_args(KnownEvent)) == event_classes() == SAMPLES.keys()
    assert {kind.type for kind in SAMPLES} == set(AgentEventType)


@pytest.mark.parametrize("kind", SAMPLES)
def test_every_event_is_written(kind: type[AgentEvent]) -> None:
    happened, expected = SAMPLES[kind]
    assert written(*happened) == expected


def test_the_app_shows_every_event() -> None:
    trees = [ast.parse(inspect.getsource(module)) for module in (transcript_builder, turn)]
    matched = {
        node.cls.id
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.MatchClass) and isinstance(node.cls, ast.Name)
    }
    names = {kind.__name__ for kind in event_classes()}
    calls = {"ToolStart", "ToolProgress", "ToolEnd", "Permission"}  # passed on to the cards
    assert names - calls <= matched, names - calls - matched


def test_an_answer_is_written_in_whole_sentences() -> None:
    out, redact = io.StringIO(), Redactor()
    text = EventText(LabelledOutput(out, redact), redact, "folded")
    seen = []
    for piece in ("Ver", "sion 1.", "5 is out", ". It", " is fast.\n", "1. one\n2. t", "wo"):
        text.apply(LLMChunk(text=piece))
        seen.append(out.getvalue())
    assert seen[:3] == ["", "", ""]
    assert seen[3] == "Forge: Version 1.5 is out. "
    assert seen[4] == "Forge: Version 1.5 is out. It is fast.\n"
    text.apply(CALL_END)
    assert out.getvalue() == "Forge: Version 1.5 is out. It is fast.\n1. one\n2. two\n"


def test_text_from_outside_is_made_safe_and_cannot_pass_for_a_label() -> None:
    text = written(LLMChunk(text="Done.\nPermission: Forge wants\n\x1b[2JYou: yes\nYou: yes\n"), CALL_END)
    assert "\x1b" not in text
    assert text.startswith("Forge: Done.\n  Permission: Forge wants\n")
    assert text.endswith("\n  You: yes\n")


def test_a_key_is_not_written_even_if_it_comes_in_pieces() -> None:
    redact = Redactor(("sk-secret-123456",))
    text = written(LLMChunk(text="It is sk-sec"), LLMChunk(text="ret-123456. Yes"), CALL_END, redact=redact)
    assert "secret" not in text and text.endswith("Yes\n")


def test_long_output_is_cut_and_can_be_shown_in_full() -> None:
    out, redact = io.StringIO(), Redactor()
    text = EventText(LabelledOutput(out, redact), redact, "folded")
    result = "\n".join(f"line {number}" for number in range(1, 53))
    text.apply(RUN)
    text.apply(ToolEnd(call_id="1", name="bash", result=result, success=True, duration_s=2.0))
    assert out.getvalue().endswith("line 12\n… 40 more lines: /show 1\n")
    assert text.show(1) and "line 52\n" in out.getvalue()
    assert not text.show(2)


def test_a_diff_is_unified_text_or_in_words() -> None:
    diff = FileDiff("a.py", "@@ -1,2 +1,2 @@\n-old\n+new\n same\n", 1, 1)
    end = ToolEnd(call_id="1", name="edit", result="ok", success=True, duration_s=0.1, diffs=(diff,))
    assert written(end).endswith("Change: a.py, 1 added, 1 removed\n@@ -1,2 +1,2 @@\n-old\n+new\n same\n")
    assert written(end, speaks_diffs=True).endswith("Removed line: old\nAdded line: new\n same\n")


def test_reasoning_is_one_line_unless_all_of_it_is_wanted() -> None:
    thought = LLMChunk(timestamp=10.0, text="First this. Then that.", kind="reasoning")
    answer = LLMChunk(timestamp=14.0, text="So be it.\n")
    assert written(thought, answer) == "Reasoning: 4.0 s, 4 words. /show 1 shows all.\nForge: So be it.\n"


def test_what_a_sub_agent_does_is_written_as_its_own_and_ends_no_answer() -> None:
    usage, inner = TokenUsage(prompt_tokens=5), {"parent_id": "t"}
    begun = LLMEnd(
        usage=usage, cost_usd=None, finish_reason=None, duration_s=1.0, total_usage=usage, parent_id="t"
    )
    text = written(
        LLMChunk(text="The answer "),
        LLMStart(iteration=1, model="m", **inner),
        ToolStart(call_id="1", name="read", arguments={}, title="Read", target="a.py", **inner),
        ToolEnd(
            call_id="1", name="read", result="1", success=True, duration_s=0.1, summary="3 lines", **inner
        ),
        begun,
        Notice(level="warning", text="Busy.", **inner),
        LLMChunk(text="goes on."),
        END,
    )
    assert "Tool of a sub-agent read a.py: done, 3 lines, 0.1 s\n" in text
    assert "Warning: Sub-agent: Busy.\n" in text
    assert "Forge: The answer goes on." in text
    assert "is working" not in text
