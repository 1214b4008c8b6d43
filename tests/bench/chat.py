"""A chat program on a pty against the loopback model: typing, turns, and what either costs."""

from __future__ import annotations

import itertools
import string
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench.figures import Spread
from tests.bench.recorder import Program
from tests.bench.server import Model

ROOT = Path(__file__).resolve().parents[2]
FORGE = (sys.executable, "-c", "import sys; from forge_tui.cli import main; sys.exit(main())")
_PATIENCE_S = 60.0
_IDLE_CPU_S = 0.002
"""What a program that rests may use between two looks."""
_CLEAR_LINE = "\x15"
"""Ctrl+U. So many backspaces would be a burst of work amid what is measured."""
_LINE_CELLS = 60
"""Of typed words; a second line would make the composer grow."""
_marks = ("".join(letters) for letters in itertools.product(string.ascii_lowercase, repeat=3))
_words = (f"q{number:04d}x" for number in itertools.count())


@dataclass(frozen=True, slots=True)
class Turn:
    """One streamed answer."""

    to_screen_s: Sequence[float]
    """From the socket to the screen, of each mark."""
    echo_s: Sequence[float]
    cpu_s: float
    kilobytes: float
    wall_s: float
    """From the request to the last word on the screen."""
    request_ms: float
    """From Enter to the request."""
    progress_cpu_s: Sequence[float]
    """CPU at each quarter of the answer, from its beginning; where that was asked for."""

    @property
    def to_screen(self) -> Spread:
        return Spread.of(self.to_screen_s)

    @property
    def echo(self) -> Spread:
        return Spread.of(self.echo_s)


class Chat:
    """A running chat program."""

    def __init__(self, model: Model, folder: Path, command: Sequence[str] = ()) -> None:
        self.model = model
        self.program = Program(command or forge_chat(model, folder), environment(folder), ROOT)

    def wait_until_ready(self) -> None:
        """The first frame stands, and the imports behind it are over: little CPU is used any more."""
        self.program.wait_until_quiet(1.0, 15)
        for _ in range(40):
            if self.idle_percent(0.5) < 8:
                return

    def type(self, keys: str) -> None:
        """Types a line and waits until it stands there."""
        word = next(_words)
        sent = self.program.send(f"{keys} {word}")
        self.program.recording.wait_for(word, sent, _PATIENCE_S)
        self.program.send("\x7f" * (len(word) + 1))
        self.program.wait_until_quiet(0.3, 3)

    def echo(self, words: int) -> list[float]:
        """Types words into the composer and clears it again; seconds from each last key to the screen."""
        sent = self._type_words(lambda count: count >= words)
        self.program.wait_until_quiet(0.3, 3)
        return _latencies(sent, self.program.recording.seen(sent))

    def turn(self, order: str, *, typing: bool = False, parts: int = 0) -> Turn:
        """Sends an order ("900 tokens at 200") to the model and measures until its last word is on the
        screen. `typing`: types meanwhile. `parts`: pieces in the answer, to learn what each quarter costs."""
        mark = next(_marks)
        last = f"mk{mark}ENDz"
        program, model = self.program, self.model
        model.finished.clear()
        self.type(f"say {order} marked {mark}")
        cpu, entered = program.cpu_s(), program.send("\r")
        keys = self._type_words(lambda _: model.finished.is_set()) if typing else {}
        quarters = self._watch_quarters(mark, parts) if parts else []
        if not model.finished.wait(_PATIENCE_S):
            raise RuntimeError(f"the order {order!r} never came through:\n{program.recording.screen()}")
        marks = {word: at for word, at in model.sent.items() if word.startswith(f"mk{mark}")}
        seen = program.recording.wait_for_all({**marks, **keys}, _PATIENCE_S, last=last)
        program.wait_until_quiet(0.3, 5)
        cpu = program.cpu_s() - cpu
        request, ended = model.asked[mark], time.monotonic()
        return Turn(
            _latencies(marks, seen),
            _latencies(keys, seen),
            cpu,
            program.recording.bytes_between(entered, ended) / 1024,
            seen[last] - request,
            (request - entered) * 1000,
            quarters,
        )

    def silent_percent(self, seconds: int) -> float:
        """CPU while the model thinks and says nothing: the spinner turns, the clock runs."""
        mark = next(_marks)
        self.type(f"say {seconds} seconds at 0 marked {mark}")
        sent = self.program.send("\r")
        _wait_until(lambda: mark in self.model.asked)
        time.sleep(0.7)
        percent = self.idle_percent(seconds - 1.2)
        self.program.recording.wait_for(f"mk{mark}ENDz", sent, _PATIENCE_S)
        self.program.wait_until_quiet(0.3, 3)
        return percent

    def act_cpu_ms(self, act: Callable[[], object]) -> float:
        """CPU from the moment of an act until nothing is written nor worked on any more."""
        before = now = self.program.cpu_s()
        act()
        for _ in range(50):
            self.program.wait_until_quiet(0.12, 1)
            last, now = now, self.program.cpu_s()
            if now - last < _IDLE_CPU_S:
                break
        return (now - before) * 1000

    def idle_percent(self, seconds: float) -> float:
        before = self.program.cpu_s()
        time.sleep(seconds)
        return (self.program.cpu_s() - before) / seconds * 100

    def _type_words(self, is_enough: Callable[[int], bool]) -> dict[str, float]:
        """Types words, at most a line of them at a time; the moment of each one's last key."""
        sent: dict[str, float] = {}
        typed = 0
        end = time.monotonic() + _PATIENCE_S
        while not is_enough(len(sent)) and time.monotonic() < end:
            word = next(_words)
            self.program.send(word[:-1])
            time.sleep(0.05)
            sent[word] = self.program.send(word[-1])
            typed += len(word)
            time.sleep(0.06)
            if typed > _LINE_CELLS:
                self.program.send(_CLEAR_LINE)
                typed = 0
                time.sleep(0.1)
        self.program.send(_CLEAR_LINE)
        self.program.wait_until_quiet(0.3, 3)
        return sent

    def _watch_quarters(self, mark: str, parts: int) -> list[float]:
        _wait_until(lambda: mark in self.model.asked)
        cpu = [self.program.cpu_s()]
        for quarter in range(1, 5):
            _wait_until(lambda due=quarter * parts // 4: self.model.progress >= due)  # type: ignore[misc]
            cpu.append(self.program.cpu_s())
        return [after - before for before, after in itertools.pairwise(cpu)]


def forge_chat(model: Model, folder: Path) -> list[str]:
    return [*FORGE, *chat_arguments(model.url, folder)]


def chat_arguments(url: str, folder: Path) -> list[str]:
    return ["chat", "--base-url", url, "--model", "bench/model", str(folder)]


def environment(folder: Path) -> dict[str, str]:
    """A home of its own, no key, the terminal that the emulator is."""
    return {
        "HOME": str(folder),
        "FORGE_HOME": str(folder / "forge"),
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "OPENROUTER_API_KEY": "",
    }


def scratch() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="forge-bench-", ignore_cleanup_errors=True)


def _latencies(sent: Mapping[str, float], seen: Mapping[str, float]) -> list[float]:
    return [seen[word] - at for word, at in sent.items() if word in seen]


def _wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + _PATIENCE_S
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError("the model was not asked, or stopped answering")
        time.sleep(0.005)
