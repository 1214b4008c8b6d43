"""How the pickers of sessions and of messages look, with wide, long and hostile titles, and without any."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from textual.pilot import Pilot

from forge_core.config.forge_config import ForgeConfig, Origin
from forge_core.config.saved_keys import SavedKeys
from forge_core.llm.endpoints import PROVIDERS
from forge_core.redact import Redactor
from forge_core.runtime.endpoint_list import KnownEndpoint, known_endpoints
from forge_core.runtime.local_servers import RunningServer
from forge_core.session.prompt_history import PromptHistory
from forge_core.session.rewinder import RewindPoint
from forge_core.session.saved_sessions import SavedSessions
from forge_core.tools.shell.job_table import JobTable
from forge_tui.screens.panels.connect_picker import ConnectPicker
from forge_tui.screens.panels.history_search import HistorySearch
from forge_tui.screens.panels.jobs_panel import JobsPanel
from forge_tui.screens.panels.rewind_picker import RewindPicker
from forge_tui.screens.panels.session_picker import SessionPicker
from forge_tui.screens.panels.settings_panel import SettingsPanel
from tests.support.chat_app import ChatApp, make_app, make_config, ready, shown, until
from tests.tui.test_session_picker import write

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the pictures are Python 3.11's"),
]

Before = Callable[[Pilot[None]], Awaitable[None]]
Compare = Callable[..., bool]

NOW = 1_790_000_000.0
HERE = Path("/home/ada/src/engine")
SESSIONS: Sequence[tuple[str, str, float]] = (
    ("Fix the parser of dates", "And now the tests, please", 60),
    ("日本語のパーサーを直して、テストも書いてください。それから説明も", "はい", 7_200),
    ("Free gold \u202egpj.exe\u202c [bold red]x[/] \x1b[2J\x1b]0;owned\x07", "\x1b[31mred", 90_000),
    ("e\u0301te\u0301 👩\u200d💻 👍🏽 " + "a very long title without an end " * 3, "x" * 300, 200_000),
    ("Rename a class", "Rename a class", 4_000_000),
)


def sessions(state: Path) -> SavedSessions:
    for number, (title, last, age) in enumerate(SESSIONS):
        path = f"2026112{number}-100000-00000a"
        write(state, path, title, *["more"] * number * 4, last, folder=str(HERE), at=NOW - age)
    return SavedSessions(state, Redactor())


def point(number: int, text: str, age: float, files: tuple[str, ...] = (), turns: int = 1) -> RewindPoint:
    return RewindPoint(number, text, NOW - age, number, files, (), turns)


POINTS = [
    point(1, "what is in this folder?", 90_000, ("a.py", "src/日本語.py", "src/engine/parser.py"), 5),
    point(2, SESSIONS[2][0], 7_200, ("a.py", "src/日本語.py", "src/engine/parser.py"), 4),
    point(3, SESSIONS[1][0], 3_000, tuple(f"src/engine/module_{number}.py" for number in range(12)), 3),
    point(4, SESSIONS[3][0], 700, ("\u202egpj.py", "b\nc.txt"), 2),
    point(5, "now run the tests", 20),
]


def session_picker(state: Path, *keys: str) -> Before:
    async def run(pilot: Pilot[None]) -> None:
        app = await ready(pilot)
        app.push_screen(SessionPicker(SavedSessions(state, Redactor()), HERE, clock=lambda: NOW))
        await until(pilot, lambda: isinstance(app.screen, SessionPicker) and "Reading" not in shown(app))
        await pilot.press(*keys)
        await pilot.pause()

    return run


def rewind_picker(*keys: str) -> Before:
    async def run(pilot: Pilot[None]) -> None:
        app = await ready(pilot)
        app.push_screen(RewindPicker(POINTS, clock=lambda: NOW))
        await until(pilot, lambda: isinstance(app.screen, RewindPicker) and "now run" in shown(app))
        await pilot.press(*keys)
        await pilot.pause()

    return run


def history_search(state: Path, *keys: str) -> Before:
    async def run(pilot: Pilot[None]) -> None:
        app = await ready(pilot)
        for title, last, age in reversed(SESSIONS):
            at = NOW - age
            PromptHistory(state, Redactor(), clock=lambda at=at: at).add(f"{title}\n{last}", HERE)  # type: ignore[misc]
        app.push_screen(HistorySearch(app.chat.sending.earlier.read, HERE, clock=lambda: NOW))
        await until(pilot, lambda: isinstance(app.screen, HistorySearch) and "Reading" not in shown(app))
        await pilot.press(*keys)
        await pilot.pause()

    return run


def connect_picker(*keys: str) -> Before:
    def known(config: ForgeConfig) -> list[KnownEndpoint]:
        SavedKeys(config.state_dir).save(PROVIDERS["groq"].base_url, "a-saved-key")
        return known_endpoints(config, lambda: [RunningServer(PROVIDERS["ollama"], ("qwen3:8b", "b", "c"))])

    async def run(pilot: Pilot[None]) -> None:
        app = await ready(pilot)
        assert app.session is not None
        app.push_screen(ConnectPicker(app.session.config, known=known))
        await until(pilot, lambda: isinstance(app.screen, ConnectPicker) and "Ollama" in shown(app))
        await pilot.press(*keys)
        await pilot.pause()

    return run


def light(folder: Path) -> ChatApp:
    return make_app(make_config(folder, theme="forge-light"))


def test_session_picker_80x24(snap_compare: Compare, config: ForgeConfig, tmp_path: Path) -> None:
    sessions(tmp_path / "sessions-state")
    run = session_picker(tmp_path / "sessions-state", "down", "down")
    assert snap_compare(make_app(config), terminal_size=(80, 24), run_before=run)


def test_session_picker_light(snap_compare: Compare, tmp_path: Path) -> None:
    sessions(tmp_path / "sessions-state")
    run = session_picker(tmp_path / "sessions-state", "tab", "down")
    assert snap_compare(light(tmp_path), terminal_size=(120, 36), run_before=run)


def test_session_picker_without_sessions(snap_compare: Compare, config: ForgeConfig, tmp_path: Path) -> None:
    assert snap_compare(
        make_app(config), terminal_size=(80, 24), run_before=session_picker(tmp_path / "none")
    )


def test_connect_picker_80x24(snap_compare: Compare, config: ForgeConfig) -> None:
    run = connect_picker("down", "down")
    assert snap_compare(make_app(config), terminal_size=(80, 24), run_before=run)


def test_rewind_picker_80x24(snap_compare: Compare, config: ForgeConfig) -> None:
    run = rewind_picker("up", "up")
    assert snap_compare(make_app(config), terminal_size=(80, 24), run_before=run)


def test_rewind_picker_light(snap_compare: Compare, tmp_path: Path) -> None:
    assert snap_compare(light(tmp_path), terminal_size=(120, 36), run_before=rewind_picker("up"))


def test_rewind_actions_80x24(snap_compare: Compare, config: ForgeConfig) -> None:
    run = rewind_picker("up", "up", "up", "enter")
    assert snap_compare(make_app(config), terminal_size=(80, 24), run_before=run)


def test_history_search_80x24(snap_compare: Compare, config: ForgeConfig) -> None:
    run = history_search(config.state_dir, "down", "down")
    assert snap_compare(make_app(config), terminal_size=(80, 24), run_before=run)


def settings_panel(*keys: str) -> Before:
    async def run(pilot: Pilot[None]) -> None:
        app = await ready(pilot)
        app.chat.run_by_name("config notify")
        await until(pilot, lambda: isinstance(app.screen, SettingsPanel) and "❯ notify" in shown(app))
        await pilot.press(*keys)
        await pilot.pause()

    return run


def some_settings(folder: Path, **changes: Any) -> ChatApp:
    """An app whose user has set the theme, and an environment that has set the notifications."""
    config = make_config(
        folder, notify="bell", origins={"notify": Origin.ENVIRONMENT, "model": Origin.FLAG}, **changes
    )
    config.config_dir.mkdir()
    (config.config_dir / "config.toml").write_text(f'theme = "{config.theme}"\nsandbox = "off"\n')
    return make_app(config)


def test_settings_panel_80x24(snap_compare: Compare, tmp_path: Path) -> None:
    app = some_settings(tmp_path, theme="nord")
    assert snap_compare(app, terminal_size=(80, 24), run_before=settings_panel())


def test_settings_panel_light(snap_compare: Compare, tmp_path: Path) -> None:
    app = some_settings(tmp_path, theme="forge-light")
    assert snap_compare(app, terminal_size=(120, 36), run_before=settings_panel("up"))


def test_settings_values_80x24(snap_compare: Compare, tmp_path: Path) -> None:
    app = some_settings(tmp_path)
    keys = (*"permission", "enter")
    assert snap_compare(app, terminal_size=(80, 24), run_before=settings_panel(*keys))


def test_settings_wrong_value_80x24(snap_compare: Compare, tmp_path: Path) -> None:
    app = some_settings(tmp_path)

    async def run(pilot: Pilot[None]) -> None:
        await settings_panel(*"max_co", "enter", *"much", "enter")(pilot)
        await until(pilot, lambda: "max_cost is 'much'" in shown(app))

    assert snap_compare(app, terminal_size=(80, 24), run_before=run)


def jobs() -> JobTable:
    """Three jobs; the output of each is a file beside the working folder."""

    def job(number: int, command: str, state: str, outcome: str, code: int | None = None) -> SimpleNamespace:
        output = Path(f"{number}.txt")
        output.write_text("\n".join(f"{at} GET /日本語/{at}.html \x1b[31m200" for at in range(1, 60)))
        return SimpleNamespace(
            id=number,
            state=state,
            outcome=outcome,
            spec=SimpleNamespace(command=command),
            process=SimpleNamespace(exit_code=code),
            capture=SimpleNamespace(kept_in=output),
        )

    listed = (
        job(1, "make -j4 all", "exited", "ended: exit code 2 after 34 s", 2),
        job(2, "npm run build", "exited", "ended: exit code 0 after 1 min 10 s", 0),
        job(3, "python3 -m http.server 8000\n# [bold]x[/] \x1b[2J", "running", "running for 2 min 05 s"),
    )
    return cast("JobTable", SimpleNamespace(list=lambda: listed, running_count=1))


def jobs_panel(*keys: str) -> Before:
    async def run(pilot: Pilot[None]) -> None:
        app = await ready(pilot)
        app.push_screen(JobsPanel(jobs()))
        await until(pilot, lambda: isinstance(app.screen, JobsPanel) and "GET" in shown(app))
        await pilot.press(*keys)
        await until(pilot, lambda: "GET" in shown(app))

    return run


def test_jobs_panel_80x24(
    snap_compare: Compare, config: ForgeConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert snap_compare(make_app(config), terminal_size=(80, 24), run_before=jobs_panel("x"))


def test_jobs_panel_light(snap_compare: Compare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert snap_compare(light(tmp_path), terminal_size=(120, 36), run_before=jobs_panel("up"))
