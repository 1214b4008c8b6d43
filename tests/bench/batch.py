"""python -m tests.bench.batch [--tasks 200] [--kills 50] [--parallel 4] [--seed 1]

Runs a batch, kills its driver at random moments, and runs the same command again until it ends. Half of the tasks
use the offline model, the others a model on loopback that charges for each request. Checks that every task has ended
exactly once, that no process and no worktree is left over, and that no more was spent than recorded and allowed:
the limit of cost is too low at first, and raised a little whenever the batch stops at it.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from forge_core.exit_codes import ExitCode
from tests.support.batches import BatchFolder, at
from tests.support.sse_server import USAGE, Reply, Seen, SseServer, answer, paced, tool_answer

COST = Decimal(str(USAGE["cost"]))
_EACH = 4 * COST
"""What a task may cost; it makes two requests."""
_LONGEST_S = 8.0
"""Until a driver is killed; a task takes two to five seconds."""
_SOON_S = 0.3
"""After its start, a task has not ended yet."""
_LEFT_S = 10.0
"""How long processes may take to end after their driver."""


@dataclass(frozen=True, slots=True)
class KilledBatch:
    """What has come of a batch whose driver was killed."""

    exit_code: int
    """Of the last call."""
    kills: int
    ends: dict[str, int]
    cut_off: int
    """Attempts that a kill has cut off."""
    left_processes: int
    lost_worktrees: int
    requests_usd: Decimal
    """What the provider has charged, at most: for every request that came."""
    recorded_usd: Decimal
    limit_usd: Decimal
    """At the end."""
    raises: int
    """How often the limit was reached, and raised."""
    excesses: int
    """After how many calls more was charged or recorded than their limit."""
    output: str

    def problems(self, tasks: int) -> Iterator[str]:
        """Yield each promise that was broken."""
        if self.exit_code:
            yield f"the last call ended with {self.exit_code}: {self.output[-2000:]}"
        if (right := sum(count == 1 for count in self.ends.values())) != tasks or len(self.ends) != tasks:
            yield f"{right} of {tasks} tasks have ended exactly once: {self.ends}"
        if self.left_processes:
            yield f"{self.left_processes} processes have outlived their driver"
        if self.lost_worktrees:
            yield f"{self.lost_worktrees} worktrees are in no record"
        if self.excesses:
            yield f"after {self.excesses} calls more was spent than allowed"
        if not self.requests_usd <= self.recorded_usd <= self.limit_usd:
            yield f"${self.requests_usd} charged, ${self.recorded_usd} recorded, ${self.limit_usd} allowed"


def killed_batch(
    path: Path, *, tasks: int, kills: int, parallel: int, seed: int, engine: Sequence[str] = ()
) -> KilledBatch:
    """Run a batch in a folder, with so many kills at random moments. `engine`: the options that choose it."""
    moments = random.Random(seed)
    folder = BatchFolder.make(path)
    limit, raises = parallel * _EACH, 0
    done = left = excesses = 0
    with SseServer(routes={"POST /chat/completions": _reply}) as server:
        folder.write(
            [_task(number, server.base_url) for number in range(tasks)], permission_mode="accept-edits"
        )
        code, output = int(ExitCode.UNFINISHED), ""
        while code == ExitCode.UNFINISHED:
            options = f"--parallel {parallel} --max-cost {limit:f} --max-cost-each {_EACH:f}"
            program = folder.program(*options.split(), *engine)
            while done == 0 and program.poll() is None and not _has_started(folder):
                time.sleep(0.02)  # the first kill meets a running task
            kill_after = moments.uniform(0.0, _LONGEST_S if done else _SOON_S) if done < kills else None
            try:
                output = program.communicate(timeout=kill_after)[0]
                code = program.returncode
            except subprocess.TimeoutExpired:
                program.kill()
                program.communicate()
                done += 1
                left += _left_over(path)
            excesses += max(len(server.requests) * COST, _recorded(folder)) > limit
            if program.returncode == ExitCode.UNFINISHED:
                limit, raises = limit + parallel * _EACH, raises + 1
        charged = len(server.requests) * COST
    return KilledBatch(
        exit_code=code,
        kills=done,
        ends=dict(folder.ends()),
        cut_off=sum(one["type"] == "attempt" for one in folder.log()),
        left_processes=left,
        lost_worktrees=len(folder.lost_worktrees()),
        requests_usd=charged,
        recorded_usd=_recorded(folder),
        limit_usd=limit,
        raises=raises,
        excesses=excesses,
        output=output,
    )


def _recorded(folder: BatchFolder) -> Decimal:
    """Return what the attempts that have ended have cost."""
    return sum((Decimal(one.get("cost_usd", "0")) for one in folder.log()), Decimal(0))


def _task(number: int, url: str) -> dict[str, object]:
    task: dict[str, object] = {"id": f"t{number}", "prompt": "replace Hello by Welcome in greeting.py"}
    if number % 4 == 0:
        task["verify"] = "grep Welcome greeting.py"
    return {**task, **(at(url) if number % 2 else {"model": "offline"})}


def _reply(seen: Seen) -> Reply:
    """Edit the file, then end."""
    if seen.json["messages"][-1]["role"] == "tool":
        return paced(answer("Done", "."), 0.1)
    edit = {"file_path": "greeting.py", "old_string": "Hello", "new_string": "Welcome"}
    return paced(tool_answer(("c1", "edit", edit)), 0.05)


def _has_started(folder: BatchFolder) -> bool:
    return any(one["type"] == "start" for one in folder.log())


def _left_over(path: Path) -> int:
    """Return how many processes with the folder, or that of the worktrees, in their command line do not end in
    time."""
    deadline = time.monotonic() + _LEFT_S
    while (left := len(_naming(path, Path(os.environ["FORGE_HOME"])))) and time.monotonic() < deadline:
        time.sleep(0.02)
    return left


def _naming(*paths: Path) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
            if any(os.fsencode(path) in words for path in paths):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=200)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--parallel", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="forge-bench-") as scratch:
        os.environ["FORGE_HOME"] = f"{scratch}/home"
        found = killed_batch(
            Path(scratch) / "batch",
            tasks=options.tasks,
            kills=options.kills,
            parallel=options.parallel,
            seed=options.seed,
        )
    print(
        f"{options.tasks} tasks, {found.kills} kills, {found.cut_off} attempts cut off, "
        f"${found.requests_usd} charged, ${found.recorded_usd} recorded, ${found.limit_usd} allowed after "
        f"{found.raises} raises, "
        f"{time.monotonic() - began:.0f} s"
    )
    problems = list(found.problems(options.tasks))
    print("\n".join(problems) or "Every task has ended exactly once; nothing was lost or left.")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
