"""A running session: echo, stream, bytes, CPU and memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.bench.chat import Chat, Turn
from tests.bench.figures import Figure, Spread, at_most, flat, spread
from tests.bench.server import Model

_FENCE_LINES = 2_000


_TO_SCREEN = {50: (4, 8), 100: (6, 12), 200: (6, 12), 500: (12, 25)}
"""By rate, p50 and p95 in ms."""


@dataclass(frozen=True, slots=True)
class Lengths:
    """How much is measured."""

    words: int
    tokens: dict[int, int]
    """By rate."""
    rounds: int
    turns_before: int
    lines_per_s: int
    idle_s: int


QUICK = Lengths(
    words=15, tokens={50: 150, 100: 300, 200: 600}, rounds=1, turns_before=0, lines_per_s=400, idle_s=3
)
FULL = Lengths(
    words=40,
    tokens={50: 500, 100: 900, 200: 900, 500: 900},
    rounds=3,
    turns_before=30,
    lines_per_s=250,
    idle_s=5,
)


def session_figures(model: Model, folder: Path, lengths: Lengths) -> Iterator[Figure]:
    """One session, from idle to its longest answers."""
    chat = Chat(model, folder)
    with chat.program as program:
        chat.wait_until_ready()
        yield at_most("memory, idle", program.memory_mb(), 95, "MB")
        yield at_most("CPU, idle", chat.idle_percent(lengths.idle_s), 0.5, "%")
        yield spread("key echo, idle, p50/p95", Spread.of(chat.echo(lengths.words)), 2, 4)
        yield at_most("CPU, waiting with the spinner on", chat.silent_percent(lengths.idle_s), 1, "%")
        for rate, tokens in lengths.tokens.items():
            turns = [
                chat.turn(f"{tokens} tokens at {rate}", typing=rate == 100)
                for _ in range(_rounds(rate, lengths))
            ]
            yield from _stream_figures(rate, tokens, turns)
        yield from _fence_figures(chat, lengths)
    yield from _bulk_figures(model, folder, lengths)


def later_figures(model: Model, folder: Path, lengths: Lengths) -> Iterator[Figure]:
    """The same turn in a young session and in one with many turns behind it, each time one after the other."""
    young, old = Chat(model, folder), Chat(model, folder)
    with young.program, old.program:
        young.wait_until_ready()
        old.wait_until_ready()
        young.turn("100 tokens at 0")
        for _ in range(lengths.turns_before):
            old.turn("300 tokens at 0")
        pairs = [
            (young.turn("400 tokens at 200"), old.turn("400 tokens at 200"))
            for _ in range(lengths.rounds + 1)
        ]
        memory = [chat.program.memory_mb() for chat in (young, old)]
    name = f"after {lengths.turns_before} turns:"
    for label, slack, p in (("p50", 2, "p50"), ("p95", 5, "p95")):
        values = [min(getattr(turn.to_screen, p) for turn in turns) for turns in zip(*pairs, strict=True)]
        yield flat(f"{name} wire → screen, {label}, first / then", values, 1.1, slack, "ms")
    yield at_most(f"{name} memory, times that after the first", memory[1] / memory[0], 1.1, "x")
    cpu = [min(turn.cpu_s for turn in turns) * 1000 for turns in zip(*pairs, strict=True)]
    yield flat(f"{name} CPU of 400 tokens at 200/s, first / then", cpu, 1.1, 50, "ms")


def _rounds(rate: int, lengths: Lengths) -> int:
    """The rates whose figures are sums are measured more than once."""
    return lengths.rounds if rate == 200 else 1


def _stream_figures(rate: int, tokens: int, turns: list[Turn]) -> Iterator[Figure]:
    latencies = Spread.of([value for turn in turns for value in turn.to_screen_s])
    yield spread(f"wire → screen at {rate} tokens/s, p50/p95", latencies, *_TO_SCREEN[rate])
    if rate == 100:
        yield spread("key echo at 100 tokens/s, p50/p95", turns[0].echo, 4, 12)
    if rate == 50:
        kilobytes = turns[0].kilobytes * 400 / tokens
        yield at_most("to the terminal at 50 tokens/s, per 400 tokens", kilobytes, 45, "KB")
    if rate == 200:
        cpu = min(turn.cpu_s for turn in turns) * 900 / tokens
        yield at_most("CPU of 900 tokens at 200/s", cpu, 1.4, "s")


def _fence_figures(chat: Chat, lengths: Lengths) -> Iterator[Figure]:
    question = f"{_FENCE_LINES} lines at {lengths.lines_per_s}"
    turns = [chat.turn(question, parts=_FENCE_LINES) for _ in range(lengths.rounds)]
    best = (min(cpus) for cpus in zip(*(turn.progress_cpu_s for turn in turns), strict=True))
    quarters = [cpu / (_FENCE_LINES / 4) * 1000 for cpu in best]
    name = f"open fence of {_FENCE_LINES:,} lines: CPU per line, by quarter"
    yield flat(name, quarters, 1.3, 0.2, "ms")


def _bulk_figures(model: Model, folder: Path, lengths: Lengths) -> Iterator[Figure]:
    turns = []
    for _ in range(lengths.rounds):
        chat = Chat(model, folder)
        with chat.program as program:
            chat.wait_until_ready()
            chat.turn("5000 tokens at 0")
            memory, has_tokenizer = program.memory_mb(), program.has_loaded("tiktoken")
            turns.append(chat.turn("20000 tokens at 0"))
    yield at_most("memory after 5,000 tokens", memory, 100, "MB")
    yield Figure(
        "the tokenizer is not loaded", "loaded" if has_tokenizer else "not loaded", "", not has_tokenizer
    )
    yield at_most("20,000 tokens of Markdown at once", min(turn.wall_s for turn in turns), 0.5, "s")
    yield at_most("the same, CPU", min(turn.cpu_s for turn in turns), 1.2, "s")
