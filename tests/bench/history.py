"""The fifth hour: every act with 10, 1,000 and 10,000 blocks of history, on a terminal, side by side.

One program per size runs all the time and they act in turn, so that whatever else the machine does meets all
of them; of several rounds the least counts, for the rest is what others did.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tests.bench.chat import Chat, Turn, chat_arguments
from tests.bench.figures import Figure, Spread, flat
from tests.bench.preloaded import LOADED
from tests.bench.recorder import SIZE, Program
from tests.bench.server import Model

_RATIO = 1.3
_LONGEST_MS = 100.0
_THUMB_ROW = 34
"""Of the screen, on which the scroll bar's thumb stands at the end of the transcript."""
_PAGE_UP, _PAGE_DOWN, _TO_START, _TO_END = "\x1b[5~", "\x1b[6~", "\x1b[1;5H", "\x1b[1;5F"


def history_figures(model: Model, folder: Path, sizes: Sequence[int], rounds: int) -> Iterator[Figure]:
    """Rows of "few / … / many blocks"."""
    with ExitStack() as stack:
        chats = [_chat(model, folder, size) for size in sizes]
        for chat in chats:
            stack.enter_context(chat.program)
        for chat in chats:
            chat.program.recording.wait_for(LOADED, chat.program.recording.started, 120)
            chat.wait_until_ready()
        labels = " / ".join(f"{size:,}" for size in sizes)
        yield Figure("history, in blocks", labels)
        memory = [chat.program.memory_mb() for chat in chats]
        each = (memory[-1] - memory[0]) * 1024 / (sizes[-1] - sizes[0])
        yield Figure("history: memory; per block", f"{memory[-1]:.0f} MB; {each:.1f} KB")
        yield from _typing_figures(chats, rounds)
        yield from _turn_figures(chats, rounds)
        yield from _act_figures(chats, rounds)


def _chat(model: Model, folder: Path, blocks: int) -> Chat:
    command = [sys.executable, "-m", "tests.bench.preloaded", str(blocks), *chat_arguments(model.url, folder)]
    return Chat(model, folder, command)


def _typing_figures(chats: Sequence[Chat], rounds: int) -> Iterator[Figure]:
    echoes: list[list[Sequence[float]]] = [[] for _ in chats]
    for _ in range(rounds):
        for chat, ours in zip(chats, echoes, strict=True):
            ours.append(chat.echo(8))
    yield from _latency_rows("key echo, idle", echoes)


def _turn_figures(chats: Sequence[Chat], rounds: int) -> Iterator[Figure]:
    turns: list[list[Turn]] = [[] for _ in chats]
    typed: list[list[Turn]] = [[] for _ in chats]
    for _ in range(max(1, rounds // 2)):
        for chat, ours, with_typing in zip(chats, turns, typed, strict=True):
            with_typing.append(chat.turn("250 tokens at 100", typing=True))
            ours.append(chat.turn("600 tokens at 200"))
    echoes = [[turn.echo_s for turn in some] for some in typed]
    yield from _latency_rows("key echo at 100 tokens/s", echoes)
    for rate, every in ((100, typed), (200, turns)):
        screen = [[turn.to_screen_s for turn in some] for some in every]
        yield from _latency_rows(f"wire → screen at {rate} tokens/s", screen)
    cpu = [min(turn.cpu_s for turn in some) * 1000 for some in turns]
    yield flat("history: CPU of 600 tokens at 200/s", cpu, _RATIO, 50, "ms")
    size = [min(turn.kilobytes for turn in some) for some in turns]
    yield flat("history: to the terminal, of the same", size, _RATIO, 2, "KB")


def _latency_rows(name: str, rounds: Sequence[Sequence[Sequence[float]]]) -> Iterator[Figure]:
    spreads = [[Spread.of(values) for values in some] for some in rounds]
    p50 = [min(one.p50 for one in some) for some in spreads]
    p95 = [min(one.p95 for one in some) for some in spreads]
    yield flat(f"history: {name}, p50", p50, _RATIO, 2, "ms")
    yield flat(f"history: {name}, p95", p95, _RATIO, 5, "ms")


def _act_figures(chats: Sequence[Chat], rounds: int) -> Iterator[Figure]:
    """CPU of what a key or the terminal starts, there and back: half of both."""
    for name, act in _acts().items():
        figures: list[list[float]] = [[] for _ in chats]
        for _ in range(rounds + 1):
            for chat, values in zip(chats, figures, strict=True):
                values.append(sum(_cpu_ms(chat, act, way) for way in (0, 1)) / 2)
        least = [min(values[1:]) for values in figures]
        yield flat(f"history: {name}, CPU", least, _RATIO, 5, "ms", _LONGEST_MS)


def _cpu_ms(chat: Chat, act: _Act, way: int) -> float:
    if act.typed[way]:
        chat.program.send(act.typed[way])
        chat.program.wait_until_quiet(0.15, 5)
    return chat.act_cpu_ms(lambda: act.go(chat.program, way))


@dataclass(frozen=True, slots=True)
class _Act:
    """Something done to the program, and the way back."""

    go: Callable[[Program, int], object]
    typed: tuple[str, str] = ("", "")
    """What is typed before, unmeasured."""

    @classmethod
    def keys(cls, there: str, back: str, typed: tuple[str, str] = ("", "")) -> _Act:
        return cls(lambda program, way: program.send((there, back)[way]), typed)


def _acts() -> Mapping[str, _Act]:
    return {
        "focus out, in": _Act.keys("\x1b[O", "\x1b[I"),
        "theme change": _Act.keys("\r", "\r", ("/theme forge-light", "/theme forge-dark")),
        "resize": _Act(lambda program, way: program.resize((100, SIZE[0])[way], SIZE[1])),
        "page up, down": _Act.keys(_PAGE_UP, _PAGE_DOWN),
        "jump to the start, to the end": _Act.keys(_TO_START, _TO_END),
        "drag of the scroll bar, up and down": _Act.keys(
            f"\x1b[<32;{SIZE[0]};10M",
            f"\x1b[<32;{SIZE[0]};{_THUMB_ROW}M\x1b[<0;{SIZE[0]};{_THUMB_ROW}m",
            (f"\x1b[<0;{SIZE[0]};{_THUMB_ROW}M", ""),
        ),
    }
