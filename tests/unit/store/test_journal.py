"""The journal: whole lines or none, nothing lost, nothing in the way."""

from __future__ import annotations

import json
import os
import resource
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from forge_core.errors import JournalError
from forge_core.events import LLMChunk, ToolEnd, ToolProgress, ToolStart
from forge_core.redact import Redactor
from forge_core.store.journal import Journal, read_journal


def written(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_records_are_written_in_order_to_a_private_file(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "s.jsonl"
    journal = Journal(path, Redactor())
    journal.record("session", {"id": "s1"})
    journal.event(ToolStart(call_id="c1", name="read", arguments={"file_path": "a"}))
    journal.event(ToolEnd(call_id="c1", name="read", result="ok", success=True, duration_s=0.1))
    journal.close()
    assert [record["type"] for record in written(path)] == ["session", "tool_start", "tool_end"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_chunks_within_a_quarter_second_are_one_record(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    journal = Journal(path, Redactor())
    for number in range(10):
        journal.event(LLMChunk(timestamp=number * 0.05, text=f"{number} "))
    journal.event(LLMChunk(timestamp=0.5, text="thinking", kind="reasoning"))
    journal.event(LLMChunk(timestamp=0.5, text='{"path"', kind="tool_args"))
    journal.close()
    records = written(path)
    assert "".join(r["data"]["text"] for r in records) == "0 1 2 3 4 5 6 7 8 9 thinking"  # type: ignore[index]
    assert len(records) == 3


def test_chunks_are_written_after_the_clock_is_set_back(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "a.jsonl", Redactor())
    for at, text in ((10_000.0, "before"), (100.0, "after"), (100.1, " it")):
        journal.event(LLMChunk(timestamp=at, text=text, kind="answer"))
    journal.close()
    texts = [record["data"]["text"] for record in read_journal(tmp_path / "a.jsonl").records]
    assert texts == ["before", "after it"]


def test_a_torn_last_line_is_skipped_reported_and_repaired_before_the_next_append(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"v":1,"type":"user","timestamp":1,"data":{}}\n{"v":1,"type":"mess')
    assert read_journal(path).damaged == 1
    journal = Journal(path, Redactor())
    journal.record("user", {"text": "again"})
    journal.close()
    content = read_journal(path)
    assert (len(content.records), content.damaged) == (2, 0)


def test_truncation_at_every_offset_loses_at_most_the_last_record(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    journal = Journal(path, Redactor())
    for number in range(5):
        journal.record("user", {"text": f"frage {number} ü"})
    journal.close()
    whole = path.read_bytes()
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        complete = whole[:cut].count(b"\n")
        content = read_journal(path)
        assert complete <= len(content.records) <= complete + 1  # the newline itself may be what is missing


def test_a_broken_line_in_the_middle_costs_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    good = b'{"v":1,"type":"user","timestamp":1,"data":{}}\n'
    path.write_bytes(good + b"\xff\xfe garbage\n" + b"[1,2]\n" + good)
    content = read_journal(path)
    assert (len(content.records), content.damaged) == (2, 2)


def test_lone_surrogates_are_written_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    journal = Journal(path, Redactor())
    journal.record("user", {"text": "bad \ud800 half"})
    journal.close()
    assert len(read_journal(path).records) == 1


def test_an_unwritable_folder_is_reported_once_and_nothing_raises(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    reported: list[str] = []
    heard = threading.Event()

    def on_trouble(text: str) -> None:
        reported.append(text)
        heard.set()

    journal = Journal(tmp_path / "file" / "s.jsonl", Redactor(), on_trouble)
    journal.record("user", {"text": "one"})
    journal.record("user", {"text": "two"})
    assert heard.wait(30)
    journal.close()
    assert len(reported) == 1
    assert "Not saved" in reported[0]
    assert "s.jsonl" in reported[0]


def test_records_rejected_by_a_full_disk_are_written_when_space_is_available(tmp_path: Path) -> None:
    blocker = tmp_path / "dir"
    blocker.write_text("in the way")
    heard = threading.Event()
    journal = Journal(blocker / "s.jsonl", Redactor(), lambda _: heard.set())
    journal.record("user", {"text": "kept in memory"})
    assert heard.wait(30)
    blocker.unlink()
    journal.record("user", {"text": "room again"})
    journal.close()
    assert [r["data"]["text"] for r in read_journal(blocker / "s.jsonl").records] == [
        "kept in memory",
        "room again",
    ]


def test_a_file_size_limit_leaves_only_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    program = (
        "import pathlib, sys\n"
        "from forge_core.redact import Redactor\n"
        "from forge_core.store.journal import Journal\n"
        "journal = Journal(pathlib.Path(sys.argv[1]), Redactor())\n"
        "for number in range(50):\n"
        "    journal.record('user', {'text': 'x' * 100})\n"
        "journal.close(3)\n"
    )

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    subprocess.run(
        [sys.executable, "-c", program, str(path)],
        preexec_fn=limit,
        check=True,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert path.stat().st_size > 0
    assert read_journal(path).damaged == 0


def test_reading_a_missing_journal_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match=r"nothing\.jsonl"):
        read_journal(tmp_path / "nothing.jsonl")


KEY = "Zq7+wV/2mN9xKp4tRb8yLc3d"


@pytest.mark.parametrize("cut", range(1, len(KEY)))
@pytest.mark.parametrize("wrap", ["", "\n   ", "\\\n"])
def test_a_key_split_over_two_chunk_records_is_redacted(tmp_path: Path, cut: int, wrap: str) -> None:
    path = tmp_path / "s.jsonl"
    journal = Journal(path, Redactor((KEY,)))
    for number, text in enumerate(("It is ", KEY[:cut] + wrap, KEY[cut:], ", is it?")):
        journal.event(LLMChunk(timestamp=number * 1.0, text=text))
    journal.close()
    texts = [record["data"]["text"] for record in read_journal(path).records]
    assert "".join(texts) == "It is [redacted], is it?"
    assert len(texts) > 1


@pytest.mark.parametrize("cut", [1, 9, len(KEY) - 1])
def test_a_key_split_over_two_pieces_of_live_output_is_redacted(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "s.jsonl"
    journal = Journal(path, Redactor((KEY,)))
    for call_id, text in (
        ("a", "x" + KEY[:cut]),
        ("b", "other"),
        ("a", KEY[cut:]),
        ("a", "y"),
        ("a", KEY[:9]),
    ):
        journal.event(ToolProgress(call_id=call_id, text=text))
    journal.event(ToolEnd(call_id="a", name="bash", result="", success=True, duration_s=0.1))
    journal.close()
    records = read_journal(path).records
    shown = {
        one: "".join(
            r["data"]["text"] for r in records if r["data"].get("text") and r["data"]["call_id"] == one
        )
        for one in "ab"
    }
    assert shown == {"a": f"x[redacted]y{KEY[:9]}", "b": "other"}
    assert records[-1]["type"] == "tool_end"


def test_live_output_that_rewrites_its_line_is_not_joined_to_it(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    journal = Journal(path, Redactor((KEY,)))
    for text in (KEY[:3], "\rdone"):
        journal.event(ToolProgress(call_id="a", text=text))
    journal.close()
    assert [r["data"]["text"] for r in read_journal(path).records] == [KEY[:3], "\rdone"]


def test_what_waits_for_the_rest_of_a_key_is_recorded_when_no_rest_follows(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    journal = Journal(path, Redactor((KEY,)))
    journal.event(LLMChunk(timestamp=0.0, text=f"It begins with {KEY[:9]}"))
    journal.event(LLMChunk(timestamp=1.0, text="!", kind="reasoning"))
    journal.close()
    assert [r["data"]["text"] for r in read_journal(path).records] == [f"It begins with {KEY[:9]}", "!"]


def test_a_slow_disk_does_not_keep_records_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    is_ready, fsync = threading.Event(), os.fsync

    def slow(descriptor: int) -> None:
        is_ready.wait(30)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", slow)
    journal = Journal(tmp_path / "j.jsonl", Redactor())
    for number in range(5):
        journal.record("user", {"text": str(number)})
    try:
        journal.flush(5.0)
        assert len(read_journal(tmp_path / "j.jsonl").records) == 5
    finally:
        is_ready.set()
        journal.close()


@pytest.mark.parametrize("rounds", [1, 2])
def test_closing_flushes_what_was_written_during_a_flush(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rounds: int
) -> None:
    is_flushing, is_ready, fsync, sizes = threading.Event(), threading.Event(), os.fsync, list[int]()

    def slow(descriptor: int) -> None:
        sizes.append(os.fstat(descriptor).st_size)
        is_flushing.set()
        is_ready.wait(30)
        fsync(descriptor)

    path = tmp_path / "j.jsonl"
    journal = Journal(path, Redactor())
    for _ in range(rounds):  # a closed journal may be used again
        monkeypatch.setattr(os, "fsync", slow)
        is_flushing.clear()
        is_ready.clear()
        journal.record("user", {"text": "one"})
        assert is_flushing.wait(30)
        journal.record("user", {"text": "two"})
        journal.flush()
        closing = threading.Thread(target=journal.close, args=(30.0,))
        closing.start()
        is_ready.set()
        closing.join(30)
        assert sizes[-1] == path.stat().st_size


def test_a_flush_waits_until_the_records_are_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "sessions" / "20261120-100000-00000a.jsonl"
    journal = Journal(path, Redactor())
    journal.flush()  # nothing to wait for
    assert not path.exists()
    for number in range(50):
        journal.record("user", {"text": str(number)})
    journal.flush()
    assert len(read_journal(path).records) == 50
    journal.close()


def test_a_flush_that_cannot_write_raises(tmp_path: Path) -> None:
    blocked = tmp_path / "sessions"
    blocked.write_text("")  # no folder can be made here
    journal = Journal(blocked / "20261120-100000-00000a.jsonl", Redactor())
    journal.record("user", {"text": "x"})
    with pytest.raises(JournalError, match="cannot be written"):
        journal.flush(0.05)
    journal.close(0.1)
