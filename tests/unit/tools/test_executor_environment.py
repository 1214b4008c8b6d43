"""What a command can see of the process that runs it."""

import subprocess
import sys

import pytest

_DUMPABLE = "import ctypes; print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))"
_PROTECTED = f"""
import subprocess, sys
from forge_core.tools.shell.environment import protect_process
assert protect_process()
{_DUMPABLE}
subprocess.run([sys.executable, "-c", {_DUMPABLE!r}], check=True)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="prctl is Linux's")
def test_a_protected_process_is_not_dumpable_but_its_children_are() -> None:
    done = subprocess.run(
        [sys.executable, "-u", "-c", _PROTECTED], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["0", "1"]
