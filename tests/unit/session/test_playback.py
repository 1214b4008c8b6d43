"""Playing a journal: the steps of the live run in their order, of any version, damaged or not."""

from __future__ import annotations

import json
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from forge_core.errors import JournalError
from forge_core.events import AgentEnd, AgentEvent, LLMEnd, LLMStart, Permission, ToolEnd, ToolStart
from forge_core.redact import Redactor
from forge_core.session.playback import (
    ConversationReplaced,
    FiguresChanged,
    PermissionAsked,
    Playback,
    Step,
    TurnBegins,
    TurnResumes,
    load_recording,
)
from forge_core.session.saved_sessions import SavedSessions
from forge_core.store.export import write_export
from forge_core.store.saved_session import SavedSession, load_session
from tests.unit.session.test_saved_sessions import FIRST, write
from tests.unit.store.test_recorded_journals import JOURNALS, NAMES

START = 1_800_000_000.0


def recorded(tmp_path: Path, *records: tuple[str, dict[str, Any]]) -> SavedSession:
    """A session with these records, one second apart."""
    path = tmp_path / f"{FIRST}.jsonl"
    head = ("session", {"id": FIRST, "working_dir": "/w", "provider": "custom"})
    lines = (
        {"v": 2, "type": kind, "timestamp": START + second, "data": data}
        for second, (kind, data) in enumerate([head, *records])
    )
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return load_session(path)


def user(text: str, **data: Any) -> tuple[str, dict[str, Any]]:
    return "user", {"text": text, "model": "a/b", "mode": "ask", **data}


def ended(reason: str = "complete") -> tuple[str, dict[str, Any]]:
    return "agent_end", {"result": {"stopped_reason": reason}}


def tool(call_id: str = "c1", kind: str = "tool_start", **data: Any) -> tuple[str, dict[str, Any]]:
    return kind, {"call_id": call_id, "name": "bash", "title": "Run", "target": "make", **data}


def names(steps: list[Step]) -> list[str]:
    return [type(step.content).__name__ for step in steps]


@pytest.mark.parametrize("name", NAMES)
def test_a_journal_of_the_first_build_plays_with_all_its_events_in_order(name: str) -> None:
    saved = load_session(JOURNALS / f"{name}.jsonl")
    steps = list(Playback(saved).steps())
    times = [step.time for step in steps]
    assert times == sorted(times) and times[0] >= saved.started
    shown = [str(step.content.type) for step in steps if isinstance(step.content, AgentEvent)]
    unseen = ("session", "user", "retry", "reset", "message")
    wanted = [
        record["type"]
        for record in saved.records
        if record["type"] not in unseen
        and not (record["type"] == "permission" and record["data"]["by"] == "policy")
    ]
    assert shown == wanted


def test_resets_and_resumed_turns_are_steps() -> None:
    playback = Playback(load_session(JOURNALS / "retry_and_reset.jsonl"))
    steps = [step.content for step in playback.steps() if not isinstance(step.content, AgentEvent)]
    assert steps == [
        TurnBegins("Answer me."),
        ConversationReplaced("The conversation was cleared.", ()),
        TurnBegins("Start again."),
        TurnBegins("And once more."),
        TurnResumes(),
    ]
    assert (playback.turn, playback.turns) == (3, 3)


def test_a_call_that_the_user_was_asked_about_is_followed_by_the_question_and_the_answer() -> None:
    steps = [step.content for step in Playback(load_session(JOURNALS / "tools_and_error.jsonl")).steps()]
    asked = [step.call_id for step in steps if isinstance(step, PermissionAsked)]
    answers = [(step.call_id, step.decision) for step in steps if isinstance(step, Permission)]
    assert asked == ["call_3", "call_4", "call_5"]
    assert answers == [("call_3", "allow"), ("call_4", "allow"), ("call_5", "deny")]
    for step, following in pairwise(steps):
        if isinstance(following, PermissionAsked):
            assert isinstance(step, ToolStart) and step.call_id == following.call_id


def test_a_call_id_that_comes_again_is_asked_about_only_where_it_was(tmp_path: Path) -> None:
    answer = ("permission", {"call_id": "c1", "decision": "allow", "rule": "", "by": "person"})
    end = tool(kind="tool_end", result="", success=True, duration_s=1.0)
    saved = recorded(tmp_path, user("x"), tool(), end, tool(), answer, end, ended())
    assert names(list(Playback(saved).steps())) == [
        "TurnBegins", "ToolStart", "ToolEnd", "ToolStart", "PermissionAsked", "Permission", "ToolEnd",
        "AgentEnd",
    ]  # fmt: skip


