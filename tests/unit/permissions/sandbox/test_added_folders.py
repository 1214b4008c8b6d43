"""Folders that the user has added: writable like the workspace, and protected like it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from forge_core.permissions.sandbox.confine import landlock_abi
from forge_core.permissions.sandbox.sandbox import Sandbox
from forge_core.permissions.sandbox.sandbox_state import SandboxKind, SandboxState
from tests.unit.permissions.sandbox.world import SECRET, World

pytestmark = pytest.mark.slow


def added(world: World) -> Path:
    """A folder in the home of the person, with a repository, a file of keys and a nested repository."""
    folder = world.home / "lib"
    world.write(folder / "a.txt", "as it was\n")
    world.write(folder / "deep/.env")
    for place in (folder, folder / "nested"):
        place.mkdir(exist_ok=True)
        subprocess.run(["git", "init", "-q", "-b", "main"], cwd=place, check=True)
    world.own(folder)
    return folder


def test_an_added_folder_is_writable_and_what_is_beside_it_is_not(world: World) -> None:
    folder = added(world)
    beside = world.write(world.home / "beside/a.txt", "as it was\n")
    command = 'echo x > ~/lib/new; echo x >> ~/lib/a.txt; echo x > "$WORK/here"; ls -A ~; cat ~/beside/a.txt'
    before = world.run(command)
    assert "as it was" not in before.output
    assert not (folder / "new").exists()
    output = world.run(command, added=[folder]).output
    assert (folder / "new").read_text() == "x\n"
    assert (folder / "a.txt").read_text() == "as it was\nx\n"
    assert (world.work / "here").exists()
    assert "beside" not in output.splitlines()
    assert beside.read_text() == "as it was\n"


def test_what_git_and_forge_act_on_is_protected_in_it(world: World) -> None:
    folder = added(world)
    attempts = [
        "echo x >> .git/config",
        "echo x > .git/hooks/pre-commit",
        "mkdir .forge",
        "mv .git gone",
        "echo x >> nested/.git/config",
        "echo x > nested/.git/hooks/pre-commit",
    ]
    for attempt in attempts:
        done = world.run(f"cd ~/lib && {attempt}", added=[folder])
        assert done.code != 0, (attempt, done)
    assert not (folder / ".forge").exists()
    assert not (folder / "gone").exists()
    commit = "cd ~/lib && git add a.txt && git commit -q -m first && git log --format=%s"
    assert world.run(commit, added=[folder]).output.split() == ["first"]


def test_files_with_keys_in_it_are_hidden(world: World) -> None:
    folder = added(world)
    assert SECRET in world.bare("cat ~/lib/deep/.env").output
    assert SECRET not in world.run("cat ~/lib/deep/.env; grep -r . ~/lib", added=[folder]).output


def test_a_link_in_it_does_not_lead_to_what_is_writable(world: World) -> None:
    folder = added(world)
    (folder / "out").symlink_to(world.outside)
    world.run("echo x > ~/lib/out/new; echo x > ~/lib/out/file", added=[folder])
    assert [one.name for one in world.outside.iterdir()] == ["file"]
    assert (world.outside / "file").read_text() == "as it was\n"


@pytest.mark.skipif(sys.platform != "linux" or landlock_abi() == 0, reason="this kernel has no Landlock")
def test_landlock_lets_commands_write_there_too(plain_world: World) -> None:
    folder = added(plain_world)
    command = 'echo x > ~/lib/new; echo x > "$OUTSIDE/new"'
    plain_world.run(command, sandbox=SandboxKind.LANDLOCK, added=[folder])
    assert (folder / "new").exists()
    assert not (plain_world.outside / "new").exists()


def test_a_protected_path_that_is_a_link_makes_the_sandbox_weak(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/.forge").symlink_to(tmp_path)
    sandbox = Sandbox(
        SandboxState(SandboxKind.BUBBLEWRAP, program="/usr/bin/bwrap"),
        tmp_path / "work",
        state_dir=tmp_path / "state",
    )
    assert sandbox.unmasked_reason() == ""
    sandbox.add_folder(tmp_path / "lib")
    assert "is a link, so a command could replace it" in sandbox.unmasked_reason()


def test_too_many_files_with_keys_in_it_make_the_sandbox_weak(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "lib").mkdir()
    for number in range(513):
        (tmp_path / f"lib/{number}.env").write_text("TOKEN=x\n")
    state = SandboxState(SandboxKind.BUBBLEWRAP, program="/usr/bin/bwrap")
    sandbox = Sandbox(state, tmp_path / "work", state_dir=tmp_path / "state")
    sandbox.add_folder(tmp_path / "lib")
    assert "can hide 512 files with keys" in sandbox.unmasked_reason()


def test_the_profile_of_macos_names_it(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/.env").write_text("TOKEN=x\n")
    state = SandboxState(SandboxKind.SEATBELT, program="/usr/bin/sandbox-exec")
    sandbox = Sandbox(state, tmp_path / "work", state_dir=tmp_path / "state")

    def arguments() -> str:
        with sandbox.launch(["true"], tmp_path / "work", {"HOME": str(tmp_path / "home")}) as launch:
            return "\n".join(launch.argv)

    lib = str((tmp_path / "lib").resolve())
    assert lib not in arguments()
    sandbox.add_folder(Path(lib))
    for path in (lib, f"{lib}/.env", f"{lib}/.forge"):
        assert path in arguments()
