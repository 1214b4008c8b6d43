"""Placeholders for missing protected paths: they hold, and leave nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from forge_core.permissions.sandbox.path_checks import open_anchored
from forge_core.permissions.sandbox.placeholders import MountedPaths, Placeholders
from forge_core.permissions.sandbox.protected import protection
from forge_core.permissions.sandbox.sandbox import Sandbox
from forge_core.permissions.sandbox.sandbox_state import SandboxKind, SandboxState
from tests.unit.permissions.sandbox.conftest import bwrap_works, needs_bwrap
from tests.unit.permissions.sandbox.world import everything_in


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sockets that other tests listen on, and that may go while they are being hidden, are not seen here."""
    monkeypatch.setattr("forge_core.permissions.sandbox.sandbox.listening_sockets", lambda: ())


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder.resolve()


@pytest.fixture
def stand(tmp_path: Path, work: Path) -> Placeholders:
    return Placeholders(work, MountedPaths(tmp_path / "state"))


def test_a_placeholder_exists_only_while_a_sandbox_needs_it(stand: Placeholders, work: Path) -> None:
    first, second = stand.join(), stand.join()
    standing = stand.create_all(
        {work / ".forge": "folder", work / "file": "file", work / "commondir": "commondir"}
    )
    assert sorted(path.name for path in standing) == [".forge", "commondir", "file"]
    assert (work / "commondir").read_text() == ".\n"
    os.close(first)
    assert not stand.take_down()
    assert (work / ".forge").is_dir()
    os.close(second)
    assert stand.take_down()
    assert everything_in(work) == {}


def test_files_that_the_user_creates_meanwhile_are_kept(stand: Placeholders, work: Path) -> None:
    held = stand.join()
    stand.create_all({work / ".forge": "folder", work / "config": "file", work / "gone": "folder"})
    (work / ".forge/config.toml").write_text("mine")
    (work / "config").write_text("mine too")
    (work / "gone").rmdir()
    os.close(held)
    assert stand.take_down()
    assert sorted(everything_in(work)) == [".forge", ".forge/config.toml", "config"]


def test_a_link_that_replaces_a_placeholder_is_not_followed(
    stand: Placeholders, work: Path, tmp_path: Path
) -> None:
    (tmp_path / "empty").write_text("")
    held = stand.join()
    stand.create_all({work / "config": "file"})
    (work / "config").unlink()
    (work / "config").symlink_to(tmp_path / "empty")
    os.close(held)
    stand.take_down()
    assert (work / "config").is_symlink()
    assert (tmp_path / "empty").exists()


