"""python -m tests.bench [--quick] [--only start,chat,history]

Prints every figure with its bar. Compare figures of one run only: machines differ, ratios count.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.bench import chat, history
from tests.bench.server import Model


@dataclass(frozen=True, slots=True)
class Figure:
    """One row of the table."""

    name: str
    shown: str
    bar: str
    is_met: bool | None = None
    """None where there is no bar."""

    def __str__(self) -> str:
        verdict = {True: "ok", False: "MISSED", None: ""}[self.is_met]
        return f"| {self.name:<52} | {self.shown:>16} | {self.bar:>14} | {verdict:<6} |"


def at_most(name: str, value: float, bar: float, unit: str) -> Figure:
    return Figure(name, f"{value:.3g} {unit}", f"≤ {bar:g} {unit}", value <= bar)


def spread(name: str, value: chat.Spread, p50: float, p95: float) -> Figure:
    return Figure(name, f"{value} ms", f"≤ {p50:g}/{p95:g} ms", value.p50 <= p50 and value.p95 <= p95)


def start_figures(folder: Path, rounds: int) -> Iterator[Figure]:
    """The command line and the first seconds."""
    bare = chat.run_time([sys.executable, "-c", "pass"], rounds * 2, folder)
    version = chat.run_time([*chat.FORGE, "--version"], rounds * 2, folder)
    yield Figure("python -c pass", f"{bare * 1000:.0f} ms", "")
    yield at_most("forge --version, times python -c pass", version / bare, 3, "x")
    forge = [*chat.FORGE, "chat", str(folder)]
    hello = [chat.start([sys.executable, "-m", "tests.bench.hello"], folder) for _ in range(rounds)]
    ours = [chat.start(forge, folder) for _ in range(rounds)]
    paint = statistics.median(one.first_paint_s for one in ours)
    typed = statistics.median(one.typed_word_s for one in ours)
    bare_typed = statistics.median(one.typed_word_s for one in hello)
    yield at_most("forge chat: first paint", paint, 0.12, "s")
    yield Figure("bare Textual app: a typed word is on the screen", f"{bare_typed:.3f} s", "")
    yield Figure("forge chat: a typed word is on the screen", f"{typed:.3f} s", "")
    yield at_most("the same, times the bare Textual app", typed / bare_typed, 1.5, "x")


def chat_figures(folder: Path, is_quick: bool) -> Iterator[Figure]:
    """A running session."""
    model = Model()
    session = chat.Chat(model, folder)
    try:
        with session.program:
            yield from _chat_figures(session, is_quick)
    finally:
        model.close()


def _chat_figures(session: chat.Chat, is_quick: bool) -> Iterator[Figure]:
    program = session.program
    yield at_most("memory, idle", program.memory_mb(), 100, "MB")
    yield at_most("CPU, idle", session.idle_percent(2 if is_quick else 5), 0.5, "%")
    yield spread("key echo, idle, p50/p95", session.echo(15 if is_quick else 40), 8, 14)
    first = session.turn("100 tokens at 100", "a")
    yield at_most("Enter → request, first turn", first.request_ms, 100, "ms")
    rates = (50, 100, 200) if is_quick else (50, 100, 200, 500)
    for rate, letter in zip(rates, "bcde", strict=False):
        tokens = 2 * rate if is_quick else 900
        turn = session.turn(f"{tokens} tokens at {rate}", letter, typing=rate == 100)
        yield spread(f"wire → screen at {rate} tokens/s, p50/p95", turn.to_screen, 25, 45)
        if rate == 100:
            yield spread("key echo at 100 tokens/s, p50/p95", turn.echo, 10, 35)
        if rate == 50:
            yield at_most("to the terminal, KB per 400 tokens", turn.kilobytes * 400 / tokens, 80, "KB")
        if rate == 200:
            yield at_most("CPU s per 900 tokens at 200/s", turn.cpu_s * 900 / tokens, 2.0, "s")
    turn = session.turn("20000 tokens at 0", "f")
    yield at_most("20,000 tokens of Markdown at once", turn.wall_s, 1.5, "s")
    yield at_most("the same, CPU", turn.cpu_s, 2.5, "s")
    half = session.turn("1000 code at 0", "g")
    whole = session.turn("2000 code at 0", "h")
    yield at_most("open fence: CPU of twice the lines", whole.cpu_s / max(half.cpu_s, 0.01), 2.4, "x")
    yield at_most("memory, afterwards", program.memory_mb(), 130, "MB")


def history_figures(is_quick: bool) -> Iterator[Figure]:
    """The fifth hour."""
    sizes = (10, 10_000) if is_quick else (10, 1_000, 10_000)
    rounds = 5 if is_quick else 11
    labels = " / ".join(f"{size:,}" for size in sizes)
    measured = {size: history.measure(size, rounds) for size in sizes}
    for act in history.ACTS:
        values = [measured[size][act] for size in sizes]
        shown = " / ".join(f"{value:.0f}" for value in values)
        is_met = values[-1] <= max(10.0, 1.3 * values[0]) and (values[-1] <= 100 or act.startswith("stream"))
        yield Figure(f"{act}: CPU ms at {labels} blocks", shown, "≤ 1.3 x, 10 ms", is_met)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under a minute, with fewer rounds")
    parser.add_argument("--only", default="start,chat,history")
    options = parser.parse_args()
    parts = options.only.split(",")
    missed = 0
    with chat.scratch() as name:
        folder = Path(name)
        (folder / "a.py").write_text("x = 1\n")
        figures: list[Iterator[Figure]] = []
        if "start" in parts:
            figures.append(start_figures(folder, 2 if options.quick else 7))
        if "chat" in parts:
            figures.append(chat_figures(folder, options.quick))
        if "history" in parts:
            figures.append(history_figures(options.quick))
        print(f"| {'figure':<52} | {'here':>16} | {'bar':>14} |        |")
        print(f"|{'-' * 54}|{'-' * 18}|{'-' * 16}|--------|")
        for group in figures:
            for figure in group:
                print(figure, flush=True)
                missed += figure.is_met is False
    print(f"\n{missed} bars missed" if missed else "\nall bars met")
    return 0


if __name__ == "__main__":
    sys.exit(main())
