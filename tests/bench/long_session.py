"""python -m tests.bench.long_session [--turns 300] [--window 32000]

Runs one long session of coding work on a terminal, in a small window, against a provider that refuses what is
too long or breaks the protocol (`tests.support.scripted_work`), and prints what it costs as it grows. Fails when
a turn does not come to its end, anything but a permission is asked, or a figure grows.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from tests.bench.chat import FORGE, ROOT, environment, scratch
from tests.bench.figures import Figure, at_most, flat, header
from tests.bench.recorder import Program
from tests.support.scripted_work import ScriptedWork, make_files, message
from tests.support.sse_server import SseServer

_PATIENCE_S = 60.0
_LOOK_S = 0.5
"""Between two looks whether something is asked."""
_GRACE_S = 1.0
"""After which a prompt takes keys."""
_PERMISSION, _QUESTION = "❯ 1 once", "Enter answer"
_REST_EVERY, _REST_S = 50, 6.0
"""Turns between two rests, in which a user reads and Forge does what it leaves for idle moments."""
_AROUND = 10
"""Turns up to a mark over which a figure's median is taken: one of each kind."""
_CONTEXT = re.compile(r"(\d+)%")
_COST = re.compile(r"\$([\d.]+)")


@dataclass(frozen=True, slots=True)
class Turn:
    """What one turn has cost."""

    memory_mb: float
    first_frame_ms: float
    """From Enter to the first words of the first answer on the screen."""
    has_summary: bool
    """Whether a summary was written, for which the first words may have waited."""
    cpu_ms: float
    wall_ms: float
    request_tokens: int
    """Of the turn's last request."""
    permissions: int


class LongSession:
    """A chat program, and the turns that it has done."""

    def __init__(self, folder: Path, server: SseServer, work: ScriptedWork) -> None:
        model = ["--base-url", server.base_url, "--model", "bench/model"]
        options = ["--context-window", str(work.window), "--permission-mode", "accept-edits"]
        command = [*FORGE, "chat", *model, *options, str(folder)]
        self.program = Program(command, environment(folder.parent), ROOT)
        self.work = work
        self.server = server
        self.turns: list[Turn] = []

    def start(self) -> None:
        self.program.wait_until_quiet(1.5, 20)

    def turn(self) -> Turn:
        """Do the next turn; each permission is given once. Raises RuntimeError if it comes to no end."""
        program, number = self.program, len(self.turns) + 1
        program.send(message(number))
        program.wait_until_quiet(0.05, 2)
        cpu, entered = program.cpu_s(), program.send("\r")
        first, last = f"first{number}z", f"done{number}z"
        found: dict[str, float] = {}
        permissions, looked = 0, entered
        while last not in found:
            found |= program.recording.seen({first: entered, last: entered})
            if (now := time.monotonic()) > entered + _PATIENCE_S:
                raise RuntimeError(f"turn {number} did not end:\n{program.recording.screen()}")
            if now > looked + _LOOK_S:
                looked, screen = now, program.recording.screen()
                permissions += self._answer(number, screen)
                found = {word: now for word in (first, last) if word in screen} | found
            time.sleep(0.01)
        program.wait_until_quiet(0.15, 5)
        requests = self.work.of(number)
        done = Turn(
            program.memory_mb(),
            (found[first] - entered) * 1000,
            any(one.is_summary for one in requests),
            (program.cpu_s() - cpu) * 1000,
            (found[last] - entered) * 1000,
            requests[-1].prompt_tokens,
            permissions,
        )
        self.turns.append(done)
        self.server.requests.clear()
        return done

    def shown(self) -> tuple[int, Decimal]:
        """Return the percentage of the window and the cost that the status bar shows."""
        bar = self.program.recording.screen().splitlines()[-1]
        percent, cost = _CONTEXT.search(bar), _COST.search(bar)
        if percent is None or cost is None:
            raise RuntimeError(f"no figures in the status bar: {bar!r}")
        return int(percent[1]), Decimal(cost[1])

    def _answer(self, number: int, screen: str) -> int:
        """Give the permission that is asked for; return whether one was."""
        if _PERMISSION in screen:
            time.sleep(_GRACE_S)
            self.program.send("\r")
            time.sleep(0.2)
            return 1
        if _QUESTION in screen:  # or the upper part of a permission is not drawn yet
            self.program.wait_until_quiet(0.3, 5)
            screen = self.program.recording.screen()
            if _QUESTION in screen and _PERMISSION not in screen:
                raise RuntimeError(f"turn {number} asks something:\n{screen}")
        return 0


