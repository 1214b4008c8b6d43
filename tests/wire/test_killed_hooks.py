"""`forge run` killed while a hook runs: nothing that the hook has started is left."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.hooks import declared, write_hooks
from tests.support.killed_run import left_after_kill

pytestmark = pytest.mark.slow

HOOK = """
setsid sh -c 'touch daemon; exec sleep 600' &
env -i /bin/sh -c '(setsid /bin/sleep 600 &) ; touch bare'
until [ -e daemon ] && [ -e bare ]; do sleep 0.01; done
touch started
sleep 600
"""


def test_a_kill_during_a_hook_leaves_no_process(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    write_hooks(tmp_path / "config/hooks.json", declared("UserPromptSubmit", HOOK))

    count, left = left_after_kill(tmp_path, work)

    assert count > 3 and left == []
