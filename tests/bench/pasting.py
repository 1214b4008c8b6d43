"""python -m tests.bench.pasting [--rounds 3]

Pastes into the real program in a terminal, and measures until what it leads to is on the screen: 1 MB, which becomes
a chip, and 5 MB, which are put into a file that the message names. Bar: 0.3 s each, and 5 ms for the echo of a key
beside the chip.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

from tests.bench.chat import Chat, scratch
from tests.bench.figures import Figure, Spread, at_most, header, spread
from tests.bench.server import Model

_LINE = "the quick brown fox jumps over the lazy dog, as it always has, and on it runs\n"
_CHIP_CHARACTERS, _FILE_CHARACTERS = 990_000, 5_000_000


def _paste_s(chat: Chat, characters: int, shown: str) -> float:
    """Return the seconds from the paste's first byte until a text is on the screen; clear it."""
    program = chat.program
    text = (_LINE * (characters // len(_LINE) + 1))[:characters]
    began = time.monotonic()
    program.send(f"\x1b[200~{text}\x1b[201~")
    seen = program.recording.wait_for(shown, began, 30)
    program.wait_until_quiet(0.3, 5)
    return seen - began


def figures(model: Model, folder: Path, rounds: int) -> list[Figure]:
    chips, files, echoes = [], [], list[float]()
    for _ in range(rounds):
        chat = Chat(model, folder)
        with chat.program as program:
            chat.wait_until_ready()
            program.recording.wait_for(
                "hello", program.send("say hello\r"), 10
            )  # a session has a folder for files
            program.wait_until_quiet(1.0, 10)
            chips.append(_paste_s(chat, _CHIP_CHARACTERS, "Pasted text #1"))
            echoes += chat.echo(5)
            program.send("\x15" * 3)
            program.wait_until_quiet(0.5, 5)
            files.append(_paste_s(chat, _FILE_CHARACTERS, "5,000,000 characters"))
    return [
        at_most("a paste of 1 MB is a chip", statistics.median(chips) * 1000, 300, "ms"),
        spread("key echo beside it, p50/p95", Spread.of(echoes), 5, 10),
        at_most("a paste of 5 MB is a file", statistics.median(files) * 1000, 300, "ms"),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure big pastes.")
    parser.add_argument("--rounds", type=int, default=3)
    model = Model()
    try:
        with scratch() as name:
            found = figures(model, Path(name), parser.parse_args().rounds)
    finally:
        model.close()
    print(header(), *found, sep="\n")
    return int(any(figure.is_met is False for figure in found))


if __name__ == "__main__":
    sys.exit(main())
