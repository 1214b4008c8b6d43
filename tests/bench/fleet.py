"""python -m tests.bench.fleet [--runs 50] [--rounds 2] [--peer 'codex=codex exec …']

Starts many headless runs at once, each in a repository of its own, against one model on loopback: each reads a file,
edits it, runs a command in the sandbox and answers. Checks that every run has done its work, and prints what a run
costs: CPU of its whole process tree, memory, and time. Sides alternate, so that all meet the same machine.

--peer NAME=COMMAND measures another program beside Forge; the prompt is appended to the command, in which {url} stands
for the model's address. OpenAI's responses are answered with calls of Codex's tools::

    --peer "codex=codex exec --sandbox workspace-write -m gpt-5.5 -c model_provider=bench -c \\"model_providers.bench
      ={name='bench',base_url='{url}',wire_api='responses',env_key='OPENROUTER_API_KEY'}\\""
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import shlex
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forge_core.tools.shell.process_tree import process_ids
from tests.bench.chat import FORGE, environment, scratch
from tests.bench.figures import Figure, header
from tests.bench.script import pieces
from tests.bench.wires import Responses
from tests.support.batches import IDENTITY
from tests.support.sse_server import KEY, MODEL, Reply, Seen, SseServer, answer, paced, tool_answer

PROMPT = "Replace Hello by Welcome in greeting.py, and check it."
_FILE, _BEFORE, _AFTER = "greeting.py", 'print("Hello")\n', 'print("Welcome")\n'
_CHECK = f"grep -c Welcome {_FILE}"
_PATCH = f"*** Begin Patch\n*** Update File: {_FILE}\n@@\n-{_BEFORE}+{_AFTER}*** End Patch\n"
_WORDS = 40
"""Fragments in each answer."""
_PACE_S = 0.01
"""Between two fragments."""
_SAMPLE_S = 0.4
_SHOWN = 600
"""Characters of what a run that has failed has written."""
_PR_SET_CHILD_SUBREAPER = 36
_FORGE = (*FORGE, "run", "--permission-mode", "accept-edits", "--base-url", "{url}", "--model", MODEL)


@dataclass(frozen=True, slots=True)
class Ended:
    """A process that has ended."""

    code: int
    cpu_s: float
    largest_mb: float
    wall_s: float


@dataclass(frozen=True, slots=True)
class Batch:
    """What runs that were started at once have cost."""

    walls_s: Sequence[float]
    """Of each run, from the start of the first."""
    cpus_s: Sequence[float]
    """User and system time of each run and the processes that it has waited for."""
    cpu_s: float
    """Of all runs, with the processes that have outlived their parent."""
    largest_mb: Sequence[float]
    """Resident memory of the largest process of each run."""
    peak_mb: float
    """Proportional set size of all runs together when it was highest: a shared page counts once."""
    problems: Sequence[str]
    """Of each run that has not done its work, the reason."""


def batch(folder: Path, command: Sequence[str], runs: int) -> Batch:
    """Run the command in so many new repositories below the folder, all at once."""
    work = [_repository(folder / f"run{number}") for number in range(runs)]
    variables = _variables(folder)
    ended: dict[int, Ended] = {}
    memory = _Memory()
    with _adopting_orphans(), memory:
        began = time.monotonic()
        pids = [_start(command, path, variables) for path in work]
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status, usage = os.wait4(-1, 0)
                ended[pid] = Ended(
                    os.waitstatus_to_exitcode(status),
                    usage.ru_utime + usage.ru_stime,
                    usage.ru_maxrss / 1024,
                    time.monotonic() - began,
                )
    own = [ended[pid] for pid in pids]
    return Batch(
        walls_s=[one.wall_s for one in own],
        cpus_s=[one.cpu_s for one in own],
        cpu_s=sum(one.cpu_s for one in ended.values()),
        largest_mb=[one.largest_mb for one in own],
        peak_mb=memory.peak_bytes / 2**20,
        problems=[
            f"{path.name}: {problem}"
            for path, one in zip(work, own, strict=True)
            if (problem := _problem(path, one.code))
        ],
    )


def _repository(path: Path) -> Path:
    path.mkdir(parents=True)
    (path / _FILE).write_text(_BEFORE)
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run(["git", *IDENTITY, *words], cwd=path, check=True)
    return path


def _variables(folder: Path) -> dict[str, str]:
    """A home that all runs of a batch share, as those of one user do."""
    home = folder / "home"
    temporary = folder / "tmp"  # Codex does not work with a home in the folder for temporary files
    home.mkdir()
    temporary.mkdir()
    return {
        **environment(home),
        "PATH": os.environ["PATH"],
        "OPENROUTER_API_KEY": KEY,
        "TMPDIR": str(temporary),
    }


def _start(command: Sequence[str], path: Path, variables: Mapping[str, str]) -> int:
    # Popen, unless it has a code, would wait for the process when it is deleted.
    with _output(path).open("wb") as output:
        program = subprocess.Popen(
            [*command, PROMPT],
            cwd=path,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    program.returncode = 0
    return program.pid


def _output(path: Path) -> Path:
    return path.with_suffix(".txt")


def _problem(path: Path, code: int) -> str:
    """Return why a run has not done its work; nothing if it has."""
    written = _output(path).read_text(errors="replace")
    if code:
        return f"exit code {code}: {written[-_SHOWN:]}"
    if (found := (path / _FILE).read_text()) != _AFTER:
        return f"{_FILE} holds {found!r}: {written[-_SHOWN:]}"
    return "" if f"Checked: {_AFTER.count('Welcome')}" in written else f"no answer: {written[-_SHOWN:]}"


class _Memory:
    """Samples the proportional set size of all descendants of this process, in a thread."""

    def __init__(self) -> None:
        self.peak_bytes = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sample)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._over.wait(_SAMPLE_S):
            pids = process_ids(os.getpid())[1:]
            self.peak_bytes = max(self.peak_bytes, sum(map(_pss_bytes, pids)))


def _pss_bytes(pid: int) -> int:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


@contextlib.contextmanager
def _adopting_orphans() -> Iterator[None]:
    """Make this process the parent of what its descendants leave behind (man 2 prctl), to count its CPU."""
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def model() -> SseServer:
    """A model that does the work in Forge's tools and in those of Codex."""
    return SseServer(routes={"POST /chat/completions": _completion, "POST /responses": _response})


