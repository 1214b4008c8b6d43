"""Another program beside Forge, driven in the same way by the same model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.bench.chat import Chat
from tests.bench.figures import Figure, Spread
from tests.bench.server import Model


def peer_figures(model: Model, folder: Path, name: str, command: list[str]) -> Iterator[Figure]:
    """Its echo and its stream; Enter must send, Backspace and Ctrl+U delete. CPU is of its first process alone."""
    chat = Chat(model, folder, command)
    with chat.program as program:
        chat.wait_until_ready()
        yield Figure(f"{name}: memory of its first process, idle", f"{program.memory_mb():.0f} MB")
        yield Figure(f"{name}: key echo, idle, p50/p95", f"{Spread.of(chat.echo(20))} ms")
        for rate in (50, 100, 200):
            turn = chat.turn(f"{4 * rate} tokens at {rate}", typing=rate == 100)
            yield Figure(f"{name}: wire → screen at {rate} tokens/s, p50/p95", f"{turn.to_screen} ms")
            if rate == 100:
                yield Figure(f"{name}: key echo at 100 tokens/s, p50/p95", f"{turn.echo} ms")
            if rate == 50:
                yield Figure(f"{name}: to the terminal, per 400 tokens", f"{turn.kilobytes * 2:.0f} KB")
        turn = chat.turn("20000 tokens at 0")
        yield Figure(f"{name}: 20,000 tokens of Markdown at once", f"{turn.wall_s:.2f} s")
