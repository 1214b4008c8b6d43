"""The chat starts whatever its configuration, its index of sessions and its journals hold, and loses none."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from forge_core.errors import JournalError
from forge_core.store.journal import read_journal
from forge_core.store.saved_session import load_session
from forge_core.store.session_index import list_sessions
from tests.support.terminal import Terminal

pytestmark = [pytest.mark.pty, pytest.mark.slow]

IS_FULL = bool(os.environ.get("FORGE_FULL"))
FORGE = [sys.executable, "-m", "forge_tui.cli"]
READY = "Ask about this folder"
CONFIG = b'theme = "forge-dark"\nmodel = "offline"\n\n[budget]\nday = 5.0\n'

Mutation = Callable[[bytes, random.Random], bytes]


def _torn(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(1, len(data))]


def _flipped(data: bytes, chance: random.Random) -> bytes:
    copy = bytearray(data)
    for _ in range(8):
        copy[chance.randrange(len(copy))] ^= 1 << chance.randrange(8)
    return bytes(copy)


def _with_hole(data: bytes, chance: random.Random) -> bytes:
    start = chance.randrange(len(data))
    return data[:start] + bytes(min(200, len(data) - start)) + data[start + 200 :]


def _shuffled(data: bytes, chance: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    chance.shuffle(lines)
    return b"".join(lines)


MUTATIONS: dict[str, Mutation] = {
    "empty": lambda data, chance: b"",
    "torn": _torn,
    "flipped": _flipped,
    "hole": _with_hole,
    "shuffled": _shuffled,
    "binary": lambda data, chance: chance.randbytes(2_000),
    "not UTF-8": lambda data, chance: data + b"\xff\xfe\n",
    "deep": lambda data, chance: data + b"[" * 100_000,
    "twice": lambda data, chance: data + data,
    "of another type": lambda data, chance: b"[1, 2]\n",
}
FILES = ("config", "index", "journal")
CASES = [(name, kind) for name in FILES for kind in MUTATIONS]


@dataclass
class Home:
    """The state and the configuration of Forge, and a folder to work in."""

    root: Path

    @property
    def work(self) -> Path:
        return self.root / "work"

    def path(self, name: str) -> Path:
        if name == "config":
            return self.root / "config" / "config.toml"
        [journal] = self.root.rglob("sessions/*.jsonl")
        return journal if name == "journal" else journal.with_name("index.json")

    def chat(self, *arguments: str) -> Terminal:
        return Terminal(
            [*FORGE, "chat", "--model", "offline", *arguments],
            size=(100, 30),
            folder=self.work,
            environment={"FORGE_HOME": str(self.root)},
            is_preloaded=True,
        )


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """One saved session, its index and a configuration."""
    home = Home(tmp_path)
    home.work.mkdir()
    home.path("config").parent.mkdir()
    home.path("config").write_bytes(CONFIG)
    with home.chat() as terminal:
        terminal.wait_for(READY)
        terminal.send("hello\r")
        terminal.wait_for("help shows all I understand")
        terminal.wait_until_quiet(0.5)
        terminal.send("\x04")
        assert terminal.wait_for_exit() == 0
    list_sessions(home.path("journal").parents[1])  # writes the index
    assert home.path("index").exists()
    return home


def _opens(journal: Path) -> bool:
    try:
        load_session(journal)
    except JournalError:
        return False
    return True


def _say(terminal: Terminal) -> None:
    terminal.wait_for(READY)
    terminal.wait_until_quiet()
    terminal.send("hello\r")
    terminal.wait_for("help shows all I understand")
    terminal.wait_until_quiet(0.5)
    terminal.send("\x04")
    assert terminal.wait_for_exit() == 0


@pytest.mark.parametrize(("name", "kind"), CASES if IS_FULL else CASES[-1:])
def test_a_damaged_file_never_keeps_the_chat_from_starting(home: Home, name: str, kind: str) -> None:
    path, journal = home.path(name), home.path("journal")
    whole = read_journal(journal).records
    damaged = MUTATIONS[kind](path.read_bytes(), random.Random(f"{name} {kind}"))
    path.write_bytes(damaged)
    is_whole_journal = name != "journal"
    if not _opens(journal):  # refused by its name, and no other start is affected
        with home.chat("--resume", journal.stem) as terminal:
            assert terminal.wait_for_exit() == 1
            assert b"holds no session" in terminal.output
        assert journal.read_bytes() == damaged
        with home.chat() as terminal:
            _say(terminal)
        assert journal.read_bytes() == damaged
        return
    with home.chat("--resume", journal.stem) as terminal:
        _say(terminal)
    if name == "config":
        assert path.read_bytes() == damaged
    after = journal.read_bytes()
    if is_whole_journal:
        assert read_journal(journal).records[: len(whole)] == whole
    else:  # only a torn last line may be cut off
        assert after.startswith(damaged[: damaged.rfind(b"\n") + 1])
