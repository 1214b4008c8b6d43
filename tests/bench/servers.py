"""python -m tests.bench.servers [--pairs 20]

Measures what five MCP servers cost, of which one exits at once and one never answers: the first paint, the echo of a
word while they start, and the time from Enter to the first request. Runs with and without servers take turns.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.bench import starting
from tests.bench.chat import FORGE, ROOT, Chat, chat_arguments, scratch
from tests.bench.figures import Figure, flat, header
from tests.bench.server import Model

_SERVER = ROOT / "tests" / "support" / "mcp_server.py"
_FAULTS: dict[str, list[str]] = {
    "one": [],
    "two": ["pages"],
    "three": [],
    "dead": ["exits"],
    "mute": ["silent"],
}


def add_servers(folder: Path) -> None:
    """Declare the servers as the user's own."""
    entries = {
        name: {"command": sys.executable, "args": ["-S", str(_SERVER), *faults]}
        for name, faults in _FAULTS.items()
    }
    path = folder / "forge" / "config" / "mcp.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"mcpServers": entries}))


def server_figures(model: Model, without: Path, having: Path, pairs: int) -> Iterator[Figure]:
    """The medians of all runs; each pair begins with the other side."""
    folders = (without, having)
    paints: dict[Path, list[float]] = {folder: [] for folder in folders}
    words: dict[Path, list[float]] = {folder: [] for folder in folders}
    echoes: dict[Path, list[float]] = {folder: [] for folder in folders}
    requests: dict[Path, list[float]] = {folder: [] for folder in folders}
    for number in range(pairs):
        for folder in folders[:: 1 if number % 2 else -1]:
            start = starting.start([*FORGE, "chat", str(folder / "work")], folder)
            paints[folder].append(start.first_paint_s)
            words[folder].append(start.typed_word_s)
            chat = Chat(model, folder, [*FORGE, *chat_arguments(model.url, folder / "work")])
            with chat.program as program:
                program.wait_until_quiet(0.02, 5)
                requests[folder].append(chat.turn("20 tokens at 0").request_ms / 1000)
                echoes[folder] += chat.echo(10)
    for name, values in (
        ("first paint", paints),
        ("a typed word, from the start", words),
        ("Enter → first request", requests),
        ("key echo", echoes),
    ):
        medians = [statistics.median(values[folder]) * 1000 for folder in folders]
        yield flat(f"{name}, without / with", medians, 1.05, 1, "ms")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=20)
    options = parser.parse_args()
    model = Model()
    print(header())
    with scratch() as base:
        without, having = Path(base) / "without", Path(base) / "with"
        for folder in (without, having):
            (folder / "work").mkdir(parents=True)
        add_servers(having)
        figures = [*server_figures(model, without, having, options.pairs)]
    model.close()
    print("\n".join(map(str, figures)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
