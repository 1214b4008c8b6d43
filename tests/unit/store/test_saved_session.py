"""A saved session read from its journal: conversation, figures, state; whatever a kill has left of it."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from forge_core.errors import JournalError, SessionInUseError
from forge_core.events import LLMChunk, LLMEnd, LLMStart, ToolEnd, ToolStart
from forge_core.images.image_store import ImageStore
from forge_core.llm.models import Message, MessageRole, TokenUsage, ToolCall
from forge_core.redact import MASK, Redactor
from forge_core.session.turn_recorder import message_record
from forge_core.store.forking import fork_session
from forge_core.store.journal import JOURNAL_VERSION, Journal, images_beside, read_journal
from forge_core.store.saved_session import TITLE_CHARS, SavedSession, load_session
from tests.support.images import png

JOURNALS = Path(__file__).parents[2] / "fixtures" / "journals"
USAGE = TokenUsage(prompt_tokens=10, completion_tokens=2, cost_usd=Decimal("0.5"))


class Writer:
    """Writes the journal of a session by hand."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.journal = Journal(path, Redactor())
        self.journal.record("session", {"id": path.stem, "working_dir": "/w", "provider": "custom"})

    def user(self, text: str, **more: str) -> None:
        self.journal.record("user", {"text": text, "model": "a/b", "mode": "ask", **more})
        self.message(Message.user(text))

    def message(self, message: Message) -> None:
        self.journal.record("message", message_record(message))

    def call(self, usage: TokenUsage = USAGE, at: float = 1.0) -> None:
        self.journal.event(
            LLMEnd(
                timestamp=at,
                usage=usage,
                cost_usd=usage.cost_usd,
                finish_reason="stop",
                duration_s=1.0,
                total_usage=usage,
                model="a/b",
            )
        )

    def record(self, kind: str, **data: Any) -> None:
        self.journal.record(kind, data)

    def load(self) -> SavedSession:
        self.journal.close()
        return load_session(self.path)


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    return Writer(tmp_path / "20261123-000000-abcdef.jsonl")


def test_the_conversation_is_read_with_its_figures_and_title(writer: Writer) -> None:
    writer.user("  Fix the\n parser  ")
    writer.call()
    writer.message(Message.assistant("Done."))
    writer.record("agent_end", result={})
    writer.user("Thanks", mode="plan")
    saved = writer.load()
    assert (saved.id, saved.working_dir, saved.provider) == ("20261123-000000-abcdef", "/w", "custom")
    assert saved.title == "Fix the parser"
    assert [one.text for one in saved.messages] == ["  Fix the\n parser  ", "Done.", "Thanks"]
    assert [(turn.number, turn.text) for turn in saved.turns] == [(1, "  Fix the\n parser  "), (2, "Thanks")]
    assert [(call.turn, call.model, call.usage) for call in saved.calls] == [(1, "a/b", USAGE)]
    assert (saved.model, saved.mode) == ("a/b", "plan")
    assert saved.started <= saved.updated


def test_a_long_title_is_cut_and_the_users_own_replaces_it(writer: Writer) -> None:
    writer.user("x" * 500)
    assert len(load_session_title(writer)) == TITLE_CHARS
    writer = Writer(writer.path)
    writer.record("title", title="My name")
    assert writer.load().title == "My name"


def load_session_title(writer: Writer) -> str:
    return writer.load().title


def test_a_reset_clears_the_conversation_and_keeps_what_was_spent(writer: Writer) -> None:
    writer.user("first")
    writer.call()
    writer.record("state", todos=[{"content": "a"}], reads={"/w/a": "1"})
    writer.record("reset")
    writer.user("second")
    saved = writer.load()
    assert [one.text for one in saved.messages] == ["second"]
    assert [turn.number for turn in saved.turns] == [1]
    assert [call.turn for call in saved.calls] == [0]
    assert (saved.todos, saved.reads) == ([], {})
    assert saved.records[saved.first_shown]["type"] == "user"
    assert saved.title == "first"


def test_the_state_is_what_was_recorded_last(writer: Writer) -> None:
    writer.record("state", rules=["bash(ls:*)"], reads={"/w/a": "1", "/w/b": "2"}, draft="half a th")
    writer.record("state", reads={"/w/a": None, "/w/c": "3"}, queue=["next"], model="c/d", mode="auto")
    saved = writer.load()
    assert saved.reads == {"/w/b": "2", "/w/c": "3"}
    assert (saved.rules, saved.draft, saved.queue) == (["bash(ls:*)"], "half a th", ["next"])
    assert (saved.model, saved.mode) == ("c/d", "auto")


