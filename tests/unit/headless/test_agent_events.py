"""Events of sub-agents in the printers: told apart from those of the session."""

from __future__ import annotations

import io
import json

from forge_core.events import AgentEnd, AgentEvent, LLMChunk, LLMEnd, LLMStart, Notice, ToolEnd
from forge_core.headless.printers import OutputFormat, make_printer
from forge_core.llm.models import TokenUsage
from forge_core.redact import Redactor
from forge_core.result import AgentResult

USAGE = TokenUsage(prompt_tokens=5)


def model_call(model: str, parent_id: str | None) -> LLMEnd:
    return LLMEnd(
        usage=USAGE, cost_usd=None, finish_reason="stop", duration_s=1.0, total_usage=USAGE, model=model,
        parent_id=parent_id,
    )  # fmt: skip


EVENTS: list[AgentEvent] = [
    LLMStart(iteration=1, model="m"),
    LLMChunk(text="Half sk-or-v1-"),
    LLMStart(iteration=1, model="small", parent_id="t"),
    ToolEnd(
        call_id="1", name="read", result="x", success=True, duration_s=0.1, summary="1 line", parent_id="t"
    ),
    Notice(level="info", text="Busy.", parent_id="t"),
    model_call("small", "t"),
    LLMChunk(text="0123456789abcdef done."),
    model_call("m", None),
    AgentEnd(result=AgentResult("done", [], [], USAGE, 1)),
]


def printed(output: OutputFormat) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    printer = make_printer(output, out, err, Redactor(("sk-or-v1-0123456789abcdef",)))
    for event in EVENTS:
        printer.event(event)
    return out.getvalue(), err.getvalue()


def test_text_tells_what_a_sub_agent_does_indented_beside_the_answer() -> None:
    out, err = printed("text")
    assert out.startswith("Half ") and out.endswith(" done.\n") and out.count("\n") == 1
    assert err.splitlines() == ["  ✓ read  1 line", "  Busy."]


def test_json_names_the_model_that_answered_the_user() -> None:
    out, _ = printed("json")
    assert json.loads(out)["model"] == "m"


def test_stream_json_says_whose_each_event_is_and_keeps_a_key_together() -> None:
    records = [json.loads(line) for line in printed("stream-json")[0].splitlines()]
    parents = [(one["type"], one["data"]["parent_id"]) for one in records]
    assert [kind for kind, parent in parents if parent == "t"] == [
        "llm_start",
        "tool_end",
        "notice",
        "llm_end",
    ]
    text = "".join(one["data"]["text"] for one in records if one["type"] == "llm_chunk")
    assert "sk-or" not in text and text.endswith(" done.")
