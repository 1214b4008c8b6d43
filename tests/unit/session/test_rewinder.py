"""Rewinding a session: conversation and files go back together or apart, and come back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from forge_core.approval import Answer, ApprovalReply, ApprovalRequest
from forge_core.config.forge_config import ForgeConfig
from forge_core.errors import ForgeError
from forge_core.runtime import build_session
from forge_core.session import ForgeSession
from tests.support.sse_server import SseServer, answer, tool_answer
from tests.unit.runtime.test_resuming import config_for, say, sent


async def allow(request: ApprovalRequest) -> ApprovalReply:
    return ApprovalReply(Answer.ONCE)


class Table:
    """A session of three turns; the first writes a.txt, the second changes it by a command, and the third
    writes b.txt."""

    def __init__(self, root: Path) -> None:
        self.root = root
        write = tool_answer(("c1", "write", {"file_path": "a.txt", "content": "one\n"}))
        run = tool_answer(("c2", "bash", {"command": "printf 'two\\n' > a.txt"}))
        other = tool_answer(("c3", "write", {"file_path": "b.txt", "content": "b\n"}))
        done = answer("Done.")
        self.server = SseServer(write, done, run, done, other, done, *[answer("More.")] * 5)
        self.config: ForgeConfig

    async def start(self) -> ForgeSession:
        self.config = config_for(self.root, self.server)
        session = build_session(self.config, allow)
        for text in ("write a", "change a", "write b"):
            await say(session, text)
        return session

    async def again(self, session: ForgeSession) -> ForgeSession:
        """Return the session, continued."""
        await session.aclose()
        return build_session(self.config, allow, resume=session.id)

    def files(self) -> dict[str, str]:
        return {path.name: path.read_text() for path in self.root.iterdir() if path.is_file()}


@pytest.fixture
async def table(tmp_path: Path) -> AsyncIterator[Table]:
    made = Table(tmp_path / "work")
    with made.server:
        yield made


AFTER = {"a.txt": "two\n", "b.txt": "b\n"}


async def test_the_points_name_the_files_that_changed_since(table: Table) -> None:
    session = await table.start()
    points = await session.rewinder.points()
    assert [(point.number, point.text, point.files) for point in points] == [
        (1, "write a", ("a.txt", "b.txt")),
        (2, "change a", ("a.txt", "b.txt")),
        (3, "write b", ("b.txt",)),
    ]
    await session.aclose()


async def test_conversation_and_files_go_back_and_come_back(table: Table) -> None:
    session = await table.start()
    before = session._agent.memory.get_history()
    rewound = await session.rewinder.rewind(2)
    assert (rewound.text, rewound.is_conversation) == ("change a", True)
    assert table.files() == {"a.txt": "one\n"}
    assert rewound.files is not None
    assert (rewound.files.restored, rewound.files.deleted) == (("a.txt",), ("b.txt",))
    assert [message.content for message in session._agent.memory.get_history()][-1] == "Done."
    assert session._news.lines == []

    back = await session.rewinder.undo()
    assert (back.text, back.is_conversation) == ("change a", True)
    assert table.files() == AFTER
    assert session._agent.memory.get_history() == before
    with pytest.raises(ForgeError, match="no rewind to undo"):
        await session.rewinder.undo()
    await session.aclose()


async def test_the_next_request_holds_the_rewound_conversation(table: Table) -> None:
    session = await table.start()
    await session.rewinder.rewind(2)
    await say(session, "something else")
    roles = [(one["role"], one["content"]) for one in sent(table.server)]
    assert [role for role, _ in roles] == ["user", "assistant", "tool", "assistant", "user"]
    assert roles[0][1] == "write a" and roles[-1][1] == "something else"
    with pytest.raises(ForgeError, match="no rewind to undo"):
        await session.rewinder.undo()
    again = await table.again(session)
    await say(again, "and now")
    assert [one["content"] for one in sent(table.server) if one["role"] == "user"] == [
        "write a", "something else", "and now",
    ]  # fmt: skip
    await again.aclose()


async def test_the_conversation_alone_leaves_the_files(table: Table) -> None:
    session = await table.start()
    rewound = await session.rewinder.rewind(1, files=False)
    assert rewound.files is None
    assert table.files() == AFTER
    assert session._agent.memory.get_history() == []
    await session.rewinder.undo()
    assert len(session._agent.memory.get_history()) == 12
    await session.aclose()


async def test_files_alone_leave_the_conversation_and_inform_the_model(table: Table) -> None:
    session = await table.start()
    rewound = await session.rewinder.rewind(3, conversation=False)
    assert not rewound.is_conversation
    assert table.files() == {"a.txt": "two\n"}
    assert len(session._agent.memory.get_history()) == 12
    assert "undid file changes" in session._news.lines[0]
    await session.rewinder.undo()
    assert table.files() == AFTER
    await session.aclose()


async def test_a_file_that_the_user_changed_since_is_a_conflict_and_stays(table: Table) -> None:
    session = await table.start()
    (table.root / "a.txt").write_text("mine\n")
    rewound = await session.rewinder.rewind(1)
    assert table.files() == {"a.txt": "mine\n"}
    assert rewound.files is not None
    assert [one.name for one in rewound.files.conflicts] == ["a.txt"]
    await session.rewinder.undo()
    assert table.files() == {"a.txt": "mine\n", "b.txt": "b\n"}
    await session.aclose()


async def test_a_rewind_is_undone_after_the_session_was_continued(table: Table) -> None:
    session = await table.start()
    await session.rewinder.rewind(3)
    await session.rewinder.rewind(2)
    assert table.files() == {"a.txt": "one\n"}
    again = await table.again(session)
    assert len(again._agent.memory.get_history()) == 4
    await again.rewinder.undo()
    assert table.files() == {"a.txt": "two\n"}
    await again.rewinder.undo()
    assert table.files() == AFTER
    assert len(again._agent.memory.get_history()) == 12
    await again.aclose()


async def test_a_turn_that_was_undone_before_the_rewind_stays_undone(table: Table) -> None:
    session = await table.start()
    assert session.undo is not None
    await session.undo.undo()
    await session.rewinder.rewind(2)
    assert table.files() == {"a.txt": "one\n"}
    await session.rewinder.undo()
    assert table.files() == {"a.txt": "two\n"}
    await session.aclose()


async def test_changes_of_turns_that_left_the_conversation_belong_to_the_one_before(table: Table) -> None:
    session = await table.start()
    await session.rewinder.rewind(2, files=False)
    await say(session, "next")
    points = await session.rewinder.points()
    assert [(point.text, point.files) for point in points] == [("write a", ("a.txt", "b.txt")), ("next", ())]
    await session.rewinder.rewind(1)
    assert table.files() == {}
    await session.aclose()


async def test_spending_stays_and_new_turns_count_for_themselves(table: Table) -> None:
    session = await table.start()
    total = session.spending().total
    await session.rewinder.rewind(2)
    spent = session.spending()
    assert spent.total == total
    assert [(turn.number, turn.title) for turn in spent.turns] == [(0, ""), (1, "write a")]
    await say(session, "next")
    live = session.spending()
    assert [turn.title for turn in live.turns] == ["", "write a", "next"]
    again = await table.again(session)
    assert again.spending() == live
    await again.aclose()


async def test_unknown_messages_and_an_empty_session_are_refused(table: Table) -> None:
    session = await table.start()
    for number in (0, 4):
        with pytest.raises(ForgeError, match=f"no message {number}. The messages are 1 to 3"):
            await session.rewinder.rewind(number)
    assert table.files() == AFTER
    await session.aclose()
    empty = build_session(table.config, allow)
    with pytest.raises(ForgeError, match="no message yet"):
        await empty.rewinder.points()
    await empty.aclose()


async def test_nothing_is_rewound_while_a_turn_runs(table: Table) -> None:
    session = await table.start()
    stream = session.send("one more")
    await anext(stream)
    for attempt in (session.rewinder.points(), session.rewinder.rewind(1), session.rewinder.undo()):
        with pytest.raises(ForgeError, match="A turn is running"):
            await attempt
    await stream.aclose()
    assert table.files() == AFTER
    await session.aclose()
