"""The saved sessions: listed from their journals whatever the cache says, found, renamed, copied, deleted."""

from __future__ import annotations

import json
import os
from decimal import Decimal
from pathlib import Path

import pytest

from forge_core.errors import JournalError, SessionInUseError
from forge_core.llm.models import Message, TokenUsage
from forge_core.redact import Redactor
from forge_core.session.saved_sessions import SavedSessions
from forge_core.session.turn_recorder import message_record
from forge_core.store.journal import Journal, journal_path
from forge_core.store.session_index import MOST_READ_BYTES, list_sessions

FIRST, SECOND, THIRD = "20261120-100000-00000a", "20261121-100000-00000b", "20261121-110000-00000c"


def write(state: Path, session_id: str, *texts: str, folder: str = "/w", at: float = 0.0) -> Path:
    """Write a session's journal."""
    path = journal_path(state, session_id)
    journal = Journal(path, Redactor())
    journal.record("session", {"id": session_id, "working_dir": folder, "provider": "custom"})
    for text in texts:
        journal.record("user", {"text": text, "model": "a/b", "mode": "ask"})
        journal.record("message", message_record(Message.user(text)))
        usage = TokenUsage(prompt_tokens=1, cost_usd=Decimal("0.25"))
        journal.record("llm_end", {"usage": usage.as_dict(), "model": "a/b"})
    journal.close()
    if at:
        lines = [{**json.loads(line), "timestamp": at} for line in path.read_text().splitlines()]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture
def state(tmp_path: Path) -> Path:
    write(tmp_path, FIRST, "Fix the parser", "Now the tests", at=100.0)
    write(tmp_path, SECOND, "Explain this", folder="/other", at=300.0)
    write(tmp_path, THIRD, "Rename a class", at=200.0)
    return tmp_path


@pytest.fixture
def sessions(state: Path) -> SavedSessions:
    return SavedSessions(state, Redactor())


def test_the_last_used_session_comes_first(sessions: SavedSessions) -> None:
    found = sessions.list()
    assert [one.id for one in found] == [SECOND, THIRD, FIRST]
    last = found[-1]
    assert (last.title, last.preview, last.turns) == ("Fix the parser", "Now the tests", 2)
    assert (last.cost_usd, last.model, last.working_dir) == (Decimal("0.50"), "a/b", "/w")


def test_a_folder_has_its_own_sessions(sessions: SavedSessions) -> None:
    assert [one.id for one in sessions.list(Path("/w"))] == [THIRD, FIRST]
    assert sessions.latest(Path("/w")).id == THIRD
    with pytest.raises(JournalError, match="no saved session of '/nowhere'"):
        sessions.latest(Path("/nowhere"))


def test_a_session_without_a_message_is_not_listed(state: Path) -> None:
    write(state, "20261122-100000-00000d")
    assert len(list_sessions(state)) == 3


def test_a_whole_id_is_taken_without_reading_the_sessions(state: Path, sessions: SavedSessions) -> None:
    assert sessions.id_of(FIRST) == FIRST
    assert not (state / "sessions" / "index.json").exists()
    assert sessions.id_of("fix the parser") == FIRST
    with pytest.raises(JournalError, match="There is no session '20261122-100000-00000d'"):
        sessions.id_of("20261122-100000-00000d")


def test_the_whole_id_of_a_damaged_journal_is_refused(state: Path, sessions: SavedSessions) -> None:
    journal_path(state, FIRST).write_text("no record\n")
    with pytest.raises(JournalError, match="holds no session"):
        sessions.id_of(FIRST)


@pytest.mark.parametrize("name", [FIRST, "20261120", "fix the PARSER"])
def test_a_session_is_found_by_id_beginning_or_title(sessions: SavedSessions, name: str) -> None:
    assert sessions.find(name).id == FIRST


@pytest.mark.parametrize(
    ("name", "words"), [("20261121", "2 sessions"), ("nothing", "no session"), ("", "no")]
)
def test_a_name_of_none_or_several_sessions_is_refused(
    sessions: SavedSessions, name: str, words: str
) -> None:
    with pytest.raises(JournalError, match=words):
        sessions.find(name)


@pytest.mark.parametrize(
    "damage",
    [
        "",
        "{",
        "[]",
        '{"v": 1}',
        '{"v": 1, "sessions": []}',
        '{"v": 9, "sessions": {}}',
        "[" * 100_000,
        f'{{"v": 1, "sessions": {{"{FIRST}": 5, "{SECOND}": {{"stamp": 1}}}}}}',
    ],
    ids=["empty", "torn", "list", "without", "wrong", "version", "deep", "entries"],
)
def test_a_damaged_cache_is_rebuilt(state: Path, damage: str) -> None:
    before = list_sessions(state)
    cache = state / "sessions" / "index.json"
    cache.write_text(damage)
    assert list_sessions(state) == before
    assert list_sessions(state) == before


