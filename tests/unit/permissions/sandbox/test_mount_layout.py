"""The mounts of a sandbox, without running one."""

from collections.abc import Sequence
from pathlib import Path

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


@pytest.mark.parametrize(("is_read_only", "how"), [(True, "--ro-bind"), (False, "--bind")])
def test_a_command_that_only_reads_gets_a_workspace_that_cannot_be_written(
    tmp_path: Path, is_read_only: bool, how: str
) -> None:
    work, other = tmp_path / "work", tmp_path / "other"
    for folder in (work, other):
        folder.mkdir()
    inputs = LayoutInputs(
        root=work,
        folder=work,
        home=HomeView(),
        protection=Protection(),
        standing=[],
        hidden=[],
        empty=tmp_path / "empty",
        replaced=[],
        extra_writable=[other],
        is_read_only=is_read_only,
    )
    arguments = mounts(inputs, held, lambda content: "9")
    assert binds(arguments, work)[-1:] == binds(arguments, other)[-1:] == [how]
