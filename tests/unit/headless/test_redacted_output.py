"""What `forge run` prints holds none of Forge's own keys, wherever they occur and however they are cut."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO

import pytest

from forge_core.events import (
    AgentEnd,
    AgentEvent,
    Error,
    LLMChunk,
    LLMEnd,
    LLMStart,
    Notice,
    Permission,
    Retry,
    ToolEnd,
    ToolProgress,
    ToolStart,
)
from forge_core.headless.printers import OutputFormat, make_printer
from forge_core.llm.endpoints import held_secrets
from forge_core.llm.models import TokenUsage
from forge_core.redact import MASK, Redactor
from forge_core.result import AgentResult, ToolCallRecord

KEY = "Zq7+wV/2mN9xKp4tRb8yLc3d"
OTHERS = "ghp_" + "a1" * 18
"""A token of a well-known form that is none of Forge's."""
REDACT = Redactor((KEY, "hunter42"))
FORMATS: tuple[OutputFormat, ...] = ("text", "json", "stream-json")
USAGE = TokenUsage()
START = LLMStart(iteration=1, model="m")
END = LLMEnd(usage=USAGE, cost_usd=None, finish_reason=None, duration_s=0.0, total_usage=USAGE)
RETRY = Retry.of("It broke.", attempt=1, max_retries=2, wait_s=0.0, discards_answer=True)


def over(output: str = "", **fields: object) -> AgentEnd:
    call = ToolCallRecord("c", "bash", {"command": f"echo {KEY}"}, f"out {KEY}", True, 0.1)
    result = AgentResult(output, [], [call], USAGE, 1, **fields)  # type: ignore[arg-type]
    return AgentEnd(result=result)


def printed(output: OutputFormat, events: Sequence[AgentEvent], out: TextIO | None = None) -> tuple[str, str]:
    """Return what is on standard output, something like a pipe by default, and on standard error."""
    out, err = out or io.StringIO(), io.StringIO()
    printer = make_printer(output, out, err, REDACT)
    for event in events:
        printer.event(event)
    out.seek(0)
    return out.read(), err.getvalue()


def everywhere() -> list[AgentEvent]:
    """Return events with the key in each text that a run can print."""
    return [
        Notice(level="warning", text=f"notice {KEY}"),
        START,
        LLMChunk(text=f"thinking {KEY}", kind="reasoning"),
        LLMChunk(text=f"answer {KEY} here"),
        LLMChunk(text=json.dumps({"command": f"echo {KEY}"}), kind="tool_args"),
        END,
        ToolStart(
            call_id="c", name="bash", arguments={"command": f"echo {KEY}", KEY: 1}, title=KEY, target=KEY
        ),
        Permission(call_id="c", decision="deny", rule=f"bash(echo {KEY})", by="rule", reason=KEY),
        ToolProgress(call_id="c", text=f"live {KEY}"),
        ToolEnd(call_id="c", name="bash", result=f"failed {KEY}", success=False, duration_s=0.1),
        ToolEnd(call_id="d", name="bash", result="", success=True, duration_s=0.1, summary=f"did {KEY}"),
        Error(error=f"error {KEY}", kind="E", recoverable=False),
        over(f"answer {KEY} here", error=f"error {KEY}", warning=f"warning {KEY}"),
    ]


@pytest.mark.parametrize("output", FORMATS)
def test_no_format_prints_a_key(output: OutputFormat) -> None:
    out, err = printed(output, everywhere())
    assert KEY not in out + err
    assert MASK in out
    assert output == "stream-json" or err.count(MASK) >= 4


@pytest.mark.parametrize("output", FORMATS)
def test_no_status_line_is_cut_within_a_key(output: OutputFormat) -> None:
    for fill in range(270, 302):
        text = "x" * fill + KEY
        events = [ToolEnd(call_id="c", name="b", result="", success=True, duration_s=0.1, summary=text)]
        assert KEY[:4] not in printed(output, events)[1]


def answers(text: str, cut: int) -> list[AgentEvent]:
    return [START, LLMChunk(text=text[:cut]), LLMChunk(text=text[cut:]), END]


@pytest.mark.parametrize("kind", ["pipe", "file"])
def test_a_key_in_the_text_is_found_wherever_the_answer_is_cut(kind: str, tmp_path: Path) -> None:
    text = f"the key is {KEY}, as you see"
    for cut in range(1, len(text)):
        events = [*answers(text, cut), over()]
        with (tmp_path / "out").open("w+") if kind == "file" else io.StringIO() as out:
            assert printed("text", events, out)[0] == f"the key is {MASK}, as you see\n", cut