def test_a_folder_that_is_not_ours_to_write_needs_no_placeholder(stand: Placeholders, work: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    work.chmod(0o555)
    held = stand.join()
    assert stand.create_all({work / ".forge": "folder"}) == []
    os.close(held)


PROBES = """
import sys
from pathlib import Path
from forge_core.permissions.sandbox.placeholders import MountedPaths
mounted = MountedPaths(Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
found = [mounted.in_use() for _ in range(2000)]
print(sorted({str(path) for one in found for path in one}), flush=True)
"""


@pytest.mark.slow
def test_concurrent_checks_are_not_mistaken_for_running_sandboxes(work: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    mounted = MountedPaths(tmp_path / "state")
    left, alive = Placeholders(work, mounted), Placeholders(other.resolve(), mounted)
    ended, held = left.join(), alive.join()
    left.create_all({work / ".forge": "folder"})
    alive.create_all({other / ".forge": "folder"})
    os.close(ended)
    words = [sys.executable, "-c", PROBES, str(tmp_path / "state")]
    probes = [
        subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    for one in probes:
        assert one.stdout and one.stdout.readline() == "ready\n"
    for one in probes:
        assert one.stdin
        one.stdin.write("\n")
        one.stdin.flush()
    assert [one.communicate()[0] for one in probes] == [f"{[str(other / '.forge')]}\n"] * 2
    os.close(held)


def test_leftover_placeholders_are_removed_while_another_process_checks(
    stand: Placeholders, work: Path, tmp_path: Path
) -> None:
    (tmp_path / "state").mkdir()
    words = [sys.executable, "-c", PROBES, str(tmp_path / "state")]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as probe:
        assert probe.stdin and probe.stdout and probe.stdout.readline() == "ready\n"
        probe.stdin.write("\n")
        probe.stdin.flush()
        while probe.poll() is None:
            held = stand.join()
            stand.create_all({work / ".forge": "folder"})
            os.close(held)
            assert stand.take_down()
            assert everything_in(work) == {}


def test_a_record_with_mounts_only_is_cleared(stand: Placeholders, work: Path) -> None:
    held = stand.join()
    stand.create_all({}, [work / ".env"])
    os.close(held)
    stand.mounted.clear_reachable()
    assert not stand.mounted.has_notes()


def test_a_missing_parent_folder_is_protected_instead_of_its_future_content(work: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=work, check=True)
    subprocess.run(["git", "config", "core.hooksPath", "tools/git/hooks"], cwd=work, check=True)
    assert protection(work).missing[work / "tools"] == "folder"


def test_an_empty_git_folder_does_not_become_a_repository(work: Path) -> None:
    (work / ".git").mkdir()
    held = protection(work)
    assert work / ".git" in held.read_only
    assert sorted(held.missing) == [work / ".forge", work / "HEAD"]


@pytest.mark.parametrize("name", [".forge", ".git/hooks", ".git"])
def test_a_link_in_place_of_a_protected_path_is_reported(work: Path, name: str) -> None:
    subprocess.run(["git", "init", "-q"], cwd=work, check=True)
    (work / ".forge").mkdir()
    (work / name).rename(work / "elsewhere")
    (work / name).symlink_to(work / "elsewhere")
    assert protection(work).unheld == [work / name]


KILLED = """
import os, signal, subprocess, sys
from pathlib import Path
from forge_core.permissions.sandbox import sandbox
from forge_core.permissions.sandbox.sandbox import Sandbox
from forge_core.permissions.sandbox.sandbox_state import SandboxKind, SandboxState
sandbox.listening_sockets = lambda: ()
box = Sandbox(SandboxState(SandboxKind.BUBBLEWRAP, program=sys.argv[3]), Path(sys.argv[1]), state_dir=Path(sys.argv[2]))
with box.launch(["bash", "-c", "echo started; sleep 60"], Path(sys.argv[1]), os.environ) as launch:
    process = subprocess.Popen(launch.argv, env=launch.environment, pass_fds=launch.pass_fds, stdout=subprocess.PIPE)
    print(process.stdout.readline().decode(), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def bubblewrap() -> SandboxState:
    import shutil

    if not bwrap_works():
        pytest.skip(needs_bwrap)
    return SandboxState(SandboxKind.BUBBLEWRAP, program=shutil.which("bwrap") or "")


def test_a_later_command_removes_placeholders_of_a_killed_process(work: Path, tmp_path: Path) -> None:
    state = bubblewrap()
    words = [sys.executable, "-c", KILLED, str(work), str(tmp_path / "state"), state.program]
    killed = subprocess.run(words, stdout=subprocess.PIPE, cwd=Path.cwd(), check=False)
    assert (killed.returncode, killed.stdout) == (-signal.SIGKILL, b"started\n\n")
    assert sorted(everything_in(work)) == [".forge", ".git", "HEAD"], "nobody was left to clear up"
    box = Sandbox(state, work, state_dir=tmp_path / "state")
    assert run(box, work, "true") == 0
    assert box.tidy()
    assert everything_in(work) == {}


def test_a_running_job_keeps_its_protection_when_another_command_ends(work: Path, tmp_path: Path) -> None:
    box = Sandbox(bubblewrap(), work, state_dir=tmp_path / "state")
    waiting = "echo ready; read -r go; mkdir -p .forge; echo evil > .forge/config.toml; echo tried"
    with box.launch(["bash", "-c", waiting], work, os.environ) as launch:
        job = subprocess.Popen(
            launch.argv,
            env=dict(launch.environment),
            pass_fds=launch.pass_fds,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert job.stdin and job.stdout
        assert job.stdout.readline() == b"ready\n"
        other = Sandbox(box.state, work, state_dir=tmp_path / "state")
        for one in (box, other):
            assert run(one, work, "touch made; test -d .forge") == 0
        assert (work / ".forge").is_dir()
        assert job.communicate(b"go\n")[0] == b"tried\n"
    assert box.tidy()
    assert sorted(everything_in(work)) == ["made"]


def test_exiting_early_keeps_protection_and_is_cleaned_up_later(work: Path, tmp_path: Path) -> None:
    box = Sandbox(bubblewrap(), work, state_dir=tmp_path / "state")
    with box.launch(["bash", "-c", "read -r go; mkdir .forge/x"], work, os.environ) as launch:
        job = subprocess.Popen(
            launch.argv,
            env=dict(launch.environment),
            pass_fds=launch.pass_fds,
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    assert (work / ".forge").is_dir()
    assert not box.tidy()
    assert b"Read-only" in job.communicate(b"go\n")[1]
    assert box.tidy()
    assert everything_in(work) == {}


def test_no_command_runs_when_the_state_folder_cannot_be_written_to(work: Path, tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    box = Sandbox(bubblewrap(), work, state_dir=tmp_path / "state")
    with pytest.raises(OSError, match="state"), box.launch(["true"], work, os.environ):
        pass


def run(box: Sandbox, folder: Path, command: str) -> int:
    with box.launch(["bash", "-c", command], folder, os.environ) as launch:
        done = subprocess.run(
            launch.argv, env=dict(launch.environment), pass_fds=launch.pass_fds, cwd=folder, check=False
        )
    return done.returncode


def test_a_link_swapped_in_before_the_mount_is_detected(tmp_path: Path) -> None:
    """A job in the background exchanges a folder for a link after it was looked at and before it is mounted."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/config").write_text("secret")
    (tmp_path / "sub").symlink_to("secret")
    for path in (tmp_path / "sub", tmp_path / "sub/config"):
        with pytest.raises(OSError, match="the path was replaced"):
            open_anchored(path)
    held = open_anchored(tmp_path / "secret/config")
    (tmp_path / "secret/config").rename(tmp_path / "old")
    (tmp_path / "secret/config").write_text("another")
    assert Path(f"/proc/self/fd/{held}").read_text() == "secret"
    os.close(held)


def test_a_placeholder_is_not_put_up_through_a_link(stand: Placeholders, work: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (work / "sub").symlink_to(tmp_path / "elsewhere")
    held = stand.join()
    with pytest.raises(OSError, match="the path was replaced"):
        stand.create_all({work / "sub" / "hooks": "folder"})
    os.close(held)
    assert everything_in(tmp_path / "elsewhere") == {}


@pytest.mark.slow
def test_commands_started_simultaneously_share_mask_files(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    state = SandboxState(SandboxKind.BUBBLEWRAP, program="/usr/bin/bwrap")

    def start(start_together: threading.Barrier, state_dir: Path) -> None:
        sandbox = Sandbox(state, tmp_path / "work", state_dir=state_dir)
        start_together.wait()
        with sandbox.launch(["true"], tmp_path / "work", {"HOME": str(tmp_path)}) as launch:
            assert launch.argv

    for number in range(10):
        barrier = threading.Barrier(8)
        with ThreadPoolExecutor(8) as pool:
            started = [pool.submit(start, barrier, tmp_path / f"state-{number}") for _ in range(8)]
        assert [str(one.exception()) for one in started if one.exception() is not None] == []
