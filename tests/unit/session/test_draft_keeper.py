"""The draft in the composer: kept while it is typed, and the newest one is restored."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from forge_core.redact import MASK, Redactor
from forge_core.session.draft_keeper import DraftKeeper, newest_draft
from forge_core.session.saved_sessions import SavedSessions
from forge_core.store.journal import Journal, journal_path
from forge_core.store.saved_session import load_session
from tests.unit.session.test_saved_sessions import FIRST, SECOND, write

KEY = "sk-test-1234567890"


def keeper(state: Path, session_id: str = FIRST, folder: str = "/w") -> DraftKeeper:
    journal = Journal(journal_path(state, session_id), Redactor((KEY,)))
    return DraftKeeper(journal, state, Path(folder))


def keep(one: DraftKeeper, text: str) -> None:
    one.set(text)
    one.write()


def restored(state: Path, session_id: str = FIRST, folder: str = "/w") -> str:
    saved = load_session(journal_path(state, session_id))
    return keeper(state, session_id, folder).take(saved)


def files(state: Path) -> list[Path]:
    return [path for path in (state / "sessions").rglob("*") if path.is_file() and path.suffix != ".jsonl"]


def record(state: Path, kind: str, data: dict[str, object]) -> None:
    journal = Journal(journal_path(state, FIRST), Redactor())
    journal.record(kind, data)
    journal.close()


def test_the_text_of_a_session_is_kept_privately_and_restored(tmp_path: Path) -> None:
    write(tmp_path, FIRST, "hi")
    keep(keeper(tmp_path), "half a sen\ntence 日本\ud800")
    assert restored(tmp_path) == "half a sen\ntence 日本\ud800"
    [path] = files(tmp_path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_the_folders_are_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        keep(keeper(tmp_path / "state"), "a first message")
    finally:
        os.umask(before)
    folders = [path for path in (tmp_path / "state", *tmp_path.rglob("*")) if path.is_dir()]
    assert len(folders) > 2 and {stat.S_IMODE(path.stat().st_mode) for path in folders} == {0o700}


def test_keys_are_not_kept(tmp_path: Path) -> None:
    write(tmp_path, FIRST, "hi")
    keep(keeper(tmp_path), f"use {KEY}")
    assert restored(tmp_path) == f"use {MASK}"


def test_the_size_on_the_disk_is_that_of_the_last_text(tmp_path: Path) -> None:
    write(tmp_path, FIRST, "hi")
    one = keeper(tmp_path)
    for count in range(200):
        keep(one, "x" * count)
    [path] = files(tmp_path)
    assert path.stat().st_size < 300


@pytest.mark.parametrize(
    ("kind", "data", "draft"),
    [
        ("user", {"text": "half"}, ""),
        ("state", {"draft": "newer"}, "newer"),
        ("state", {"queue": ["half"]}, ""),
        ("state", {"todos": []}, "half"),
        ("resume", {"working_dir": "/w"}, "half"),
    ],
)
def test_what_the_journal_says_later_counts(
    tmp_path: Path, kind: str, data: dict[str, object], draft: str
) -> None:
    write(tmp_path, FIRST, "hi")
    keep(keeper(tmp_path), "half")
    record(tmp_path, kind, data)
    assert restored(tmp_path) == draft


def test_a_text_that_was_deleted_does_not_come_back(tmp_path: Path) -> None:
    write(tmp_path, FIRST, "hi")
    record(tmp_path, "state", {"draft": "old"})
    one = keeper(tmp_path)
    assert one.take(load_session(journal_path(tmp_path, FIRST))) == "old"
    keep(one, "")
    assert restored(tmp_path) == ""


def test_what_was_typed_without_a_session_is_restored_once_by_the_next_one_of_the_folder(
    tmp_path: Path,
) -> None:
    write(tmp_path, FIRST, "hi")
    write(tmp_path, SECOND, "elsewhere", folder="/other")
    keep(keeper(tmp_path, "20261124-000000-aaaaaa"), "a long first message")
    assert restored(tmp_path, SECOND, "/other") == ""
    assert restored(tmp_path) == "a long first message"
    assert restored(tmp_path) == "a long first message", "it is this session's own now"
    write(tmp_path, SECOND, "here", folder="/w", at=1.0)
    assert restored(tmp_path, SECOND) == ""


@pytest.mark.parametrize("text", ["", " \n "])
def test_an_empty_text_is_not_restored_in_another_session(tmp_path: Path, text: str) -> None:
    write(tmp_path, FIRST, "hi")
    keep(keeper(tmp_path, "20261124-000000-aaaaaa"), text)
    assert restored(tmp_path) == ""


def test_a_first_message_that_was_sent_is_no_longer_the_draft_of_the_folder(tmp_path: Path) -> None:
    one = keeper(tmp_path)
    keep(one, "first message")
    assert len(files(tmp_path)) == 1
    write(tmp_path, FIRST, "first message")
    keep(one, "")
    assert files(tmp_path) == []


def test_a_copy_has_the_draft_too(tmp_path: Path) -> None:
    write(tmp_path, FIRST, "hi")
    keep(keeper(tmp_path), "half")
    sessions = SavedSessions(tmp_path, Redactor())
    assert newest_draft(sessions.load(sessions.fork(FIRST))) == "half"
    assert newest_draft(sessions.load(sessions.fork(FIRST, records=2, draft="other"))) == "other"


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"text": 5, "at": 1}', b'{"text": "x"}', b"\xff"])
def test_a_damaged_file_is_ignored(tmp_path: Path, content: bytes) -> None:
    write(tmp_path, FIRST, "hi")
    keep(keeper(tmp_path), "half")
    [path] = files(tmp_path)
    path.write_bytes(content)
    assert restored(tmp_path) == ""


def test_where_nothing_can_be_written_nothing_fails(tmp_path: Path) -> None:
    (tmp_path / "sessions").write_text("in the way")
    keep(keeper(tmp_path), "half")


def test_stashed_texts_are_kept_with_the_draft_and_by_a_copy(tmp_path: Path) -> None:
    write(tmp_path, FIRST, "hi")
    one = keeper(tmp_path)
    one.set("draft", ["first", f"second {KEY}"])
    one.write()
    saved = load_session(journal_path(tmp_path, FIRST))
    assert keeper(tmp_path).take(saved) == "draft"
    assert saved.stash == ["first", f"second {MASK}"]
    sessions = SavedSessions(tmp_path, Redactor())
    assert sessions.load(sessions.fork(FIRST)).stash == ["first", f"second {MASK}"]


def test_the_stash_of_a_journal_counts_if_it_is_newer(tmp_path: Path) -> None:
    write(tmp_path, FIRST, "hi")
    one = keeper(tmp_path)
    one.set("", ["old"])
    one.write()
    record(tmp_path, "state", {"stash": ["new"]})
    saved = load_session(journal_path(tmp_path, FIRST))
    assert (keeper(tmp_path).take(saved), saved.stash) == ("", ["new"])


def test_a_stash_without_a_session_is_restored_by_the_next_one(tmp_path: Path) -> None:
    write(tmp_path, FIRST, "hi")
    other = keeper(tmp_path, SECOND)
    other.set("", ["aside"])
    other.write()
    saved = load_session(journal_path(tmp_path, FIRST))
    saved.working_dir = "/w"
    assert (keeper(tmp_path).take(saved), saved.stash) == ("", ["aside"])


def test_texts_as_long_as_the_composer_allows_are_restored(tmp_path: Path) -> None:
    write(tmp_path, FIRST, "hi")
    text = "\U0001f600" * 1_000_000
    keep(keeper(tmp_path), text)
    assert restored(tmp_path) == text
