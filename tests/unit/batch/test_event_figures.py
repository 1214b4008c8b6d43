"""What the driver reads from the events of a run."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from forge_core.batch.event_figures import EventReader
from forge_core.events import LLMChunk, LLMEnd, LLMStart, Retry, ToolStart
from forge_core.llm.models import TokenUsage

NOTHING = TokenUsage()


def line(kind: str, /, **data: Any) -> str:
    return json.dumps({"v": 1, "type": kind, "timestamp": 0, "data": data}) + "\n"


def start() -> str:
    return json.dumps(LLMStart(iteration=1, model="m").as_record()) + "\n"


def end(
    cost: Decimal | None,
    tokens: int = 10,
    *,
    before: TokenUsage = NOTHING,
    finish_reason: str | None = "stop",
) -> str:
    usage = TokenUsage(prompt_tokens=tokens, completion_tokens=0, cost_usd=cost)
    event = LLMEnd(
        usage=usage, cost_usd=cost, finish_reason=finish_reason, duration_s=1, total_usage=before + usage
    )
    return json.dumps(event.as_record()) + "\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.jsonl"


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def test_a_file_is_followed_as_it_grows(path: Path) -> None:
    reader = EventReader(path)
    assert reader.read().calls == 0  # there is no file yet
    first, rest = end(Decimal("0.5"), 40)[:30], end(Decimal("0.5"), 40)[30:]
    append(path, start() + first)
    assert (reader.read().open_calls, reader.read().tokens) == (1, 0)
    append(path, rest + "no json\n[1]\n" + line("llm_end") + line("notice", reason=None, text="x"))
    figures = reader.read()
    assert (figures.open_calls, figures.tokens, figures.cost_usd) == (0, 40, Decimal("0.5"))
    chunk = LLMChunk(text='"type": "llm_end"').as_record()
    tool = ToolStart(call_id="1", name="bash", arguments={}, title="Run", target="ls \x1b[31m").as_record()
    append(path, json.dumps(chunk) + "\n" + json.dumps(tool) + "\n")
    assert reader.read().activity.startswith("Run ls ") and "\x1b" not in reader.read().activity


def test_rate_limits_are_counted_by_retries_and_the_last_error(path: Path) -> None:
    for failure in ("local server (429): slow down.", "local server (500): oops."):
        notice = Retry.of(failure, attempt=1, max_retries=2, wait_s=1)
        append(path, json.dumps(notice.as_record()) + "\n")
    append(path, line("error", error="slow down", kind="RateLimitError", recoverable=True))
    append(path, line("agent_end", result={"stopped_reason": "error", "output": "", "error": "slow down"}))
    figures = EventReader(path).read()
    assert (figures.rate_limits, figures.error_kind, figures.stopped_reason) == (2, "RateLimitError", "error")


def test_a_call_that_broke_has_an_unknown_cost_and_no_unknown_price(path: Path) -> None:
    half = Decimal("0.5")
    append(path, start() + end(half) + start())
    broken = TokenUsage(prompt_tokens=10)
    append(path, end(None, finish_reason=None, before=TokenUsage(prompt_tokens=10, cost_usd=half)))
    figures = EventReader(path).read()
    assert (figures.cost_usd, figures.is_cost_known, figures.is_price_known) == (half, False, True)
    append(path, start() + end(half, before=broken))
    figures = EventReader(path).read()
    assert (figures.cost_usd, figures.is_cost_known, figures.is_price_known) == (Decimal(1), False, True)
    append(path, start() + end(None, before=broken))
    assert not EventReader(path).read().is_price_known


@pytest.mark.parametrize(
    "events, was_killed, may_lack, charged",
    [
        ("", True, False, "0"),
        (start(), True, False, "1"),  # what the open call has cost is unknown
        (start() + end(Decimal("0.25")), True, False, "0.25"),
        (start() + end(Decimal("0.25")) + start(), True, False, "1"),
        (start() + end(Decimal("1.5")) + start(), True, False, "1.5"),
        (start() + end(Decimal("0.25")) + start(), False, False, "0.25"),
        (start() + end(None), False, False, "1"),
        ("", True, True, "1"),
        (start() + end(Decimal("0.25")), True, True, "1"),
        (start() + end(Decimal("0.25")), False, True, "0.25"),
    ],
    ids=range(10),
)
def test_what_cannot_be_known_counts_as_all_that_was_reserved(
    path: Path, events: str, was_killed: bool, may_lack: bool, charged: str
) -> None:
    append(path, events)
    figures = EventReader(path).read()
    found = figures.charged(Decimal(1), was_killed=was_killed, may_lack_events=may_lack)
    assert found == Decimal(charged)
