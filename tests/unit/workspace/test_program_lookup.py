"""Forge never runs a program from the workspace by itself, wherever the workspace is in PATH."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from forge_core.permissions.read_only.git_contents import shown_secret
from forge_core.permissions.sandbox.probing import forget, probe_now
from forge_core.permissions.sandbox.survey import tracked_secrets
from forge_core.permissions.shell.syntax import read_line
from forge_core.tools.base import ExecutionContext
from forge_core.tools.builtin.bash import BashTool
from forge_core.tools.builtin.grep import GrepTool
from forge_core.tools.executor import ToolExecutor
from forge_core.undo.storage.git_objects import GitObjects
from forge_core.workspace.git import run_git
from forge_core.workspace.program_lookup import find_program, require_program, search_path
from forge_tui.screens.chat.environment import clipboard_route
from tests.unit.workspace.test_git import git

STAND_INS = ("git", "rg", "bash", "sh", "cat", "bwrap", "xclip", "xsel", "tmux")


def program(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_the_first_program_outside_the_workspace_is_found(tmp_path: Path) -> None:
    root, outside = tmp_path / "work", program(tmp_path / "bin/git")
    program(root / ".venv/bin/git")
    program(tmp_path / "later/git")
    (tmp_path / "empty").mkdir()
    (tmp_path / "folder/git").mkdir(parents=True)
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain/git").write_text("not executable")
    names = ("work/.venv/bin", "missing", "empty", "folder", "plain", "bin", "later")
    path = ":".join(str(tmp_path / name) for name in names)
    assert find_program("git", root, path) == str(outside)
    assert find_program("git", tmp_path / "other", path) == str(root / ".venv/bin/git")


@pytest.mark.parametrize("path", ["", ".", ":", "bin", "./bin", "../work/bin", "bin:.:", "~/bin"])
def test_relative_folders_are_never_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    for name in ("work/git", "work/bin/git", "work/~/bin/git"):
        program(tmp_path / name)
    monkeypatch.chdir(tmp_path / "work")
    assert find_program("git", tmp_path / "elsewhere", path) is None


def test_a_program_that_a_command_in_the_workspace_could_replace_is_not_used(tmp_path: Path) -> None:
    """Also if it is only a link on the way: it may lead to the system's program now, and elsewhere later."""
    root, real = tmp_path / "work", program(tmp_path / "system/git")
    (root / "links").mkdir(parents=True)
    (root / "links/git").symlink_to(real)
    (root / "links/system").symlink_to(real.parent)
    program(root / "bin/git")
    for name in ("direct", "through", "folder"):
        (tmp_path / name).mkdir()
    (tmp_path / "direct/git").symlink_to(root / "bin/git")
    (tmp_path / "through/git").symlink_to("../work/links/git")
    (tmp_path / "folder/bin").symlink_to(root / "links/system")
    (tmp_path / "alias").symlink_to(root)
    (tmp_path / "loop").symlink_to("loop")
    names = (
        "work/bin",
        "work/links",
        "direct",
        "through",
        "folder/bin",
        "alias/bin",
        "direct/../work/bin",
        "loop",
    )
    for name in names:
        assert find_program("git", root, f"{tmp_path}/{name}") is None, name
        assert find_program("git", tmp_path / "alias", f"{tmp_path}/{name}") is None, name


def test_a_program_that_only_the_workspace_has_counts_as_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = program(tmp_path / "work/bin/git")
    monkeypatch.setenv("PATH", str(own.parent))
    with pytest.raises(FileNotFoundError, match="git"):
        require_program("git", tmp_path / "work")
    assert require_program("git", tmp_path / "other") == str(own)


def test_a_link_outside_the_workspace_keeps_its_name(tmp_path: Path) -> None:
    """Some programs act by the name that they are called by."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/git").symlink_to(program(tmp_path / "shims/dispatcher"))
    assert find_program("git", tmp_path / "work", str(tmp_path / "bin")) == str(tmp_path / "bin/git")


def test_a_folder_whose_name_begins_like_the_workspace_is_outside(tmp_path: Path) -> None:
    own = program(tmp_path / "work-tools/git")
    assert find_program("git", tmp_path / "work", str(own.parent)) == str(own)


def test_the_search_path_for_gits_own_programs_leaves_the_workspace_out(tmp_path: Path) -> None:
    (tmp_path / "work/bin").mkdir(parents=True)
    (tmp_path / "bin").symlink_to("work/bin")
    path = f"{tmp_path}/work/bin:.::{tmp_path}/bin:/usr/bin:/bin"
    assert search_path(tmp_path / "work", path) == "/usr/bin:/bin"
    assert search_path(tmp_path / "work", ".") == os.defpath


def run_bash(root: Path) -> None:
    async def run() -> None:
        tool = BashTool()
        result = await ToolExecutor().execute(tool, {"command": "echo done"}, ExecutionContext(root))
        assert "done" in result.output
        await tool.aclose()

    asyncio.run(run())


def run_grep(root: Path) -> None:
    query = {"pattern": "needle"}
    result = asyncio.run(ToolExecutor().execute(GrepTool(), query, ExecutionContext(root)))
    assert "a.txt" in result.output


def run_status(root: Path) -> None:
    (root / ".gitattributes").write_text("*.txt diff=text\n")
    with (root / ".git/config").open("a") as config:
        config.write('[diff "text"]\n\ttextconv = true\n')
    assert "needle" in asyncio.run(run_git(root, "log", "-p", "--textconv")).stdout


def run_history(root: Path) -> None:
    command = read_line("git log -p").commands[0]
    assert shown_secret(command, [root], root) == ".env"
    assert shown_secret(command, [root / "nested"], root) == ".env"


def run_tracked(root: Path) -> None:
    assert tracked_secrets(root, [root / ".env"]) == {root / ".env": True}


def run_undo(root: Path) -> None:
    objects = GitObjects(root)
    assert objects.present(set(objects.tracked().values()))


def run_probe(root: Path) -> None:
    forget()
    probe_now(root=root)
    forget()


def run_clipboard(root: Path) -> None:
    assert clipboard_route(root).command[:1] in [
        (),
        *((f"/usr/bin/{name}",) for name in ("xclip", "xsel", "tmux")),
    ]


CALLS = [run_bash, run_grep, run_status, run_history, run_tracked, run_undo, run_probe, run_clipboard]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("entry", ["{root}/.venv/bin", ".venv/bin"])
def test_programs_of_the_workspace_are_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Callable[[Path], None], entry: str
) -> None:
    root, trace = tmp_path / "work", tmp_path / "ran"
    for repository in (root, root / "nested"):
        repository.mkdir()
        (repository / "a.txt").write_text("needle\n")
        (repository / ".env").write_text("TOKEN=1\n")
        git(repository, "init", "-q", "-b", "main")
        git(repository, "add", "-f", "a.txt", ".env")
        git(repository, "commit", "-q", "-m", "first")
    for name in STAND_INS:
        program(root / ".venv/bin" / name, f'#!/bin/sh\necho "{name} $*" >> "{trace}"\n')
    monkeypatch.setenv("PATH", f"{entry.format(root=root)}:{os.environ['PATH']}")
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.chdir(root)
    call(root)
    assert not trace.exists(), trace.read_text()
