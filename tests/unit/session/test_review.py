"""Reviewing the changes of the last turn: hunks and files are kept or reverted, and the model learns it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import Path

import pytest

from forge_core.approval import Answer, ApprovalReply, ApprovalRequest
from forge_core.config.forge_config import ForgeConfig
from forge_core.errors import ForgeError
from forge_core.events import Notice
from forge_core.redact import Redactor
from forge_core.runtime import build_session
from forge_core.session import ForgeSession
from forge_core.session.changes import TurnChanges
from forge_core.session.replay import replayed_turns
from forge_core.session.review import WHOLE_FILE
from forge_core.store.forking import fork_session
from forge_core.store.saved_session import load_session
from forge_core.text_width import cell_len
from forge_core.undo.file_state import FileChange
from forge_core.undo.storage.turn_history import TurnRecord
from forge_core.undo.storage.turn_log import TurnLog
from forge_core.workspace.change_source import ChangedFile
from forge_core.workspace.work_tree import MAX_PATCH_BYTES
from tests.support.sse_server import SseServer, answer, tool_answer
from tests.unit.runtime.test_resuming import config_for, say, sent

LINES = [f"line {number}\n" for number in range(40)]
CHANGED = [*LINES[:3], "three\n", *LINES[4:20], *LINES[21:35], "more\n", "still more\n", *LINES[35:]]
"""Three hunks: line 3 is another one, line 20 is gone, two lines are new before line 35."""


async def allow(request: ApprovalRequest) -> ApprovalReply:
    return ApprovalReply(Answer.ONCE)


class Desk:
    """A session whose first turn runs a command; `prepare` makes the files that it finds."""

    def __init__(self, root: Path, command: str = "", **edit: str) -> None:
        call = ("c1", "edit", edit) if edit else ("c1", "bash", {"command": command})
        self.root = root
        self.server = SseServer(tool_answer(call), answer("Done."), *[answer("More.")] * 5)
        self.config: ForgeConfig = config_for(root, self.server)

    async def start(self) -> ForgeSession:
        session = build_session(self.config, allow)
        await say(session, "change things")
        return session

    async def again(self, session: ForgeSession) -> ForgeSession:
        """Return the session, continued."""
        await session.aclose()
        return build_session(self.config, allow, resume=session.id)

    def text(self, name: str = "a.txt") -> str:
        return (self.root / name).read_bytes().decode()


async def changes_of(session: ForgeSession) -> tuple[TurnChanges, dict[str, ChangedFile]]:
    changes = session.changes("turn")
    assert isinstance(changes, TurnChanges)
    found = await changes.read()
    return changes, {file.path: file for file in found.files}


async def revert(session: ForgeSession, name: str, numbers: Sequence[int] | None = None) -> str:
    changes, files = await changes_of(session)
    found = await session.review.hunks(changes, files[name])
    chosen = None if numbers is None else [found[number] for number in numbers]
    return await session.review.revert(changes, files[name], chosen)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    made = Desk(tmp_path / "work", "cp new.txt a.txt")
    (made.root / "a.txt").write_text("".join(LINES))
    (made.root / "new.txt").write_text("".join(CHANGED))
    with made.server:
        made.config = config_for(made.root, made.server)
        yield made


async def test_one_hunk_is_reverted_and_undo_restores_it(desk: Desk) -> None:
    session = await desk.start()
    assert await revert(session, "a.txt", [1]) == "Reverted 1 of 3 hunks of a.txt (at line 21)"
    assert desk.text() == "".join([*CHANGED[:20], LINES[20], *CHANGED[20:]])
    changes, files = await changes_of(session)
    assert len(await session.review.hunks(changes, files["a.txt"])) == 2
    assert session.undo is not None
    await session.undo.undo()
    assert desk.text() == "".join(CHANGED)
    await session.undo.undo()
    assert desk.text() == "".join(LINES)
    await session.aclose()


async def test_the_model_is_informed_and_must_read_the_file_again(desk: Desk) -> None:
    session = await desk.start()
    path = str(desk.root / "a.txt")
    session._environment.files[path] = "a hash"
    await revert(session, "a.txt", [0, 2])
    assert path not in session._environment.files
    await say(session, "go on")
    note = str(sent(desk.server)[-1]["content"])
    assert "The user reviewed your file changes" in note
    assert "Reverted 2 of 3 hunks of a.txt (at line 4, 35)" in note
    await say(session, "and on")
    assert "reviewed" not in str(sent(desk.server)[-1]["content"])
    await session.aclose()


async def test_a_continued_session_shows_the_revert_and_informs_the_model(desk: Desk) -> None:
    session = await desk.start()
    await revert(session, "a.txt", [0])
    session = await desk.again(session)
    assert session.restored is not None
    (turn,) = replayed_turns(session.restored)
    notices = [event.text for event in turn.events if isinstance(event, Notice)]
    assert notices == ["Reverted 1 of 3 hunks of a.txt (at line 4). /undo restores it."]
    await say(session, "go on")
    assert "Reverted 1 of 3 hunks of a.txt" in str(sent(desk.server)[-1]["content"])
    session = await desk.again(session)
    await say(session, "and on")
    assert "reviewed" not in str(sent(desk.server)[-1]["content"])
    await session.aclose()


async def test_a_file_that_has_changed_since_is_refused(desk: Desk) -> None:
    session = await desk.start()
    changes, files = await changes_of(session)
    found = await session.review.hunks(changes, files["a.txt"])
    (desk.root / "a.txt").write_text("mine\n")
    for chosen in (found[:1], found, None):
        with pytest.raises(ForgeError, match=r"^Nothing was reverted\. a\.txt: changed since\.$"):
            await session.review.revert(changes, files["a.txt"], chosen)
    assert desk.text() == "mine\n"
    await session.aclose()


async def test_a_conflict_during_the_writes_is_shown_and_stays_in_the_turn(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "work", "mkdir d; printf x > d/f")
    with desk.server:
        desk.config = config_for(desk.root, desk.server)
        session = await desk.start()
        (desk.root / "d/mine").write_text("mine\n")
        text = await revert(session, "d/f")
        assert text == ("Reverted the changes of d/f. Left alone: d: it holds files that are not this turn's")
        assert [path.name for path in (desk.root / "d").iterdir()] == ["mine"]
        assert text in session._news.lines[0]
        assert session.undo is not None
        left = await session.undo.last_turn()
        assert left is not None and list(left.changes) == ["d"]
        session = await desk.again(session)
        assert session.restored is not None
        (turn,) = replayed_turns(session.restored)
        assert f"{text}. /undo restores it." in [
            event.text for event in turn.events if isinstance(event, Notice)
        ]
        (desk.root / "d/mine").unlink()
        assert session.undo is not None
        for _ in range(2):
            assert not (await session.undo.undo()).conflicts
        assert not list(desk.root.iterdir())
        await session.aclose()


async def test_a_file_that_changes_during_the_revert_is_left_alone(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await desk.start()
    begin = TurnLog.begin_revert

    def during(log: TurnLog, number: int, text: str, changes: Iterable[FileChange]) -> TurnRecord:
        (desk.root / "a.txt").write_text("mine\n")
        return begin(log, number, text, changes)

    monkeypatch.setattr(TurnLog, "begin_revert", during)
    with pytest.raises(ForgeError, match=r"^Nothing was reverted\. a\.txt: changed since\.$"):
        await revert(session, "a.txt", [0])
    assert desk.text() == "mine\n"
    assert session.undo is not None
    assert len(session.undo.turns()) == 1
    (desk.root / "a.txt").write_text("".join(CHANGED))
    session = await desk.again(session)
    changes, files = await changes_of(session)
    assert len(await session.review.hunks(changes, files["a.txt"])) == 3
    await session.aclose()


async def test_a_refusal_leaves_room_for_the_reason(tmp_path: Path) -> None:
    name = f"{'folder/' * 8}日本.txt"
    desk = Desk(tmp_path / "work", f"echo new > {name}")
    (desk.root / name).parent.mkdir(parents=True)
    (desk.root / name).write_text("old\n")
    with desk.server:
        desk.config = config_for(desk.root, desk.server)
        session = await desk.start()
        (desk.root / name).write_text("mine\n")
        with pytest.raises(ForgeError) as raised:
            await revert(session, name)
        assert str(raised.value).endswith("日本.txt: changed since.")
        assert cell_len(str(raised.value)) <= 78  # the footer at 80 columns
        await session.aclose()


async def test_a_file_that_is_too_large_to_compare_is_reverted_as_a_whole(desk: Desk) -> None:
    session = await desk.start()
    assert session.undo is not None
    path, half = desk.root / "large", b"line\n" * (MAX_PATCH_BYTES // 10 + 1)
    path.write_bytes(half)
    await session.undo.begin_turn("edit it")
    await session.undo.capture(path)
    path.write_bytes(half + b"more\n")
    await session.undo.end_turn()
    changes, files = await changes_of(session)
    assert "Too large to compare" in (await changes.patch(files["large"])).remark
    assert await session.review.hunks(changes, files["large"]) == ()
    assert await revert(session, "large") == "Reverted the changes of large"
    assert path.read_bytes() == half
    changes, _ = await changes_of(session)
    await session.review.undo(changes)
    assert path.read_bytes() == half + b"more\n"
    path.write_bytes(half + b"mine\n")
    with pytest.raises(ForgeError, match=r"^Nothing was reverted\. large: changed since\.$"):
        await revert(session, "large")
    await session.aclose()


async def test_a_view_that_is_out_of_date_is_refused(desk: Desk) -> None:
    session = await desk.start()
    changes, files = await changes_of(session)
    found = await session.review.hunks(changes, files["a.txt"])
    await revert(session, "a.txt", [0])
    with pytest.raises(ForgeError, match="changed since"):
        await session.review.revert(changes, files["a.txt"], found[1:2])
    await session.aclose()


async def test_the_last_revert_is_undone_by_the_review(desk: Desk) -> None:
    session = await desk.start()
    await revert(session, "a.txt", [0])
    once = desk.text()
    await revert(session, "a.txt", [0])
    changes, _ = await changes_of(session)
    assert await session.review.undo(changes) == "Restored the reverted changes of a.txt"
    assert desk.text() == once
    changes, _ = await changes_of(session)
    await session.review.undo(changes)
    assert desk.text() == "".join(CHANGED)
    changes, _ = await changes_of(session)
    with pytest.raises(ForgeError, match="no part of the last turn is reverted"):
        await session.review.undo(changes)  # and not the turn itself
    assert desk.text() == "".join(CHANGED)
    await session.aclose()


async def test_marks_of_kept_hunks_survive_other_reverts_and_a_restart(desk: Desk, tmp_path: Path) -> None:
    session = await desk.start()
    changes, files = await changes_of(session)
    first, _, last = await session.review.hunks(changes, files["a.txt"])
    session.review.keep(changes, files["a.txt"], [first.key, last.key], is_kept=True)
    session.review.keep(changes, files["a.txt"], [first.key], is_kept=False)
    await revert(session, "a.txt", [1])
    for _ in range(2):
        changes, files = await changes_of(session)
        assert session.review.kept(changes, files["a.txt"]) == {last.key}
        assert last.key in {one.key for one in await session.review.hunks(changes, files["a.txt"])}
        session = await desk.again(session)
    await session.aclose()
    saved = load_session(desk.config.state_dir / "sessions" / f"{session.id}.jsonl")
    fork_session(saved, tmp_path / "copy.jsonl", Redactor())
    assert load_session(tmp_path / "copy.jsonl").kept == {"a.txt": [last.key]}


async def test_marks_belong_to_one_turn(desk: Desk) -> None:
    session = await desk.start()
    changes, files = await changes_of(session)
    session.review.keep(changes, files["a.txt"], [WHOLE_FILE], is_kept=True)
    changes.turn += 1
    assert session.review.kept(changes, files["a.txt"]) == frozenset()
    await session.aclose()


async def test_a_running_turn_refuses_a_revert(desk: Desk) -> None:
    session = await desk.start()
    changes, files = await changes_of(session)
    async for _ in session.send("go on"):
        with pytest.raises(ForgeError, match="A turn is running"):
            await session.review.revert(changes, files["a.txt"])
    await session.aclose()


CRLF = b"".join(line.encode().replace(b"\n", b"\r\n") for line in LINES)
UTF16 = "".join(LINES).encode("utf-16")

FILES = {
    "created": (None, b"new\n", "printf 'new\\n' > f"),
    "created in new folders": (None, b"x", "mkdir -p d/e; printf x > d/e/f"),
    "deleted": (b"old\n", None, "rm f"),
    "binary": (b"\0old", b"\0new", "printf '\\0new' > f"),
    "mode": (b"#!/bin/sh\n", b"#!/bin/sh\n", "chmod 755 f"),
    "empty": (b"text\n", b"", ": > f"),
    "a link": (b"text\n", None, "ln -sf nowhere f"),
    "a folder": (b"text\n", None, "rm f; mkdir f; printf x > f/g"),
}


@pytest.mark.parametrize("case", FILES)
async def test_a_file_without_hunks_is_reverted_as_a_whole(tmp_path: Path, case: str) -> None:
    before, after, command = FILES[case]
    desk = Desk(tmp_path / "work", command)
    if before is not None:
        (desk.root / "f").write_bytes(before)
    with desk.server:
        desk.config = config_for(desk.root, desk.server)
        session = await desk.start()
        if after is not None:
            assert next(desk.root.rglob("f")).read_bytes() == after
        for name in (await changes_of(session))[1]:
            if name != "f/g":  # goes with the folder
                await revert(session, name)
        found = {str(path.relative_to(desk.root)) for path in desk.root.rglob("*")}
        assert found == ({"f"} if before is not None else set())
        assert before is None or (desk.root / "f").read_bytes() == before
        assert before is None or not (desk.root / "f").stat().st_mode & 0o100
        assert session.undo is not None
        assert not (await session.undo.undo()).conflicts
        assert not (await session.undo.undo()).conflicts
        assert {path.name for path in desk.root.iterdir()} == ({"f"} if before is not None else set())
        await session.aclose()


async def test_a_renamed_file_gets_its_name_back(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "work", "mkdir d; mv old d/new")
    (desk.root / "old").write_text("text\n")
    with desk.server:
        desk.config = config_for(desk.root, desk.server)
        session = await desk.start()
        assert await revert(session, "d/new") == "Reverted the changes of d/new"
        assert [path.name for path in desk.root.iterdir()] == ["old"]
        await session.aclose()


ENDS = {
    "crlf": CRLF,
    "utf-16": UTF16,
    "no newline at the end": CRLF.removesuffix(b"\r\n"),
    "bytes that are not valid": b"\xff\n" + CRLF,
    "byte order mark": b"\xef\xbb\xbf" + CRLF,
}


@pytest.mark.parametrize("case", ENDS)
async def test_bytes_of_other_lines_stay_as_they_are(tmp_path: Path, case: str) -> None:
    before = ENDS[case]
    desk = Desk(tmp_path / "work", "cp new a")
    encoding = "utf-16-le" if before is UTF16 else "latin-1"
    first, last = (text.encode(encoding) for text in ("line 5", "line 30"))
    half = before.replace(first, "ß".encode(encoding) + first)
    (desk.root / "a").write_bytes(before)
    (desk.root / "new").write_bytes(half.replace(last, last + "!".encode(encoding)))
    with desk.server:
        desk.config = config_for(desk.root, desk.server)
        session = await desk.start()
        await revert(session, "a", [1])
        assert (desk.root / "a").read_bytes() == half
        await session.aclose()


async def test_a_file_outside_the_folder_is_reverted(tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("".join(LINES))
    desk = Desk(tmp_path / "work", file_path=str(outside), old_string="line 3\n", new_string="three\n")
    with desk.server:
        desk.config = config_for(desk.root, desk.server)
        session = await desk.start()
        assert "three\n" in outside.read_text()
        await revert(session, os.fspath(outside), None)
        assert outside.read_text() == "".join(LINES)
        await session.aclose()