def test_a_killed_turn_gets_its_ends_before_what_came_after_it(tmp_path: Path) -> None:
    saved = recorded(tmp_path, user("x"), tool(), ("resume", {}), user("y"), ended())
    steps = list(Playback(saved).steps())
    assert names(steps) == ["TurnBegins", "ToolStart", "ToolEnd", "AgentEnd", "TurnBegins", "AgentEnd"]
    end = steps[2].content
    assert isinstance(end, ToolEnd) and end.outcome == "interrupted"
    assert [step.time - START for step in steps] == [1, 2, 2, 2, 4, 5]


def test_a_turn_that_the_journal_cuts_off_has_its_ends_wherever_it_is_cut(tmp_path: Path) -> None:
    whole = load_session(JOURNALS / "tools_and_error.jsonl").records
    lines = [json.dumps(record) for record in whole]
    for count in range(2, len(lines) + 1):
        path = tmp_path / f"{FIRST}.jsonl"
        path.write_text("\n".join(lines[:count]) + '\n{"torn')
        steps = [step.content for step in Playback(load_session(path)).steps()]
        starts = sum(isinstance(step, ToolStart) for step in steps)
        assert starts == sum(isinstance(step, ToolEnd) for step in steps)
        turns = sum(isinstance(step, TurnBegins) for step in steps)
        assert turns == sum(isinstance(step, AgentEnd) for step in steps)
        assert isinstance(steps[-1], AgentEnd)


def test_a_rewind_and_its_undo_replace_the_conversation(tmp_path: Path) -> None:
    saved = recorded(
        tmp_path,
        *(user("first"), ended(), user("second"), ended()),
        ("rewind", {"turn": 2, "undone": []}),
        ("unrewind", {}),
        *(user("third"), ended()),
    )
    replaced = [
        step.content for step in Playback(saved).steps() if isinstance(step.content, ConversationReplaced)
    ]
    assert [[turn.text for turn in one.turns] for one in replaced] == [["first"], ["first", "second"]]
    assert replaced[0].text == "The session was rewound: the conversation has 1 message."


def test_the_end_of_a_turn_can_be_the_end(tmp_path: Path) -> None:
    saved = recorded(tmp_path, user("1"), ended(), user("2"), ended(), user("3"), ended())
    for until, turns in ((1, 1), (2, 2), (3, 3), (9, 3)):
        playback = Playback(saved, until=until)
        assert playback.turns == turns
        steps = list(playback.steps())
        assert playback.turn == turns
        assert names(steps) == ["TurnBegins", "AgentEnd"] * turns


def test_the_figures_are_those_at_the_step(tmp_path: Path) -> None:
    usage = {"prompt_tokens": 90, "completion_tokens": 10, "total_tokens": 100}
    total = {**usage, "prompt_tokens": 500, "cost_usd": "0.25"}
    call = (
        "llm_end",
        {"usage": usage, "total_usage": total, "cost_usd": "0.05", "model": "a/b", "duration_s": 1.0},
    )
    todo = {"content": "Fix it", "status": "in_progress"}
    saved = recorded(
        tmp_path,
        user("x", mode="plan"),
        ("llm_start", {"iteration": 1, "model": "a/b"}),
        call,
        ("state", {"todos": [todo, {"status": "pending"}, 7], "model": "c/d"}),
        ended(),
        ("compaction", {"before": 100, "after": 30}),
        user("y", model="e/f", mode="nonsense"),
        ended(),
    )
    playback, seen = Playback(saved), []
    for step in playback.steps():
        status = playback.status
        seen.append((type(step.content), status.model, status.context_used, status.usage.cost_usd))
    quarter = Decimal("0.25")
    assert [one[1:] for one in seen] == [
        ("a/b", 0, None),
        ("a/b", 0, None),
        ("a/b", 100, quarter),
        ("c/d", 100, quarter),
        ("c/d", 30, quarter),
        ("e/f", 30, quarter),
        ("e/f", 30, quarter),
    ]
    assert [one[0] for one in seen[:3]] == [TurnBegins, LLMStart, LLMEnd]
    assert playback.status.mode == "plan" and playback.status.known_cost_usd == Decimal("0.05")
    assert [item.content for item in playback.todos] == ["Fix it"]


