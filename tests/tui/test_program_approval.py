"""The prompt for programs that want to run as hooks: after the folder is trusted, and on request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from forge_core.approval import Responder
from forge_core.config.forge_config import ForgeConfig
from forge_core.session.session import ForgeSession
from forge_core.tools import ReadTool
from forge_tui.screens.prompts.programs import ProgramsPrompt
from forge_tui.widgets.status_bar import StatusBar
from tests.support.chat_app import ChatApp, make_app, make_config, ready, say, shown, until
from tests.support.hooks import declared, write_hooks
from tests.support.scripted_llm import Call
from tests.support.scripted_session import ScriptedSession
from tests.support.sessions import scripted_session

pytestmark = pytest.mark.slow


@pytest.fixture
def config(tmp_path: Path) -> ForgeConfig:
    write_hooks(
        tmp_path / ".claude/settings.json",
        declared("SessionStart", "touch started"),
        declared(
            "Stop",
            "sh '[b]tick.sh' \x1b[31m --with a very long command line that must be seen to its last word",
        ),
    )
    (tmp_path / "[b]tick.sh").write_text("touch stopped\n")
    return make_config(tmp_path, working_dir=tmp_path)


def hook_app(config: ForgeConfig, *, is_trusted: bool = False) -> ChatApp:
    def make(responder: Responder, _: ScriptedSession) -> Any:
        return scripted_session(config.working_dir, [["Fine."]], is_trusted=is_trusted)

    return make_app(config, make_session=make)


async def asked(app: ChatApp, pilot: Pilot[None], line: str) -> ProgramsPrompt:
    await say(pilot, line)
    await until(pilot, lambda: isinstance(app.focused, ProgramsPrompt) and app.focused.is_answerable)
    prompt = app.focused
    assert isinstance(prompt, ProgramsPrompt)
    return prompt


async def test_trust_is_followed_by_one_prompt_for_all_programs(config: ForgeConfig, tmp_path: Path) -> None:
    app = hook_app(config)
    async with app.run_test(size=(100, 36)) as pilot:
        await ready(pilot)
        prompt = await asked(app, pilot, "/trust yes")
        screen = shown(app)
        assert "The folder is trusted." in screen
        assert "[ ] SessionStart:touch" in screen and "[ ] Stop:" in screen
        assert "outside the sandbox" in screen

        for key in ("enter", "space", "down", "down", "enter"):  # too early to be meant for it
            await pilot.press(key)
        assert app.focused is prompt
        app.clock.pass_(2)
        await pilot.press("down")
        assert "to its last word" in shown(app)
        assert "\x1b" not in shown(app)
        await pilot.press("up", "space")
        assert "[x] SessionStart:touch" in shown(app)
        await pilot.press("down", "down", "enter")
        await until(pilot, lambda: "1 of 2 programs approved" in shown(app))
        assert shown(app).count("   /trust yes\n") == 1
        await until(pilot, lambda: (tmp_path / "started").exists())

        await say(pilot, "hello")
        await until(pilot, lambda: "Fine." in shown(app))
        await say(pilot, "/hooks")
        await until(pilot, lambda: "declined" in shown(app))
        assert not (tmp_path / "stopped").exists()
        assert isinstance(app.session, ForgeSession)
        assert app.session.hooks.waiting() == []

        (tmp_path / "[b]tick.sh").write_text("touch stopped twice\n")  # another one asks again
        await asked(app, pilot, "/reload")
        assert "[ ] SessionStart" not in shown(app)  # what a hook writes itself is no change
        assert "+touch stopped twice" in shown(app)
        await pilot.press("escape")
        app.clock.pass_(2)
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.focused, ProgramsPrompt))
        assert len(app.session.hooks.waiting()) == 1


async def test_a_command_and_the_start_of_a_session_ask_once_about_the_same_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".mcp.json").write_text('{"mcpServers": {"one": {"command": "true"}}}')
    app = hook_app(make_config(tmp_path, working_dir=tmp_path))
    async with app.run_test(size=(100, 36)) as pilot:
        await ready(pilot)
        assert isinstance(app.session, ForgeSession)
        programs = app.session.programs
        reload = programs.reload

        async def reload_while_the_session_starts() -> None:
            await reload()
            assert programs.ask()

        monkeypatch.setattr(programs, "reload", reload_while_the_session_starts)
        await asked(app, pilot, "/trust yes")
        assert "MCP server one" in shown(app)
        assert "The folder is trusted." in shown(app)
        assert "more waiting" not in shown(app)
        app.clock.pass_(2)
        await pilot.press("escape")
        await until(pilot, lambda: app.focused is app.chat.composer)


async def test_a_trusted_folder_with_new_programs_asks_once_when_a_session_starts(
    config: ForgeConfig,
) -> None:
    app = hook_app(config, is_trusted=True)
    async with app.run_test(size=(100, 36)) as pilot:
        await until(pilot, lambda: isinstance(app.focused, ProgramsPrompt) and app.focused.is_answerable)
        assert "[ ] SessionStart:touch" in shown(app)
        assert "Programs that you have not approved" not in shown(app)
        app.clock.pass_(2)
        await pilot.press("escape")
        await until(pilot, lambda: app.focused is app.chat.composer)
        await until(pilot, lambda: "/hooks approve or /mcp approve asks again" in shown(app))
        assert isinstance(app.session, ForgeSession)
        assert len(app.session.hooks.waiting()) == 2

        await say(pilot, "/new")
        await until(pilot, lambda: "Programs that you have not approved do not run" in shown(app))
        assert app.focused is app.chat.composer


async def test_a_user_who_is_typing_at_the_start_is_not_asked(config: ForgeConfig) -> None:
    app = hook_app(config, is_trusted=True)
    async with app.run_test(size=(100, 36)) as pilot:
        app.chat.composer.insert("explain")
        await until(pilot, lambda: "Programs that you have not approved do not run" in shown(app))
        assert app.focused is app.chat.composer
        assert app.chat.composer.text == "explain"


async def test_a_broken_hook_is_red_in_the_status_bar_until_it_runs(tmp_path: Path) -> None:
    write_hooks(tmp_path / "own/hooks.json", declared("Stop", "./check.sh"))
    app = hook_app(make_config(tmp_path, working_dir=tmp_path), is_trusted=True)
    async with app.run_test(size=(100, 36)) as pilot:
        await ready(pilot)
        await say(pilot, "hello")
        await until(pilot, lambda: "hook broken" in shown(app))
        assert "Hook broken: Stop:check.sh: the script './check.sh' does not exist." in shown(app)
        red = app.screen.query_one(StatusBar).get_component_rich_style("status--error").color
        segments = [one for strip in app.screen._compositor.render_strips() for one in strip]
        [broken] = [one.style for one in segments if "hook broken" in one.text]
        assert broken is not None and broken.color == red

        (tmp_path / "check.sh").write_text("#!/bin/sh\nexit 0\n")
        (tmp_path / "check.sh").chmod(0o755)
        await say(pilot, "again")
        await until(pilot, lambda: "hook broken" not in shown(app))


async def test_the_card_of_a_call_names_the_hook_that_it_waits_for(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text of a\n")
    write_hooks(tmp_path / "own/hooks.json", declared("PreToolUse", "until [ -e go ]; do sleep 0.01; done"))

    def make(responder: Responder, _: ScriptedSession) -> Any:
        replies = [[Call("read", {"file_path": "a.txt"})], ["Fine."]]
        return scripted_session(tmp_path, replies, tools=[ReadTool()])

    app = make_app(make_config(tmp_path, working_dir=tmp_path), make_session=make)
    async with app.run_test(size=(100, 36)) as pilot:
        await ready(pilot)
        await say(pilot, "hello")
        await until(pilot, lambda: "Waiting for the hook PreToolUse:until" in shown(app))
        (tmp_path / "go").touch()
        await until(pilot, lambda: "Fine." in shown(app))


async def test_a_program_is_ticked_only_after_all_of_it_was_on_the_screen(
    config: ForgeConfig, tmp_path: Path
) -> None:
    long = "true " + " ".join(f"--word-{number}" for number in range(400)) + " ; touch evil"
    folded = "true" + "\n" * 5_000 + "touch hidden"
    hooks = [declared("Stop", command) for command in (long, folded, "touch a\vb", long.replace("evil", "x"))]
    write_hooks(tmp_path / ".claude/settings.json", *hooks)
    app = hook_app(config)
    async with app.run_test(size=(100, 24)) as pilot:
        await ready(pilot)
        await asked(app, pilot, "/trust yes")
        app.clock.pass_(2)
        assert "PageDown shows the rest first" in shown(app)
        await pilot.press("space", "enter")
        assert "[x]" not in shown(app)

        await pilot.press("down")
        assert "4,999 empty lines" in shown(app) and "touch hidden" in shown(app)
        await pilot.press("down")
        assert "touch a␋b" in shown(app)

        await pilot.press("up", "up", *["pagedown"] * 10)
        assert "; touch evil" in shown(app)
        await pilot.press("space")
        assert "[x]" in shown(app)
        await pilot.press("space", *["down"] * 3)
        assert "--word-1 " in shown(app)  # from its beginning
        await pilot.press("space")
        assert "[x]" not in shown(app)
