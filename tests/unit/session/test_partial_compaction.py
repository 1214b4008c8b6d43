"""Summarising a conversation from one of the user's messages on: what stays, and what a journal restores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from forge_core.commands.result import CommandNotice, CompactConversation, Failure
from forge_core.errors import AuthenticationError
from forge_core.events import AgentEnd, Compaction, Notice
from forge_core.langchain.messages.conversion import langchain_to_forge
from forge_core.redact import Redactor
from forge_core.session.session import ForgeSession
from forge_core.store.forking import fork_session
from forge_core.store.saved_session import load_session
from tests.support.commands import run_command
from tests.support.scripted_llm import Piece
from tests.unit.langchain.histories import assert_strictly_valid
from tests.unit.session.test_compacting import (
    LONG,
    compacting,
    model,
    one,
    restored,
    saved,
    sent,
    session_of,
    turn,
)

SHORT = "word " * 60


async def four_turns(root: Path, *more: Sequence[Piece]) -> ForgeSession:
    session = session_of(root, [[SHORT], [LONG], [LONG], [LONG], *more])
    for number in range(4):
        await turn(session, f"question {number}")
    return session


def texts(session: ForgeSession) -> list[str]:
    return [message.text for message in session._agent.memory.get_history()]


async def since(session: ForgeSession) -> list[int | None]:
    return [point.turns_since for point in await session.rewinder.points()]


async def test_what_came_before_the_message_stays_as_it_is(tmp_path: Path) -> None:
    session = await four_turns(tmp_path, ["SUMMARY"], ["fine"])
    before = texts(session)
    events = await compacting(session, "the parser", turns=3)
    done = one(events, Compaction)
    assert (done.method, done.replaced) == ("summarised", 6) and done.before > done.after
    assert isinstance(events[-1], AgentEnd)
    after = texts(session)
    assert after[:2] == before[:2] and len(after) == 3 and "SUMMARY" in after[2]
    assert "question 3" in after[2] and "The user's last message" not in after[2], "it has been answered"
    assert "question 0" not in sent(session) and "the parser" in sent(session)
    await turn(session, "and now")
    assert_strictly_valid([langchain_to_forge(message) for message in model(session).seen[-1]])
    assert "SUMMARY" in sent(session) and SHORT.strip() in sent(session)
    await session.aclose()


async def test_a_later_summary_keeps_what_this_one_held(tmp_path: Path) -> None:
    """The messages between the two, and the text of the summary, reach the model that summarises again."""
    session = await four_turns(tmp_path, ["THE DECISION"], [LONG], ["AGAIN"])
    await compacting(session, turns=2)
    await turn(session, "question 4")
    await compacting(session)
    asked = sent(session)
    assert "THE DECISION" in asked and "question 0" in asked
    [summary, *_] = texts(session)
    assert all(f"question {number}" in summary for number in range(4))
    await session.aclose()


async def test_it_can_be_undone_now_and_after_the_session_was_continued(tmp_path: Path) -> None:
    session = await four_turns(tmp_path, ["SUMMARY"], ["fine"])
    before = texts(session)
    await compacting(session, turns=2)
    await turn(session, "more")
    short = texts(session)
    await session.aclose()
    again = restored(tmp_path, session)
    assert texts(again) == short
    assert isinstance(await run_command("/compact undo", again), CommandNotice)
    assert texts(again) == [*before, "more", "fine"]
    assert await since(again) == [5, 4, 3, 2, 1]
    await again.aclose()
    assert [message.text for message in saved(session).messages] == [*before, "more", "fine"]


async def test_a_message_of_a_summary_cannot_be_summarised_again(tmp_path: Path) -> None:
    session = await four_turns(tmp_path, ["SUMMARY"], [LONG])
    assert await since(session) == [4, 3, 2, 1]
    assert await run_command("/rewind 3 summary the Parser", session) == CompactConversation(
        "the Parser", turns=2
    )
    await compacting(session, turns=2)
    await turn(session, "question 4")
    assert await since(session) == [3, 2, None, None, 1]
    refused = await run_command("/rewind 3 summary", session)
    assert isinstance(refused, Failure) and "/compact undo" in refused.text
    assert (
        one(await compacting(session, turns=9), Notice).text == "This message is part of a summary already."
    )
    await session.aclose()
    again = restored(tmp_path, session)
    assert await since(again) == [3, 2, None, None, 1]
    await again.aclose()


async def test_a_whole_compaction_leaves_the_numbers_of_what_it_keeps(tmp_path: Path) -> None:
    session = await four_turns(tmp_path, ["SUMMARY"], ["fine"])
    await compacting(session)
    points = await since(session)
    assert points[0] is None
    requests = [text for text in texts(session) if text.startswith("question")]
    kept = [number for number in points if number is not None]
    assert kept == list(range(len(kept), 0, -1)) and len(kept) in (len(requests), len(requests) - 1)
    session.compaction.undo()
    assert await since(session) == [4, 3, 2, 1]
    await session.aclose()


async def test_rewinding_before_a_summary_brings_the_messages_back(tmp_path: Path) -> None:
    session = await four_turns(tmp_path, ["SUMMARY"])
    before = texts(session)
    await compacting(session, turns=2)
    await session.rewinder.rewind(4)
    assert texts(session) == before[:6]
    await session.rewinder.undo()
    assert "SUMMARY" in texts(session)[-1]
    await session.aclose()


async def test_a_fork_carries_it(tmp_path: Path) -> None:
    session = await four_turns(tmp_path, ["SUMMARY"])
    await compacting(session, turns=2)
    await session.aclose()
    copy = tmp_path / "20261121-000000-abcdef.jsonl"
    fork_session(saved(session), copy, Redactor())
    loaded = load_session(copy)
    assert loaded.messages == saved(session).messages
    assert [one.message for one in loaded.turns] == [0, 2, None, None]


async def test_a_failed_summary_changes_nothing(tmp_path: Path) -> None:
    session = await four_turns(tmp_path, [AuthenticationError("the key is wrong")])
    before = texts(session)
    notice = one(await compacting(session, turns=2), Notice)
    assert "the key is wrong Nothing was changed." in notice.text
    assert texts(session) == before
    await session.aclose()


async def test_a_short_part_is_left_alone(tmp_path: Path) -> None:
    session = session_of(tmp_path, [["hi"], ["hello"]])
    await turn(session, "one")
    await turn(session, "two")
    assert "nothing to compact" in one(await compacting(session, turns=1), Notice).text
    assert len(model(session).seen) == 2
    await session.aclose()


@pytest.mark.parametrize("start", ["x", -1, 99, None, True, [2]])
async def test_a_damaged_start_loads(tmp_path: Path, start: Any) -> None:
    session = session_of(tmp_path, [["hi"], ["hello"]])
    await turn(session, "one")
    await turn(session, "two")
    message = {"role": "user", "content": "x"}
    session._journal.record("window", {"messages": [message], "start": start})
    await session.aclose()
    loaded = saved(session)
    assert [one.text for one in loaded.messages] == ["x"]
    assert all(one.message in (None, 0) for one in loaded.turns)
