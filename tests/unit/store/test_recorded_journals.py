"""Journals of earlier builds still open, with the same records.

The files in tests/fixtures/journals were written by version 1 of the format: `plain_answer` by `forge run` with
the offline model, the other two by sessions against a loopback server. Only the working directory and the port
were replaced afterwards. Do not record them again: a change of the format adds a file.
"""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from forge_core import events
from forge_core.redact import Redactor
from forge_core.store.journal import Journal, read_journal

JOURNALS = Path(__file__).parents[2] / "fixtures" / "journals"
NAMES = ("plain_answer", "tools_and_error", "retry_and_reset")
Record = dict[str, Any]


def opened(name: str) -> list[Record]:
    content = read_journal(JOURNALS / f"{name}.jsonl")
    assert content.damaged == 0
    return content.records


def data_of(records: list[Record], kind: str) -> list[Record]:
    return [record["data"] for record in records if record["type"] == kind]


def kinds_of(records: list[Record]) -> str:
    """The types in order, runs of the same type as one."""
    kinds = [record["type"] for record in records]
    return " ".join(kind for kind, before in zip(kinds, ["", *kinds], strict=False) if kind != before)


def event_fields(kind: str) -> set[str]:
    """The fields of today's event classes of a type."""
    return {
        field.name
        for event_class in vars(events).values()
        if isinstance(event_class, type) and issubclass(event_class, events.AgentEvent)
        if getattr(event_class, "type", None) == kind
        for field in dataclasses.fields(event_class)
    }


def test_the_recorded_plain_answer_of_forge_run_is_read() -> None:
    records = opened("plain_answer")
    assert kinds_of(records) == "session user llm_start llm_chunk llm_end agent_end message"
    assert {record["v"] for record in records} == {1}
    assert [record["timestamp"] for record in records] == sorted(record["timestamp"] for record in records)
    [session] = data_of(records, "session")
    assert (session["working_dir"], session["provider"]) == ("/home/user/project", "offline")
    assert data_of(records, "user") == [{"text": "hello", "model": "forge/offline", "mode": "ask"}]
    [chunk], [result] = data_of(records, "llm_chunk"), data_of(records, "agent_end")
    question, answer = data_of(records, "message")
    assert question == {"role": "user", "content": "hello"}
    assert answer["role"] == "assistant"
    assert answer["content"].startswith("Hello! Tell me what to do in this folder, for example:\n\n1. `list")
    assert chunk == {"text": answer["content"], "kind": "answer"}
    assert result["result"]["output"] == answer["content"]
    assert result["result"]["stopped_reason"] == "complete"


def test_the_recorded_turn_with_tools_permissions_and_an_error_is_read() -> None:
    records = opened("tools_and_error")
    assert [data["text"] for data in data_of(records, "user")] == ["Fix add in calc.py.", "Now add a test."]
    starts = {data["call_id"]: data for data in data_of(records, "tool_start")}
    ends = {data["call_id"]: data for data in data_of(records, "tool_end")}
    assert {call: data["name"] for call, data in starts.items()} == {
        "call_1": "read",
        "call_2": "read",
        "call_3": "edit",
        "call_4": "bash",
        "call_5": "write",
    }
    assert starts["call_5"]["arguments"] == {"file_path": "notes.md", "content": "# Größe\n"}
    assert {call: (data["success"], data["outcome"]) for call, data in ends.items()} == {
        "call_1": (True, "done"),
        "call_2": (False, "failed"),
        "call_3": (True, "done"),
        "call_4": (False, "failed"),
        "call_5": (False, "denied"),
    }
    assert ends["call_3"]["diffs"] == [
        {
            "path": "calc.py",
            "diff": "@@ -1,2 +1,2 @@\n def add(a, b):\n-    return a - b\n+    return a + b",
            "added": 1,
            "removed": 1,
        }
    ]
    assert "".join(data["text"] for data in data_of(records, "tool_progress")) == "step 1\nstep 2\n"
    decisions = [(data["decision"], data["by"], data["reason"]) for data in data_of(records, "permission")]
    assert decisions == [
        ("allow", "policy", ""),
        ("allow", "policy", ""),
        ("allow", "person", ""),
        ("allow", "person", ""),
        ("deny", "person", "no notes, please"),
    ]
    roles = [data["role"] for data in data_of(records, "message")]
    assert roles == ["user", "assistant", "tool", "tool", *["assistant", "tool"] * 3, "assistant", "user"]
    assert data_of(records, "error") == [
        {
            "error": "local server (400): this model takes no tools.",
            "kind": "InvalidRequestError",
            "recoverable": False,
        }
    ]


def test_the_recorded_cut_stream_reset_and_retried_turn_are_read() -> None:
    records = opened("retry_and_reset")
    first = "user llm_start llm_chunk llm_end notice llm_start llm_chunk llm_end agent_end message"
    second = "user llm_start llm_chunk llm_end agent_end message"
    third = "user llm_start llm_end error agent_end message"
    retried = "retry llm_start llm_chunk llm_end agent_end message"
    assert kinds_of(records) == f"session {first} reset {second} {third} {retried}"
    [notice] = data_of(records, "notice")
    assert (notice["attempt"], notice["max_retries"], notice["discards_answer"]) == (1, 2, True)
    chunks = [(data["kind"], data["text"]) for data in data_of(records, "llm_chunk")]
    assert chunks[:2] == [("reasoning", "Thinking about it."), ("answer", "The ans")]
    answers = [data["content"] for data in data_of(records, "message") if data["role"] == "assistant"]
    assert answers == ["The answer in full.", "A second answer.", "A third answer."]
    costs = [data["cost_usd"] for data in data_of(records, "llm_end")]
    assert costs == [None, "0.000123", "0.000123", None, "0.000123"]
    last = data_of(records, "llm_end")[-1]
    assert last["total_usage"]["prompt_tokens"] == 1200
    assert last["usage"] == {
        "prompt_tokens": 12,
        "completion_tokens": 5,
        "total_tokens": 17,
        "cached_tokens": 4,
        "cache_write_tokens": 0,
        "reasoning_tokens": 2,
        "audio_input_tokens": 0,
        "audio_output_tokens": 0,
        "cost_usd": "0.000123",
        "estimated": False,
    }
    ends = [data["result"] for data in data_of(records, "agent_end")]
    assert [end["stopped_reason"] for end in ends] == ["complete", "complete", "error", "complete"]
    assert [end["is_resumable"] for end in ends] == [False, False, True, False]


def recorded_events() -> Iterator[tuple[str, Record]]:
    types = set(events.AgentEventType)
    for name in NAMES:
        yield from ((record["type"], record["data"]) for record in opened(name) if record["type"] in types)


def test_current_events_have_every_recorded_field() -> None:
    missing = {
        f"{kind}.{key}" for kind, data in recorded_events() for key in data.keys() - event_fields(kind)
    }
    assert missing == set()


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_journal_accepts_further_records(name: str, tmp_path: Path) -> None:
    before = opened(name)
    path = tmp_path / "journal.jsonl"
    shutil.copy(JOURNALS / f"{name}.jsonl", path)
    journal = Journal(path, Redactor())
    journal.record("user", {"text": "one more"})
    journal.close()
    content = read_journal(path)
    assert content.records[:-1] == before
    assert content.records[-1]["data"] == {"text": "one more"}