def test_wrong_fields_in_the_cache_are_not_believed(state: Path) -> None:
    before = list_sessions(state)
    cache = state / "sessions" / "index.json"
    whole = json.loads(cache.read_text())
    for name in whole["sessions"][FIRST]:
        for bad in (None, 7, "x", [], {}):
            changed = json.loads(json.dumps(whole))
            changed["sessions"][FIRST][name] = bad
            cache.write_text(json.dumps(changed))
            list_sessions(state)  # never raises
    cache.unlink()
    assert list_sessions(state) == before


def test_only_journals_that_have_changed_are_read_again(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from forge_core.store import session_index

    list_sessions(state)
    read: list[str] = []
    load = session_index.load_session
    monkeypatch.setattr(session_index, "load_session", lambda path: (read.append(path.stem), load(path))[1])
    list_sessions(state)
    assert read == []
    write(state, THIRD, "And another")
    list_sessions(state)
    assert read == [THIRD]


def test_the_last_session_of_a_folder_is_that_of_the_list(state: Path, sessions: SavedSessions) -> None:
    found = sessions.last(Path("/w"))
    assert found == sessions.latest(Path("/w")) == sessions.last(Path("/w"))
    assert sessions.last(Path("/nowhere")) is None
    write(state, FIRST, "Once more")
    found = sessions.last(Path("/w"))
    assert found is not None and (found.id, found.turns) == (FIRST, 3)
    sessions.rename(THIRD, "Another title")
    assert found == sessions.last(Path("/w")), "a new title is no use"
    assert SavedSessions(state / "none", Redactor()).last(Path("/w")) is None


def test_the_last_session_reads_only_what_has_changed_and_only_so_much(
    state: Path, sessions: SavedSessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    from forge_core.store import session_index

    list_sessions(state)
    read: list[str] = []
    load = session_index.load_session
    monkeypatch.setattr(session_index, "load_session", lambda path: (read.append(path.stem), load(path))[1])
    sessions.last(Path("/w"))
    assert read == []
    path = write(state, THIRD, "And another")
    found = sessions.last(Path("/w"))
    assert found is not None and (found.id, read) == (THIRD, [THIRD])
    assert sessions.last(Path("/w")) == found and read == [THIRD], "it is in the cache now"
    with path.open("a") as file:
        file.write(" " * MOST_READ_BYTES + "\n")
    assert sessions.last(Path("/w")) is None and read == [THIRD], "too much to read: nothing is offered"


@pytest.mark.parametrize("damage", ["", "{", '{"v": 2, "sessions": {"20261121-110000-00000c": 5}}'])
def test_the_last_session_does_not_need_the_cache(state: Path, sessions: SavedSessions, damage: str) -> None:
    (state / "sessions" / "index.json").write_text(damage)
    found = sessions.last(Path("/w"))
    assert found is not None and found.id == THIRD


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_list_needs_no_permission_to_write(state: Path) -> None:
    before = list_sessions(state)
    (state / "sessions" / "index.json").unlink()
    (state / "sessions").chmod(0o500)
    try:
        assert list_sessions(state) == before
    finally:
        (state / "sessions").chmod(0o700)


def test_the_cache_is_private(state: Path) -> None:
    list_sessions(state)
    assert (state / "sessions" / "index.json").stat().st_mode & 0o777 == 0o600


def test_there_may_be_no_sessions_yet(tmp_path: Path) -> None:
    assert list_sessions(tmp_path / "none") == []


def test_a_title_is_changed_in_the_journal(sessions: SavedSessions) -> None:
    assert sessions.rename(FIRST, "  My\nparser ") == "My parser"
    assert sessions.find("my parser").id == FIRST
    with pytest.raises(JournalError, match="at least one character"):
        sessions.rename(FIRST, " \n ")


def test_a_deleted_session_leaves_nothing(sessions: SavedSessions, state: Path) -> None:
    (state / "sessions" / FIRST / "undo").mkdir(parents=True)
    sessions.delete(FIRST)
    assert not list((state / "sessions").glob(f"{FIRST}*"))
    assert [one.id for one in sessions.list()] == [SECOND, THIRD]
    with pytest.raises(JournalError, match="no session"):
        sessions.delete(FIRST)


def test_an_open_session_is_neither_deleted_nor_renamed(sessions: SavedSessions, state: Path) -> None:
    holder = Journal(journal_path(state, FIRST), Redactor())
    holder.claim()
    with pytest.raises(SessionInUseError):
        sessions.delete(FIRST)
    with pytest.raises(SessionInUseError):
        sessions.rename(FIRST, "x")
    holder.close()
    assert sessions.find(FIRST).title == "Fix the parser"


def test_a_fork_is_listed_with_its_parent(sessions: SavedSessions) -> None:
    copy = sessions.fork(FIRST)
    found = sessions.find(copy)
    assert (found.parent, found.title, found.turns) == (FIRST, "Fix the parser", 2)


@pytest.mark.parametrize("name", ["../../etc/passwd", "index", ""])
def test_a_name_that_is_no_id_reaches_no_file(sessions: SavedSessions, name: str) -> None:
    for act in (sessions.load, sessions.delete, sessions.fork):
        with pytest.raises(JournalError, match="no session"):
            act(name)


def test_a_session_that_cannot_be_read_is_refused_with_the_reason(
    state: Path, sessions: SavedSessions
) -> None:
    path = journal_path(state, FIRST)
    path.write_text(path.read_text().replace('"v": 2', '"v": 99'))
    with pytest.raises(JournalError, match="later version"):
        sessions.find(FIRST)


def test_a_new_title_does_not_count_as_use(sessions: SavedSessions) -> None:
    sessions.rename(FIRST, "Renamed")
    assert [one.id for one in sessions.list()] == [SECOND, THIRD, FIRST]
    assert sessions.list()[-1].updated == 100.0


def test_pruning_deletes_sessions_unused_since_a_moment_with_all_their_data(
    sessions: SavedSessions, state: Path
) -> None:
    for name in ("outputs", "undo"):
        folder = journal_path(state, FIRST).with_suffix("") / name
        folder.mkdir(parents=True)
        (folder / "data").write_text("x")
    assert [one.id for one in sessions.unused_since(250.0)] == [FIRST, THIRD]
    assert len(sessions.list()) == 3
    deleted, kept = sessions.prune(250.0)
    assert ([one.id for one in deleted], kept) == ([FIRST, THIRD], [])
    assert [one.id for one in sessions.list()] == [SECOND]
    assert not journal_path(state, FIRST).with_suffix("").exists()


def test_pruning_keeps_a_session_that_is_open(sessions: SavedSessions, state: Path) -> None:
    journal = Journal(journal_path(state, FIRST), Redactor())
    journal.claim()
    deleted, kept = sessions.prune(150.0)
    assert deleted == [] and len(kept) == 1 and f"Session {FIRST} is open in another Forge" in kept[0]
    assert journal_path(state, FIRST).exists()
    journal.close()
    assert [one.id for one in sessions.prune(150.0)[0]] == [FIRST]


def write_agent(state: Path, session_id: str, parent: str) -> None:
    """Write the session of a sub-agent."""
    path = write(state, session_id, "Find it", at=400.0)
    first, *rest = path.read_text().splitlines(keepends=True)
    record = json.loads(first)
    record["data"] |= {"parent": parent, "agent": "explore"}
    path.write_text(json.dumps(record) + "\n" + "".join(rest))


def test_sessions_of_sub_agents_are_listed_below_their_own_and_go_with_it(
    state: Path, sessions: SavedSessions
) -> None:
    one, other, lost = (f"20261122-100000-00000{digit}" for digit in "abc")
    for session_id, parent in ((one, FIRST), (other, FIRST), (lost, "20261101-000000-ffffff")):
        write_agent(state, session_id, parent)

    assert [found.id for found in sessions.list()] == [SECOND, THIRD, FIRST]
    listed = sessions.list(with_agents=True)
    assert [found.id for found in listed] == [SECOND, THIRD, FIRST, one, other, lost]
    assert [found.agent for found in listed] == ["", "", "", "explore", "explore", "explore"]
    assert sessions.latest(Path("/w")).id == THIRD
    last = sessions.last(Path("/w"))
    assert last is not None and last.id == THIRD
    assert sessions.find(one).id == one
    copy = sessions.fork(one)
    assert [found.agent for found in sessions.list() if found.id == copy] == [""]

    sessions.delete(FIRST)
    left = [found.id for found in sessions.list(with_agents=True)]
    assert sorted(left) == sorted([SECOND, THIRD, lost, copy])
