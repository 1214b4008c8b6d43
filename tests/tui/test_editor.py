"""The user's editor: which program it is, and what happens where it cannot run."""

from __future__ import annotations

from pathlib import Path

import pytest

from forge_core.config.forge_config import ForgeConfig
from forge_tui.terminal.editor import EditorError, edit, editor_command
from tests.support.chat_app import make_app, ready

ROOT = Path("/home/ada/src/engine")


def test_visual_comes_before_editor_and_may_have_arguments() -> None:
    visual, editor = "/usr/bin/code --wait", "/usr/bin/vi"
    assert editor_command({"VISUAL": visual, "EDITOR": editor}, ROOT) == ["/usr/bin/code", "--wait"]
    assert editor_command({"VISUAL": "", "EDITOR": editor}, ROOT) == ["/usr/bin/vi"]


@pytest.mark.parametrize("variables", [{}, {"EDITOR": "vi -e"}, {"VISUAL": "vi"}])
def test_an_editor_in_the_workspace_is_never_run(tmp_path: Path, variables: dict[str, str]) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "bin").mkdir()
    for folder in ("work", "bin"):
        (tmp_path / folder / "vi").touch(mode=0o755)
    path = f"{tmp_path}/work:.:{tmp_path}/bin"
    found = editor_command({**variables, "PATH": path}, tmp_path / "work")
    assert found[0] == str(tmp_path / "bin/vi")
    with pytest.raises(EditorError, match="found"):
        editor_command({**variables, "PATH": str(tmp_path / "work")}, tmp_path / "work")


def test_without_the_variables_an_installed_editor_is_taken(tmp_path: Path) -> None:
    with pytest.raises(EditorError, match="Set VISUAL or EDITOR"):
        editor_command({"PATH": str(tmp_path)}, ROOT)
    (tmp_path / "vi").touch(mode=0o755)
    assert editor_command({"PATH": str(tmp_path)}, ROOT) == [str(tmp_path / "vi")]


def test_a_variable_that_is_no_command_line_is_reported() -> None:
    with pytest.raises(EditorError, match="EDITOR cannot be read"):
        editor_command({"EDITOR": "vi 'open"}, ROOT)


@pytest.mark.slow
async def test_without_a_terminal_the_editor_is_not_started(config: ForgeConfig, tmp_path: Path) -> None:
    app = make_app(config)
    async with app.run_test() as pilot:
        await ready(pilot)
        with pytest.raises(EditorError, match="cannot be given"):
            edit(app, tmp_path / "AGENTS.md", ROOT, {"EDITOR": "/bin/false"})
