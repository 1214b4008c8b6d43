"""How cards of tool calls look while they run, when they are long, and when a turn ends by one.

The pictures are written by Python 3.11; `pytest tests/snapshots --snapshot-update` renews them.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from forge_core.config.forge_config import ForgeConfig
from forge_core.events import LLMChunk, LLMStart, ToolEnd, ToolProgress, ToolStart
from tests.snapshots.test_prompts import standing
from tests.snapshots.test_snapshots import Compare, after, tool
from tests.support.chat_app import make_app, make_config, ready, say, shown, until
from tests.support.scripted_session import Gate, Step, end_of_call, end_of_turn
from tests.support.tool_events import tool_start

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the pictures are Python 3.11's"),
]

BEGAN = 1_000.0
"""When calls that still run began; the clock stands 12 seconds later."""


def begun(call_id: str, name: str, parent: str | None = None, **arguments: Any) -> ToolStart:
    return tool_start(call_id, name, arguments, parent_id=parent, timestamp=BEGAN)


def ended(call_id: str, name: str, parent: str | None = None, **end: Any) -> ToolEnd:
    values: dict[str, Any] = {
        "result": "x",
        "success": True,
        "duration_s": 0.4,
        "timestamp": BEGAN + 0.4,
        **end,
    }
    return ToolEnd(call_id=call_id, name=name, parent_id=parent, **values)


def thought(text: str, seconds: float) -> list[Step]:
    return [
        LLMChunk(text=text, kind="reasoning", timestamp=BEGAN),
        replace(end_of_call(), timestamp=BEGAN + seconds),
    ]


LOOKING: list[Step] = [
    begun("1", "read", path="src/greet.py"),
    ended("1", "read", summary="12 lines"),
    *thought("The greeting is made in another module.", 3.4),
    begun("2", "read", path="src/gone.py"),
    ended(
        "2", "read", result="Error: 'src/gone.py' does not exist. Use glob or ls to find it.", success=False
    ),
    *thought("So I search for it.", 5.0),
    begun("3", "grep", pattern="def greet"),
]
LIVE: list[Step] = [
    begun("1", "bash", command="pytest -x"),
    ToolProgress(call_id="1", text="".join(f"tests/test_{n}.py ....\n" for n in range(20))),
]
INNER: list[Step] = [
    begun("t", "task", prompt="find the tests that touch the network"),
    *[
        step
        for n in range(5)
        for step in (begun(f"c{n}", "bash", "t", command=f"ls {n}"), ended(f"c{n}", "bash", "t"))
    ],
    begun("r", "read", "t", path="tests/a.py"),
    ended("r", "read", "t"),
    begun("s", "read", "t", path="tests/b.py"),
]
STATES = {"group": LOOKING, "live": LIVE, "nested": INNER}


@pytest.mark.parametrize(("width", "theme"), [(120, "forge-dark"), (80, "forge-light")])
@pytest.mark.parametrize("state", STATES)
def test_running_calls(snap_compare: Compare, tmp_path: Path, state: str, width: int, theme: str) -> None:
    gate = Gate()
    config = make_config(tmp_path, theme=theme)
    app = make_app(config, [[LLMStart(iteration=1, model="m"), *STATES[state], gate]])

    async def run(pilot: Pilot[None]) -> None:
        await ready(pilot)
        app.chat.transcript.clock = lambda: BEGAN + 12
        await say(pilot, "look around")
        await until(pilot, gate.reached.is_set)
        await until(pilot, lambda: " 12 s" in shown(app), "the time of what runs")
        app.clock.pass_(12)
        await until(pilot, lambda: "12 s" in app.chat.activity.text)
        app.chat.activity.refresh()
        await standing(pilot)

    assert snap_compare(app, terminal_size=(width, 20), run_before=run)


def test_thoughts_in_an_unfolded_group(snap_compare: Compare, config: ForgeConfig) -> None:
    app = make_app(
        config, [[LLMStart(iteration=1, model="m"), *LOOKING, ended("3", "grep", summary="1 match")]]
    )

    async def run(pilot: Pilot[None]) -> None:
        await after("look around")(pilot)
        await pilot.press("ctrl+o")
        rows = shown(app).split("\n")
        await pilot.click(
            "Transcript", offset=(8, next(y for y, row in enumerate(rows) if "for 3.4 s" in row))
        )
        await until(pilot, lambda: "another module" in shown(app))
        await standing(pilot)

    assert snap_compare(app, terminal_size=(80, 20), run_before=run)


def test_end_of_a_page(snap_compare: Compare, config: ForgeConfig) -> None:
    output = "\n".join(f"{n:5}  value_{n} = {n * n}" for n in range(1, 5_001))
    calls = tool("1", "read", {"path": "values.py"}, output, summary="5,000 lines")
    app = make_app(config, [[LLMStart(iteration=1, model="m"), *calls]])

    async def run(pilot: Pilot[None]) -> None:
        await after("show me")(pilot)
        await pilot.press("ctrl+o")
        await pilot.pause()
        app.chat.transcript.scroll_to_end()
        await until(pilot, lambda: "4,800 more lines" in shown(app))
        await standing(pilot)

    assert snap_compare(app, terminal_size=(80, 20), run_before=run)


def test_a_failure_that_ends_the_turn(snap_compare: Compare, config: ForgeConfig) -> None:
    failing = tool(
        "1", "bash", {"command": "make"}, "Error: no rule to make target", success=False, summary="exit 2"
    )
    app = make_app(config, [[LLMStart(iteration=1, model="m"), *failing, end_of_turn("loop")]])
    assert snap_compare(app, terminal_size=(80, 20), run_before=after("build it"))
