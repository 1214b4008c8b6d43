"""The panel of `/agents`: the sub-agents as they run, and a key that stops one."""

from __future__ import annotations

import asyncio
from pathlib import Path

from textual.color import Color

from forge_core.config.forge_config import ForgeConfig
from forge_tui.screens.panels.agents_panel import AgentsPanel
from forge_tui.widgets.choices import ChoiceList
from tests.support.agent_server import session_with_agents, two_agents
from tests.support.chat_app import make_app, ready


async def test_the_panel_follows_the_sub_agents_and_stops_one_at_the_second_press(
    config: ForgeConfig, tmp_path: Path
) -> None:
    with two_agents() as server:
        session = await session_with_agents(tmp_path / "agents", server)
        app = make_app(config)
        chosen: list[int | None] = []
        async with app.run_test(size=(90, 24)) as pilot:
            await ready(pilot)
            panel = AgentsPanel(session.agents, "Available\n  tester  Tests it", clock=app.clock)
            await app.push_screen(panel, chosen.append)
            await pilot.pause()
            rows = [choice.label for choice in panel.query_one(ChoiceList).rows]
            assert rows == ["✓ 1 tester: do look", "● 2 general: do wait"]
            cyan = Color.parse(app.theme_variables["syntax-builtin"]).rich_color
            for row in (panel.query_one(ChoiceList), panel.query_one(".defined")):
                line = next(strip for strip in map(row.render_line, range(2)) if "tester" in strip.text)
                assert [one.text for one in line if one.style and one.style.color == cyan] == ["tester"]
            assert panel.query_one(".panel").border_title == "Agents (1 running)"
            await pilot.press("x", "x", "x")  # as a key that is held repeats
            assert session.agents.running_count == 1
            app.clock.pass_(2)
            await pilot.press("x")
            async with asyncio.timeout(10):
                while session.agents.running_count:
                    await pilot.pause(0.02)
            await pilot.press("up", "enter")
            await pilot.pause()
        assert chosen == [1]
        await session.aclose()
