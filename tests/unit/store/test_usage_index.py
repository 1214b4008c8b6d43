"""What all sessions have used: each call once, whatever is copied, added, deleted or damaged."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from decimal import Decimal
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import pytest

from forge_core.approval import deny_all
from forge_core.redact import Redactor
from forge_core.runtime import build_session
from forge_core.session import ForgeSession
from forge_core.session.agents.agent_events import AgentJournal
from forge_core.session.saved_sessions import SavedSessions
from forge_core.store.journal import Journal
from forge_core.store.usage.usage_figures import CallFigures, ToolFigures, Usage
from forge_core.store.usage.usage_index import UsageIndex
from tests.support.agent_server import AgentServer, calling, config_for, saying, task_call

FIRST, SECOND, THIRD = "20261101-100000-aaaaaa", "20261102-100000-bbbbbb", "20261103-100000-cccccc"
FOURTH = "20261101-100001-dddddd"
NOON = time.mktime((2026, 11, 3, 12, 0, 0, 0, 0, -1))
READ = ("c1", "read", {"file_path": "a.txt"})


def total(usage: Usage) -> CallFigures:
    return reduce(add, usage.calls.values(), CallFigures())


def tools(usage: Usage) -> dict[str, ToolFigures]:
    found: dict[str, ToolFigures] = {}
    for key, figures in usage.tools.items():
        found[key.tool] = found.get(key.tool, ToolFigures()) + figures
    return found


async def say(session: ForgeSession, text: str) -> None:
    async for _ in session.send(text):
        pass


async def test_sub_agents_summaries_forks_and_resumed_sessions_are_counted_once(tmp_path: Path) -> None:
    text = "word " * 3_000
    scripts = {
        "go": [
            calling("0.01", READ, task_call("t1", "look", agent="explore")),
            saying("0.02", text),
            saying("0.5", text),
        ],
        "look": [calling("0.04", READ), saying("0.08", "It says hello.")],
        "<conversation>": [saying("0.16", "## Goal\nRead a.txt.")],
        "[Forge": [saying("0.25", "And on.")],  # the summary is the first message then
    }
    with AgentServer(scripts) as server:
        config = config_for(tmp_path, server)
        index, sessions = UsageIndex(config.state_dir), SavedSessions(config.state_dir, Redactor())
        session = build_session(config, deny_all)
        await say(session, f"go {text}")
        await session.recorded()  # all of it is in the file then
        assert total(index.update()).known_usd == server.charged == Decimal("0.15")
        await say(session, f"more {text}")
        async for _ in session.compact():
            pass
        await session.aclose()
        assert (total(index.update()).known_usd, len(server.asked)) == (server.charged, 6), server.asked
        copy = sessions.fork(session.id)
        agent = next(one.id for one in sessions.list(with_agents=True) if one.agent)
        sessions.fork(agent)
        again = build_session(config, deny_all, resume=copy)
        await say(again, "and on")
        await again.aclose()
        usage = index.update()
        assert total(usage).known_usd == server.charged
        assert total(usage).calls == len(server.asked)
        assert {name: figures.calls for name, figures in tools(usage).items()} == {"read": 2, "task": 1}
        assert {key.project for key in usage.calls} == {str(config.working_dir)}
        assert usage == UsageIndex(config.state_dir).update()
        sessions.delete(session.id)
        left = index.update()
    assert (total(left), tools(left)) == (total(usage), tools(usage))
    assert {key.project for key in left.calls} == {"", str(config.working_dir)}


def test_a_summary_of_a_sub_agent_is_recorded_in_two_journals_as_one_call(tmp_path: Path) -> None:
    paths = [write(tmp_path, b"", name) for name in (FIRST, SECOND)]
    session = Journal(paths[0], Redactor())
    agent = AgentJournal(paths[1], Redactor(), lambda text: None, session, "t1")
    usage = {"prompt_tokens": 10, "cost_usd": "0.5", "estimated": True}
    of = agent.record("llm_end", {"usage": usage, "model": "a/b", "purpose": "summary"})
    session.record("bill", {"of": of, "usage": {**usage, "cost_usd": "0.2", "estimated": False}})
    agent.close()
    session.close()
    found = total(UsageIndex(tmp_path).update())
    assert (found.calls, found.known_usd) == (1, Decimal("0.2"))


def record(record_type: str, at: float = NOON, **data: Any) -> bytes:
    line = {"v": 2, "type": record_type, "timestamp": at, "data": data}
    return json.dumps(line, separators=(",", ":")).encode() + b"\n"


def call(cost: str | None, at: float = NOON, *, tokens: int = 10, estimated: bool = False) -> bytes:
    usage = {"prompt_tokens": tokens, "completion_tokens": 0, "cost_usd": cost, "estimated": estimated}
    return record("llm_end", at, usage=usage, model="a/b")


def begin(name: str = FIRST, provider: str = "openrouter", folder: str = "/w/shop", **more: str) -> bytes:
    return record("session", id=name, working_dir=folder, provider=provider, **more)


def bill(of: float, cost: str) -> bytes:
    return record("bill", of=of, usage={"prompt_tokens": 7, "cost_usd": cost}, model="a/b")


def write(root: Path, lines: bytes, name: str = FIRST) -> Path:
    path = root / "sessions" / f"{name}.jsonl"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(lines)
    return path


def figures(calls: int, usd: str, priced: int, unpriced: int) -> tuple[int, Decimal, int, int]:
    return calls, Decimal(usd), priced, unpriced


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param([begin(), call("0.5"), call("0.25", NOON + 1)], figures(2, "0.75", 2, 0), id="priced"),
        pytest.param([begin(), call("0.5"), call(None, NOON + 1)], figures(2, "0.5", 1, 1), id="one unknown"),
        pytest.param([begin(), call("0")], figures(1, "0", 1, 0), id="a price of zero is known"),
        pytest.param([begin(provider="local"), call(None)], figures(1, "0", 0, 0), id="local"),
        pytest.param([begin(provider="local"), call("0.1")], figures(1, "0.1", 1, 0), id="local proxy"),
        pytest.param([begin(provider=""), call(None)], figures(1, "0", 0, 1), id="no provider"),
        pytest.param(
            [begin(provider="local"), record("state", provider="custom"), call(None)],
            figures(1, "0", 0, 1),
            id="another endpoint",
        ),
        pytest.param([begin(), call(None, tokens=0, estimated=True)], figures(0, "0", 0, 0), id="no figures"),
        pytest.param(
            [begin(), call("0.5", estimated=True), bill(NOON, "0.2")], figures(1, "0.2", 1, 0), id="bill"
        ),
        pytest.param(
            [begin(), call(None, estimated=True), bill(NOON, "0.2")], figures(1, "0.2", 1, 0), id="late price"
        ),
        pytest.param([begin(), call("0.5"), bill(NOON, "0.2")], figures(1, "0.5", 1, 0), id="no estimate"),
        pytest.param([begin(), call("0.5"), call("0.5")], figures(1, "0.5", 1, 0), id="a copy"),
        pytest.param(
            [begin(), b"{torn\n", b"[1]\n", call("0.5"), record("user", text='"type":"llm_end"')],
            figures(1, "0.5", 1, 0),
            id="damaged lines",
        ),
        pytest.param([begin(), call("0.5"), call("0.25")[:-1]], figures(1, "0.5", 1, 0), id="being written"),
        pytest.param([begin(), call("-5")], figures(1, "0", 0, 1), id="a negative price"),
        pytest.param([begin(), call("1e999999")], figures(1, "0", 0, 1), id="a price beyond all numbers"),
        pytest.param([begin(), call("0.5", tokens=-1)], figures(1, "0.5", 1, 0), id="fewer tokens than none"),
        pytest.param([begin(), call("0.5", tokens=10**400)], figures(1, "0.5", 1, 0), id="too many tokens"),
        pytest.param(
            [begin(), call("0.5", estimated=True), bill(10**400, "0.2")],
            figures(1, "0.5", 1, 0),
            id="no time",
        ),
        pytest.param(
            [
                begin(),
                record("tool_start", call_id="1", name="read"),
                record("tool_end", call_id="1", name="read", success=True, duration_s=10**400),
                call("0.5"),
            ],
            figures(1, "0.5", 1, 0),
            id="no duration",
        ),
    ],
)
def test_what_a_journal_says(
    tmp_path: Path, lines: list[bytes], expected: tuple[int, Decimal, int, int]
) -> None:
    write(tmp_path, b"".join(lines))
    at_once = UsageIndex(tmp_path).update()
    found = total(at_once)
    assert (found.calls, found.known_usd, found.priced_calls, found.unpriced_calls) == expected
    assert (found.cost_usd is None) is (expected[3] > 0)
    other = tmp_path / "other"
    other.mkdir()
    for end in range(1, len(lines) + 1):  # the same, read after each record
        write(other, b"".join(lines[:end]))
        step_by_step = UsageIndex(other).update()
    assert total(step_by_step) == found


def test_calls_are_counted_under_their_local_day_their_folder_and_model(tmp_path: Path) -> None:
    late, early = NOON + 11.9 * 3600, NOON + 12.1 * 3600
    lines = [begin(), call("1", late), record("resume", working_dir="/w/site"), call("2", early)]
    write(tmp_path, b"".join(lines))
    usage = UsageIndex(tmp_path).update()
    assert {tuple(key): one.known_usd for key, one in usage.calls.items()} == {
        ("2026-11-03", "/w/shop", "a/b"): 1,
        ("2026-11-04", "/w/site", "a/b"): 2,
    }
    assert [key.day for key in usage.since("2026-11-04").calls] == ["2026-11-04"]


def tool(call_id: str, name: str, at: float, *, success: bool = True, kind: str = "other") -> bytes:
    start = record("tool_start", at, call_id=call_id, name=name, kind=kind)
    end = record("tool_end", at, call_id=call_id, name=name, success=success, duration_s=0.5, result="1234")
    return start + end


def test_tool_calls_of_the_model_are_counted_by_their_starts(tmp_path: Path) -> None:
    lines = [begin(), tool("1", "bash", NOON), tool("2", "bash", NOON + 1, success=False)]
    lines += [tool("3", "!", NOON, kind="user"), record("tool_start", call_id="4", name="bash")]
    write(tmp_path, b"".join(lines))
    write(tmp_path, begin(SECOND, parent=FIRST) + tool("1", "bash", NOON) + tool("1", "ls", NOON + 9), SECOND)
    assert tools(UsageIndex(tmp_path).update()) == {
        "bash": ToolFigures(2, 1, 1.0, 8),
        "ls": ToolFigures(1, 0, 0.5, 4),
    }


def fork(root: Path) -> None:
    """Write a session and its fork, which has made one more call."""
    write(root, begin() + call("1"))
    write(root, begin(SECOND, parent=FIRST) + call("1") + call("2", NOON + 1), SECOND)


def cut_back(root: Path) -> None:
    write(root, begin())


def exchange(root: Path) -> None:
    write(root, begin(folder="/w/other") + call("4", NOON + 5) + call("8", NOON + 6))


def restore(root: Path) -> None:
    path = root / "sessions" / f"{FIRST}.jsonl"
    data = path.read_bytes()
    path.unlink()
    assert total(UsageIndex(root).update()).known_usd == 3
    path.write_bytes(data)


def damage(root: Path) -> None:
    (root / "sessions" / "usage.json").write_text('{"v":1,"journals":{"' + FIRST + '":{"place":[1]}}}')


def damage_a_figure(root: Path) -> None:
    path = root / "sessions" / "usage.json"
    data = path.read_text()
    assert '"a/b",1,' in data
    path.write_text(data.replace('"a/b",1,', '"a/b",7,'))


def damage_a_type(root: Path) -> None:
    path = root / "sessions" / "usage.json"
    path.write_text(path.read_text().replace('"a/b",1,', 'null,"",'))


def truncate(root: Path) -> None:
    path = root / "sessions" / "usage.json"
    path.write_bytes(path.read_bytes()[:-9])


@pytest.mark.parametrize(
    ("change", "usd"),
    [
        (cut_back, 3),
        (exchange, 15),
        (restore, 3),
        (damage, 3),
        (damage_a_figure, 3),
        (damage_a_type, 3),
        (truncate, 3),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_the_index_follows_what_happens_to_the_files(
    tmp_path: Path, change: Callable[[Path], None], usd: int
) -> None:
    fork(tmp_path)
    assert total(UsageIndex(tmp_path).update()).known_usd == 3
    change(tmp_path)
    usage = UsageIndex(tmp_path).update()
    assert total(usage).known_usd == usd
    (tmp_path / "sessions" / "usage.json").unlink()
    assert UsageIndex(tmp_path).update() == usage


def test_journals_that_have_not_changed_are_not_read_and_the_index_is_private(tmp_path: Path) -> None:
    fork(tmp_path)
    read: list[tuple[int, int]] = []
    index = UsageIndex(tmp_path)
    index.update(lambda done, of: read.append((done, of)))
    index.update(lambda done, of: read.append((done, of)))
    with (tmp_path / "sessions" / f"{SECOND}.jsonl").open("ab") as file:
        file.write(call("4", NOON + 2))
    assert total(index.update(lambda done, of: read.append((done, of)))).known_usd == 7
    assert read == [(1, 2), (2, 2), (1, 1)]
    assert (tmp_path / "sessions" / "usage.json").stat().st_mode & 0o777 == 0o600
    assert [one.name for one in (tmp_path / "sessions").iterdir() if one.name.startswith(".")] == [
        ".usage-lock"
    ]


def test_a_folder_without_sessions_has_used_nothing(tmp_path: Path) -> None:
    assert UsageIndex(tmp_path).update() == Usage()
    assert not list(tmp_path.iterdir())


def test_a_session_counts_after_it_was_deleted_though_nothing_was_counted_before(tmp_path: Path) -> None:
    user = record("user", text="Fix it", model="a/b", mode="ask")
    for number, name in enumerate((FIRST, SECOND, THIRD)):
        write(tmp_path, begin(name) + user + call("1", NOON + number), name)
    write(tmp_path, begin(FOURTH, agent="explore", parent=FIRST) + user + tool("1", "ls", NOON), FOURTH)
    sessions = SavedSessions(tmp_path, Redactor())
    sessions.delete(FIRST)
    _, entries = (tmp_path / "sessions" / "usage.json").read_bytes().split(b"\n")
    assert len(json.loads(entries)) == 2
    sessions.prune(NOON + 1.5)
    usage = UsageIndex(tmp_path).update()
    assert (total(usage).known_usd, tools(usage)) == (3, {"ls": ToolFigures(1, 0, 0.5, 4)})
    assert [key.project for key in usage.calls] == ["", "/w/shop"]


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="shows who waits for a lock")
def test_what_another_process_counts_and_deletes_meanwhile_stays_counted(tmp_path: Path) -> None:
    write(tmp_path, begin() + call("1"))
    deleted = write(tmp_path, begin(SECOND) + call("2", NOON + 1), SECOND)

    def count_and_delete() -> None:
        UsageIndex(tmp_path).update()
        deleted.unlink()

    with ThreadPoolExecutor() as pool:
        others: list[Future[None]] = []

        def on_progress(done: int, total: int) -> None:
            if done == 1:  # only the first journal was read
                others.append(pool.submit(count_and_delete))
                while not (others[0].done() or "-> FLOCK" in Path("/proc/locks").read_text()):
                    pass

        UsageIndex(tmp_path).update(on_progress, only={FIRST})
        others[0].result()
    assert total(UsageIndex(tmp_path).update()).known_usd == 3
