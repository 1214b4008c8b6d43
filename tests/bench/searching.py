"""python -m tests.bench.searching [--files 50000] [--rounds 5]

Builds a tree, then asks the same through our tools and through a bare `rg`, one after the other in one run, and
prints the ratio of the medians. Bar: at most 1.5 where ripgrep is there. The fallback's figures carry no bar.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forge_core.tools import BaseTool, ExecutionContext, GlobTool, GrepTool, ToolExecutor
from forge_core.tools.searching.engine import SearchEngine

BAR = 1.5
_WORDS = (
    "alpha",
    "beta",
    "gamma",
    "delta",
    "value",
    "result",
    "index",
    "buffer",
    "stream",
    "client",
    "token",
)
_ENDINGS = ("py", "ts", "md", "json", "c")
_RG = ["rg", "--no-config", "--hidden", "--glob=!.git", "--no-messages", "--color=never", "--crlf"]


@dataclass(frozen=True, slots=True)
class Question:
    """One thing to ask, our way and ripgrep's."""

    name: str
    tool: str
    params: dict[str, Any]
    ripgrep: tuple[str, ...]


QUESTIONS = (
    Question("grep, 50 matches", "grep", {"pattern": "needle_rare"}, ("-n", "needle_rare")),
    Question("grep, no match", "grep", {"pattern": "nothing_like_it"}, ("-n", "nothing_like_it")),
    Question("grep, a match in every file", "grep", {"pattern": "common"}, ("-n", "common")),
    Question("grep, regular expression", "grep", {"pattern": r"needle_\w+\s*="}, ("-n", r"needle_\w+\s*=")),
    Question(
        "grep, ignore case",
        "grep",
        {"pattern": "NEEDLE_RARE", "ignore_case": True},
        ("-n", "-i", "NEEDLE_RARE"),
    ),
    Question(
        "grep, files with a match",
        "grep",
        {"pattern": "needle_some", "output_mode": "files"},
        ("-l", "needle_some"),
    ),
    Question(
        "grep, counts, in every file",
        "grep",
        {"pattern": "common", "output_mode": "count"},
        ("-c", "common"),
    ),
    Question(
        "grep, one kind of file",
        "grep",
        {"pattern": "needle_rare", "glob": "*.py"},
        ("-n", "needle_rare", "-g*.py"),
    ),
    Question(
        "glob, every fifth file", "glob", {"pattern": "**/*.py"}, ("--files", "-g*.py", "--sortr=modified")
    ),
    Question("glob, few files", "glob", {"pattern": "*_77.md"}, ("--files", "-g*_77.md", "--sortr=modified")),
    Question("glob, all files", "glob", {"pattern": "**"}, ("--files", "--sortr=modified")),
)


def build(root: Path, files: int) -> None:
    """A repository of so many files in folders of fifty, with another fifth in ignored folders."""
    rng = random.Random(7)
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    (root / ".gitignore").write_text("node_modules/\n*.log\nbuild/\n")
    for number in range(files + files // 5):
        is_ignored = number >= files
        folder = root / f"part{number // 2500:02}" / f"unit{number // 50 % 50:02}"
        folder = folder / "node_modules" if is_ignored else folder
        if number % 50 == 0 or is_ignored:
            folder.mkdir(parents=True, exist_ok=True)
        lines = [" ".join(rng.choices(_WORDS, k=6)) for _ in range(rng.randint(10, 60))]
        lines[rng.randrange(len(lines))] += " common"
        if number % 1000 == 1:
            lines[3] = "    needle_rare = 1"
        if number % 50 == 2:
            lines[4] = "    needle_some = 2"
        name = f"{rng.choice(_WORDS)}_{number % 100}.{_ENDINGS[number % len(_ENDINGS)]}"
        (folder / f"{number}_{name}").write_text("\n".join(lines) + "\n")


def measure(runs: Sequence[Callable[[], object]], rounds: int) -> list[float]:
    """The median time of each, in seconds; taken in turns, so that a busy machine is busy for all."""
    times: list[list[float]] = [[] for _ in runs]
    for _ in range(rounds):
        for run, taken in zip(runs, times, strict=True):
            started = time.perf_counter()
            run()
            taken.append(time.perf_counter() - started)
    return [statistics.median(taken) for taken in times]


@contextlib.contextmanager
def tree(files: int) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="forge-searching-") as name:
        root = Path(name)
        build(root, files)
        yield root


async def ask(tool: BaseTool, params: dict[str, Any], root: Path) -> str:
    result = await ToolExecutor().execute(tool, params, ExecutionContext(root))
    if not result.success:
        raise RuntimeError(result.error)
    return result.output


def compare(root: Path, rounds: int, ripgrep: str | None) -> int:
    """Prints the table; how many bars were missed."""
    missed = 0
    with_ripgrep, without = (
        {"grep": GrepTool(SearchEngine(program)), "glob": GlobTool()} for program in (ripgrep, None)
    )
    print(f"| {'question':<30} |       rg |     ours | ratio |        | fallback | ratio |")
    print(f"|{'-' * 32}|{'-' * 10}|{'-' * 10}|{'-' * 7}|{'-' * 8}|{'-' * 10}|{'-' * 7}|")
    with asyncio.Runner() as runner:
        for one in QUESTIONS:

            def through(tools: dict[str, BaseTool], one: Question = one) -> str:
                return runner.run(ask(tools[one.tool], one.params, root))

            def bare(one: Question = one) -> None:
                subprocess.run([*_RG, *one.ripgrep, "./"], cwd=root, stdout=subprocess.PIPE)

            if ripgrep and through(with_ripgrep) != through(without):
                raise SystemExit(f"{one.name}: the two engines disagree")
            theirs = ours = 0.0
            if ripgrep:
                theirs, ours = measure([bare, lambda: through(with_ripgrep)], rounds)
            (fallback,) = measure([lambda: through(without)], max(rounds // 2, 1))
            is_met = not ripgrep or ours <= BAR * theirs
            missed += not is_met
            print(
                f"| {one.name:<30} | {theirs * 1000:5.0f} ms | {ours * 1000:5.0f} ms | {ours / (theirs or 1):5.2f} "
                f"| {'ok' if is_met else 'MISSED':<6} | {fallback * 1000:5.0f} ms "
                f"| {fallback / (theirs or 1):5.1f} |",
                flush=True,
            )
    print(f"\ninterrupted after 0.1 s: idle {interrupted_after(root, ripgrep) * 1000:.0f} ms later")
    return missed


def interrupted_after(root: Path, ripgrep: str | None) -> float:
    """How long a search goes on when the person interrupts it at its busiest, in seconds."""

    async def run() -> float:
        context = ExecutionContext(root, interrupted=asyncio.Event())
        assert context.interrupted is not None
        pressed = 0.0

        def press() -> None:
            nonlocal pressed
            pressed = time.perf_counter()
            context.interrupted.set()  # type: ignore[union-attr]

        asyncio.get_running_loop().call_later(0.1, press)
        await ToolExecutor().execute(GrepTool(SearchEngine(ripgrep)), {"pattern": "common"}, context)
        return time.perf_counter() - pressed

    return asyncio.run(run())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--files", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    ripgrep = shutil.which("rg")
    with tree(options.files) as root:
        print(f"{options.files:,} files, {'ripgrep at ' + ripgrep if ripgrep else 'no ripgrep'}")
        missed = compare(root, options.rounds, ripgrep)
    print(f"\n{missed} bars missed" if missed else "\nall bars met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
