"""The panel of background commands: a live tail, the whole output, and a key that stops one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot

from forge_core.config.forge_config import ForgeConfig
from forge_core.redact import Redactor
from forge_core.tools.base import ExecutionContext
from forge_core.tools.builtin.bash import BashTool
from forge_core.tools.executor import ToolExecutor
from forge_core.tools.output import OutputStore
from forge_core.tools.shell.job import JobState
from forge_tui.screens.panels.job_log import JobLog, read_end
from forge_tui.screens.panels.jobs_panel import JobsPanel
from tests.support.chat_app import ChatApp, command_request, make_app, ready, say, shown, until
from tests.support.scripted_session import Gate, answer

pytestmark = pytest.mark.slow

KEY = "sk-test-123456"
UNTIL_ENDED = "while [ ! -e ended ]; do sleep 0.02; done"
"""Lets a command run until `end` is called: one that ends at once is no job."""


async def begin(app: ChatApp, folder: Path, command: str) -> None:
    """Start a command in the background."""
    outputs = OutputStore(folder / "outputs", Redactor((KEY,)))
    context = ExecutionContext(folder, jobs=app.scripted.jobs, outputs=outputs)
    arguments = {"command": command, "run_in_background": True}
    await ToolExecutor().execute(BashTool(), arguments, context)


async def end(app: ChatApp, pilot: Pilot[None], folder: Path) -> None:
    """Let the first command end."""
    before = app.scripted.jobs.running_count
    (folder / "ended").touch()
    await until(pilot, lambda: app.scripted.jobs.running_count < before)


@asynccontextmanager
async def with_jobs(
    config: ForgeConfig, folder: Path, *commands: str, size: tuple[int, int] = (80, 24)
) -> AsyncIterator[tuple[ChatApp, Pilot[None]]]:
    """An app with these background commands."""
    app = make_app(config)
    async with app.run_test(size=size) as pilot:
        await ready(pilot)
        for command in commands:
            await begin(app, folder, command)
        try:
            yield app, pilot
        finally:
            await app.scripted.jobs.aclose()


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (50, 12)])
async def test_the_panel_follows_the_output(
    config: ForgeConfig, tmp_path: Path, size: tuple[int, int]
) -> None:
    live = "seq -f 'line %g' 40; while [ ! -e go ]; do sleep 0.05; done; echo more; sleep 60"
    async with with_jobs(config, tmp_path, f"{UNTIL_ENDED}; exit 3", live, size=size) as (app, pilot):
        await end(app, pilot, tmp_path)
        await pilot.press("f3")
        await until(pilot, lambda: isinstance(app.screen, JobsPanel) and "line 40" in shown(app))
        screen = shown(app)
        assert "Background commands (1 running)" in screen and "● 2 seq" in screen and "✗ 1 while" in screen
        assert "line 1 " not in screen
        (tmp_path / "go").touch()
        await until(pilot, lambda: "more" in shown(app))
        await pilot.press("up")
        await until(pilot, lambda: "No output yet" in shown(app))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chat)


async def test_many_jobs_leave_room_for_the_output(config: ForgeConfig, tmp_path: Path) -> None:
    commands = [f"echo out of {number}; sleep 60" for number in range(1, 8)]
    async with with_jobs(config, tmp_path, *commands, size=(60, 14)) as (app, pilot):
        await pilot.press("f3")
        await until(pilot, lambda: isinstance(app.screen, JobsPanel) and "\n│  out of 7 " in shown(app))
        assert "X stop · Esc close" in shown(app)
        await pilot.press(*["up"] * 6)
        await until(pilot, lambda: "❯ ● 1" in shown(app) and "\n│  out of 1 " in shown(app))


async def test_the_command_opens_the_panel_only_if_there_is_a_job(
    config: ForgeConfig, tmp_path: Path
) -> None:
    async with with_jobs(config, tmp_path) as (app, pilot):
        await say(pilot, "/jobs")
        await until(pilot, lambda: "No command is running in the background" in shown(app))
        assert app.screen is app.chat
        await begin(app, tmp_path, "sleep 60")
        await say(pilot, "/jobs")
        await until(pilot, lambda: isinstance(app.screen, JobsPanel))
        await pilot.press("f3")
        await until(pilot, lambda: app.screen is app.chat)


async def test_a_job_is_stopped_at_the_second_press(config: ForgeConfig, tmp_path: Path) -> None:
    async with with_jobs(config, tmp_path, "sleep 60", "sleep 61") as (app, pilot):
        first, second = app.scripted.jobs.list()
        await pilot.press("f3", "x")
        await until(pilot, lambda: "X again stops job 2" in shown(app))
        await pilot.press("up", "x")  # another job: the first press again
        await until(pilot, lambda: "X again stops job 1" in shown(app))
        await pilot.press("x", "x", "x")  # as a key that is held repeats
        await pilot.pause()
        assert app.scripted.jobs.running_count == 2
        app.clock.pass_(1)
        await pilot.press("X")
        await until(pilot, lambda: first.state is JobState.STOPPED)
        await until(pilot, lambda: "✗ 1 sleep 60" in shown(app) and "(1 running)" in shown(app))
        assert second.state is JobState.RUNNING
        await pilot.press("x", "x")  # it has ended: nothing to stop
        await pilot.pause()
        assert second.state is JobState.RUNNING
        assert any("sleep 60" in line for line in app.scripted.jobs.news())


async def test_the_whole_output_opens_at_its_end(config: ForgeConfig, tmp_path: Path) -> None:
    command = f"cat key; seq -f 'line %g' 3000; printf '\\033]0;owned\\007[red]last[/red]\\n'; {UNTIL_ENDED}"
    (tmp_path / "key").write_text(f"first {KEY}\n")
    async with with_jobs(config, tmp_path, command) as (app, pilot):
        await end(app, pilot, tmp_path)
        await pilot.press("f3", "enter")
        await until(pilot, lambda: isinstance(app.screen, JobLog) and "[red]last[/red]" in shown(app))
        assert "\x1b" not in shown(app)
        await pilot.press("home")
        await until(pilot, lambda: "first" in shown(app) and "line 2 " in shown(app))
        assert KEY not in shown(app)
        await pilot.press("pagedown", "down", "r")
        await until(pilot, lambda: "[red]last[/red]" in shown(app))
        await pilot.press("q")
        await until(pilot, lambda: isinstance(app.screen, JobsPanel))


async def test_a_request_closes_the_panel_and_its_log(config: ForgeConfig, tmp_path: Path) -> None:
    gate = Gate()
    app = make_app(config, [[gate, command_request("ls"), *answer("went on")]])
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await begin(app, tmp_path, "sleep 60")
        await say(pilot, "go")
        await until(pilot, gate.reached.is_set)
        await pilot.press("f3", "enter")
        await until(pilot, lambda: isinstance(app.screen, JobLog))
        gate.open()
        await until(pilot, lambda: app.screen is app.chat and "Forge wants to" in shown(app))
        await app.scripted.jobs.aclose()


async def test_a_closed_panel_looks_at_no_job(
    config: ForgeConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []
    monkeypatch.setattr(
        "forge_tui.screens.panels.jobs_panel.read_end", lambda path, size: looks.append(path) or ""
    )
    async with with_jobs(config, tmp_path, "sleep 60") as (app, pilot):
        await pilot.press("f3")
        await until(pilot, lambda: len(looks) >= 2)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, JobLog))
        await asyncio.sleep(0.1)
        before = len(looks)
        await asyncio.sleep(0.8)
        assert len(looks) == before


def test_the_end_of_a_file_has_whole_lines_only(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("1234\n5678\n9é")
    assert read_end(path, 100) == "1234\n5678\n9é"
    assert read_end(path, 7) == "9é"
    assert read_end(path, 2) == "é"
    assert read_end(tmp_path / "none", 7) == ""
