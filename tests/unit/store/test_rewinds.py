"""Rewinds in a journal: turns leave the conversation and come back, and no record is removed."""

from __future__ import annotations

from pathlib import Path

import pytest

from forge_core.llm.models import Message
from forge_core.redact import Redactor
from forge_core.session.replay import replayed_turns
from forge_core.session.turn_recorder import message_record
from forge_core.store.export import exported
from forge_core.store.forking import fork_session
from forge_core.store.journal import read_journal
from forge_core.store.rewinds import SavedRewind
from forge_core.store.saved_session import SavedSession, load_session
from forge_core.store.session_index import summary_of
from tests.unit.store.test_saved_session import Writer

ID = "20261120-100000-00000a"


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    """A session of three turns."""
    written = Writer(tmp_path / f"{ID}.jsonl")
    for number in (1, 2, 3):
        turn(written, str(number))
    return written


def turn(writer: Writer, text: str) -> None:
    writer.user(text)
    writer.call(at=float(text))
    writer.message(Message.assistant(f"answer {text}"))
    writer.record("state", todos=[{"content": text}], reads={f"/{text}": "hash"}, rules=[f"read({text})"])


def texts(saved: SavedSession) -> list[object]:
    return [message.content for message in saved.messages]


def test_a_rewind_removes_the_turns_from_the_conversation(writer: Writer) -> None:
    writer.record("rewind", turn=2)
    saved = writer.load()
    assert texts(saved) == ["1", "answer 1"]
    assert [(one.number, one.text) for one in saved.turns] == [(1, "1")]
    assert [one.text for one in replayed_turns(saved)] == ["1"]
    assert saved.todos == [{"content": "1"}]
    assert saved.reads == {"/1": "hash"}
    assert saved.rewinds.revocable == [SavedRewind(2, ())]
    assert sum(record["type"] == "user" for record in saved.records) == 3


def test_what_rewound_turns_have_spent_and_what_the_user_has_allowed_stay(writer: Writer) -> None:
    writer.record("rewind", turn=2)
    saved = writer.load()
    assert [call.turn for call in saved.calls] == [1, 0, 0]
    assert saved.rules == ["read(3)"]
    assert saved.title == "1"


def test_a_setting_that_a_rewound_turn_began_with_stays(writer: Writer) -> None:
    writer.user("4", mode="plan")
    writer.record("rewind", turn=4)
    assert writer.load().mode == "plan"


def test_new_turns_continue_the_numbers(writer: Writer) -> None:
    writer.record("rewind", turn=2)
    turn(writer, "4")
    writer.record("rewind", turn=2)
    turn(writer, "5")
    saved = writer.load()
    assert texts(saved) == ["1", "answer 1", "5", "answer 5"]
    assert [(one.number, one.text) for one in saved.turns] == [(1, "1"), (2, "5")]
    assert saved.rewinds.revocable == []


def test_a_rewind_is_taken_back_and_the_one_before_it_too(writer: Writer) -> None:
    writer.record("rewind", turn=3, undone=[7])
    writer.record("rewind", turn=1)
    writer.record("unrewind")
    saved = writer.load()
    assert texts(saved) == ["1", "answer 1", "2", "answer 2"]
    assert saved.rewinds.revocable == [SavedRewind(3, (7,))]
    writer = Writer(writer.path)
    writer.record("unrewind")
    saved = writer.load()
    assert len(saved.messages) == 6
    assert [call.turn for call in saved.calls] == [1, 2, 3]
    assert saved.rewinds.revocable == []


def test_a_rewind_of_files_alone_leaves_the_conversation(writer: Writer) -> None:
    writer.record("rewind", turn=0, undone=[2, 1])
    saved = writer.load()
    assert len(saved.messages) == 6
    assert saved.rewinds.revocable == [SavedRewind(0, (2, 1))]


