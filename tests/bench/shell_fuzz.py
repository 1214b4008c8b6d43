"""python -m tests.bench.shell_fuzz [--lines 5000] [--seed 1]

Compares what the command policy read in random lines with what a real bash executed and wrote. Bars: of lines that
ran unasked, nothing that was not read; no deny rule passed by. Prints every disagreement.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from forge_core.approval import Effect
from forge_core.config.permission_mode import PermissionMode
from forge_core.permissions import Decision, PermissionPolicy
from forge_core.permissions.sandbox.sandbox_state import SandboxStrength
from forge_core.permissions.shell.syntax import Reading, SimpleCommand, read_line
from forge_core.tools.base import ToolUse
from tests.bench.shell_canaries import REAL, Run, run_lines
from tests.bench.shell_lines import Grammar

_ALLOW = tuple(
    f"bash({one}:*)"
    for one in (
        "git status",
        "git log",
        "git diff",
        "npm test",
        "ls",
        "cat",
        "rg",
        "sort",
        "head",
        "find",
        "wc",
        "echo",
    )
)
_STRENGTHS: tuple[SandboxStrength, ...] = ("full", "off")
_DENIABLE = ("rm", "evil", "git push", "npm")


@dataclass(slots=True)
class Tally:
    """What came out."""

    lines: int = 0
    executed: int = 0
    allowed: int = 0
    unread: int = 0
    """Lines that the parser left to a person."""
    unsafe: list[tuple[str, str]] = field(default_factory=list)
    """Lines that ran unasked and did more than was read."""
    evaded: list[tuple[str, str]] = field(default_factory=list)
    """Lines that executed what a deny rule names and were allowed."""
    missed: list[tuple[str, str]] = field(default_factory=list)
    """Lines read for sure that executed or wrote something not found in them, whatever was decided."""

    def __str__(self) -> str:
        return (
            f"{self.lines:,} lines, {self.executed:,} programs executed; {self.allowed:,} lines allowed, {self.unread:,} "
            f"could not be read; unsafe {len(self.unsafe)}, deny evaded {len(self.evaded)}, missed {len(self.missed)}"
        )


def fuzz(count: int, seed: int, scratch: Path) -> Tally:
    """Runs `count` lines of a seed."""
    grammar = Grammar(seed)
    lines = [line for line in (grammar.line() for _ in range(count)) if "\0" not in line]
    return compare(run_lines(lines, scratch), scratch / "work")


def compare(runs: Sequence[Run], root: Path) -> Tally:
    tally = Tally()
    asking = [PermissionPolicy(root, allow=_ALLOW, sandbox=one) for one in _STRENGTHS]
    yolo = {rule: PermissionPolicy(root, PermissionMode.YOLO, deny=[f"bash({rule}:*)"]) for rule in _DENIABLE}
    for run in runs:
        tally.lines += 1
        tally.executed += len(run.executed)
        reading = read_line(run.line)
        tally.unread += bool(reading.problem)
        use = ToolUse(Effect.RUN, run.line)
        is_allowed = any(one.decide("bash", use).decision is Decision.ALLOW for one in asking)
        tally.allowed += is_allowed
        for fault in _not_found(run, reading):
            if is_allowed:
                tally.unsafe.append((run.line, fault))
            elif not reading.problem:
                tally.missed.append((run.line, fault))
        for rule, policy in yolo.items():
            words = rule.split()
            is_run = any(list(one[: len(words)]) == words for one in run.executed)
            if is_run and policy.decide("bash", use).decision is Decision.ALLOW:
                tally.evaded.append((run.line, rule))
    return tally


def _not_found(run: Run, reading: Reading) -> Iterator[str]:
    for words in run.executed:
        if words[0] not in REAL and not any(_is(one, words) for one in reading.commands):
            yield f"executed {words}"
    writes = [target for one in reading.commands for target in one.writes]
    for name in run.written:
        if not any(
            target.rpartition("/")[2] == name.rpartition("/")[2] or "$" in target or "`" in target
            for target in writes
        ):
            yield f"wrote {name}"


def _is(command: SimpleCommand, words: Sequence[str]) -> bool:
    """Whether the command read may be the one executed."""
    if command.is_opaque:
        return True
    if command.program != words[0]:
        return False
    if not command.is_known or any(part.has_glob or part.has_tilde for part in command.parts):
        return True
    return list(command.words[1:]) == list(words[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=Path.home()) as folder:
        tally = fuzz(arguments.lines, arguments.seed, Path(folder))
    print(tally)
    for title, found in (("UNSAFE", tally.unsafe), ("EVADED", tally.evaded), ("missed", tally.missed)):
        for line, fault in found[:40]:
            print(f"{title}: {line!r}\n    {fault}")


if __name__ == "__main__":
    main()