def test_a_bill_replaces_the_estimate_of_its_call(writer: Writer) -> None:
    writer.user("go")
    writer.call(TokenUsage(prompt_tokens=99, estimated=True), at=5.0)
    writer.call(at=6.0)
    writer.record("bill", of=5.0, usage=USAGE.as_dict(), model="a/b")
    assert [call.usage for call in writer.load().calls] == [USAGE, USAGE]


def test_an_answer_cut_by_a_kill_is_kept_as_partial(writer: Writer) -> None:
    writer.user("go")
    writer.journal.event(LLMStart(iteration=1, model="a/b"))
    writer.journal.event(LLMChunk(text="thinking", kind="reasoning"))
    writer.journal.event(LLMChunk(text="It is"))
    *_, last = writer.load().messages
    assert (last.role, last.text, last.extra) == (MessageRole.ASSISTANT, "It is", {"partial": True})


def test_an_answer_cut_by_a_kill_during_a_retry_is_kept_as_partial(writer: Writer) -> None:
    writer.user("go")
    writer.record("agent_end", result={"stopped_reason": "error"})
    writer.record("retry", model="c/d", mode="plan")
    writer.journal.event(LLMStart(iteration=1, model="c/d"))
    writer.journal.event(LLMChunk(text="It is"))
    saved = writer.load()
    assert [(one.role, one.text) for one in saved.messages] == [
        (MessageRole.USER, "go"),
        (MessageRole.ASSISTANT, "It is"),
    ]
    assert (saved.model, saved.mode) == ("c/d", "plan")


