"""The first frame: painted at once, keeps all keys, and is taken over without switching screens again."""

from __future__ import annotations

import select
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.terminal import Terminal, python

pytestmark = pytest.mark.pty


ROOT = Path(__file__).resolve().parents[2]
LAUNCHED = python("-m", "tests.support.launched_app")


def test_the_skeleton_is_painted_before_anything_heavy_is_imported() -> None:
    with Terminal([*LAUNCHED, "wait"], folder=ROOT) as terminal:
        terminal.wait_for("Forge is starting")
        assert "1049" in terminal.emulator.modes
        loaded = Path(f"/proc/{terminal.pid}/maps")
        if loaded.exists():
            assert "textual" not in loaded.read_text()


def test_the_launcher_imports_only_the_standard_library_and_text_widths() -> None:
    code = (
        "import sys; before = set(sys.modules); import forge_tui.terminal.first_paint.launcher; "
        "new = {name for name in set(sys.modules) - before if not name.startswith('forge_tui')}; "
        "print(sorted(name for name in new if name.partition('.')[0] not in sys.stdlib_module_names))"
    )
    output = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert output.stdout.strip() == "['forge_core', 'forge_core.lazy', 'forge_core.text_width']"


def test_keys_typed_during_startup_reach_the_app() -> None:
    with Terminal(LAUNCHED, folder=ROOT) as terminal:
        terminal.wait_for("Forge is starting")
        for character in "typed early":
            terminal.send(character)
        terminal.wait_for("typed early")
        assert "\x1b[?1049h" in terminal.output.decode()
        assert terminal.output.decode().count("\x1b[?1049h") == 1


@pytest.mark.parametrize("mode", ["left", "left-by-crash"])
def test_the_app_closes_every_terminal_descriptor_it_opened(mode: str) -> None:
    with Terminal([*LAUNCHED, mode], folder=ROOT) as terminal:
        assert terminal.wait_for_exit() == (1 if mode == "left-by-crash" else 0)
        assert "left 0" in terminal.text


def test_without_a_terminal_nothing_is_painted() -> None:
    code = "from forge_tui.terminal.first_paint import launcher; launcher.paint(lambda *_: 1 / 0); launcher.restore()"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, stdin=subprocess.DEVNULL, check=True
    )
    assert done.stdout == b""


def test_a_small_terminal_gets_a_first_frame_too() -> None:
    with Terminal([*LAUNCHED, "wait"], size=(20, 3), folder=ROOT) as terminal:
        terminal.wait_for("Forge is")
        assert "Forge is" in terminal.text


def test_setting_the_end_event_wakes_the_key_reader() -> None:
    from forge_tui.terminal.driver import _ExitEvent

    def is_woken() -> bool:
        return bool(select.select([ending.reader], [], [], 0)[0])

    ending = _ExitEvent()
    before = is_woken()
    ending.set()
    assert (before, is_woken(), ending.is_set()) == (False, True, True)
    ending.clear()  # as for a suspension, after which it reads again
    assert (is_woken(), ending.is_set()) == (False, False)
