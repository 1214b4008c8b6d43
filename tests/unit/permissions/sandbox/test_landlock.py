"""The fallback without namespaces: what it holds, and that nothing unasked relies on the rest."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest

from forge_core.permissions.sandbox.confine import landlock_abi
from forge_core.permissions.sandbox.landlock import visible
from forge_core.permissions.sandbox.sandbox_state import SandboxKind
from tests.unit.permissions.sandbox.test_home import LOGINS
from tests.unit.permissions.sandbox.world import SECRET, World

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or landlock_abi() == 0, reason="this kernel has no Landlock"
)


@pytest.fixture
def world(plain_world: World) -> World:
    return plain_world


def confined(world: World, command: str, *, network: bool = False) -> str:
    return world.run(command, sandbox=SandboxKind.LANDLOCK, network=network).output


def test_only_the_workspace_is_writable(world: World) -> None:
    confined(
        world,
        'echo x > new; mkdir -p a/b; mv new a/b; echo x > ~/new; echo x > "$OUTSIDE/new"; rm "$OUTSIDE/file"; ln "$OUTSIDE/file" hard; ln -s "$OUTSIDE" out; echo x > out/linked; echo x >> ~/.gitconfig',
    )
    assert (world.work / "a/b/new").exists()
    assert not (world.home / "new").exists()
    assert [one.name for one in world.outside.iterdir()] == ["file"]
    assert not (world.work / "hard").exists()


def test_secrets_and_forge_state_cannot_be_read(world: World) -> None:
    reading = 'cat ~/.ssh/id_ed25519 "$STATE/session"'
    assert SECRET not in confined(world, reading)
    assert SECRET in world.bare(reading).output


def test_no_login_of_another_program_can_be_read(world: World) -> None:
    for name in LOGINS:
        world.write(world.home / name)
    world.write(world.home / ".local/bin/tool", "#!/bin/sh\necho tool\n", 0o755)
    config = f"[user]\n\tname = Ada\n[include]\n\tpath = ~/more\n[github]\n\ttoken = {SECRET}\n"
    world.write(world.home / ".gitconfig", config)
    output = confined(
        world,
        f"grep -rsF {SECRET} ~; git config --global -l; ~/.local/bin/tool;"
        ' echo x > "$GIT_CONFIG_GLOBAL" || git config user.name',
    )
    assert SECRET not in output
    lines = output.splitlines()
    assert lines[:2] == ["user.name=Ada", "tool"], lines
    assert lines[-1] == "Ada"


def test_the_network_is_unavailable_unless_allowed(world: World) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        reach = f"\"$PYTHON\" -I -c \"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 5); print('DONE')\""
        assert "DONE" not in confined(world, reach)
        assert "DONE" in confined(world, reach, network=True)


def test_other_processes_reveal_no_information(world: World) -> None:
    pid = world.person.start(["sleep", "300"], {"CANARY": SECRET})
    try:
        look = f"tr '\\0' '\\n' < /proc/{pid}/environ; kill -9 {pid}"
        assert SECRET not in confined(world, look)
        if landlock_abi() >= 6:
            assert world.person.is_running(pid)
    finally:
        world.person.stop(pid)


def test_privileges_are_dropped(world: World) -> None:
    assert "0000000000000000" in confined(world, "grep CapEff /proc/self/status")
    assert "DONE" not in confined(
        world,
        "unshare -U true && echo DONE; mount -t tmpfs none /mnt && echo DONE; chroot / true && echo DONE",
    )


def test_ordinary_work_continues(world: World) -> None:
    output = confined(
        world,
        "set -e; echo more >> README.md; git commit -q -am second; f=$(mktemp); echo kept > $f; cat $f; git log --format=%s | head -1; yes | head -1; exit ${PIPESTATUS[0]}",
    )
    assert output.split() == ["kept", "second", "y"]


def test_git_commits_in_a_linked_worktree(world: World) -> None:
    world.bare('git worktree add -q "$OUTSIDE/linked" -b linked')
    done = world.run(
        "git commit -q --allow-empty -m there", folder=world.outside / "linked", sandbox=SandboxKind.LANDLOCK
    )
    assert done.code == 0, done


def test_a_failure_to_set_up_confinement_starts_nothing(world: World) -> None:
    import forge_core.permissions.sandbox.confine as confine

    words = f'"$PYTHON" -I -S "{confine.__file__}" \'{{"fs": 1, "net": 0, "scope": 0, "rules": 0, "filter": ""}}\' touch owned <<< \'[["/", 4611686018427387904]]\''
    done = world.bare(words)
    assert done.code == 126, done
    assert "could not be set up" in done.output
    assert not (world.work / "owned").exists()


def test_commands_start_beside_a_folder_with_very_many_entries(world: World) -> None:
    for number in range(3_000):  # the home is hidden, so what is beside it is allowed one by one
        os.mknod(world.base / f"{number:0100}")
    assert confined(world, "echo started; cat README.md").split() == ["started", "hello"]


def test_visible_paths_exclude_only_hidden_ones(tmp_path: Path) -> None:
    for name in ("a/b/c", "a/b/secret", "a/d", "e"):
        (tmp_path / name).mkdir(parents=True)
    shown = visible(tmp_path, {tmp_path / "a/b/secret"})
    assert sorted(str(one.relative_to(tmp_path)) for one in shown) == ["a/b/c", "a/d", "e"]
    assert visible(tmp_path, set()) == [tmp_path]
    assert visible(tmp_path, {tmp_path}) == []


def test_the_temporary_folder_is_removed_with_the_sandbox(world: World, tmp_path: Path) -> None:
    from forge_core.permissions.sandbox.sandbox import Sandbox
    from forge_core.permissions.sandbox.sandbox_state import SandboxState

    box = Sandbox(SandboxState(SandboxKind.LANDLOCK), tmp_path, state_dir=tmp_path / "state")
    with box.launch(["true"], tmp_path, dict(os.environ)) as launch:
        temporary = Path(launch.environment["TMPDIR"])
        assert temporary.stat().st_mode & 0o777 == 0o700
    del box, launch
    assert not temporary.exists()
