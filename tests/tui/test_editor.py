"""The user's editor: which program it is, and what happens where it cannot run."""

from __future__ import annotations

from pathlib import Path

import pytest

from forge_core.config.forge_config import ForgeConfig
from forge_tui.terminal.editor import EditorError, edit, editor_command
from tests.support.chat_app import make_app, ready


def test_visual_comes_before_editor_and_may_have_arguments() -> None:
    assert editor_command({"VISUAL": "code --wait", "EDITOR": "vi"}) == ["code", "--wait"]
    assert editor_command({"VISUAL": "", "EDITOR": "vi"}) == ["vi"]


def test_without_the_variables_an_installed_editor_is_taken(tmp_path: Path) -> None:
    with pytest.raises(EditorError, match="Set VISUAL or EDITOR"):
        editor_command({"PATH": str(tmp_path)})
    (tmp_path / "vi").touch(mode=0o755)
    assert editor_command({"PATH": str(tmp_path)}) == [str(tmp_path / "vi")]


def test_a_variable_that_is_no_command_line_is_reported() -> None:
    with pytest.raises(EditorError, match="EDITOR cannot be read"):
        editor_command({"EDITOR": "vi 'open"})


@pytest.mark.slow
async def test_without_a_terminal_the_editor_is_not_started(config: ForgeConfig, tmp_path: Path) -> None:
    app = make_app(config)
    async with app.run_test() as pilot:
        await ready(pilot)
        with pytest.raises(EditorError, match="cannot be given"):
            edit(app, tmp_path / "AGENTS.md", {"EDITOR": "false"})
