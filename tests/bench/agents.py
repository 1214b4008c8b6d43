"""The same session with and without four sub-agents that stream: echo, wire to screen, and CPU.

Two programs take turns, so that both see the same machine. In the foreground the model says nothing while its
agents work; in the background its answer streams beside theirs.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from tests.bench.chat import Chat, Turn
from tests.bench.figures import Figure, Spread, at_most, flat
from tests.bench.server import Model

_AGENTS, _RATE = 4, 100
_PATIENCE_S = 60.0


def agent_figures(model: Model, folder: Path, seconds: int, rounds: int) -> Iterator[Figure]:
    """Each turn lasts so many seconds, in which each agent streams 100 tokens a second."""
    alone, busy = Chat(model, folder), Chat(model, folder)
    agents = f"{_AGENTS} agents of {seconds * _RATE} at {_RATE}"
    answer = f"{seconds * _RATE} tokens at {_RATE}"
    with alone.program, busy.program:
        for chat in (alone, busy):
            chat.wait_until_ready()
            chat.turn("50 tokens at 100", typing=True)
        _turn(busy, f"1 tokens at 0 after {_AGENTS} agents of 50 at {_RATE}")
        waiting = [
            (_turn(alone, f"{seconds} seconds at 0"), _turn(busy, f"1 tokens at 0 after {agents}"))
            for _ in range(rounds)
        ]
        yield from _figures("agents", waiting, seconds)
        beside = [(_turn(alone, answer), _turn(busy, f"{answer} beside {agents}")) for _ in range(rounds)]
        yield from _figures("background agents", beside, seconds)


def _turn(chat: Chat, order: str) -> Turn:
    """A turn in which words are typed; ends when the last agent has."""
    turn = chat.turn(order, typing=True)
    end = time.monotonic() + _PATIENCE_S
    while chat.model.runs_agents and time.monotonic() < end:
        time.sleep(0.05)
    chat.program.wait_until_quiet(0.5, 5)
    return turn


def _figures(name: str, pairs: list[tuple[Turn, Turn]], seconds: int) -> Iterator[Figure]:
    """The figures of the turns without agents, then of those with."""
    sides = list(zip(*pairs, strict=True))
    name, ending = f"{_AGENTS} {name}", "without / with"
    measured = {"key echo": [[value for turn in side for value in turn.echo_s] for side in sides]}
    if all(len(turn.to_screen_s) > 1 for side in sides for turn in side):
        measured["wire → screen"] = [[value for turn in side for value in turn.to_screen_s] for side in sides]
    for label, values in measured.items():
        for part, slack in (("p50", 1), ("p95", 5)):
            shown = [getattr(Spread.of(one), part) for one in values]
            yield flat(f"{name}: {label}, {part}, {ending}", shown, 1.05, slack, "ms")
    kilobytes = [min(turn.kilobytes for turn in side) for side in sides]
    yield Figure(f"{name}: to the terminal, {ending}", f"{kilobytes[0]:.1f} / {kilobytes[1]:.1f} KB")
    cpu = [min(turn.cpu_s for turn in side) for side in sides]
    yield Figure(f"{name}: CPU of {seconds} s, {ending}", f"{cpu[0]:.2f} / {cpu[1]:.2f} s")
    per_token = (cpu[1] - cpu[0]) * 1000 / (_AGENTS * seconds * _RATE)
    yield at_most(f"{name}: CPU per token of theirs", per_token, 0.7, "ms")
