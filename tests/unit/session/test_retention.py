"""`keep_days`: old sessions are deleted once a day, open ones never, and by one process."""

from __future__ import annotations

import fcntl
import json
from pathlib import Path

import pytest

from forge_core.config.load import check_value
from forge_core.errors import ConfigError
from forge_core.redact import Redactor
from forge_core.session.retention import prune_daily
from forge_core.session.saved_sessions import SavedSessions
from forge_core.store.journal import Journal
from tests.unit.session.test_saved_sessions import FIRST, SECOND, THIRD, write

DAY = 24 * 3600.0
NOW = 1_790_000_000.0


@pytest.fixture
def state(tmp_path: Path) -> Path:
    for session_id, days in ((FIRST, 100), (SECOND, 31), (THIRD, 29)):
        write(tmp_path, session_id, f"{days} days", at=NOW - days * DAY)
    return tmp_path


def prune(state: Path, keep_days: int = 30, *, now: float = NOW) -> list[str]:
    return [one.id for one in prune_daily(SavedSessions(state, Redactor()), state, keep_days, lambda: now)]


def left(state: Path) -> set[str]:
    return {path.stem for path in (state / "sessions").glob("*.jsonl")}


def test_sessions_that_are_older_are_deleted_with_what_belongs_to_them(state: Path) -> None:
    undo = state / "sessions" / FIRST / "undo"
    undo.mkdir(parents=True)
    assert prune(state) == [FIRST, SECOND]
    assert left(state) == {THIRD} and not undo.parent.exists()


def test_a_session_with_damaged_times_is_not_taken_for_an_old_one(state: Path) -> None:
    last = {"v": 2, "type": "state", "timestamp": None, "data": {}}
    with (state / "sessions" / f"{THIRD}.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(last) + "\n")
    journal = state / "sessions" / f"{SECOND}.jsonl"
    records = [json.loads(line) | {"timestamp": "?"} for line in journal.read_text().splitlines()]
    journal.write_text("".join(json.dumps(record) + "\n" for record in records))
    assert prune(state) == [FIRST]


def test_it_is_done_once_a_day(state: Path) -> None:
    assert prune(state, 90) == [FIRST]
    assert prune(state, 30, now=NOW + DAY - 1) == []
    assert prune(state, 30, now=NOW + DAY) == [SECOND]


@pytest.mark.parametrize("content", ["", "nonsense", "nan", "inf", "9" * 100, str(NOW + DAY)])
def test_a_damaged_or_future_time_of_the_last_pruning_does_not_stop_it(state: Path, content: str) -> None:
    (state / "sessions" / "pruned").write_text(content)
    assert prune(state) == [FIRST, SECOND]
    assert prune(state, 1, now=NOW + 60) == []


def test_an_open_session_is_kept(state: Path) -> None:
    journal = Journal(state / "sessions" / f"{FIRST}.jsonl", Redactor())
    journal.claim()
    assert prune(state) == [SECOND]
    journal.close()
    assert left(state) == {FIRST, THIRD}
    assert prune(state, now=NOW + DAY) == [FIRST]


def test_two_processes_do_not_prune_at_once(state: Path) -> None:
    with (state / "sessions" / "pruned").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert prune(state) == []
    assert prune(state) == [FIRST, SECOND]


def test_a_user_without_sessions_has_nothing_to_prune(tmp_path: Path) -> None:
    assert prune(tmp_path) == []
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("value", [0, -1, "x", 1.5, True, 100_001])
def test_a_time_to_keep_is_at_least_a_day(value: object) -> None:
    with pytest.raises(ConfigError, match="sessions_keep_days"):
        check_value("sessions_keep_days", value)
