"""A program on a pty, recorded: every read is stamped by a thread that does nothing else.

The terminal is emulated only after the run, from the stamped reads, so that a slow parser never shows in a latency.
"""

from __future__ import annotations

import codecs
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
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support.terminal import Emulator

SIZE = (120, 40)
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(slots=True)
class Recording:
    """What a program wrote, when; times are `time.monotonic()`."""

    started: float
    reads: list[tuple[float, bytes]] = field(default_factory=list)

    def seen(self, sent: Mapping[str, float]) -> dict[str, float]:
        """When each word was first on the screen after it was sent; words that never were are left out."""
        wanted = set(sent)
        found: dict[str, float] = {}
        emulator = Emulator(*SIZE)
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        for stamp, data in self.reads:
            emulator.feed(decoder.decode(data))
            dirty = emulator.screen.dirty
            if dirty and wanted:
                lines = emulator.lines()
                text = "\n".join(lines[y] for y in sorted(dirty) if y < len(lines))
                for word in [word for word in wanted if sent[word] <= stamp and word in text]:
                    found[word] = stamp
                    wanted.discard(word)
            dirty.clear()
        return found

    def first_paint(self) -> float:
        """Seconds from the start to three visible characters."""
        emulator = Emulator(*SIZE)
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        for stamp, data in self.reads:
            emulator.feed(decoder.decode(data))
            if sum(len("".join(line.split())) for line in emulator.lines()) >= 3:
                return stamp - self.started
        return float("nan")

    def bytes_between(self, start: float, end: float) -> int:
        return sum(len(data) for stamp, data in self.reads if start <= stamp <= end)

    def screen(self) -> str:
        """The last screen, for telling what went wrong."""
        emulator = Emulator(*SIZE)
        emulator.feed(b"".join(data for _, data in self.reads).decode(errors="replace"))
        return "\n".join(line.rstrip() for line in emulator.lines() if line.strip())


class Program:
    """Runs a command and records it."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], folder: Path) -> None:
        self._pid, self._fd = pty.fork()
        if self._pid == 0:
            try:
                os.chdir(folder)
                os.execvpe(command[0], list(command), {**os.environ, **environment})
            finally:
                os._exit(127)
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", SIZE[1], SIZE[0], 0, 0))
        self.recording = Recording(time.monotonic())
        self._answered = 0
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
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        self._reader.join()
        os.close(self._fd)

    def send(self, keys: str) -> float:
        """Types; the moment of it."""
        moment = time.monotonic()
        os.write(self._fd, keys.encode())
        return moment

    def keeps_keys(self) -> bool:
        """Whether the tty has stopped echoing: the program reads the keys itself."""
        return not termios.tcgetattr(self._fd)[3] & termios.ECHO

    def wait_until_quiet(self, quiet_s: float, timeout_s: float) -> None:
        """Waits until nothing has been written for `quiet_s`, from now on."""
        called = time.monotonic()
        while (now := time.monotonic()) < called + timeout_s:
            last = self.recording.reads[-1][0] if self.recording.reads else now
            if now - max(last, called) >= quiet_s:
                return
            time.sleep(0.02)

    def cpu_s(self) -> float:
        """CPU seconds of the program so far."""
        fields = Path(f"/proc/{self._pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def memory_mb(self) -> float:
        """Resident memory."""
        pages = int(Path(f"/proc/{self._pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def _read(self) -> None:
        while not self._is_over:
            if not select.select([self._fd], [], [], 0.05)[0]:
                continue
            try:
                data = os.read(self._fd, 65536)
            except OSError:
                return
            self.recording.reads.append((time.monotonic(), data))
            if self._answered < 1 and b"?2026$p" in data:
                self._answered += 1
                os.write(self._fd, b"\x1b[?2026;2$y")
