"""The record of what was spent: shared by processes, exact to the last digit, and never in the way."""

from __future__ import annotations

import gc
import stat
import subprocess
import sys
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from forge_core.store.spending_ledger import SpendingLedger

DAY = date(2026, 11, 23)


def ledger_at(folder: Path, day: date = DAY) -> SpendingLedger:
    return SpendingLedger(folder, today=lambda: day)


def test_amounts_add_up_by_day_and_month(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    ledger_at(folder, date(2026, 10, 31)).add(Decimal("9"))
    ledger_at(folder, date(2026, 11, 1)).add(Decimal("0.10"))
    ledger = ledger_at(folder)
    for usd in ("0.1", "0.2", "-0.05", "0.0000001"):
        ledger.add(Decimal(usd))
    assert (ledger.day(), ledger.month()) == (Decimal("0.2500001"), Decimal("0.3500001"))
    for path in folder.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_without_a_file_nothing_was_spent(tmp_path: Path) -> None:
    ledger = ledger_at(tmp_path / "none")
    assert (ledger.day(), ledger.month()) == (0, 0)
    assert not (tmp_path / "none").exists()


def test_a_new_day_and_a_new_month_start_at_zero(tmp_path: Path) -> None:
    days = [date(2026, 11, 30)]
    ledger = SpendingLedger(tmp_path, today=lambda: days[-1])
    ledger.add(Decimal("1"))
    days.append(date(2026, 12, 1))
    assert (ledger.day(), ledger.month()) == (0, 0)
    ledger.add(Decimal("2"))
    assert (ledger.day(), ledger.month()) == (2, 2)
    days.append(date(2026, 12, 2))
    assert (ledger.day(), ledger.month()) == (0, 2)
    days.append(date(2026, 11, 30))  # the clock was set back
    assert (ledger.day(), ledger.month()) == (1, 1)


def test_another_process_is_seen_at_once(tmp_path: Path) -> None:
    one, other = ledger_at(tmp_path), ledger_at(tmp_path)
    one.add(Decimal("1"))
    assert other.day() == 1
    other.add(Decimal("2"))
    assert (one.day(), other.day()) == (3, 3)


def test_twenty_processes_lose_nothing(tmp_path: Path) -> None:
    code = (
        "import sys; from decimal import Decimal; from pathlib import Path; from datetime import date\n"
        "from forge_core.store.spending_ledger import SpendingLedger\n"
        "ledger = SpendingLedger(Path(sys.argv[1]), today=lambda: date(2026, 11, 23))\n"
        "for _ in range(50): ledger.add(Decimal('0.01'))\n"
    )
    programs = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path)]) for _ in range(20)]
    assert [program.wait(60) for program in programs] == [0] * 20
    assert ledger_at(tmp_path).day() == Decimal("10.00")


@pytest.mark.parametrize(
    "damage",
    [
        b"\0\0\0\n",
        b"[]\n",
        b'{"day": 5, "usd": "1"}\n',
        b'{"day": "2026-11-23", "usd": "NaN"}\n',
        b'{"day": "2026-11-23"}\n',
        b'{"day": "2026-11-23", "usd": "1',
        b"\xff\xfe",
        b"[" * 100_000 + b"\n",
    ],
)
def test_damaged_lines_are_skipped_and_cost_no_other(tmp_path: Path, damage: bytes) -> None:
    gc.collect()  # or finalizers of other tests run, and fail, at the end of the stack
    ledger_at(tmp_path).add(Decimal("1"))
    [path] = tmp_path.iterdir()
    with path.open("ab") as file:
        file.write(damage)
    ledger_at(tmp_path).add(Decimal("2"))
    assert ledger_at(tmp_path).day() == 3
    assert damage.rstrip(b"\n") in path.read_bytes()


def test_what_cannot_be_written_is_reported_once_and_written_later(tmp_path: Path) -> None:
    troubles: list[str] = []
    folder = tmp_path / "sessions"
    folder.write_text("a file where the folder should be")
    ledger = SpendingLedger(folder, troubles.append, lambda: DAY)
    ledger.add(Decimal("1"))
    ledger.add(Decimal("2"))
    assert ledger.day() == 3
    assert len(troubles) == 1
    assert "cannot be recorded" in troubles[0]
    folder.unlink()
    ledger.add(Decimal("4"))
    assert ledger_at(folder).day() == 7
