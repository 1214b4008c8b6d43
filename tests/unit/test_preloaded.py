"""A copied program is like one that was started (`tests/support/preloaded.py`)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import preloaded
from tests.support.terminal import Terminal

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="programs are copied on Linux only"),
]

SHOWS = """
import json, os, sys
print(json.dumps({
    "arguments": sys.argv[1:], "name": __name__, "file": __file__, "folder": os.getcwd(), "path": sys.path[0],
    "environment": {**os.environ}, "input": sys.stdin.read() if "read" in sys.argv else "",
    "terminal": [os.isatty(number) for number in range(3)], "leads": os.getsid(0) == os.getpid(),
    "parent": os.getppid(), "descriptors": sorted(map(int, os.listdir("/proc/self/fd")))[:3],
    "buffers": [sys.stdout.line_buffering, sys.stderr.line_buffering], "encoding": sys.stdout.encoding,
    "is_preloaded": "langchain_core" in sys.modules, "main": sys.modules["__main__"].__file__,
}))
print("to stderr", file=sys.stderr)
if "fail" in sys.argv:
    raise SystemExit(7)
if "wait" in sys.argv:
    sys.stdout.flush()
    __import__("signal").pause()
"""


@pytest.mark.parametrize("own_session", [False, True])
def test_a_copy_gets_what_a_started_program_gets(tmp_path: Path, own_session: bool) -> None:
    (tmp_path / "shows.py").write_text(SHOWS)
    seen = []
    for kind in (subprocess.Popen, preloaded.PreloadedPopen):
        process = kind(
            [sys.executable, "-m", "shows", "read", "fail", "a b"],
            cwd=tmp_path,
            env={**os.environ, "GREETING": "grüße"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=own_session,
        )
        out, err = process.communicate("given")
        seen.append((json.loads(out), err, process.returncode))
    assert [shown.pop("is_preloaded") for shown, _, _ in seen] == [False, True]
    assert seen[0] == seen[1]


def test_a_copy_may_own_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "shows.py").write_text(SHOWS)
    seen = []
    for is_preloaded in (False, True):
        command = [sys.executable, "-m", "shows", "wait"]
        with Terminal(command, folder=tmp_path, size=(9000, 3), is_preloaded=is_preloaded) as terminal:
            terminal.wait_for("to stderr")
            shown = json.loads(terminal.text.splitlines()[0])
            terminal.send("\x03")
            seen.append((shown, terminal.wait_for_exit()))
    assert [shown.pop("is_preloaded") for shown, _ in seen] == [False, True]
    assert seen[0] == seen[1]
