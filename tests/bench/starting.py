"""The command line and the first seconds of a chat."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench.chat import FORGE, ROOT, Chat, environment
from tests.bench.figures import Figure, at_most
from tests.bench.recorder import Program
from tests.bench.server import Model

_HELLO = (sys.executable, "-m", "tests.bench.hello")


@dataclass(frozen=True, slots=True)
class Start:
    first_paint_s: float
    typed_word_s: float


def start_figures(folder: Path, rounds: int, peers: dict[str, list[str]]) -> Iterator[Figure]:
    """Rounds of all programs in turn, so that a busy moment of the machine meets all of them."""
    bare, version, usage = run_times(
        [(sys.executable, "-c", "pass"), (*FORGE, "--version"), (*FORGE, "--help")], rounds * 3, folder
    )
    yield Figure("python -c pass", f"{bare * 1000:.0f} ms")
    yield at_most("forge --version, times python -c pass", version / bare, 3, "x")
    yield at_most("forge --help, times python -c pass", usage / bare, 3, "x")
    commands = {"hello": list(_HELLO), "forge": [*FORGE, "chat", str(folder)], **peers}
    starts: dict[str, list[Start]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            starts[name].append(start(command, folder))
    paint = {name: statistics.median(one.first_paint_s for one in ones) for name, ones in starts.items()}
    typed = {name: statistics.median(one.typed_word_s for one in ones) for name, ones in starts.items()}
    yield at_most("first paint, warm", paint["forge"], 0.12, "s")
    for name in peers:
        yield Figure(f"{name}: first paint, warm", f"{paint[name]:.3f} s")
        yield at_most(f"first paint, times {name}", paint["forge"] / paint[name], 1.3, "x")
    yield Figure("bare Textual app: a typed word is on the screen", f"{typed['hello']:.3f} s")
    yield Figure("a typed word is on the screen", f"{typed['forge']:.3f} s")
    yield at_most("the same, times the bare Textual app", typed["forge"] / typed["hello"], 1.25, "x")
    for name in peers:
        yield Figure(f"{name}: a typed word is on the screen", f"{typed[name]:.3f} s")
        yield at_most(f"a typed word, times {name}", typed["forge"] / typed[name], 1, "x")


def fresh_figures(model: Model, folder: Path, rounds: int) -> Iterator[Figure]:
    """From Enter to the request in a session that has just begun, and the answer without any key."""
    after_three = [_enter_to_request_ms(model, folder, 3.0) for _ in range(rounds)]
    at_once = [_enter_to_request_ms(model, folder, 0.0) for _ in range(rounds)]
    yield at_most("fresh session: Enter → request, after 3 s", statistics.median(after_three), 20, "ms")
    yield at_most("the same, as soon as a word can be typed (median)", statistics.median(at_once), 300, "ms")
    offline = statistics.median(_offline_line_s(folder) for _ in range(rounds))
    yield at_most("no key, no network: a line says so", offline, 1.0, "s")


def start(command: Sequence[str], folder: Path) -> Start:
    """Starts a program and types a word every 100 ms as soon as its tty keeps keys."""
    with Program(command, environment(folder), ROOT) as program:
        started = program.recording.started
        while not program.keeps_keys() and time.monotonic() < started + 10:
            time.sleep(0.002)
        words: dict[str, float] = {}
        while time.monotonic() < started + 20:
            word = f"w{len(words):02d}x"
            words[word] = program.send(word)
            time.sleep(0.1)
            if len(words) % 5 == 0 and program.recording.seen(words):
                break
        seen = program.recording.seen(words)
        typed = min(seen.values(), default=float("nan")) - started
        return Start(program.recording.first_paint(), typed)


def run_times(commands: Sequence[Sequence[str]], rounds: int, folder: Path) -> list[float]:
    """Median seconds of commands that end by themselves."""
    samples: list[list[float]] = [[] for _ in commands]
    variables = {**environment(folder), "PATH": "/usr/bin:/bin"}
    for _ in range(rounds):
        for command, times in zip(commands, samples, strict=True):
            began = time.monotonic()
            subprocess.run(command, cwd=ROOT, env=variables, check=True, capture_output=True)
            times.append(time.monotonic() - began)
    return [statistics.median(times) for times in samples]


def _enter_to_request_ms(model: Model, folder: Path, wait_s: float) -> float:
    chat = Chat(model, folder)
    with chat.program as program:
        program.wait_until_quiet(0.02, 5)
        time.sleep(max(0.0, program.recording.started + wait_s - time.monotonic()))
        return chat.turn("20 tokens at 0").request_ms


def _offline_line_s(folder: Path) -> float:
    with Program([*FORGE, "chat", str(folder)], environment(folder), ROOT) as program:
        started = program.recording.started
        return program.recording.wait_for("offline", started, 20) - started
