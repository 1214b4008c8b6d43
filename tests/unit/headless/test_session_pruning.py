"""`forge sessions prune`, through the command line's own arguments."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forge_core.config.load import state_dir
from forge_core.exit_codes import ExitCode
from forge_core.redact import Redactor
from forge_core.store.journal import Journal, journal_path
from forge_tui.cli import main

OLD, NEW = "20200101-100000-00000a", "20261121-100000-00000b"


@pytest.fixture
def state() -> Path:
    folder = state_dir({"FORGE_HOME": str(Path.home() / "forge")})
    for session_id in (OLD, NEW):
        path = journal_path(folder, session_id)
        journal = Journal(path, Redactor())
        journal.record("session", {"id": session_id, "working_dir": "/w", "provider": "custom"})
        journal.record("user", {"text": "Fix the parser", "model": "a/b", "mode": "ask"})
        journal.close()
        if session_id == OLD:
            lines = [{**json.loads(line), "timestamp": 1000.0} for line in path.read_text().splitlines()]
            path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def test_prune_deletes_old_sessions_and_names_them(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sessions", "prune", "--days", "30", "--dry-run"]) == 0
    assert capsys.readouterr().out == f"Would delete {OLD}  Fix the parser\n"
    assert journal_path(state, OLD).exists()
    assert main(["sessions", "prune", "--days", "30", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"deleted": [OLD], "kept": []}
    assert not journal_path(state, OLD).exists() and journal_path(state, NEW).exists()
    assert main(["sessions", "prune", "--days", "30"]) == 0
    assert capsys.readouterr().out == "No session has been unused for 30 days.\n"


@pytest.mark.parametrize("days", ["0", "-1", "x", "nan", "inf"])
def test_prune_refuses_an_impossible_number_of_days(
    state: Path, days: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sessions", "prune", f"--days={days}"]) == ExitCode.USAGE
    assert "more than 0" in capsys.readouterr().err
    assert journal_path(state, OLD).exists()


def test_prune_needs_a_number_of_days(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sessions", "prune"]) == ExitCode.USAGE
    assert journal_path(state, OLD).exists()


def test_without_days_the_setting_counts(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "set", "sessions_keep_days", "30"]) == 0
    capsys.readouterr()
    assert main(["sessions", "prune", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"deleted": [OLD], "kept": []}
