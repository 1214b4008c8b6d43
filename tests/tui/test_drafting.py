"""The message in the user's editor, the stash, undo, suspending and drawing again."""

from __future__ import annotations

from pathlib import Path

import pytest

from forge_core.config.forge_config import ForgeConfig
from forge_tui.pastes.folded_text import folded, plain_text, refolded
from forge_tui.terminal import editor, signals
from forge_tui.widgets.composer import LONGEST
from tests.support.chat_app import make_app, ready, say, shown, type_text, until
from tests.tui.test_chips import LINES, paste

pytestmark = pytest.mark.slow


@pytest.fixture
def edits(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the editor was given; the text that it writes is at the end of the list, if there is one."""
    texts: list[str] = []

    def edit(app: object, path: Path, root: Path) -> None:
        assert path.stat().st_mode & 0o077 == 0 or path.parent.stat().st_mode & 0o077 == 0
        answer = texts.pop()
        texts.append(path.read_text())
        if answer == "fail":
            raise editor.EditorError("'vi' ended with status 1.")
        path.write_text(answer)

    monkeypatch.setattr(editor, "edit", edit)
    return texts


def test_pastes_that_are_still_there_are_folded_again() -> None:
    earlier = f"a {folded(LINES)} b {folded('z' * 2000)}"
    assert refolded(f"x {LINES} y", earlier) == f"x {folded(LINES)} y"
    assert refolded("x", earlier) == "x"


@pytest.mark.parametrize("command", [False, True], ids=["key", "command"])
async def test_the_message_is_edited_with_its_pastes_in_full(
    config: ForgeConfig, edits: list[str], command: bool
) -> None:
    app = make_app(config)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        composer = app.chat.composer
        if command:
            edits.append("# written\nthere\x1b\n")
            await say(pilot, "/editor")
            await until(pilot, lambda: composer.text == "# written\nthere␛")
            assert edits == [""]
            return
        await paste(pilot, LINES)
        edits.append(f"see {LINES}\n")
        await pilot.press("ctrl+g")
        assert edits == [LINES]
        assert plain_text(composer.typed) == f"see {LINES}" and composer.has_chips
        composer.action_undo()
        assert plain_text(composer.typed) == LINES


async def test_an_empty_file_clears_and_a_failing_editor_keeps_the_text(
    config: ForgeConfig, edits: list[str]
) -> None:
    app = make_app(config)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await type_text(pilot, "keep this")
        edits.append("fail")
        await pilot.press("ctrl+g")
        await until(pilot, lambda: "The message was not opened: 'vi' ended with status 1." in shown(app))
        edits[:] = ["x" * (LONGEST + 1)]
        await pilot.press("ctrl+g")
        await until(pilot, lambda: "at most 1,000,000" in shown(app))
        assert app.chat.composer.text == "keep this"
        edits[:] = [" \n"]
        await pilot.press("ctrl+g")
        assert app.chat.composer.text == ""


async def test_the_stash_is_a_stack_with_its_count(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        composer = app.chat.composer
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "Nothing is stashed" in shown(app))
        await type_text(pilot, "first")
        await pilot.press("ctrl+s")
        assert composer.is_blank
        await paste(pilot, LINES)
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "2 stashed · Ctrl+S" in shown(app))
        await pilot.press("ctrl+s")
        assert plain_text(composer.typed) == LINES and composer.has_chips
        composer.take()
        await pilot.press("ctrl+s")
        assert composer.text == "first"
        await until(pilot, lambda: "stashed · Ctrl+S" not in shown(app))


async def test_keys_undo_and_redo_in_the_composer(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        composer = app.chat.composer
        composer.replace_text("one")
        for redo in ("ctrl+y", "alt+underscore"):
            await pilot.press("ctrl+underscore")
            assert composer.text == ""
            await pilot.press(redo)
            assert composer.text == "one"


async def test_control_z_stops_the_job_only_where_a_shell_continues_it(
    config: ForgeConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped = [True, False]
    monkeypatch.setattr(signals, "stop_job", lambda: stopped.pop())
    app = make_app(config)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await type_text(pilot, "text")
        await pilot.press("ctrl+z")
        await until(pilot, lambda: "There is no shell to go back to" in shown(app))
        await pilot.press("ctrl+z")
        assert (stopped, app.chat.composer.text) == ([], "text")


async def test_control_l_draws_the_screen_again(config: ForgeConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    app = make_app(config)
    forgotten: list[bool] = []
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        monkeypatch.setattr(app, "forget_screen", lambda: forgotten.append(True))
        await pilot.press("ctrl+l")
        assert forgotten == [True]


async def test_without_a_terminal_the_editor_leaves_the_text(
    config: ForgeConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VISUAL", "/bin/true")
    app = make_app(config)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await type_text(pilot, "text")
        await pilot.press("ctrl+g")
        await until(pilot, lambda: "cannot be given to an editor" in shown(app))
        assert app.chat.composer.text == "text"