def test_a_key_that_comes_character_by_character_is_found() -> None:
    chunks = [LLMChunk(text=char) for char in f"a {KEY} b"]
    assert printed("text", [START, *chunks, END, over()])[0] == f"a {MASK} b\n"


def joined(out: str, select: Callable[[dict[str, object]], bool]) -> str:
    records = [json.loads(line) for line in out.splitlines()]
    return "".join(one["data"]["text"] for one in records if "text" in one["data"] and select(one["data"]))


@pytest.mark.parametrize("kind", ["answer", "reasoning", "tool_args"])
def test_a_key_cut_over_events_is_found_also_when_other_kinds_come_between(kind: str) -> None:
    other = "reasoning" if kind == "answer" else "answer"
    for cut in range(1, len(KEY)):
        events = [
            START,
            LLMChunk(text=f"a {KEY[:cut]}", kind=kind),  # type: ignore[arg-type]
            LLMChunk(text="between", kind=other),  # type: ignore[arg-type]
            LLMChunk(text=f"{KEY[cut:]} z", kind=kind),  # type: ignore[arg-type]
            END,
        ]
        out = printed("stream-json", events)[0]
        assert joined(out, lambda data: data.get("kind") == kind) == f"a {MASK} z", cut
        assert joined(out, lambda data: data.get("kind") == other) == "between"


def test_a_key_cut_over_live_output_of_parallel_calls_is_found() -> None:
    for cut in range(1, len(KEY)):
        events = [
            ToolProgress(call_id="c", text=f"a {KEY[:cut]}"),
            ToolProgress(call_id="d", text="between"),
            ToolProgress(call_id="c", text=f"{KEY[cut:]} z"),
            *(ToolEnd(call_id=one, name="bash", result="", success=True, duration_s=0.1) for one in "cd"),
        ]
        out = printed("stream-json", events)[0]
        assert joined(out, lambda data: data.get("call_id") == "c") == f"a {MASK} z", cut
        assert joined(out, lambda data: data.get("call_id") == "d") == "between"


def test_only_what_may_be_the_beginning_of_a_key_is_held_back() -> None:
    out = io.StringIO()
    printer = make_printer("text", out, io.StringIO(), REDACT)
    printer.event(START)
    for text in ("Some words, -----BEGIN", " gh", " sk-", " eyJ", " xox", f" {KEY[:5]}"):
        printer.event(LLMChunk(text=text))
    assert out.getvalue() == "Some words, -----BEGIN gh sk- eyJ xox "
    printer.event(LLMChunk(text=" no key"))
    assert out.getvalue() == f"Some words, -----BEGIN gh sk- eyJ xox {KEY[:5]} no key"


@pytest.mark.parametrize("ending", [[END, over()], [END, RETRY, START, LLMChunk(text="b"), END, over()]])
def test_what_was_held_back_is_printed_when_the_answer_ends_or_breaks_off(ending: list[AgentEvent]) -> None:
    events = [START, LLMChunk(text=f"a {KEY[:7]}"), *ending]
    assert printed("text", events)[0].startswith(f"a {KEY[:7]}\n")
    assert joined(printed("stream-json", events)[0], lambda data: "kind" in data).startswith(f"a {KEY[:7]}")


@pytest.mark.parametrize("output", FORMATS)
def test_text_without_a_key_of_forges_own_is_printed_unchanged(output: OutputFormat) -> None:
    text = f"Set {OTHERS!r} – it's no key of Forge's.\r\n\n-----BEGIN PRIVATE KEY-----\nthat's it\n\ttail  \n"
    for cut in range(1, len(text)):
        out = printed(output, [*answers(text, cut), over(text)])[0]
        if output == "text":
            assert out == text
        elif output == "json":
            assert json.loads(out)["output"] == text
        else:
            assert joined(out, lambda data: "kind" in data) == text


def test_a_value_that_stands_in_for_a_key_is_no_secret() -> None:
    environ = {"OPENAI_API_KEY": "ollama", "HTTPS_PROXY": "http://me:password@proxy:1", "FORGE_API_KEY": KEY}
    assert held_secrets(environ) == (KEY,)