def test_a_bill_shows_when_it_came_and_not_with_the_next_call(tmp_path: Path) -> None:
    estimate = {"prompt_tokens": 80, "completion_tokens": 20, "cost_usd": "0.05", "estimated": True}
    cut = ("llm_end", {"usage": estimate, "total_usage": estimate, "cost_usd": "0.05", "model": "a/b"})
    bill = {"prompt_tokens": 70, "completion_tokens": 40, "cost_usd": "0.0375"}
    saved = recorded(
        tmp_path,
        user("x"),
        cut,
        ended("cancelled"),
        ("bill", {"of": START + 2, "usage": bill, "model": "a/b"}),
        ("bill", {"of": START + 2, "usage": bill, "model": "a/b"}),  # a second one replaces nothing
        ("bill", {"of": "damaged"}),
    )
    playback = Playback(saved)
    seen = [(type(step.content), step.time - START, playback.status) for step in playback.steps()]
    assert [one[0] for one in seen] == [TurnBegins, LLMEnd, AgentEnd, FiguresChanged]
    assert [one[2].known_cost_usd for one in seen[1:]] == [
        Decimal("0.05"),
        Decimal("0.05"),
        Decimal("0.0375"),
    ]
    _, time, status = seen[-1]
    assert time == 4
    assert (status.usage.prompt_tokens, status.usage.completion_tokens) == (70, 40)
    assert status.usage.cost_usd == Decimal("0.0375") and not status.usage.estimated


def test_the_call_of_a_summary_adds_to_the_figures(tmp_path: Path) -> None:
    usage = {"prompt_tokens": 90, "completion_tokens": 10, "cost_usd": "0.25"}
    call = ("llm_end", {"usage": usage, "total_usage": usage, "cost_usd": "0.25", "model": "a/b"})
    summary = ("llm_end", {"usage": usage, "model": "a/b", "purpose": "summary"})
    playback = Playback(recorded(tmp_path, user("x"), call, ended(), summary))
    list(playback.steps())
    assert playback.status.usage.prompt_tokens == 180


def test_a_turn_that_could_be_resumed_ends_so() -> None:
    steps = Playback(load_session(JOURNALS / "retry_and_reset.jsonl")).steps()
    ends = [step.content.result for step in steps if isinstance(step.content, AgentEnd)]
    assert [end.is_resumable for end in ends] == [False, False, True, False]


def test_times_never_go_back(tmp_path: Path) -> None:
    saved = recorded(tmp_path, user("x"), ended(), user("y"), ended())
    records = list(saved.records)
    for record, time in zip(records[1:], (START + 5, START + 2, 0.0, START + 7), strict=True):
        record["timestamp"] = time
    saved.records = records
    assert [step.time - START for step in Playback(saved).steps()] == [5, 5, 5, 7]


def test_a_recording_is_found_by_id_title_or_path(tmp_path: Path) -> None:
    path = write(tmp_path, FIRST, "Fix the parser")
    sessions = SavedSessions(tmp_path, Redactor())
    export = tmp_path / "export.JSONL"
    write_export(load_session(path), export, Redactor())
    for name in (FIRST, "20261120", "fix the parser", str(path), str(export)):
        assert load_recording(name, sessions).turns[0].text == "Fix the parser"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "no file"),
        ("", "holds no session"),
        ("not json\n", "holds no session"),
        ('{"v": 99, "type": "user", "timestamp": 1, "data": {}}\n', "later version of Forge"),
    ],
)
def test_a_file_without_a_session_is_refused(tmp_path: Path, content: str | None, words: str) -> None:
    path = tmp_path / "x.jsonl"
    if content is not None:
        path.write_text(content)
    with pytest.raises(JournalError, match=words):
        load_recording(str(path), SavedSessions(tmp_path, Redactor()))


def test_playing_leaves_the_journal_as_it_is(tmp_path: Path) -> None:
    saved = recorded(tmp_path, user("x"), tool())
    before = saved.path.read_bytes(), saved.path.stat().st_mtime_ns
    list(Playback(saved).steps())
    assert (saved.path.read_bytes(), saved.path.stat().st_mtime_ns) == before
    assert [one.name for one in tmp_path.iterdir()] == [saved.path.name]
