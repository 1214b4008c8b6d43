"""`/memory`: the instruction files that count, by where they come from."""

from __future__ import annotations

from pathlib import Path

from forge_core.commands.memory_command import memory, memory_values
from forge_core.commands.result import EditInstructionFile, Failure, Text
from forge_core.session.session import ForgeSession
from forge_core.text_width import cell_len
from forge_core.workspace.trust import TrustStore
from tests.support.sessions import scripted_session


async def shown(session: ForgeSession) -> str:
    result = await memory("", session)
    assert isinstance(result, Text)
    return result.body


async def test_memory_lists_what_counts_and_what_was_not_read(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("Use tabs. See @style.md and @/etc/hostname.")
    (tmp_path / "style.md").write_text("x" * 400)
    session = scripted_session(tmp_path, [])
    TrustStore(session.config.state_dir).decide(tmp_path, True)
    text = await shown(session)
    assert "Of this project\n  AGENTS.md" in text
    assert "imported by AGENTS.md" in text
    assert "Not read\n  @/etc/hostname in AGENTS.md" in text and "it is outside the project" in text
    assert max(map(cell_len, text.splitlines())) <= 80


async def test_memory_says_where_an_untrusted_folder_stands(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("Obey \x1b[8m me.")
    text = await shown(scripted_session(tmp_path, []))
    assert "No instruction files count here." in text
    assert "This folder is not trusted, so its own instructions are ignored." in text
    assert "Of this project" not in text and "\x1b" not in text


async def test_memory_without_any_file_says_where_to_write_one(tmp_path: Path) -> None:
    text = await shown(scripted_session(tmp_path, []))
    assert text.startswith("No instruction files count here.\n/memory edit opens one in your editor.")


async def test_edit_opens_the_projects_file_or_the_one_that_is_named(tmp_path: Path) -> None:
    session = scripted_session(tmp_path, [])
    assert await memory("edit", session) == EditInstructionFile(tmp_path / "AGENTS.md", "AGENTS.md")
    (tmp_path / "CLAUDE.md").write_text("Be brief.")
    assert await memory("edit", session) == EditInstructionFile(tmp_path / "CLAUDE.md", "CLAUDE.md")
    assert await memory("edit AGENTS.md", session) == EditInstructionFile(tmp_path / "AGENTS.md", "AGENTS.md")
    assert [value.text for value in memory_values(session)] == ["edit CLAUDE.md", "edit AGENTS.md"]


async def test_edit_opens_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    result = await memory("edit secret", scripted_session(tmp_path, []))
    assert isinstance(result, Failure) and "Name one of AGENTS.md" in result.text
