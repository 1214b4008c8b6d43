"""Limits of cost, tokens, calls and time: no model call is made past one, and what was spent is never lost."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from forge_core.approval import QuestionReply, QuestionRequest, deny_all
from forge_core.config.forge_config import Endpoint, ForgeConfig, Origin
from forge_core.config.permission_mode import PermissionMode
from forge_core.events import AgentEnd, LLMChunk, Notice, ToolEnd
from forge_core.redact import Redactor
from forge_core.result import AgentResult
from forge_core.runtime import build_session, load_session_config
from forge_core.session import ForgeSession
from forge_core.session.spending_limits import LIMITS
from forge_core.store.forking import fork_session
from forge_core.store.saved_session import load_session
from forge_core.store.spending_ledger import SpendingLedger
from tests.support.sse_server import USAGE, Reply, SseServer, Stall, answer, error_reply, tool_answer


def config_for(root: Path, server: SseServer, **changes: object) -> ForgeConfig:
    (root / "work").mkdir(exist_ok=True)
    (root / "work" / "a.txt").write_text("hello\n")
    config = load_session_config(root / "work", flags={"model": "offline"})
    changed = {
        "endpoint": Endpoint("openrouter", server.base_url, "sk-or-v1-0"),
        "model": "test/model",
        "state_dir": root / "state",
        "origins": {},
        **changes,
    }
    return replace(config, **changed)  # type: ignore[arg-type]


def costing(usd: str) -> Reply:
    """Return an answer that costs `usd` and reads a file, so that the model is called again."""
    found = tool_answer((f"c{usd}", "read", {"file_path": "a.txt", "offset": int(Decimal(usd) * 10_000)}))
    old, new = json.dumps(USAGE["cost"]).encode(), usd.encode()
    return replace(
        found, steps=[step.replace(old, new) if isinstance(step, bytes) else step for step in found.steps]
    )


class Replying:
    """A user who gives these answers to questions, the last one again."""

    def __init__(self, *answers: str) -> None:
        self.answers = answers
        self.asked: list[str] = []

    async def __call__(self, request: QuestionRequest) -> QuestionReply:
        self.asked.append(request.questions[0].text)
        return QuestionReply(((self.answers[min(len(self.asked), len(self.answers)) - 1],),))


async def say(session: ForgeSession, text: str = "go") -> tuple[AgentResult, list[str]]:
    events = [event async for event in session.send(text)]
    last = events[-1]
    assert isinstance(last, AgentEnd)
    return last.result, [event.text for event in events if isinstance(event, Notice)]


async def test_no_call_is_made_past_the_cap(tmp_path: Path) -> None:
    with SseServer(*(costing(usd) for usd in ("0.31", "0.32", "0.33", "0.34", "0.35"))) as server:
        config = config_for(tmp_path, server, max_cost=1.0)
        session = build_session(config, deny_all)
        result, notices = await say(session)
        assert (result.stopped_reason, len(server.requests)) == ("budget", 3)
        assert session.spending().total.known_usd == Decimal("0.96")
        assert result.warning is not None
        assert "the session's cost" in result.warning
        assert [text for text in notices if "96 %" in text]
        again, _ = await say(session, "and now?")
        await session.reset()
        after_reset, _ = await say(session, "again")
        assert (again.stopped_reason, after_reset.stopped_reason) == ("budget", "budget")
        assert len(server.requests) == 3
        await session.aclose()


async def test_the_ledger_equals_the_servers_sum_over_three_resumes(tmp_path: Path) -> None:
    costs = ["0.1234567", "0.01", "0.0000003", "0.77", "0.1", "0.2", "0.3", "0.05"]
    spent = Decimal(0)
    with SseServer(*(step for usd in costs for step in (costing(usd), answer("done")))) as server:
        config = config_for(tmp_path, server, max_cost=100.0)
        session_id = None
        for turn in range(4):
            session = build_session(config, deny_all, resume=session_id)
            session_id = session.id
            for usd in costs[2 * turn : 2 * turn + 2]:
                await say(session)
                spent += Decimal(usd) + Decimal(str(USAGE["cost"]))
            assert session.spending().total.known_usd == spent
            await session.aclose()
            assert SpendingLedger(config.state_dir / "sessions").day() == spent
        last = build_session(replace(config, max_cost=float(spent)), deny_all, resume=session_id)
        result, _ = await say(last)
        assert (result.stopped_reason, len(server.requests)) == ("budget", 16)
        await last.aclose()


async def test_sessions_share_the_totals_of_the_day_and_the_month(tmp_path: Path) -> None:
    with SseServer(costing("0.40"), costing("0.45"), answer("more"), answer("more")) as server:
        for limit in ("budget_day", "budget_month"):
            config = config_for(tmp_path, server, **{limit: 0.85})
            for _ in range(2):
                session = build_session(config, deny_all)
                result, _ = await say(session)
                await session.aclose()
                assert result.stopped_reason == "budget"
        assert len(server.requests) == 2


async def test_the_user_is_asked_and_can_raise_the_limit(tmp_path: Path) -> None:
    user = Replying("a lot", "$0.50", "Stop")
    with SseServer(costing("0.2"), costing("0.2"), answer("done")) as server:
        session = build_session(config_for(tmp_path, server, max_cost=0.3), deny_all, user)
        result, _ = await say(session)
        assert result.error is None
        assert (result.stopped_reason, len(server.requests)) == ("budget", 2)
        assert ["Raise it?" in text for text in user.asked] == [True, True, True]
        assert user.asked[1].startswith("'a lot' must be an amount")
        assert session.can_retry
        session.set_limit("max_cost", None)
        events = [event async for event in session.retry()]
        assert isinstance(events[-1], AgentEnd)
        assert events[-1].result.output == "done"
        await session.aclose()


async def test_a_limit_that_was_changed_lasts_until_the_command_line_sets_another(tmp_path: Path) -> None:
    with SseServer(costing("0.2"), answer("done"), answer("more")) as server:
        config = config_for(tmp_path, server, max_cost=5.0)
        session = build_session(config, deny_all)
        await say(session)
        session.set_limit("max_cost", Decimal("0.1"))
        await session.aclose()
        again = build_session(config, deny_all, resume=session.id)
        assert (await say(again))[0].stopped_reason == "budget"
        await again.aclose()
        flagged = replace(config, origins={"max_cost": Origin.FLAG})
        third = build_session(flagged, deny_all, resume=session.id)
        assert (await say(third))[0].stopped_reason == "complete"
        await third.aclose()


async def recorded_limits(tmp_path: Path, server: SseServer) -> tuple[ForgeConfig, Path]:
    """Return a session with a turn, a limit that was changed, and another turn."""
    config = config_for(tmp_path, server, max_cost=5.0)
    session = build_session(config, deny_all)
    await say(session)
    session.set_limit("max_cost", Decimal("0.9"))
    await say(session)
    await session.aclose()
    [path] = (config.state_dir / "sessions").glob("*.jsonl")
    return config, path


def cost_limit(session: ForgeSession) -> tuple[Decimal | None, Decimal]:
    [kind] = [kind for kind in LIMITS if kind.setting == "max_cost"]
    return session.budget.limit(kind), session.budget.spent_on(kind)


async def test_a_journal_cut_off_in_a_budget_record_keeps_the_limit_before_it(tmp_path: Path) -> None:
    with SseServer(costing("0.2"), answer("done"), costing("0.3"), answer("done")) as server:
        config, path = await recorded_limits(tmp_path, server)
        lines = path.read_bytes().splitlines(keepends=True)
        budgets = [at for at, line in enumerate(lines) if json.loads(line)["type"] == "budget"]
        assert len(budgets) == 3
        spent = Decimal("0.2") + Decimal(str(USAGE["cost"]))
        at = budgets[1]  # that of the changed limit
        for size, limit in ((0, "5.0"), (1, "5.0"), (len(lines[at]) // 2, "5.0"), (len(lines[at]), "0.9")):
            path.write_bytes(b"".join(lines[:at]) + lines[at][:size])
            session = build_session(config, deny_all, resume=path.stem)
            assert cost_limit(session) == (Decimal(limit), spent)
            await session.aclose()


async def test_a_fork_carries_what_was_spent_and_the_changed_limits(tmp_path: Path) -> None:
    """Otherwise a fork would get around a limit."""
    with SseServer(costing("0.2"), answer("done"), costing("0.69"), answer("done")) as server:
        config, path = await recorded_limits(tmp_path, server)
        whole = load_session(path)
        fork_session(whole, path.with_name("20261123-000000-abcdef.jsonl"), Redactor())
        fork = build_session(config, deny_all, resume="20261123-000000-abcdef")
        assert cost_limit(fork) == (Decimal("0.9"), Decimal("0.89") + Decimal(str(USAGE["cost"])))
        result, _ = await say(fork)
        await fork.aclose()
        assert (result.stopped_reason, len(server.requests)) == ("budget", 3)


async def test_a_time_limit_ends_a_command_that_is_running(tmp_path: Path) -> None:
    command = tool_answer(("c1", "bash", {"command": "sleep 60"}))
    with SseServer(command) as server:
        config = config_for(tmp_path, server, time_limit=0.5, permission_mode=PermissionMode.YOLO)
        session = build_session(config, deny_all)
        started = time.monotonic()
        events = [event async for event in session.send("go")]
        await session.aclose()
    assert time.monotonic() - started < 20
    [ended] = [event for event in events if isinstance(event, ToolEnd)]
    assert not ended.success
    assert isinstance(events[-1], AgentEnd)
    assert events[-1].result.stopped_reason == "timeout"
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("limit", "calls"),
    [({"max_calls": 2}, 2), ({"max_tokens": 17}, 0), ({"max_turn_tokens": 17}, 0), ({"time_limit": 1e-9}, 0)],
)
async def test_calls_tokens_and_time_are_limited(tmp_path: Path, limit: dict[str, float], calls: int) -> None:
    with SseServer(*(costing(f"0.0{n}") for n in range(1, 6))) as server:
        session = build_session(config_for(tmp_path, server, **limit), deny_all)
        result, _ = await say(session)
        await session.aclose()
        assert result.stopped_reason in ("budget", "timeout")
        assert len(server.requests) == calls


async def test_a_turns_limit_counts_from_its_start(tmp_path: Path) -> None:
    with SseServer(costing("0.3"), answer("one"), costing("0.3"), answer("two")) as server:
        session = build_session(config_for(tmp_path, server, max_turn_cost=0.7), deny_all)
        assert [(await say(session))[0].stopped_reason for _ in range(2)] == ["complete", "complete"]
        await session.aclose()


async def test_a_call_that_fails_or_is_cut_reserves_nothing_any_more(tmp_path: Path) -> None:
    found = answer("half", "more")
    cut = replace(found, steps=[*found.steps[:1], Stall()])
    with SseServer(costing("0.5"), error_reply(400, "no"), cut) as server:
        config = config_for(tmp_path, server, budget_day=5.0)
        session = build_session(config, deny_all)
        ledger = SpendingLedger(config.state_dir / "sessions")
        assert (await say(session))[0].stopped_reason == "error"
        assert ledger.reservations.total() == 0
        stream = session.send("again")
        async for event in stream:
            if isinstance(event, LLMChunk):
                assert ledger.reservations.total() == Decimal("0.5")
                session.interrupt()
        assert ledger.reservations.total() == 0
        await session.aclose()


async def test_a_summary_of_the_conversation_counts(tmp_path: Path) -> None:
    with SseServer(costing("0.2"), answer("x " * 3000)) as server:
        session = build_session(config_for(tmp_path, server, max_calls=2), deny_all)
        await say(session)
        events = [event async for event in session.compact()]
        await session.aclose()
        assert len(server.requests) == 2
        assert isinstance(events[-1], AgentEnd)


async def local_turn(config: ForgeConfig) -> AgentResult:
    session = build_session(config, deny_all)
    result, _ = await say(session)
    await session.aclose()
    return result


@pytest.mark.parametrize("limits", [{"budget_day": 0.40}, {"max_cost": 0.0}])
async def test_a_local_endpoint_that_has_reported_costs_gets_no_call_at_a_used_up_limit(
    tmp_path: Path, limits: dict[str, float]
) -> None:
    with SseServer(costing("0.40"), answer("more"), answer("more")) as server:
        config = config_for(tmp_path, server, endpoint=Endpoint("custom", server.base_url, ""), **limits)
        first = await local_turn(config)
        second = await local_turn(config)
        assert (first.stopped_reason, second.stopped_reason) == ("budget", "budget")
        assert len(server.requests) == 1


async def test_a_local_endpoint_without_costs_answers_at_a_used_up_limit(tmp_path: Path) -> None:
    free = answer("free", usage={**USAGE, "cost": None})
    with SseServer(free, free) as server:
        endpoint = Endpoint("custom", server.base_url, "")
        SpendingLedger(tmp_path / "state" / "sessions").add(Decimal(1))
        config = config_for(tmp_path, server, endpoint=endpoint, max_cost=0.0, budget_day=0.5)
        assert [(await local_turn(config)).stopped_reason for _ in range(2)] == ["complete", "complete"]
        assert len(server.requests) == 2
