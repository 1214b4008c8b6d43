"""A program on a pty, recorded: every read is stamped by a thread that does nothing else.

The terminal is emulated later, from the stamped reads, so that a slow parser never shows in a latency.
"""

from __future__ import annotations

import codecs
import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support.terminal import Emulator

SIZE = (120, 40)
_ANSWERS = {
    b"\x1b[?2026$p": b"\x1b[?2026;2$y",
    b"\x1b[6n": b"\x1b[1;1R",
    b"\x1b[c": b"\x1b[?62;22c",
    b"\x1b]11;?": b"\x1b]11;rgb:1111/1111/1111\x1b\\",
    b"\x1b]10;?": b"\x1b]10;rgb:dddd/dddd/dddd\x1b\\",
}
"""What a terminal is asked and answers; some programs wait for it."""


@dataclass(frozen=True, slots=True)
class Read:
    """What came in one read, at `time.monotonic()`; or, without data, a new size."""

    at: float
    data: bytes
    size: tuple[int, int] | None = None


class Recording:
    """What a program wrote, when. Each byte is emulated once, when someone asks what was on the screen."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.reads: list[Read] = []
        self._emulator = Emulator(*SIZE)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._done = 0
        """Reads that have been emulated."""
        self._first_paint: float | None = None
        self._wanted: dict[str, float] = {}
        self._found: dict[str, float] = {}

    def seen(self, sent: Mapping[str, float]) -> dict[str, float]:
        """When each word was first on the screen after it was sent; words that never were are left out.

        Words are to be new: what was on the screen before anybody asked for it is not remembered.
        """
        self._wanted |= {word: at for word, at in sent.items() if word not in self._found}
        self._catch_up()
        for word in sent:
            self._wanted.pop(word, None)
        return {word: self._found[word] for word in sent if word in self._found}

    def wait_for(self, word: str, since: float, timeout_s: float) -> float:
        """When `word` was first on the screen. Raises RuntimeError with the screen when it never is."""
        return self.wait_for_all({word: since}, timeout_s)[word]

    def wait_for_all(
        self, sent: Mapping[str, float], timeout_s: float, *, last: str = ""
    ) -> dict[str, float]:
        """Like `seen()`, once all words are on the screen, or `last` where one is named."""
        end = time.monotonic() + timeout_s
        wanted = {last} if last else set(sent)
        while not wanted <= (found := self.seen(sent)).keys():
            if time.monotonic() > end:
                missing = ", ".join(sorted(wanted - found.keys())[:5])
                raise RuntimeError(f"never on the screen: {missing}\n{self.screen()}")
            time.sleep(0.02)
        return found

    def first_paint(self) -> float:
        """Seconds from the start to three visible characters."""
        self._catch_up()
        return float("nan") if self._first_paint is None else self._first_paint - self.started

    def bytes_between(self, start: float, end: float) -> int:
        return sum(len(read.data) for read in self.reads if start <= read.at <= end)

    def screen(self) -> str:
        """The last screen, for telling what went wrong."""
        self._catch_up()
        return "\n".join(line.rstrip() for line in self._emulator.lines() if line.strip())

    def _catch_up(self) -> None:
        while self._done < len(self.reads):
            read = self.reads[self._done]
            self._done += 1
            if read.size is not None:
                self._emulator.resize(*read.size)
            self._emulator.feed(self._decoder.decode(read.data))
            dirty = self._emulator.screen.dirty
            if dirty and (self._wanted or self._first_paint is None):
                self._look(read.at, set(dirty))
            dirty.clear()

    def _look(self, at: float, dirty: set[int]) -> None:
        lines = self._emulator.lines()
        text = "\n".join(lines[y] for y in sorted(dirty) if y < len(lines))
        if self._first_paint is None and len("".join(text.split())) >= 3:
            self._first_paint = at
        for word in [word for word, sent in self._wanted.items() if sent <= at and word in text]:
            self._found[word] = at
            del self._wanted[word]


class Program:
    """Runs a command in a terminal of 120 by 40 cells and records it."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], folder: Path) -> None:
        self._pid, self._fd = pty.fork()
        if self._pid == 0:
            try:
                _set_size(0, SIZE)
                os.chdir(folder)
                os.execvpe(command[0], list(command), {**_inherited(), **environment})
            finally:
                os._exit(127)
        self.recording = Recording()
        self._is_over = False
        sys.setswitchinterval(0.0005)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over = True
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._pid, signal.SIGKILL)  # pty.fork made it the leader of a session of its own
        os.waitpid(self._pid, 0)
        self._reader.join()
        os.close(self._fd)

    def send(self, keys: str) -> float:
        """Types; the moment of it."""
        moment = time.monotonic()
        with contextlib.suppress(OSError):  # a program that has ended shows in what never gets on the screen
            os.write(self._fd, keys.encode())
        return moment

    def resize(self, width: int, height: int) -> None:
        self.recording.reads.append(Read(time.monotonic(), b"", (width, height)))
        _set_size(self._fd, (width, height))

    def keeps_keys(self) -> bool:
        """Whether the tty has stopped echoing: the program reads the keys itself."""
        return not termios.tcgetattr(self._fd)[3] & termios.ECHO

    def wait_until_quiet(self, quiet_s: float, timeout_s: float) -> None:
        """Waits until nothing has been written for `quiet_s`, from now on."""
        called = time.monotonic()
        while (now := time.monotonic()) < called + timeout_s:
            last = self.recording.reads[-1].at if self.recording.reads else now
            if now - max(last, called) >= quiet_s:
                return
            time.sleep(0.02)

    def cpu_s(self) -> float:
        """CPU seconds of all threads of the program so far; its children do not count."""
        return time.clock_gettime((~self._pid << 3) | 2)  # clock_getcpuclockid(3); /proc counts in 10 ms

    def memory_mb(self) -> float:
        """Resident memory."""
        pages = int(Path(f"/proc/{self._pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def has_loaded(self, library: str) -> bool:
        """Whether a file with that name in its path is mapped into the program."""
        return library in Path(f"/proc/{self._pid}/maps").read_text()

    def _read(self) -> None:
        while not self._is_over:
            if not select.select([self._fd], [], [], 0.05)[0]:
                continue
            try:
                data = os.read(self._fd, 65536)
            except OSError:
                return
            self.recording.reads.append(Read(time.monotonic(), data))
            if b"\x1b" in data:
                for question, answer in _ANSWERS.items():
                    if question in data:
                        os.write(self._fd, answer)


def _inherited() -> dict[str, str]:
    left_out = ("COLUMNS", "LINES", "NO_COLOR", "PYTHONDONTWRITEBYTECODE")  # an installed Forge is compiled
    return {key: value for key, value in os.environ.items() if key not in left_out}


def _set_size(fd: int, size: tuple[int, int]) -> None:
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
