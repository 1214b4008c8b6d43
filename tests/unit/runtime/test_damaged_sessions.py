"""A damaged journal opens: as a session that continues, or with a clear error, and its file is never lost."""

from __future__ import annotations

import dataclasses
import json
import os
import random
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from forge_core.approval import deny_all
from forge_core.config.forge_config import ForgeConfig
from forge_core.errors import JournalError
from forge_core.redact import Redactor
from forge_core.runtime import build_session
from forge_core.session.replay import replayed_turns
from forge_core.store.export import exported
from forge_core.store.saved_session import SavedSession, load_session
from forge_core.store.session_index import summary_of
from tests.support.saved_journal import (
    always,
    config_for,
    continue_session,
    read_lines,
    record_session,
    write_lines,
)
from tests.support.sse_server import SseServer

pytestmark = pytest.mark.property

IS_FULL = bool(os.environ.get("FORGE_FULL"))
HOSTILE: list[Any] = [
    None, True, 5, -1.5, 10**400, float("inf"), float("nan"), "", "x", "\ud800", [], {}, [1], [None], [[]], [{}],
    {"a": 1}, {"": None},
]  # fmt: skip
CUT_TURN = [
    {"v": 2, "type": "user", "timestamp": 2.0, "data": {"text": "u", "model": "m", "mode": "ask"}},
    {"v": 2, "type": "llm_start", "timestamp": 2.0, "data": {"iteration": 1, "model": "m"}},
    {"v": 2, "type": "llm_chunk", "timestamp": 2.0, "data": {"text": "half", "kind": "answer"}},
    {"v": 2, "type": "tool_start", "timestamp": 2.0, "data": {"call_id": "c9", "name": "x", "arguments": {}}},
]


@dataclass
class Saved:
    config: ForgeConfig
    server: SseServer
    path: Path

    async def continues(self) -> list[dict[str, Any]]:
        return await continue_session(self.config, self.server, self.path.stem)


@pytest.fixture
async def saved(tmp_path: Path) -> AsyncIterator[Saved]:
    with SseServer() as first:
        path = await record_session(config_for(tmp_path, first), first)
    with SseServer(routes=always()) as server:
        yield Saved(config_for(tmp_path, server), server, path)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The place of every value inside `value`, itself included."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ())
    for key, inner in items:
        yield from places(inner, (*path, key))


def replaced(value: Any, place: tuple[Any, ...], new: Any) -> Any:
    if not place:
        return new
    copy = value.copy()
    copy[place[0]] = replaced(value[place[0]], place[1:], new)
    return copy


def damaged(records: list[Any]) -> list[list[Any]]:
    """All versions of a journal with one value replaced by a hostile one."""
    return [
        [*records[:index], replaced(record, place, value), *records[index + 1 :]]
        for index, record in enumerate(records)
        for place in places(record)
        for value in HOSTILE
    ]


def use(session: SavedSession) -> None:
    """Do what lists, the screen and exports do with a session."""
    json.dumps(summary_of(session, 0).as_dict())
    replayed_turns(session)
    for form in ("markdown", "json", "jsonl"):
        exported(session, form, Redactor())


async def test_any_value_of_a_journal_may_be_of_any_kind(saved: Saved) -> None:
    records = read_lines(saved.path)
    calls = [record for record in records if record["type"] == "llm_end"]
    bill = {"of": calls[0]["timestamp"], "usage": calls[0]["data"]["usage"], "model": "m"}
    records += [{"v": 2, "type": "bill", "timestamp": 1.0, "data": bill}, *CUT_TURN]
    versions = damaged(records)
    chance = random.Random(os.urandom(8) if IS_FULL else 14)
    opened = 0
    tried = versions if IS_FULL else chance.sample(versions, 250)
    for version in tried:
        write_lines(saved.path, version)
        try:
            use(load_session(saved.path))
        except JournalError:
            continue
        opened += 1
        if chance.random() < (0.2 if IS_FULL else 0.06):
            await saved.continues()
    assert opened > len(tried) * 2 / 3


@pytest.mark.parametrize("status", [[], {}, None, 5, "x"])
async def test_a_task_of_any_status_is_restored(saved: Saved, status: object) -> None:
    item = {"content": "Fix it", "status": status}
    state = {"v": 2, "type": "state", "timestamp": 3.0, "data": {"todos": [item]}}
    write_lines(saved.path, [*read_lines(saved.path), state])
    await saved.continues()


@pytest.mark.parametrize("call", [{"name": ""}, {"call_id": ""}, {"call_id": None}, {}])
async def test_a_call_without_a_name_or_an_id_is_left_out_of_a_cut_turn(
    saved: Saved, call: dict[str, Any]
) -> None:
    start = {**CUT_TURN[-1], "data": {**CUT_TURN[-1]["data"], **call} if call else {}}
    end = {**start, "type": "tool_end", "data": {**start["data"], "result": "x"}}
    write_lines(saved.path, [*read_lines(saved.path), *CUT_TURN[:-1], start, end])
    sent = await saved.continues()
    assert [one["role"] for one in sent[-3:]] == ["user", "assistant", "user"]


async def test_a_session_that_cannot_be_built_is_not_kept_open(saved: Saved) -> None:
    broken = dataclasses.replace(saved.config, log_level="none of them")
    with pytest.raises(ValueError, match="NONE OF THEM"):
        build_session(broken, deny_all, resume=saved.path.stem)
    await saved.continues()


async def test_a_journal_cut_at_any_byte_continues(saved: Saved) -> None:
    whole = saved.path.read_bytes()
    first = whole.index(b"\n")
    lines = [end for end, byte in enumerate(whole, 1) if byte == 10]
    cuts = sorted({cut + shift for cut in lines for shift in (-1, 0, 1)})
    if not IS_FULL:
        cuts = sorted(random.Random(14).sample(cuts, 40))
    cuts = list(range(len(whole))) if IS_FULL else cuts
    for cut in cuts:
        saved.path.write_bytes(whole[:cut])
        if cut < first:
            with pytest.raises(JournalError):
                await saved.continues()
            assert saved.path.read_bytes() == whole[:cut]
            continue
        await saved.continues()
        await saved.continues()
        kept = saved.path.read_bytes()
        assert kept.startswith(whole[: whole.rfind(b"\n", 0, cut) + 1])
        assert [*map(json.loads, kept.splitlines())]
