"""`forge batch`, its driver killed at random moments: the same command brings every task to one end."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from forge_core.tools.shell.supervised import can_supervise
from tests.bench.batch import killed_batch

pytestmark = [pytest.mark.network_server, pytest.mark.slow, pytest.mark.timeout(600)]

TASKS, KILLS = (60, 15) if os.environ.get("FORGE_FULL") else (4, 2)


def test_every_task_ends_once_however_often_the_driver_is_killed(tmp_path: Path) -> None:
    if not can_supervise():
        pytest.skip("only Linux has subreapers")
    found = killed_batch(tmp_path / "batch", tasks=TASKS, kills=KILLS, parallel=3, seed=11)
    assert not list(found.problems(TASKS))
    assert found.cut_off, "no kill has met a running task"
