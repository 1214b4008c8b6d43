"""Start-up: what the first frame imports, and that keys typed during the warm-up are kept."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

from textual import events

from forge_core.config.forge_config import ForgeConfig
from tests.support.chat_app import make_app, shown, type_text, until
from tests.support.scripted_session import ScriptedSession

HEAVY = (
    "markdown_it",
    "pygments",
    "pydantic",
    "httpx",
    "langchain_core",
    "langsmith",
    "tiktoken",
    "rich.markdown",
    "rich.syntax",
    "importlib.metadata",
    "forge_core.runtime",
    "forge_core.session.session",
    "forge_core.commands.dispatch",
    "forge_core.langchain.agent.agent",
    "forge_tui.screens.prompts.permission",
    "forge_tui.screens.panels.help",
    "forge_tui.screens.panels.command_palette",
    "forge_tui.screens.panels.theme_picker",
    "textual.widgets._markdown",
)

FIRST_FRAME = """
import asyncio, sys
from pathlib import Path
from forge_core.config.forge_config import Endpoint, ForgeConfig
from forge_tui.app import ForgeApp

class FirstFrame(ForgeApp):
    def _begin_warm_up(self):
        self.imported = set(sys.modules)

async def main():
    folder = Path(sys.argv[1])
    endpoint = Endpoint("offline", "")
    config = ForgeConfig(working_dir=folder, endpoint=endpoint, model="forge/offline", config_dir=folder, state_dir=folder)
    app = FirstFrame(config, lambda approver: None)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("h", "i")
        assert app.chat.composer.text == "hi"
    print("\\n".join(sorted(app.imported)))

asyncio.run(main())
"""


def test_the_first_frame_loads_no_heavy_modules(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", FIRST_FRAME, str(tmp_path)], capture_output=True, text=True, timeout=180
    )
    assert ended.returncode == 0, ended.stderr
    imported = ended.stdout.split()
    assert "forge_tui.widgets.composer" in imported
    assert [name for name in HEAVY if name in imported] == []


async def test_the_first_frame_is_complete_before_the_session_is_built(config: ForgeConfig) -> None:
    may_build = threading.Event()

    def slowly(approver: object, session: ScriptedSession) -> ScriptedSession:
        assert may_build.wait(60)
        return session

    app = make_app(config, make_session=slowly)
    async with app.run_test(size=(100, 30)) as pilot:
        screen = shown(app)
        for text in ("Forge 0.1.0", "~/src/engine", "test/model", "Ask about this folder"):
            assert text in screen
        await type_text(pilot, "typed while it starts")
        assert app.chat.composer.text == "typed while it starts"
        may_build.set()
        await until(pilot, lambda: app.session is not None)
        assert app.chat.composer.text == "typed while it starts"


async def test_exiting_does_not_wait_for_the_warm_up(config: ForgeConfig) -> None:
    never = threading.Event()

    def forever(approver: object, session: ScriptedSession) -> ScriptedSession:
        never.wait(30)
        return session

    app = make_app(config, make_session=forever)
    async with app.run_test() as pilot:
        await pilot.press("ctrl+d")
    assert app.return_code == 0
    assert not never.is_set()
    never.set()


async def test_keys_typed_before_the_composer_has_focus_are_kept_in_order(
    config: ForgeConfig,
) -> None:
    app = make_app(config)
    for character in "early":
        app.post_message(events.Key(character, character))
    app.post_message(events.Paste(" bird"))
    async with app.run_test() as pilot:
        await type_text(pilot, "!")
        assert app.chat.composer.text == "early bird!"
