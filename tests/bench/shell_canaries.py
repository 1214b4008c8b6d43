"""Runs lines in a real bash whose programs are canaries, and tells what was executed and written.

Run as a program it is the inner half: it reads lines as JSON, and answers as JSON. It runs within bubblewrap where
there is one; nothing outside its scratch folder can be written then.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

CANARIES = (
    "git",
    "ls",
    "cat",
    "rg",
    "npm",
    "rm",
    "evil",
    "sort",
    "head",
    "find",
    "wc",
    "a",
    "b",
    "x",
    "foo",
    "src",
)
REAL = ("sh", "bash", "env", "timeout", "nice", "xargs", "nohup")
_SCRIPT = "#!/bin/sh\nprintf '%s\\0' \"${{0##*/}}\" \"$@\" > '{record}'/$$\n"
_LIMIT_S = 2.0
_BATCH = 400


@dataclass(frozen=True, slots=True)
class Run:
    """What one line did."""

    line: str
    executed: tuple[tuple[str, ...], ...]
    """The words of every program that was started, its name first."""
    written: tuple[str, ...]
    """Files that appeared."""


def run_lines(lines: Sequence[str], scratch: Path) -> list[Run]:
    """Runs each line by itself in a fresh folder under `scratch`."""
    runs: list[Run] = []
    for start in range(0, len(lines), _BATCH):
        batch = list(lines[start : start + _BATCH])
        inner = Path(__file__).read_text()  # its file may lie where the wall has an empty folder
        command = [*wall(scratch), sys.executable, "-c", inner, str(scratch)]
        done = subprocess.run(command, input=json.dumps(batch), capture_output=True, text=True, check=True)
        for line, (executed, written) in zip(batch, json.loads(done.stdout), strict=True):
            runs.append(Run(line, tuple(tuple(words) for words in executed), tuple(written)))
    return runs


def wall(scratch: Path) -> list[str]:
    """What to put before a command so that it can write nothing but `scratch`."""
    if shutil.which("bwrap") is None:
        return []
    flags = "--die-with-parent --new-session --unshare-user-try --unshare-pid --unshare-net --ro-bind / / --dev /dev --proc /proc"
    python = [
        word for path in dict.fromkeys((sys.prefix, sys.base_prefix)) for word in ("--ro-bind", path, path)
    ]
    return ["bwrap", *flags.split(), "--tmpfs", "/tmp", *python, "--bind", str(scratch), str(scratch), "--"]


def _main(scratch: Path) -> None:
    record, folder, programs = scratch / "record", scratch / "work", scratch / "bin"
    shutil.rmtree(programs, ignore_errors=True)
    programs.mkdir()
    for name in CANARIES:
        path = programs / name
        path.write_text(_SCRIPT.format(record=record))
        path.chmod(0o755)
    for name in REAL:
        found = shutil.which(name)
        if found:
            (programs / name).symlink_to(found)
    answers = [_one(line, record, folder, programs) for line in json.loads(sys.stdin.read())]
    print(json.dumps(answers))


def _one(line: str, record: Path, folder: Path, programs: Path) -> tuple[list[list[str]], list[str]]:
    for path in (record, folder):
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
    (folder / "src").mkdir()
    (folder / "a").write_text("x\n")
    before = set(_files(folder))
    bash = "/bin/bash"
    process = subprocess.Popen(
        [bash, "-c", line],
        cwd=folder,
        env={"PATH": str(programs), "HOME": str(folder), "LC_ALL": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=_limits,
    )
    with suppress(subprocess.TimeoutExpired):
        process.wait(_LIMIT_S)
    _end(process)
    executed = [_words(path) for path in sorted(record.iterdir())]
    return [words for words in executed if words], sorted(set(_files(folder)) - before)


def _limits() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (2, 2))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))


def _end(process: subprocess.Popen[bytes]) -> None:
    """Waits a moment for children of the line that are still at it, then ends its session."""
    for _ in range(25):
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            break
        os.sched_yield()
        try:
            process.wait(0.004)
            os.waitid(os.P_PGID, process.pid, os.WEXITED | os.WNOHANG)
        except (subprocess.TimeoutExpired, ChildProcessError):
            pass
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _files(folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]


def _words(path: Path) -> list[str]:
    return path.read_bytes().decode(errors="replace").split("\0")[:-1]


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