def test_the_cut_turn_of_a_version_1_journal_is_rebuilt_from_its_events(tmp_path: Path) -> None:
    path = tmp_path / "old.jsonl"
    events = [
        LLMStart(iteration=1, model="a/b"),
        LLMChunk(text="I read it. "),
        ToolStart(call_id="c1", name="read", arguments={"file_path": "a"}),
        ToolEnd(call_id="c1", name="read", result="content", success=True, duration_s=0.1),
        LLMStart(iteration=2, model="a/b"),
        LLMChunk(text="Now"),
    ]
    lines = [
        {"v": 1, "type": "session", "timestamp": 1.0, "data": {"id": "old", "working_dir": "/w"}},
        {"v": 1, "type": "user", "timestamp": 2.0, "data": {"text": "go", "model": "a/b", "mode": "ask"}},
        *(event.as_record() for event in events),
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    call = ToolCall("c1", {"name": "read", "arguments": '{"file_path": "a"}'})
    assert load_session(path).messages == [
        Message.user("go"),
        Message.assistant("I read it. ", [call]),
        Message.tool_result("c1", "content"),
        Message.assistant("Now"),
    ]


@pytest.mark.parametrize(
    ("name", "turns", "roles"),
    [
        ("plain_answer", ["hello"], "user assistant"),
        (
            "tools_and_error",
            ["Fix add in calc.py.", "Now add a test."],
            "user assistant tool tool assistant tool assistant tool assistant tool assistant user",
        ),
        ("retry_and_reset", None, None),
    ],
)
def test_the_journals_of_the_first_build_open(name: str, turns: list[str] | None, roles: str | None) -> None:
    saved = load_session(JOURNALS / f"{name}.jsonl")
    assert saved.damaged == 0
    assert saved.title
    assert saved.calls
    if turns is not None:
        assert [turn.text for turn in saved.turns] == turns
        assert " ".join(str(one.role) for one in saved.messages) == roles


def test_a_key_that_was_removed_from_the_record_is_noticed(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "s.jsonl")
    writer.user(f"use {MASK}")
    assert writer.load().is_redacted


def test_a_journal_of_a_later_version_is_refused_and_left_as_it_is(writer: Writer) -> None:
    writer.journal.close()
    line = json.dumps({"v": JOURNAL_VERSION + 1, "type": "user", "timestamp": 1, "data": {"text": "x"}})
    with writer.path.open("a") as file:
        file.write(line + "\n")
    before = writer.path.read_bytes()
    with pytest.raises(JournalError, match="later version of Forge"):
        load_session(writer.path)
    assert writer.path.read_bytes() == before


def test_a_file_without_a_session_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text('{"type": "user", "data": {}}\nrubbish\n')
    with pytest.raises(JournalError, match="no session"):
        load_session(path)


def test_truncation_at_every_byte_gives_a_session_or_a_clear_error(writer: Writer) -> None:
    writer.user("go")
    writer.journal.event(LLMStart(iteration=1, model="a/b"))
    writer.journal.event(LLMChunk(text="Größe"))
    writer.call()
    writer.message(Message.assistant("Größe", [ToolCall("c1", {"name": "ls", "arguments": "{}"})]))
    writer.message(Message.tool_result("c1", "a\nb"))
    writer.record("state", todos=[{"content": "x", "status": "pending"}])
    whole = len(writer.load().records)
    data = writer.path.read_bytes()
    first = data.index(b"\n")
    for cut in range(len(data)):
        writer.path.write_bytes(data[:cut])
        if cut < first:
            with pytest.raises(JournalError):
                load_session(writer.path)
            continue
        saved = load_session(writer.path)
        assert len(saved.records) >= data[:cut].count(b"\n")
        assert saved.damaged <= 1
        assert len(saved.records) + saved.damaged <= whole


def test_only_one_process_opens_a_session(writer: Writer) -> None:
    writer.journal.close()
    one, other = Journal(writer.path, Redactor()), Journal(writer.path, Redactor())
    assert one.claim() is False
    with pytest.raises(SessionInUseError, match="--fork"):
        other.claim()
    one.close()
    assert other.claim() is False
    other.close()


def test_a_torn_last_line_is_cut_off_and_reported_when_the_session_is_opened(writer: Writer) -> None:
    writer.user("go")
    writer.journal.close()
    with writer.path.open("ab") as file:
        file.write(b'{"v":2,"type":"mess')
    journal = Journal(writer.path, Redactor())
    assert journal.claim() is True
    journal.close()
    assert read_journal(writer.path).damaged == 0


def test_opening_a_session_that_does_not_exist_makes_none(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "s.jsonl", Redactor())
    with pytest.raises(JournalError, match="There is no session s"):
        journal.claim()
    assert not (tmp_path / "s.jsonl").exists()


def test_a_fork_has_the_conversation_and_not_the_permissions(writer: Writer, tmp_path: Path) -> None:
    writer.user("go")
    writer.record("state", rules=["bash(ls:*)"], todos=[{"content": "x"}], omitted_instructions=["/w/A.md"])
    writer.message(Message.assistant("Done."))
    saved = writer.load()
    copy = tmp_path / "20261124-000000-000001.jsonl"
    fork_session(saved, copy, Redactor())
    forked = load_session(copy)
    assert (forked.id, forked.parent) == ("20261124-000000-000001", saved.id)
    assert (forked.messages, forked.todos, forked.rules) == (saved.messages, saved.todos, [])
    assert forked.omitted_instructions == ["/w/A.md"]


def test_a_copy_that_fails_leaves_nothing(writer: Writer, tmp_path: Path) -> None:
    writer.user("go")
    saved = writer.load()
    images = ImageStore(images_beside(writer.path))
    for width in (10, 20):
        images.keep(png(width))
    copy = tmp_path / "20261124-000000-000001.jsonl"
    last = [*images.folder.iterdir()][-1].name
    (images_beside(copy) / last).mkdir(parents=True)  # it cannot be written
    with pytest.raises(JournalError, match="cannot be copied"):
        fork_session(saved, copy, Redactor())
    assert not copy.exists() and not copy.with_suffix("").exists()


def test_a_fork_from_an_earlier_point_ends_there(writer: Writer, tmp_path: Path) -> None:
    writer.user("first")
    writer.message(Message.assistant("one"))
    writer.record("agent_end", result={})
    writer.user("second")
    saved = writer.load()
    copy = tmp_path / "20261124-000000-000001.jsonl"
    fork_session(saved, copy, Redactor(), records=saved.turns[1].record)
    assert [one.text for one in load_session(copy).messages] == ["first", "one"]


def test_marks_of_a_review_and_news_for_the_model_are_read(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "s.jsonl")
    writer.user("first")
    writer.record("news", line="[A file was undone.]")
    writer.record("review", turn=1, path="old", kept=["a"])
    writer.user("second")
    writer.record("review", turn=2, path="f", kept=["a", "b"])
    writer.record("review", turn=2, path="g", kept=[""])
    writer.record("review", turn=2, path="f", kept=["b"])
    writer.record("review", turn="damaged", path="f", kept=[])
    writer.record("news", line="[Another one.]")
    saved = writer.load()
    assert (saved.reviewed_turn, saved.kept) == (2, {"f": ["b"], "g": [""]})
    assert saved.news == ["[Another one.]"]


def test_a_journal_without_a_review_has_no_marks(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "s.jsonl")
    writer.user("first")
    saved = writer.load()
    assert (saved.reviewed_turn, saved.kept, saved.news) == (0, {}, [])
