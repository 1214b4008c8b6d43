"""What counts as the memory of a command, where /proc alone would mislead."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from forge_core.tools.shell import limits, memory_usage
from forge_core.tools.shell.limits import CommandLimits
from forge_core.tools.shell.memory_usage import MemoryUsage
from forge_core.tools.shell.process_tree import only_child

pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="there is no /proc")


@pytest.fixture
def root() -> Iterator[int]:
    """A process with one child, as a sandboxed command has."""
    process = subprocess.Popen(["/bin/sh", "-c", "sleep 60; :"], stdout=subprocess.PIPE)
    while only_child(process.pid) is None:
        os.sched_yield()
    child = only_child(process.pid)
    yield process.pid
    subprocess.run(["kill", str(process.pid), str(child)], check=True)
    process.communicate()


def looking(monkeypatch: pytest.MonkeyPatch, *looks: dict[str, int]) -> None:
    """Let the looks at the process's mounts find these folders, one after the other."""
    left = iter(looks)
    monkeypatch.setattr(memory_usage, "_private_folders", lambda pid: next(left))


def test_a_folder_over_which_another_was_mounted_is_not_counted(
    root: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = Path("/").stat().st_dev
    looking(monkeypatch, {"/": device}, {"/": device + 1})
    counted, covered = (MemoryUsage(root, with_private_folders=True).upper_bound() for _ in range(2))
    assert counted > covered


def test_private_folders_that_are_not_mounted_yet_are_looked_for_again(
    root: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    looking(monkeypatch, {}, {"/": Path("/").stat().st_dev})
    usage = MemoryUsage(root, with_private_folders=True)
    before = usage.upper_bound()
    assert usage.upper_bound() > before


def test_folders_in_memory_that_are_not_the_commands_own_are_not_private() -> None:
    if not list(memory_usage._memory_mounts("self")):
        pytest.skip("there is no file system in memory")
    assert memory_usage._private_folders(os.getpid()) == {}


def test_a_process_that_lets_nobody_read_its_pages_counts_as_sharing_none(
    root: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    readable = memory_usage._fields
    monkeypatch.setattr(
        memory_usage, "_fields", lambda path: {} if path.endswith("smaps_rollup") else readable(path)
    )
    assert MemoryUsage(root, with_private_folders=False).exact() > 0


@pytest.mark.parametrize(
    ("soft", "hard", "wanted"),
    [(100, 1_000, ["-Hn"]), (600, 1_000, ["-Sn", "-Hn"]), (100, 400, []), (-1, -1, ["-Sn", "-Hn"])],
)
def test_a_limit_of_open_files_is_lowered_and_never_raised(
    soft: int, hard: int, wanted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits.resource, "getrlimit", lambda _: (soft, hard))
    text = CommandLimits(open_files=500).shell_text()
    assert [option for option in ("-Sn", "-Hn") if f"ulimit {option} 500" in text] == wanted
