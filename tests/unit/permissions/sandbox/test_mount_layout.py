"""The mounts of a sandbox, without running one."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from forge_core.permissions.sandbox.home_view import HomeView
from forge_core.permissions.sandbox.mount_layout import LayoutInputs, mounts
from forge_core.permissions.sandbox.protected import Protection


def held(how: str, path: Path) -> list[str]:
    return [how, str(path), str(path)]


def binds(arguments: Sequence[str], path: Path) -> list[str]:
    """Return how a path is bound onto itself, in order."""
    return [
        arguments[at]
        for at in range(len(arguments) - 2)
        if arguments[at + 1] == arguments[at + 2] == str(path)
    ]


def layout(root: Path, **more: Any) -> list[str]:
    """Return the arguments for a workspace in which nothing is special, but for `more`."""
    given: dict[str, Any] = {
        "root": root,
        "folder": root,
        "home": HomeView(),
        "protection": Protection(),
        "standing": [],
        "hidden": [],
        "empty": root.parent / "empty",
        "replaced": [],
    }
    return mounts(LayoutInputs(**given | more), held, lambda content: "9")


def begins(arguments: Sequence[str], part: Sequence[str]) -> bool:
    return any(list(arguments[at : at + len(part)]) == list(part) for at in range(len(arguments)))


@pytest.mark.parametrize("folder", ["/tmp", "/var/tmp", "/run"])
def test_temporary_folders_and_sockets_of_the_host_are_replaced(tmp_path: Path, folder: str) -> None:
    if Path(folder).is_symlink() or not Path(folder).is_dir():
        pytest.skip(f"{folder} is no folder here")
    assert begins(layout(tmp_path), ["--tmpfs", folder])


def test_a_hidden_folder_is_empty_and_cannot_be_written_to(tmp_path: Path) -> None:
    work, hidden = tmp_path / "work", tmp_path / "work/state"
    hidden.mkdir(parents=True)
    assert begins(layout(work, hidden=[hidden]), ["--perms", "0555", "--tmpfs", str(hidden)])


def test_a_hidden_file_is_replaced_by_an_empty_one(tmp_path: Path) -> None:
    work, hidden = tmp_path / "work", tmp_path / "work/key"
    work.mkdir()
    hidden.write_text("x")
    assert begins(layout(work, hidden=[hidden]), ["--ro-bind", str(tmp_path / "empty"), str(hidden)])


@pytest.mark.parametrize(("is_read_only", "how"), [(True, "--ro-bind"), (False, "--bind")])
def test_a_command_that_only_reads_gets_a_workspace_that_cannot_be_written(
    tmp_path: Path, is_read_only: bool, how: str
) -> None:
    work, other = tmp_path / "work", tmp_path / "other"
    for folder in (work, other):
        folder.mkdir()
    arguments = layout(work, extra_writable=[other], is_read_only=is_read_only)
    assert binds(arguments, work)[-1:] == binds(arguments, other)[-1:] == [how]
