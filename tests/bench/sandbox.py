"""What the sandbox costs: `python -m tests.bench.sandbox [REPEATS]` prints medians side by side, in milliseconds.

Bare and sandboxed runs alternate, so that a busy machine slows both alike. "adds" is the difference of the
medians, "at best" that of the quickest runs, which a busy machine disturbs least.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from forge_core.permissions.sandbox import probing
from forge_core.permissions.sandbox.probing import probe_now
from forge_core.permissions.sandbox.sandbox import Sandbox
from forge_core.permissions.sandbox.sandbox_state import SandboxKind, SandboxState

COMMANDS = {
    "true": "true",
    "git version": "git version > /dev/null",
    "python": f"{sys.executable} -I -S -c pass",
    "10 processes": "for n in 1 2 3 4 5 6 7 8 9 10; do /bin/true; done",
}
BAR_MS = 30.0


def timed(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return (time.perf_counter() - started) * 1000


def runner(box: Sandbox, folder: Path, command: str, *, network: bool = False) -> Callable[[], None]:
    environment = dict(os.environ)

    def run() -> None:
        with box.launch(["bash", "-c", command], folder, environment, network=network) as launch:
            subprocess.run(
                launch.argv,
                env=dict(launch.environment),
                pass_fds=launch.pass_fds,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                check=True,
            )

    return run


def repository(folder: Path, files: int) -> Path:
    """A repository with that many files in folders of fifty, and an environment file."""
    for number in range(files):
        path = folder / f"part{number // 50}" / f"file{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"x = {number}\n")
    (folder / ".env").write_text("KEY=value\n")
    (folder / ".gitignore").write_text(".env\n")
    for words in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"],
    ):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder


def main() -> None:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    with tempfile.TemporaryDirectory() as temporary:
        base = Path(temporary)
        empty = base / "empty"
        empty.mkdir()
        folders = {"empty folder": empty, "5,000 files": repository(base / "large", 5_000)}
        state = probe_now(root=empty)
        print(f"{state.label}   ({repeats} runs each)\n")
        print(f"{'':14}{'':14}{'bare':>9}{'sandbox':>9}{'network':>9}{'adds':>9}{'at best':>9}{'prepare':>9}")
        worst = 0.0
        for place, folder in folders.items():
            for name, command in COMMANDS.items():
                worst = max(worst, line(place, name, folder, command, state, base, repeats))
        probes = [timed(lambda: (probing.forget(), probe_now(root=empty))) for _ in range(10)]
        print(f"\nprobe {statistics.median(probes):.1f} ms   most added {worst:.1f} ms (bar: {BAR_MS:g} ms)")


def line(
    place: str, name: str, folder: Path, command: str, state: SandboxState, base: Path, repeats: int
) -> float:
    """Prints one line; gives what the sandbox adds."""
    box = Sandbox(state, folder, state_dir=base / "state")
    bare = runner(Sandbox(SandboxState(SandboxKind.OFF), folder, state_dir=base / "state"), folder, command)
    confined = runner(box, folder, command)
    online = runner(box, folder, command, network=True)
    times: list[tuple[float, float, float, float]] = []
    for one in (bare, confined, online):
        one()
    for _ in range(repeats):
        times.append((timed(bare), timed(confined), timed(online), timed(lambda: prepare(box, folder))))
    medians = [statistics.median(column) for column in zip(*times, strict=True)]
    added = medians[1] - medians[0]
    best = min(one[1] for one in times) - min(one[0] for one in times)
    figures = [*medians[:3], added, best, medians[3]]
    print(f"{place:14}{name:14}" + "".join(f"{value:9.1f}" for value in figures))
    return added


def prepare(box: Sandbox, folder: Path) -> None:
    """Forge's own part alone, without starting anything."""
    with box.launch(["true"], folder, os.environ):
        pass


if __name__ == "__main__":
    main()
