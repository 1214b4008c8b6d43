"""`/init`: what is sent to a model, and what is proposed without one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from forge_core.commands.init_command import init
from forge_core.commands.result import ChooseInstructionFile, CommandNotice, Failure, SendMessage
from forge_core.config.forge_config import Endpoint
from forge_core.context.initial_instructions import REQUEST
from forge_core.session.instruction_notes import InstructionChange, write_change
from forge_core.session.session import ForgeSession
from forge_core.undo.undo_store import UndoStore
from tests.support.sessions import scripted_session


@pytest.fixture
def session(tmp_path: Path) -> ForgeSession:
    (tmp_path / "go.mod").write_text("module example.org/gopher\n")
    return scripted_session(tmp_path, [])


async def proposed(session: ForgeSession) -> tuple[InstructionChange, str]:
    result = await init("fast", session)
    assert isinstance(result, ChooseInstructionFile)
    (change,) = result.changes
    return change, result.heading


async def test_a_model_is_sent_the_request(session: ForgeSession) -> None:
    assert await init("", session) == SendMessage(REQUEST)
    assert "AGENTS.md" in REQUEST and "keep what is still right" in REQUEST


async def test_the_offline_model_is_sent_nothing(session: ForgeSession) -> None:
    session.config = replace(session.config, endpoint=Endpoint("offline", ""))
    assert isinstance(await init("", session), ChooseInstructionFile)


async def test_a_new_file_is_proposed_then_written_and_then_up_to_date(session: ForgeSession) -> None:
    change, heading = await proposed(session)
    assert heading == "Write AGENTS.md" and change.before is None and "+# gopher" in change.diff.diff
    assert not change.path.exists()
    assert (await write_change(session, change)).startswith("Wrote AGENTS.md.")
    assert change.path.read_bytes() == change.data
    result = await init("fast", session)
    assert isinstance(result, CommandNotice) and "up to date" in result.text


async def test_an_existing_file_is_only_added_to_after_its_diff(session: ForgeSession) -> None:
    path = session.config.working_dir / "AGENTS.md"
    path.write_text("Use tabs.\n")
    change, heading = await proposed(session)
    assert heading == "Add to AGENTS.md; nothing is removed"
    assert "-Use tabs." not in change.diff.diff and "+- `go test ./...` (go.mod)" in change.diff.diff
    assert path.read_text() == "Use tabs.\n"
    assert (await write_change(session, change)).startswith("Added to AGENTS.md.")
    assert path.read_text().startswith("Use tabs.\n")
    assert isinstance(await init("fast", session), CommandNotice)  # nothing is added twice


async def test_undo_restores_the_file_that_was_added_to(session: ForgeSession, tmp_path: Path) -> None:
    session._environment.undo = UndoStore(session.config.working_dir, tmp_path / "state" / "undo")
    path = session.config.working_dir / "AGENTS.md"
    path.write_text("Use tabs.\n")
    change, _ = await proposed(session)
    assert "/undo takes it back" in await write_change(session, change)
    assert path.read_bytes() == change.data
    assert session.undo is not None
    await session.undo.undo()
    assert path.read_text() == "Use tabs.\n"


async def test_no_facts_and_links_out_of_the_folder_are_reported(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    session = scripted_session(folder, [])
    result = await init("fast", session)
    assert isinstance(result, Failure) and "nothing to write" in result.text
    (folder / "go.mod").write_text("module gopher\n")
    (tmp_path / "outside").write_text("x")
    (folder / "AGENTS.md").symlink_to(tmp_path / "outside")
    result = await init("fast", session)
    assert isinstance(result, Failure) and "not a text file inside this folder" in result.text
