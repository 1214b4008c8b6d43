"""Commands of files in the conversation: the menu, the palette, the help, the queue, what is sent."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from textual.pilot import Pilot

from forge_core.config.forge_config import ForgeConfig
from forge_tui.pastes.folded_text import folded
from forge_tui.screens.panels.help import help_content
from forge_tui.submitted_line import sent_line
from tests.support.chat_app import ChatApp, make_app, ready, say, shown, type_text, until
from tests.support.scripted_session import Gate, answer

FILES = {
    "survey.md": "---\ndescription: Look for bugs\nargument-hint: [file]\n---\nSurvey $1.",
    "db/migrate.md": "Migrate the data.",
}


def with_commands(config: ForgeConfig, folder: Path) -> ForgeConfig:
    for name, text in FILES.items():
        path = folder / "commands" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return replace(config, own_extensions=(folder,))


async def load(app: ChatApp, pilot: Pilot[None]) -> None:
    await ready(pilot)
    await app.scripted.extensions.reload()


async def test_commands_of_files_work_wherever_built_in_ones_do(config: ForgeConfig, tmp_path: Path) -> None:
    app = make_app(with_commands(config, tmp_path / "own"), [[Gate()], answer("Reviewed.")])
    async with app.run_test(size=(80, 24)) as pilot:
        await load(app, pilot)
        await type_text(pilot, "/surv")
        await until(pilot, lambda: "/survey [file]" in shown(app))
        assert "user: Look for bugs" in shown(app)
        await pilot.press("tab")
        assert app.chat.composer.text == "/survey "
        app.chat.composer.clear_into_history()

        await say(pilot, "/survy x")
        await until(pilot, lambda: "There is no command /survy. Did you mean /survey?" in shown(app))

        await say(pilot, "first")
        await until(pilot, lambda: app.scripted.sent == ["first"])
        await say(pilot, "/survey a.py now")
        await until(pilot, lambda: "↳ /survey a.py now" in shown(app))
        app.chat.interrupt()
        await until(pilot, lambda: not app.chat.has_turn)
        await pilot.press("enter")
        await until(pilot, lambda: app.scripted.sent == ["first", "/survey a.py now"])
        use = app.scripted.commands[-1]
        assert use is not None and (use.command.name, use.arguments) == ("survey", "a.py now")
        await until(pilot, lambda: "Reviewed." in shown(app))
        assert "/survey a.py now" in shown(app)

        await pilot.press("ctrl+p")
        await type_text(pilot, "migr")
        await until(pilot, lambda: "/db:migrate" in shown(app))
        await pilot.press("enter")
        await until(pilot, lambda: app.scripted.sent[2:] == ["/db:migrate"])

        table = app.chat.sending.commands.table
        assert "user: Look for bugs" in help_content(200, table).plain
        assert sent_line("/survey x", table) == "/survey x"
        assert sent_line("/usr/bin", table) == " /usr/bin"
        assert sent_line("/cost", table) == " /cost"


async def test_a_folded_paste_is_an_argument_as_a_whole(config: ForgeConfig, tmp_path: Path) -> None:
    app = make_app(with_commands(config, tmp_path / "own"), [answer("Reviewed.")])
    pasted = "line 1\nline 2\nline 3"
    async with app.run_test(size=(80, 24)) as pilot:
        await load(app, pilot)
        app.chat.composer.replace_edited(f"/survey {folded(pasted)}")
        await pilot.press("enter")
        await until(pilot, lambda: app.scripted.sent == [f"/survey {pasted}"])
        use = app.scripted.commands[0]
        assert use is not None and use.arguments == pasted
        assert app.scripted.folded == [[(8, 8 + len(pasted))]]


async def test_a_command_that_is_sent_before_the_files_are_read_waits_for_them(
    config: ForgeConfig, tmp_path: Path
) -> None:
    app = make_app(with_commands(config, tmp_path / "own"), [answer("Reviewed.")])
    app.scripted.extensions = type(app.scripted.extensions).started(app.scripted.config)
    async with app.run_test(size=(80, 24)) as pilot:
        await say(pilot, "/survey a.py")
        await say(pilot, "/no-such-command")
        await until(pilot, lambda: app.scripted.sent == ["/survey a.py"])
        await until(pilot, lambda: "There is no command /no-such-command." in shown(app))


async def test_a_queued_command_that_is_gone_does_not_hold_up_the_queue(
    config: ForgeConfig, tmp_path: Path
) -> None:
    gate = Gate()
    app = make_app(with_commands(config, tmp_path / "own"), [[gate, *answer("Done.")], answer("Hello.")])
    async with app.run_test(size=(80, 24)) as pilot:
        await load(app, pilot)
        for line in ("first", "/survey a.py", "hello"):
            await say(pilot, line)
        (tmp_path / "own/commands/survey.md").unlink()
        await app.scripted.extensions.reload()
        gate.open()

        await until(pilot, lambda: app.scripted.sent == ["first", "hello"])
        assert "There is no command /survey." in shown(app)