def _completion(seen: Seen) -> Reply:
    messages: list[dict[str, Any]] = seen.json["messages"]
    results = [message for message in messages if message["role"] == "tool"]
    work: list[tuple[str, dict[str, object]]] = [
        ("read", {"file_path": _FILE}),
        ("edit", {"file_path": _FILE, "old_string": "Hello", "new_string": "Welcome"}),
        ("bash", {"command": _CHECK, "description": "Check the file"}),
    ]
    words = list(pieces(_WORDS))
    if len(results) == len(work):
        return paced(answer(*words, _verdict(results[-1]["content"])), _PACE_S)
    name, arguments = work[len(results)]
    call = (f"call_{len(results)}", name, arguments)
    return paced(tool_answer(call, text="".join(words)), _PACE_S)


def _response(seen: Seen) -> Reply:
    items: list[dict[str, Any]] = seen.json["input"]
    results = [item for item in items if str(item.get("type")).endswith("_call_output")]
    work: list[tuple[str, dict[str, object] | str]] = [
        ("exec_command", {"cmd": f"cat {_FILE}"}),
        ("apply_patch", _PATCH),
        ("exec_command", {"cmd": _CHECK}),
    ]
    wire = Responses()
    parts = [wire.start(), *map(wire.text, pieces(_WORDS))]
    if len(results) == len(work):
        parts += [wire.text(_verdict(str(results[-1]["output"]))), wire.end(_WORDS)]
    else:
        parts.append(wire.end(_WORDS, [work[len(results)]]))
    return paced(Reply(parts), _PACE_S)


def _verdict(output: str) -> str:
    """What the model says of the check's output."""
    return (
        f"\n\nChecked: {next((line for line in reversed(output.splitlines()) if line.isdigit()), 'nothing')}"
    )


def figures(side: str, batches: Sequence[Batch], runs: int) -> Iterator[Figure]:
    """The medians over all runs or batches, and the worst."""
    total = runs * len(batches)
    done = total - sum(len(one.problems) for one in batches)
    yield Figure(f"{side}: runs that have done their work", f"{done} of {total}", "all", done == total)
    for name, unit, values in (
        ("CPU of a run", "s", [value for one in batches for value in one.cpus_s]),
        ("memory of a run's largest process", "MB", [value for one in batches for value in one.largest_mb]),
        ("time until a run has ended", "s", [value for one in batches for value in one.walls_s]),
    ):
        shown = f"{statistics.median(values):.3g} / {max(values):.3g} {unit}"
        yield Figure(f"{side}: {name}, median / most", shown)
    for name, value, unit in (
        ("CPU of all, per run", statistics.median(one.cpu_s for one in batches) / runs, "s"),
        ("memory of all at its peak (PSS)", statistics.median(one.peak_mb for one in batches), "MB"),
        ("the same, per run", statistics.median(one.peak_mb for one in batches) / runs, "MB"),
    ):
        yield Figure(f"{side}: {name}", f"{value:.3g} {unit}")


def ratios(mine: Sequence[Batch], theirs: Sequence[Batch], name: str) -> Iterator[Figure]:
    """Those of Forge as multiples of the peer's."""
    for what, cost in (
        ("CPU", lambda one: one.cpu_s),
        ("memory of all at its peak", lambda one: one.peak_mb),
        ("time until all have ended", lambda one: max(one.walls_s)),
    ):
        own, other = (statistics.median(map(cost, batches)) for batches in (mine, theirs))
        yield Figure(f"{what}, times {name}", f"{own / other:.2f} x" if other else "?")


def main() -> int:
    options = _options()
    commands = {"forge": list(_FORGE)}
    for one in options.peer:
        name, _, command = one.partition("=")
        commands[name] = shlex.split(command)
    sides: dict[str, list[Batch]] = {name: [] for name in commands}
    began = time.monotonic()
    with model() as server, scratch() as folder:
        for turn in range(options.rounds):
            for name in list(commands)[:: -1 if turn % 2 else 1]:
                command = [part.replace("{url}", server.base_url) for part in commands[name]]
                sides[name].append(batch(Path(folder) / f"{name}{turn}", command, options.runs))
                server.requests.clear()
    print(header())
    for name, batches in sides.items():
        print(*figures(name, batches, options.runs), sep="\n")
    for name in list(commands)[1:]:
        print(*ratios(sides["forge"], sides[name], name), sep="\n")
    spent = time.monotonic() - began
    print(f"\n{options.runs} runs at once, {options.rounds} rounds; {spent:.0f} s; {os.cpu_count()} cores")
    problems = {name: [one for each in batches for one in each.problems] for name, batches in sides.items()}
    print(*(f"{name}: {one}" for name, ones in problems.items() for one in ones), sep="\n")
    return 1 if problems["forge"] else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=COMMAND")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