@pytest.mark.parametrize("kind", ["user", "reset"])
def test_a_rewind_cannot_be_taken_back_after_a_message_or_a_reset(writer: Writer, kind: str) -> None:
    writer.record("rewind", turn=1)
    writer.record(kind, text="4")
    writer.record("unrewind")
    saved = writer.load()
    assert [one.text for one in saved.turns] == (["4"] if kind == "user" else [])
    assert saved.rewinds.revocable == []


@pytest.mark.parametrize("data", [{}, {"turn": 4}, {"turn": -1}, {"turn": "2"}, {"turn": None}])
def test_a_rewind_to_no_turn_is_ignored(writer: Writer, data: dict[str, object]) -> None:
    writer.record("rewind", **data)
    assert len(writer.load().messages) == 6


def test_the_numbers_of_a_rewind_count_from_the_last_reset(writer: Writer) -> None:
    writer.record("reset")
    turn(writer, "4")
    turn(writer, "5")
    writer.record("rewind", turn=2)
    assert texts(writer.load()) == ["4", "answer 4"]


def test_a_journal_that_is_cut_anywhere_after_a_rewind_loads(writer: Writer) -> None:
    writer.record("rewind", turn=2)
    turn(writer, "4")
    writer.record("rewind", turn=1)
    writer.record("unrewind")
    writer.journal.close()
    whole = writer.path.read_bytes()
    for size in range(whole.index(b'"rewind"'), len(whole)):
        writer.path.write_bytes(whole[:size])
        saved = load_session(writer.path)
        assert texts(saved)[:2] in (["1", "answer 1"], [])
        assert "2" not in texts(saved) or len(saved.turns) == 3


def test_a_fork_carries_the_rewinds(writer: Writer, tmp_path: Path) -> None:
    writer.record("rewind", turn=2)
    turn(writer, "4")
    saved = writer.load()
    copy = tmp_path / "20261120-100000-00000b.jsonl"
    fork_session(saved, copy, Redactor(), records=saved.turns[1].record)
    forked = load_session(copy)
    assert texts(forked) == ["1", "answer 1"]
    assert len(read_journal(copy).records) == saved.turns[1].record
    fork_session(saved, copy.with_stem("20261120-100000-00000c"), Redactor())
    assert texts(load_session(copy.with_stem("20261120-100000-00000c"))) == texts(saved)


def test_the_list_previews_what_is_left_and_the_export_keeps_everything(writer: Writer) -> None:
    writer.record("rewind", turn=2)
    saved = writer.load()
    assert summary_of(saved, 0).preview == "1"
    document = exported(saved, "markdown", Redactor())
    assert "## 3" in document
    assert "> Rewound to message 2" in document


def test_a_session_that_was_rewound_to_its_beginning_is_still_listed(writer: Writer) -> None:
    writer.record("rewind", turn=1)
    saved = writer.load()
    assert saved.messages == []
    assert summary_of(saved, 0).turns == 3


def compact(writer: Writer, *contents: str) -> None:
    writer.record("window", messages=[message_record(Message.user(content)) for content in contents])


def test_a_rewind_to_before_a_compaction_brings_the_whole_history_back(writer: Writer) -> None:
    compact(writer, "summary")
    turn(writer, "4")
    writer.record("rewind", turn=3)
    saved = writer.load()
    assert texts(saved) == ["1", "answer 1", "2", "answer 2"]
    assert saved.uncompacted == []
    writer = Writer(writer.path)
    writer.record("unrewind")
    saved = writer.load()
    assert texts(saved) == ["summary", "4", "answer 4"]
    assert len(saved.uncompacted) == 6


def test_a_rewind_to_after_a_compaction_keeps_the_shorter_history(writer: Writer) -> None:
    compact(writer, "summary")
    turn(writer, "4")
    writer.record("rewind", turn=4)
    assert texts(writer.load()) == ["summary"]


def test_a_rewind_cannot_be_taken_back_after_a_compaction(writer: Writer) -> None:
    writer.record("rewind", turn=2)
    compact(writer, "summary of 1")
    writer.record("unrewind")
    saved = writer.load()
    assert texts(saved) == ["summary of 1"]
    assert saved.rewinds.revocable == []
