"""The figures while an answer streams: estimates per frame, the provider's count at the end."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from forge_core.config.forge_config import ForgeConfig
from forge_core.config.permission_mode import PermissionMode
from forge_core.events import LLMChunk, LLMStart
from forge_core.llm.models import TokenUsage
from forge_core.session.status import SessionStatus
from forge_core.tools.registry import builtin_tools
from forge_tui.screens.chat.live_figures import LiveFigures
from forge_tui.widgets.status_text import SEPARATOR, left_parts
from tests.support.chat_app import make_app, ready, say, shown, until
from tests.support.scripted_llm import Call
from tests.support.scripted_session import Gate, ScriptedSession, answer, end_of_call
from tests.support.sessions import scripted_session

HOME = Path("/home/ada")
THOUSAND_TOKENS = "word " * 983
HUNDRED_TOKENS = "word " * 98


def status(config: ForgeConfig, **changes: object) -> SessionStatus:
    usage = TokenUsage(1_000, 200, 600, cost_usd=Decimal("0.02"))
    base = replace(
        ScriptedSession(config).status,
        usage=usage,
        known_cost_usd=usage.cost_usd,
        context_used=1_200,
        output_price_usd=Decimal("0.00001"),
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def said(live: LiveFigures) -> str:
    return SEPARATOR.join(part.text for part in left_parts(live.current())[1:])


def test_a_running_answer_adds_estimates_until_its_end(config: ForgeConfig) -> None:
    live = LiveFigures(config, HOME)
    live.use_status(status(config))
    live.begin_turn()
    live.use_running(True)
    assert said(live) == "▰▱▱▱▱▱▱▱▱▱ <1% · $0.020 · cache 60%"
    live.count(THOUSAND_TOKENS)
    assert said(live) == "▰▱▱▱▱▱▱▱▱▱ ~1% · ~$0.030 · cache 60% · ~1.0k out"
    live.count_arguments(2 * THOUSAND_TOKENS)
    assert said(live) == "▰▱▱▱▱▱▱▱▱▱ ~2% · ~$0.050 · cache 60% · ~3.0k out"
    live.answered(TokenUsage(1_200, 2_900, cost_usd=Decimal("0.03")))
    live.use_status(
        status(config, usage=TokenUsage(2_200, 3_100, 600, cost_usd=Decimal("0.05")), context_used=4_100)
    )
    assert said(live) == "▰▱▱▱▱▱▱▱▱▱ 2% · $0.050 · cache 27% · 2.9k out"
    live.count(HUNDRED_TOKENS)
    assert said(live).endswith("~3.0k out")
    live.begin_turn()
    assert said(live) == "▰▱▱▱▱▱▱▱▱▱ 2% · $0.050 · cache 27%"


def test_an_unknown_price_is_not_estimated(config: ForgeConfig) -> None:
    live = LiveFigures(config, HOME)
    live.use_running(True)
    live.use_status(status(config, usage=TokenUsage(1_000, 200), known_cost_usd=None, output_price_usd=None))
    live.count(THOUSAND_TOKENS)
    assert said(live) == "▰▱▱▱▱▱▱▱▱▱ ~1% · ? · ~1.0k out"
    live.use_status(status(config, usage=TokenUsage(), known_cost_usd=None, output_price_usd=None))
    assert said(live) == "▰▱▱▱▱▱▱▱▱▱ ~1% · $0.00 · ~1.0k out"


def test_unknown_cost_stays_marked_while_known_cost_grows(config: ForgeConfig) -> None:
    live = LiveFigures(config, HOME)
    live.use_status(status(config, usage=TokenUsage(1_000, 200)))
    live.count(THOUSAND_TOKENS)
    assert said(live).split(SEPARATOR)[1] == "~$0.030+?"


def test_an_interrupted_answer_leaves_its_estimate_marked(config: ForgeConfig) -> None:
    live = LiveFigures(config, HOME)
    live.begin_turn()
    live.count(HUNDRED_TOKENS)
    live.answered(TokenUsage(900, 100, estimated=True))
    live.answered(TokenUsage(900, 50))
    live.use_status(status(config))
    live.use_running(True)
    assert said(live).endswith(" · ~150 out")


async def test_the_bar_follows_a_streaming_answer_without_a_layout(config: ForgeConfig) -> None:
    gates = Gate(), Gate()
    usage = TokenUsage(11_000, 1_400, 8_800, cost_usd=Decimal("0.0312"))
    script = [
        LLMStart(iteration=1, model="m"),
        LLMChunk(text=THOUSAND_TOKENS),
        gates[0],
        end_of_call(usage),
        gates[1],
    ]
    app = make_app(config, [script])
    async with app.run_test(size=(120, 30)) as pilot:
        await ready(pilot)
        await say(pilot, "go")
        await until(pilot, gates[0].reached.is_set)
        await until(pilot, lambda: "▰▱▱▱▱▱▱▱▱▱ ~<1%" in last_row(shown(app)))
        layouts = []
        app.chat.screen.screen_layout_refresh_signal.subscribe(app.chat, layouts.append)
        gates[0].open()
        await until(pilot, gates[1].reached.is_set)
        await until(pilot, lambda: "▰▱▱▱▱▱▱▱▱▱ 6% · $0.031 · cache 80% · 1.4k out" in last_row(shown(app)))
        assert layouts == []
        app.chat.refresh(layout=True)
        await until(pilot, lambda: layouts, "a layout is noticed where there is one")
        gates[1].open()
        await until(pilot, lambda: not app.chat.has_turn)


async def test_figures_that_change_between_turns_reach_the_bar(config: ForgeConfig) -> None:
    app = make_app(config, [answer("Hi.")])
    async with app.run_test(size=(120, 30)) as pilot:
        await ready(pilot)
        await say(pilot, "go")
        await until(pilot, lambda: "$0.0021" in last_row(shown(app)))
        app.scripted.book.add(TokenUsage(10, 1, cost_usd=Decimal("0.5")), "m")
        assert app.scripted.on_figures is not None
        app.scripted.on_figures()
        await until(pilot, lambda: "$0.502" in last_row(shown(app)))


def last_row(screen: str) -> str:
    return screen.rstrip().splitlines()[-1]


async def test_a_job_shows_in_the_status_bar_and_adds_a_line_when_it_ends(
    config: ForgeConfig, tmp_path: Path
) -> None:
    """Whether a turn runs or not."""
    folder = tmp_path / "w"
    folder.mkdir()
    call = Call("bash", {"command": "until [ -e stop ]; do sleep 0.02; done", "run_in_background": True})
    session = scripted_session(folder, [[call], ["started"]], tools=builtin_tools(), mode=PermissionMode.YOLO)
    yolo = replace(config, permission_mode=PermissionMode.YOLO)
    app = make_app(yolo, make_session=lambda approver, scripted: session)
    async with app.run_test(size=(120, 30)) as pilot:
        await ready(pilot)
        await say(pilot, "go")
        await until(pilot, lambda: "started" in shown(app) and not app.chat.has_turn)
        assert "1 job" in shown(app).splitlines()[-1]
        (folder / "stop").touch()
        await until(pilot, lambda: "ended: exit code 0 after" in shown(app))
        await until(pilot, lambda: "1 job" not in shown(app).splitlines()[-1])
