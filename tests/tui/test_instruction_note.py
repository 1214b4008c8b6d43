"""A typed line that begins with `# `: the prompt for the file, and what Enter and Esc do with the line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from forge_core.approval import Responder
from forge_core.commands.command_table import CommandTable
from forge_core.config.forge_config import ForgeConfig
from forge_core.context.initial_instructions import REQUEST
from forge_core.session.session import ForgeSession
from forge_tui.screens.prompts.note import NotePrompt
from forge_tui.submitted_line import Command, UserText, parse_line
from tests.support.chat_app import ChatApp, make_app, make_config, ready, say, shown, type_text, until
from tests.support.scripted_session import ScriptedSession
from tests.support.sessions import scripted_session

pytestmark = pytest.mark.slow


@pytest.fixture
def config(tmp_path: Path) -> ForgeConfig:
    return make_config(tmp_path, working_dir=tmp_path)


@pytest.mark.parametrize(
    ("typed", "note"),
    [
        ("# Use tabs.", "add Use tabs."),
        ("#Use tabs.", None),
        ("#", None),
        ("# ", None),
        (" # Use tabs.", None),
        ("# Title\ntext", None),
        ("## Title", None),
    ],
)
def test_only_a_single_line_with_one_sign_is_a_note(typed: str, note: str | None) -> None:
    line = parse_line(typed, CommandTable(), has_paste=False)
    assert (line.argument if isinstance(line, Command) else None) == note


def test_a_pasted_line_is_a_message() -> None:
    assert parse_line("# Use tabs.", CommandTable(), has_paste=True) == UserText("# Use tabs.")


def note_app(config: ForgeConfig, replies: Sequence[Sequence[str]] = ()) -> ChatApp:
    def make(responder: Responder, _: ScriptedSession) -> Any:
        return scripted_session(config.working_dir, replies)

    return make_app(config, make_session=make)


async def asked(app: ChatApp, pilot: Pilot[None], line: str = "# Use tabs.") -> NotePrompt:
    """Type a line, and wait until keys answer its prompt."""
    await ready(pilot)
    await say(pilot, line)
    await until(pilot, lambda: isinstance(app.focused, NotePrompt) and app.focused.is_answerable)
    app.clock.pass_(2)
    await pilot.pause()
    prompt = app.focused
    assert isinstance(prompt, NotePrompt)
    return prompt


def history(app: ChatApp) -> list[str]:
    session = app.session
    assert isinstance(session, ForgeSession)
    return [message.text for message in session._agent.memory.get_history()]


async def test_enter_writes_the_file_that_the_diff_shows(config: ForgeConfig) -> None:
    app = note_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await asked(app, pilot)
        assert "+ - Use tabs." in shown(app) and "AGENTS.md" in shown(app)
        await pilot.press("enter")
        await until(pilot, lambda: "Added to AGENTS.md" in shown(app))
        assert "   # Use tabs.\n" in shown(app)  # above the notice
        assert (config.working_dir / "AGENTS.md").read_text() == "- Use tabs.\n"
        assert history(app) == []


async def test_escape_sends_the_line_as_a_message(config: ForgeConfig) -> None:
    app = note_app(config, [["Understood."]])
    async with app.run_test(size=(100, 30)) as pilot:
        await asked(app, pilot)
        await pilot.press("escape")
        await until(pilot, lambda: "Understood." in shown(app))
        assert history(app)[0] == "# Use tabs."
        assert not (config.working_dir / "AGENTS.md").exists()


async def test_a_line_is_saved_while_its_prompt_is_open(config: ForgeConfig) -> None:
    app = note_app(config, [["Understood."]])
    async with app.run_test(size=(100, 30)) as pilot:
        await asked(app, pilot)
        drafts = config.state_dir / "sessions" / "drafts"
        await until(pilot, lambda: any("# Use tabs." in one.read_text() for one in drafts.glob("*.json")))
        await pilot.press("enter")
        await until(pilot, lambda: not any(drafts.glob("*.json")))


async def test_init_sends_the_model_its_request_as_the_users_message(config: ForgeConfig) -> None:
    app = note_app(config, [["It is written."]])
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await say(pilot, "/init")
        await until(pilot, lambda: "It is written." in shown(app))
        assert history(app)[0] == REQUEST


async def test_init_without_a_model_asks_before_it_adds_to_the_file(config: ForgeConfig) -> None:
    path = config.working_dir / "AGENTS.md"
    path.write_text("Use tabs.\n")
    (config.working_dir / "go.mod").write_text("module gopher\n")
    (config.working_dir / "Makefile").write_text("one:\ntwo:\nlast:\n")
    app = note_app(config)
    async with app.run_test(size=(80, 24)) as pilot:
        await asked(app, pilot, "/init fast")
        assert "Add to AGENTS.md; nothing is removed" in shown(app) and "Use tabs." in shown(app)
        assert "PageDown for more" in shown(app) and "make last" not in shown(app)
        await pilot.press("pagedown")
        await until(pilot, lambda: "make last" in shown(app))
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.focused, NotePrompt))
        assert path.read_text() == "Use tabs.\n" and history(app) == []


async def test_a_paste_is_sent_without_a_prompt(config: ForgeConfig) -> None:
    app = note_app(config, [["Understood."]])
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        app.chat.composer.paste("# Use")
        await type_text(pilot, " tabs.")
        await pilot.press("enter")
        await until(pilot, lambda: "Understood." in shown(app))
        assert history(app)[0] == "# Use tabs."