def run(session: LongSession, turns: int, watch: Callable[[int], None]) -> None:
    """Do all turns; raises RuntimeError at the first that does not end, or whose bar shows a wrong figure."""
    session.start()
    for number in range(1, turns + 1):
        session.turn()
        percent, cost = session.shown()
        held, spent = 100 * session.work.held_tokens / session.work.window, session.work.cost_usd
        if abs(percent - held) > 1 or abs(cost - spent) > Decimal("0.006"):
            session.work.problems.append(
                f"turn {number}: the bar shows {percent}% and ${cost}, not {held:.1f}% and ${spent}"
            )
        if number % _REST_EVERY == 0:
            time.sleep(_REST_S)
        watch(number)


def figures(session: LongSession, marks: Sequence[int]) -> Iterator[Figure]:
    """Rows with a value for each mark."""
    turns, work = session.turns, session.work
    spans = [turns[max(mark - _AROUND, 0) : mark] for mark in marks]

    def medians(value: Callable[[Turn], float], some: Sequence[Sequence[Turn]] = spans) -> list[float]:
        return [statistics.median(value(turn) for turn in span) for span in some]

    yield Figure("after turn", " / ".join(map(str, marks)))
    memory = [turns[mark - 1].memory_mb for mark in marks]
    begin = min(1, len(marks) - 1)
    yield flat("memory, after the first of these spans", memory[begin:], 1.15, 0, "MB")
    grown = (memory[-1] - memory[begin]) * 1024 / max(marks[-1] - marks[begin], 1)
    yield Figure("memory per turn, after the same", f"{grown:.0f} KB")
    yield Figure("memory at the first mark", f"{memory[0]:.0f} MB")
    plain = [[turn for turn in span if not turn.has_summary] for span in spans]
    yield flat("Enter → first words, median", medians(lambda turn: turn.first_frame_ms, plain), 1.3, 15, "ms")
    yield flat("CPU of a turn, median", medians(lambda turn: turn.cpu_ms), 1.3, 50, "ms")
    yield flat("a turn, median", medians(lambda turn: turn.wall_ms), 1.3, 100, "ms")
    yield Figure(
        "last request of the turn", " / ".join(str(turns[mark - 1].request_tokens) for mark in marks) + " tok"
    )
    yield at_most("longest request", max(one.prompt_tokens for one in work.requests), work.window, "tok")
    summaries = [one for one in work.requests if one.is_summary]
    counts = [sum(one.turn <= mark for one in summaries) for mark in marks]
    yield Figure("summaries so far", " / ".join(map(str, counts)))
    cost = sum((one.cost_usd for one in summaries), Decimal(0))
    yield Figure("cost of the summaries, of all", f"${cost:.4f} of ${work.cost_usd:.4f}")
    yield Figure(
        "model calls; permissions asked", f"{len(work.requests)}; {sum(one.permissions for one in turns)}"
    )
    yield at_most("requests refused as too long", sum(one.is_refused for one in work.requests), 0, "")
    yield at_most("problems", len(work.problems), 0, "")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=300)
    parser.add_argument("--window", type=int, default=32_000)
    options = parser.parse_args()
    work = ScriptedWork(options.window)
    with scratch() as name, SseServer(routes={"POST /chat/completions": work}) as server:
        folder = Path(name) / "work"
        folder.mkdir()
        make_files(folder)
        session = LongSession(folder, server, work)
        with session.program:
            try:
                run(session, options.turns, lambda number: print(f"\r{number}", end="", file=sys.stderr))
            except RuntimeError as error:
                work.problems.append(str(error))
        print(file=sys.stderr)
        done = len(session.turns)
        marks = sorted({min(10, done), *(done * third // 3 for third in (1, 2, 3))} - {0})
        print(header())
        rows = list(figures(session, marks)) if done else []
        print(*rows, *work.problems[:20], sep="\n")
    return int(done < options.turns or any(row.is_met is False for row in rows))


if __name__ == "__main__":
    sys.exit(main())
