"""`/rewind` as a person reads it, over a real session."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from forge_core.commands.result import ChooseRewind, CommandResult, Failure, ForkSession, ShowRewound
from forge_core.redact import Redactor
from forge_core.session.saved_sessions import SavedSessions
from tests.support.commands import run_command
from tests.unit.session.test_rewinder import Table
from tests.unit.undo.workspace import shapes


@pytest.fixture
async def table(tmp_path: Path) -> AsyncIterator[Table]:
    made = Table(tmp_path / "work")
    with made.server:
        yield made


def body(result: CommandResult) -> str:
    assert isinstance(result, ShowRewound)
    return result.body


async def test_a_rewind_lists_the_files_and_gives_the_message_back(table: Table) -> None:
    session = await table.start()
    (table.root / "a.txt").write_text("mine\n")
    result = await run_command("/rewind 2", session)
    assert body(result) == (
        "Rewound the conversation and the files to before “change a”.\n"
        "\nRemoved\n  b.txt\n"
        "\nLeft alone\n  a.txt  changed since\n"
        "\n/rewind undo brings everything back, until the next message is sent."
    )
    assert isinstance(result, ShowRewound) and result.prompt == "change a"
    back = await run_command("/rewind undo", session)
    assert body(back) == "Conversation and files are as before the rewind.\n\nWritten\n  b.txt"
    await session.aclose()


async def test_conflicts_of_an_undone_rewind_are_listed_and_left_alone(table: Table) -> None:
    session = await table.start()
    before = session._agent.memory.get_history()
    await run_command("/rewind 2", session)
    (table.root / "a.txt").unlink()
    (table.root / "a.txt").mkdir()
    (table.root / "b.txt").symlink_to("nowhere")
    found = shapes(table.root)
    back = await run_command("/rewind undo", session)
    assert body(back) == (
        "The conversation is as before the rewind. No file could be restored.\n"
        "\nLeft alone\n  a.txt  now a folder in its place\n  b.txt  created again since"
    )
    assert shapes(table.root) == found
    assert session._agent.memory.get_history() == before
    again = await table.again(session)
    assert again._agent.memory.get_history() == before
    assert isinstance(await run_command("/rewind undo", again), Failure)
    await again.aclose()


async def test_files_without_a_conflict_come_back_when_a_rewind_is_undone(table: Table) -> None:
    session = await table.start()
    await run_command("/rewind 2 files", session)
    (table.root / "a.txt").write_text("mine\n")
    back = await run_command("/rewind undo", session)
    assert body(back) == (
        "The files are as before the rewind, except for files that were left alone.\n"
        "\nWritten\n  b.txt\n\nLeft alone\n  a.txt  changed since"
    )
    assert table.files() == {"a.txt": "mine\n", "b.txt": "b\n"}
    await session.aclose()


async def test_files_alone_give_no_message_back(table: Table) -> None:
    session = await table.start()
    result = await run_command("/rewind 3 FILES", session)
    assert isinstance(result, ShowRewound) and result.prompt == ""
    assert body(result).startswith("Rewound the files to before “write b”.\n\nRemoved\n  b.txt\n")
    nothing = await run_command("/rewind 3 files", session)
    assert body(nothing) == (
        "Rewound the files to before “write b”.\n\nThere were no changes of files to undo."
    )
    assert body(await run_command("/rewind undo", session)).startswith("The files are as before the rewind.")
    await session.aclose()


async def test_without_an_argument_it_asks_and_without_a_message_it_refuses(table: Table) -> None:
    session = await table.start()
    result = await run_command("/rewind", session)
    assert isinstance(result, ChooseRewind)
    assert [point.text for point in result.points] == ["write a", "change a", "write b"]
    await run_command("/rewind 1 chat", session)
    refused = await run_command("/rewind", session)
    assert refused == Failure("There is no message yet to rewind to.")
    await session.aclose()


@pytest.mark.parametrize(
    "line", ["/rewind 9", "/rewind 0 fork", "/rewind x", "/rewind 2 all", "/rewind undo"]
)
async def test_what_cannot_be_rewound_is_refused(table: Table, line: str) -> None:
    session = await table.start()
    assert isinstance(await run_command(line, session), Failure)
    assert (table.root / "b.txt").exists()
    await session.aclose()


async def test_a_fork_ends_before_the_message_and_holds_it_as_the_draft(table: Table) -> None:
    session = await table.start()
    result = await run_command("/rewind 2 fork", session)
    assert isinstance(result, ForkSession)
    sessions = SavedSessions(table.config.state_dir, Redactor())
    copy = sessions.load(sessions.fork(session.id, records=result.records, draft=result.prompt))
    assert [turn.text for turn in copy.turns] == ["write a"]
    assert (copy.draft, copy.parent) == ("change a", session.id)
    assert len(copy.messages) == 4
    assert len(session._agent.memory.get_history()) == 12
    await session.aclose()
