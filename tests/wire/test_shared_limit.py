"""Several `forge run` at once below one limit of the day, over real HTTP: what is spent beyond it is bounded."""

from __future__ import annotations

import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from forge_core.store.spending_ledger import SpendingLedger
from tests.support.preloaded import PreloadedPopen
from tests.support.sse_server import USAGE, SseServer, paced, tool_answer

pytestmark = [pytest.mark.network_server, pytest.mark.slow]

PROGRAMS = 3
COST = Decimal(str(USAGE["cost"]))
CAP = 5 * COST


def test_programs_pass_the_limit_of_a_day_by_one_call_of_unknown_price_at_most(tmp_path: Path) -> None:
    work, config, state = (tmp_path / name for name in ("work", "config", "state"))
    (config / "forge").mkdir(parents=True)
    work.mkdir()
    (config / "forge" / "config.toml").write_text(f"[budget]\nday = {CAP:f}\n")
    replies = [paced(tool_answer((f"c{n}", "read", {"file_path": f"f{n}"})), 0.01) for n in range(40)]
    environment = {**os.environ, "XDG_CONFIG_HOME": str(config), "XDG_STATE_HOME": str(state)}
    environment.pop("FORGE_HOME", None)
    with SseServer(*replies) as server:
        host = server.base_url.split("/")[2]
        ledger = SpendingLedger(state / "forge" / "sessions")
        spent = Decimal("3.1") * COST
        ledger.add(spent, host)  # a local endpoint that charges, as is known since an earlier run
        programs = [
            PreloadedPopen(
                [sys.executable, "-m", "forge_tui.cli", "run", f"Read all. {number}", "--max-iterations", "20",
                 "--base-url", server.base_url, "--model", "test/model"],
                cwd=work, env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            )
            for number in range(PROGRAMS)
        ]  # fmt: skip
        reports = [program.communicate(timeout=120)[1] for program in programs]
        requests = len(server.requests)
    assert [program.returncode for program in programs] == [3] * PROGRAMS, reports
    assert all("limit of the day's cost" in report for report in reports)
    assert ledger.day() == spent + requests * COST  # to the cent, and no call after the limit
    # At a time only one call of unknown price runs, and it may pass the limit by all of its cost; later ones
    # are estimated by the cost of the one before.
    assert CAP - COST < ledger.day() <= CAP + COST
