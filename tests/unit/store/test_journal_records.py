"""Records that are read from the journal when they are asked for."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from forge_core.errors import JournalError
from forge_core.redact import Redactor
from forge_core.store.journal import Journal, read_journal
from forge_core.store.journal_records import JournalRecords
from forge_core.store.saved_session import load_session


def written(path: Path, texts: list[str]) -> Path:
    journal = Journal(path, Redactor())
    journal.record("session", {"id": "s"})
    for text in texts:
        journal.record("user", {"text": text})
    journal.close()
    return path


def test_the_records_are_those_of_the_whole_journal_without_damaged_lines(tmp_path: Path) -> None:
    path = written(tmp_path / "s.jsonl", ["one", "zwölf", "three"])
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], b"{torn\n", b"\n", b'{"type": "user"}\n', *lines[1:], b'{"type":']))
    records = JournalRecords(path)
    seen = list(records.scan())
    assert seen == records == read_journal(path).records
    assert (records.types, records.damaged) == (["session", "user", "user", "user"], 3)
    assert [record["data"]["text"] for record in records[1:3]] == ["one", "zwölf"]
    assert records[-1] == seen[-1]
    with pytest.raises(IndexError):
        records[4]


def test_a_deleted_journal_can_still_be_read_and_later_lines_do_not_count(tmp_path: Path) -> None:
    path = written(tmp_path / "s.jsonl", ["one"])
    saved = load_session(path)
    with path.open("ab") as file:
        file.write(b'{"type":"user","data":{"text":"later"},"timestamp":1.0,"v":2}\n')
    path.unlink()
    assert [record["type"] for record in saved.records] == ["session", "user"]


def test_a_journal_that_was_cut_meanwhile_is_an_error(tmp_path: Path) -> None:
    path = written(tmp_path / "s.jsonl", ["one", "two"])
    saved = load_session(path)
    path.write_bytes(path.read_bytes()[:-10])
    assert saved.records[1]["data"]["text"] == "one"
    with pytest.raises(JournalError, match="changed while it was read"):
        saved.records[2]


def test_output_that_only_the_screen_shows_is_not_kept_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    journal = Journal(path, Redactor())
    journal.record("session", {"id": "s"})
    for number in range(200):
        journal.record("tool_end", {"call_id": str(number), "name": "bash", "result": "x" * 20_000})
    journal.record("agent_end", {})
    journal.close()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        saved = load_session(path)
        held = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert len(saved.records) == 202
    assert held < 1_000_000 < path.stat().st_size
