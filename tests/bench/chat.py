"""`forge chat` on a pty against the loopback model: start, echo, stream, bytes, memory."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench.recorder import Program
from tests.bench.server import Model

ROOT = Path(__file__).resolve().parents[2]
FORGE = (sys.executable, "-c", "import sys; from forge_tui.cli import main; sys.exit(main())")


@dataclass(frozen=True, slots=True)
class Spread:
    """Milliseconds."""

    p50: float
    p95: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Spread:
        if not seconds:
            return cls(float("nan"), float("nan"))
        ordered = sorted(seconds)
        return cls(statistics.median(ordered) * 1000, ordered[int(0.95 * (len(ordered) - 1))] * 1000)

    def __str__(self) -> str:
        return f"{self.p50:.0f}/{self.p95:.0f}"


@dataclass(frozen=True, slots=True)
class Turn:
    """One streamed answer."""

    to_screen: Spread
    echo: Spread
    cpu_s: float
    kilobytes: float
    wall_s: float
    """From the request to the last word on the screen."""
    request_ms: float
    """From Enter to the request."""


@dataclass(frozen=True, slots=True)
class Start:
    first_paint_s: float
    typed_word_s: float


class Chat:
    """A running `forge chat`."""

    def __init__(self, model: Model, folder: Path) -> None:
        self.model = model
        command = [*FORGE, "chat", "--base-url", model.url, "--model", "bench/model", str(folder)]
        self.program = Program(command, environment(folder), ROOT)
        self.program.wait_until_quiet(1.0, 15)
        self._wait_until_warm()

    def echo(self, keys: int) -> Spread:
        """Types words into the composer and clears it again; from key to screen."""
        sent = {}
        for number in range(keys):
            word = f"q{number:02d}"
            self.program.send(word[:-1])
            time.sleep(0.06)
            sent[word] = self.program.send(word[-1])
            time.sleep(0.06)
        self.program.wait_until_quiet(0.3, 3)
        self._clear(keys * 3)
        return self._latencies(sent)

    def turn(self, order: str, mark: str, *, typing: bool = False, timeout_s: float = 60.0) -> Turn:
        """Sends an order to the model and measures until its last word is on the screen."""
        self.model.finished.clear()
        asked = len(self.model.asked)
        self.program.send(f"say {order} marked {mark}")
        self.program.wait_until_quiet(0.25, 3)
        cpu, entered = self.program.cpu_s(), self.program.send("\r")
        time.sleep(0.05)
        keys = self._type_until_finished(timeout_s) if typing else {}
        self.model.finished.wait(timeout_s)
        self.program.wait_until_quiet(0.6, timeout_s)
        cpu = self.program.cpu_s() - cpu
        ended = time.monotonic()
        self._clear(3 * len(keys))
        marks = {word: at for word, at in self.model.sent.items() if word.startswith(f"mk{mark}")}
        seen = self.program.recording.seen({**marks, **keys})
        last = seen.get(f"mk{mark}ENDz")
        if last is None:
            raise RuntimeError(f"the answer never ended on the screen:\n{self.program.recording.screen()}")
        request = self.model.asked[asked]
        return Turn(
            Spread.of([seen[word] - at for word, at in marks.items() if word in seen]),
            Spread.of([seen[word] - at for word, at in keys.items() if word in seen]),
            cpu,
            self.program.recording.bytes_between(entered, ended) / 1024,
            last - request,
            (request - entered) * 1000,
        )

    def idle_percent(self, seconds: float) -> float:
        before = self.program.cpu_s()
        time.sleep(seconds)
        return (self.program.cpu_s() - before) / seconds * 100

    def _wait_until_warm(self) -> None:
        """The imports behind the first frame are over when little CPU is used any more."""
        for _ in range(20):
            if self.idle_percent(0.5) < 8:
                return

    def _type_until_finished(self, timeout_s: float) -> dict[str, float]:
        sent: dict[str, float] = {}
        end = time.monotonic() + timeout_s
        while not self.model.finished.is_set() and time.monotonic() < end and len(sent) < 99:
            word = f"q{len(sent):02d}"
            self.program.send(word[:-1])
            time.sleep(0.05)
            sent[word] = self.program.send(word[-1])
            time.sleep(0.06)
        return sent

    def _latencies(self, sent: Mapping[str, float]) -> Spread:
        seen = self.program.recording.seen(sent)
        return Spread.of([seen[word] - at for word, at in sent.items() if word in seen])

    def _clear(self, count: int) -> None:
        if count:
            self.program.send("\x7f" * count)
            self.program.wait_until_quiet(0.3, 3)


def environment(folder: Path) -> dict[str, str]:
    """A home of its own, no key, the terminal that the emulator is."""
    return {
        "HOME": str(folder),
        "FORGE_HOME": str(folder / "forge"),
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "OPENROUTER_API_KEY": "",
    }


def start(command: Sequence[str], folder: Path) -> Start:
    """Starts a program and types a word every 100 ms as soon as its tty keeps keys."""
    with Program(command, environment(folder), ROOT) as program:
        started = program.recording.started
        while not program.keeps_keys() and time.monotonic() < started + 10:
            time.sleep(0.002)
        words: dict[str, float] = {}
        while time.monotonic() < started + 2.0:
            word = f"w{len(words):02d}x"
            words[word] = program.send(word)
            time.sleep(0.1)
        program.wait_until_quiet(0.3, 3)
        seen = program.recording.seen(words)
        typed = min(seen.values(), default=float("nan")) - started
        return Start(program.recording.first_paint(), typed)


def run_time(command: Sequence[str], rounds: int, folder: Path) -> float:
    """Median seconds of a command that ends by itself."""
    samples = []
    for _ in range(rounds):
        began = time.monotonic()
        subprocess.run(
            command,
            cwd=ROOT,
            env={**environment(folder), "PATH": "/usr/bin:/bin"},
            check=True,
            capture_output=True,
        )
        samples.append(time.monotonic() - began)
    return statistics.median(samples)


def scratch() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="forge-bench-")
