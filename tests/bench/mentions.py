"""python -m tests.bench.mentions [--files 100000] [--rounds 5]

Builds a tree, then measures `@` on it: how soon the first files can be found with a cold index, how soon all of
them, and how long a search takes after each key with a warm one. Bars: 300 ms to the first files, 50 ms after each
key. "Cold" means a new index; the file system's cache is warm.

At last the same letters are typed in the real program, in a path and in a word: the list of paths must not slow a
key down.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from forge_core.workspace.file_index import FileIndex
from tests.bench.chat import FORGE, Chat, chat_arguments
from tests.bench.figures import Spread
from tests.bench.server import Model

_WORDS = (
    "src",
    "core",
    "util",
    "test",
    "model",
    "view",
    "user",
    "order",
    "parse",
    "render",
    "index",
    "config",
    "page",
    "data",
    "token",
    "query",
)
QUERIES = ("token_view", "srccore", "tkvw", "readme", "src0/tok", "sh/us/ord", "a_b_c_d", "order_12345.py")
FIRST_MS, KEY_MS = 300.0, 50.0
_KEY_S = 0.07
"""From one typed key to the next."""
_MORE_MS = Spread(1, 4)
"""How much longer the echo of a key in a path may take: the list is drawn, and searched for, beside it."""


def build(root: Path, files: int) -> None:
    """Make `files` empty files, 50 in a folder."""
    rng = random.Random(7)
    for number in range(0, files, 50):
        folder = root / f"{rng.choice(_WORDS)}{number // 1000}" / f"{rng.choice(_WORDS)}_{number // 50}"
        folder.mkdir(parents=True)
        for at in range(number, min(number + 50, files)):
            ending = rng.choice(("py", "ts", "md"))
            (folder / f"{rng.choice(_WORDS)}_{rng.choice(_WORDS)}_{at}.{ending}").touch()


def cold(root: Path, rounds: int) -> Iterator[tuple[float, float]]:
    """Yield the milliseconds to the first files and to all of them."""
    for _ in range(rounds):
        index, seen = FileIndex(root), threading.Event()
        began = time.perf_counter()
        index.refresh(seen.set)
        seen.wait()
        index.search("t")
        first = time.perf_counter() - began
        index.wait()
        yield first * 1000, (time.perf_counter() - began) * 1000


def warm(root: Path, rounds: int) -> list[float]:
    """Return the milliseconds of a search after each key of the queries."""
    index = FileIndex(root)
    index.refresh()
    index.wait()
    took = []
    for query in QUERIES * rounds:
        for end in range(1, len(query) + 1):
            began = time.perf_counter()
            index.search(query[:end])
            took.append((time.perf_counter() - began) * 1000)
    return sorted(took)


def echo(root: Path, scratch: Path, rounds: int) -> tuple[Spread, Spread]:
    """Return the echo of letters in a word and in a path, typed in turns."""
    model, latencies = Model(), {"=": list[float](), "@": list[float]()}
    try:
        chat = Chat(model, scratch, [*FORGE, *chat_arguments(model.url, root)])
        with chat.program as program:
            chat.wait_until_ready()
            for number in range(rounds * len(QUERIES)):
                query = QUERIES[number % len(QUERIES)]
                for mark, found in latencies.items():
                    begun = f"z{number:03}{'ab'[mark == '@']} {mark}"
                    program.recording.wait_for(begun, program.send(begun), 10)
                    program.wait_until_quiet(0.3, 3)
                    sent = {}
                    for end in range(1, len(query) + 1):
                        sent[begun + query[:end]] = program.send(query[end - 1])
                        time.sleep(_KEY_S)
                    seen = program.recording.wait_for_all(sent, 10)
                    found += [seen[text] - at for text, at in sent.items()]
                    program.send("\x1b\x15")
                    program.wait_until_quiet(0.3, 3)
    finally:
        model.close()
    return Spread.of(latencies["="]), Spread.of(latencies["@"])


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the completion of @ paths.")
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "tree"
        build(root, options.files)
        runs = list(cold(root, options.rounds))
        first, whole = (statistics.median(column) for column in zip(*runs, strict=True))
        keys = warm(root, options.rounds)
        in_word, in_path = echo(root, Path(folder), max(options.rounds // 2, 1))
    p50, p95 = keys[len(keys) // 2], keys[int(len(keys) * 0.95)]
    print(f"{options.files:,} files, median of {options.rounds} rounds")
    print(f"cold: first files {first:.0f} ms (bar {FIRST_MS:.0f}), all of them {whole:.0f} ms")
    print(f"warm: a key {p50:.1f}/{p95:.1f} ms p50/p95, at most {keys[-1]:.1f} (bar {KEY_MS:.0f} at p95)")
    print(f"echo of a key: {in_word} ms p50/p95 in a word, {in_path} ms in a path (bar {_MORE_MS} ms more)")
    is_slow = in_path.p50 > in_word.p50 + _MORE_MS.p50 or in_path.p95 > in_word.p95 + _MORE_MS.p95
    return int(first > FIRST_MS or p95 > KEY_MS or is_slow)


if __name__ == "__main__":
    sys.exit(main())
