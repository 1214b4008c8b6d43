"""Lines for instruction files: where they may go, what they change, and that `/undo` takes them back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from forge_core.config.forge_config import ForgeConfig
from forge_core.errors import ForgeError
from forge_core.runtime import load_session_config
from forge_core.session.instruction_notes import MAX_BYTES, InstructionChange, note_changes, write_change
from forge_core.session.session import ForgeSession
from forge_core.undo import UndoStore
from forge_core.workspace.trust import TrustStore
from tests.support.sessions import scripted_session


@pytest.fixture
def config(tmp_path: Path) -> ForgeConfig:
    (tmp_path / "work").mkdir()
    own = tmp_path / "config/AGENTS.md"
    return replace(load_session_config(tmp_path / "work"), own_instructions=(own,))


def names(config: ForgeConfig) -> list[str]:
    return [Path(change.name).name for change in note_changes("x", config)]


def in_project(config: ForgeConfig, note: str = "Use tabs.") -> InstructionChange:
    return note_changes(note, config)[0]


def test_existing_files_of_the_project_come_first_then_a_new_one_then_the_users_own(
    config: ForgeConfig,
) -> None:
    assert [(Path(one.name).name, one.scope, one.before) for one in note_changes("x", config)] == [
        ("AGENTS.md", "this project", None),
        ("AGENTS.md", "all projects", None),
    ]
    (config.working_dir / "CLAUDE.md").write_text("Be brief.\n")
    assert names(config) == ["CLAUDE.md", "AGENTS.md", "AGENTS.md"]


def test_a_link_out_of_the_project_a_huge_file_and_a_binary_one_are_not_offered(config: ForgeConfig) -> None:
    folder = config.working_dir
    (folder / "AGENTS.md").symlink_to(folder.parent / "elsewhere")
    (folder / "CLAUDE.md").write_bytes(b"x" * (MAX_BYTES + 1))
    (folder / "GEMINI.md").write_bytes(b"\0\1\2" * 100)
    assert [one.scope for one in note_changes("x", config)] == ["all projects"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "- Use tabs.\n"),
        ("# Rules", "# Rules\n\n- Use tabs.\n"),
        ("# Rules\n\n- One.\n\n", "# Rules\n\n- One.\n- Use tabs.\n"),
        ("* One.\r\n* Two.\r\n", "* One.\r\n* Two.\r\n- Use tabs.\r\n"),
    ],
)
def test_a_note_becomes_an_item_at_the_end(config: ForgeConfig, before: str, after: str) -> None:
    (config.working_dir / "AGENTS.md").write_bytes(before.encode())
    change = in_project(config)
    assert change.data == after.encode()
    assert "+- Use tabs." in change.diff.diff


def with_undo(config: ForgeConfig) -> ForgeSession:
    session = scripted_session(config.working_dir, [["Done."]])
    session.config = config
    session._environment.undo = UndoStore(config.working_dir, config.working_dir.parent / "undo")
    return session


@pytest.mark.parametrize("index", [0, 1], ids=["project", "own"])
async def test_what_was_written_is_undone_by_undo(config: ForgeConfig, index: int) -> None:
    session = with_undo(config)
    change = note_changes("Use tabs.", config)[index]
    report = await write_change(session, change)
    assert change.path.read_text() == "- Use tabs.\n" and "/undo takes it back" in report
    assert session.undo is not None
    await session.undo.undo()
    assert not change.path.exists()
    await session.aclose()


async def test_a_file_that_has_changed_since_is_not_written(config: ForgeConfig) -> None:
    session = with_undo(config)
    change = in_project(config)
    change.path.write_text("Another program was faster.")
    with pytest.raises(ForgeError, match="was not changed"):
        await write_change(session, change)
    assert change.path.read_text() == "Another program was faster."
    await session.aclose()


async def test_the_model_has_the_line_in_its_next_request(config: ForgeConfig) -> None:
    from forge_core.context.instructions import as_prompt, instructions_for
    from forge_core.context.system_prompt import SystemPrompt

    session = with_undo(config)
    session._system_prompt = lambda mode: SystemPrompt(as_prompt(instructions_for(config).files))
    assert "is not trusted" in await write_change(session, in_project(config))
    TrustStore(config.state_dir).decide(config.working_dir, True)
    assert "next request" in await write_change(session, in_project(config, "And spaces."))
    message = session._agent.memory.system_message
    assert message is not None and "- Use tabs.\n- And spaces." in message.text
    await session.aclose()
