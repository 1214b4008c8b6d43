"""How the figures look: the status bar in its states, `/cost` and `/context`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import pytest
from textual.pilot import Pilot

from forge_core.config.forge_config import ForgeConfig
from forge_core.context.ledger import Item, Kind
from forge_core.llm.models import Message, TokenUsage, ToolCall
from forge_tui.widgets.status_bar import StatusBar
from forge_tui.widgets.status_text import Figures
from tests.support.chat_app import ChatApp, make_app, ready, say, shown, until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the pictures are Python 3.11's"),
]

Compare = Callable[..., bool]

KNOWN = Figures(
    model="anthropic/claude-sonnet-5",
    provider="openrouter",
    cost_usd=Decimal("0.0312"),
    known_usd=Decimal("0.0312"),
    prompt_tokens=40_000,
    cached_tokens=33_200,
    is_running=True,
    turn_out=870,
    context_used=12_430,
    context_window=200_000,
    sandbox="sandbox: on",
    folder="~/src/engine",
    branch="main",
)
UNPRICED = replace(KNOWN, cost_usd=None, is_unpriced=True, cached_tokens=None)
STATES = (
    Figures(model="anthropic/claude-sonnet-5", folder="~/src/engine"),
    replace(KNOWN, cost_usd=None, known_usd=None, cached_tokens=None, turn_out=0, is_context_estimate=True),
    KNOWN,
    replace(KNOWN, is_context_estimate=True, is_cost_estimate=True, is_turn_estimate=True),
    replace(UNPRICED, known_usd=None),
    UNPRICED,
    replace(KNOWN, context_window=None),
    replace(UNPRICED, provider="offline", model="forge/offline", known_usd=Decimal(0)),
    replace(UNPRICED, provider="local", model="qwen3-coder:30b", known_usd=None, context_window=None),
    replace(KNOWN, context_used=199_000, mode="yolo", cost_usd=Decimal("123.456")),
)


@pytest.mark.parametrize("width", [120, 80, 50])
def test_status_bar_in_its_states(snap_compare: Compare, config: ForgeConfig, width: int) -> None:
    async def run(pilot: Pilot[None]) -> None:
        app = await ready(pilot)
        app.chat.welcome.display = False
        await app.chat.query_one("#stage").mount(*(StatusBar(figures) for figures in STATES))
        await pilot.pause()

    assert snap_compare(make_app(config), terminal_size=(width, 20), run_before=run)


CALLS = {
    "read": ToolCall("1", {"name": "read", "arguments": '{"file_path": "forge_core/session/session.py"}'}),
    "bash": ToolCall("2", {"name": "bash", "arguments": '{"command": "pytest -q tests/unit"}'}),
}


def result(name: str, tokens: int, turn: int) -> Item:
    return Item(Kind.RESULT, tokens, turn=turn, message=Message.tool_result("1", ""), call=CALLS[name])


def fill(app: ChatApp) -> None:
    """A session of two turns and two models."""
    session = app.scripted
    session.sent += ["where does a session begin, and what does it hold?", "run the tests"]
    session.items = (
        Item(Kind.SYSTEM, 2_300, "system prompt"),
        Item(Kind.TOOLS, 6_100, "read"),
        Item(Kind.INSTRUCTIONS, 3_800, "AGENTS.md"),
        Item(Kind.USER, 60, turn=1, message=Message.user(session.sent[0])),
        Item(Kind.ANSWER, 2_400, turn=1, message=Message.assistant("It begins in `build_session`.")),
        result("read", 31_000, 1),
        Item(Kind.USER, 20, turn=2, message=Message.user(session.sent[1])),
        Item(Kind.ANSWER, 3_100, turn=2, message=Message.assistant("Two fail.")),
        result("bash", 17_500, 2),
        Item(Kind.REASONING, 1_200, "reasoning of the last answer", turn=2),
    )
    session.book.turn = 1
    session.book.add(
        TokenUsage(84_000, 2_400, 61_000, cost_usd=Decimal("0.1471")), "anthropic/claude-sonnet-5"
    )
    session.book.turn = 2
    session.book.add(
        TokenUsage(61_000, 3_100, 52_000, 0, 1_200, Decimal("0.0892"), estimated=True), "openai/gpt-5-mini"
    )


def after_command(line: str, last: str) -> Callable[[Pilot[None]], object]:
    async def run(pilot: Pilot[None]) -> None:
        app = await ready(pilot)
        fill(app)
        app.chat.welcome.display = False
        await say(pilot, line)
        await until(pilot, lambda: last in shown(app))
        app.chat.refresh_status()  # what was counted meanwhile may have read the figures before they were filled
        await pilot.pause()

    return run


@pytest.mark.parametrize("width", [120, 80])
def test_cost(snap_compare: Compare, config: ForgeConfig, width: int) -> None:
    run = after_command("/cost", "its provider sent no count")
    assert snap_compare(make_app(config), terminal_size=(width, 24), run_before=run)


@pytest.mark.parametrize("width", [120, 80])
def test_context(snap_compare: Compare, config: ForgeConfig, width: int) -> None:
    run = after_command("/context", "you: run the tests")
    assert snap_compare(make_app(config), terminal_size=(width, 40), run_before=run)
