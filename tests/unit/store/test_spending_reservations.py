"""What running calls reserve: seen by other sessions at once, and gone with the process that made them."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from forge_core.store.spending_reservations import SpendingReservations


def reserve(reservations: SpendingReservations, usd: str) -> int:
    with reservations.exclusive():
        return reservations.reserve(Decimal(usd))


def files(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name != "spending.lock"]


def test_others_see_a_reservation_until_it_is_released(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    one, other = SpendingReservations(folder), SpendingReservations(folder)
    first, second = reserve(one, "0.10"), reserve(one, "0.05")
    assert (one.total(), one.of_others()) == (Decimal("0.15"), 0)
    assert (other.total(), other.of_others()) == (Decimal("0.15"), Decimal("0.15"))
    for _ in range(2):
        one.release(second)
        assert other.total() == Decimal("0.10")
    one.release(first)
    assert other.total() == 0
    assert files(folder) == []


def test_the_reservation_of_a_killed_process_counts_no_more(tmp_path: Path) -> None:
    code = (
        "import sys, time; from decimal import Decimal; from pathlib import Path\n"
        "from forge_core.store.spending_reservations import SpendingReservations\n"
        "reservations = SpendingReservations(Path(sys.argv[1]))\n"
        "reservations.reserve(Decimal('5'))\n"
        "print('reserved', flush=True); time.sleep(60)\n"
    )
    program = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert program.stdout is not None
    with program, program.stdout:
        assert program.stdout.readline() == "reserved\n"
        reservations = SpendingReservations(tmp_path)
        assert reservations.total() == 5
        os.kill(program.pid, signal.SIGKILL)
        program.wait(30)
    assert reservations.total() == 0
    assert files(tmp_path) == []


def test_a_file_system_without_locks_shows_reservations_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flock(fd: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", flock)
    one, other = SpendingReservations(tmp_path), SpendingReservations(tmp_path)
    number = reserve(one, "1")
    assert other.total() == 1
    one.release(number)
    assert other.total() == 0


@pytest.mark.parametrize("damage", [b"", b"[]", b'{"usd": "NaN"}', b'{"usd": 5', b"\xff" * 5000])
def test_a_damaged_file_counts_nothing(tmp_path: Path, damage: bytes) -> None:
    one, other = SpendingReservations(tmp_path), SpendingReservations(tmp_path)
    reserve(one, "1")
    [name] = files(tmp_path)
    (tmp_path / name).write_bytes(damage)
    assert other.total() == 0
    reserve(one, "1")
    assert other.total() == 2


def test_a_folder_that_cannot_be_written_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "sessions").write_text("a file")
    reservations = SpendingReservations(tmp_path / "sessions")
    number = reserve(reservations, "1")
    assert reservations.total() == 1
    reservations.release(number)
    assert reservations.total() == 0
