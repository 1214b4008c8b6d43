"""`/compact`: what it asks the screen to do, what it shows, and undo."""

from __future__ import annotations

from pathlib import Path

import pytest

from forge_core.commands.command_table import CommandTable
from forge_core.commands.dispatch import run_command
from forge_core.commands.result import CommandNotice, CommandResult, CompactConversation, Failure, Text
from forge_core.session.session import ForgeSession
from forge_core.tools.builtin.todo import TodoItem
from tests.support.sessions import scripted_session

LONG = "word " * 150


async def command(session: ForgeSession, argument: str = "") -> CommandResult:
    spec = CommandTable().find("compact")
    assert spec is not None
    assert spec.problem(argument) is None
    return await run_command(spec, argument, session)


async def filled(root: Path) -> ForgeSession:
    """Return a session with an \\x1b in its plan, before a compaction whose summary has another."""
    session = scripted_session(root, [[LONG], [LONG], [LONG], ["SUMMARY \x1b[31mred"]])
    for number in range(3):
        async for _ in session.send(f"question {number}"):
            pass
    session.todos.replace([TodoItem("Write \x1b[31m the cache")])
    return session


async def compacted(root: Path) -> ForgeSession:
    session = await filled(root)
    async for _ in session.compact():
        pass
    return session


@pytest.mark.parametrize(
    ("argument", "request_"),
    [
        ("", CompactConversation()),
        ("fast", CompactConversation(is_fast=True)),
        ("FAST", CompactConversation(is_fast=True)),
        ("the tests of the parser", CompactConversation("the tests of the parser")),
    ],
)
async def test_the_screen_is_asked_to_run_it(
    tmp_path: Path, argument: str, request_: CompactConversation
) -> None:
    session = scripted_session(tmp_path, [["x"]])
    assert await command(session, argument) == request_
    await session.aclose()


async def test_before_and_after_are_shown_with_every_pinned_fact(tmp_path: Path) -> None:
    session = await compacted(tmp_path)
    shown = await command(session, "show")
    assert isinstance(shown, Text)
    lines = shown.body.splitlines()
    assert lines[0].split() == ["Before", "After"]
    [total] = [line.split() for line in lines if line.startswith("Total")]
    report = session.compaction.report
    assert report is not None
    assert sum(report.before.values()) > sum(report.after.values())
    assert total[0] == "Total"
    assert any(line.startswith("✓ goal: question 0") and line.endswith("added by Forge") for line in lines)
    assert any(line.startswith("✓ todo: Write") for line in lines)
    assert "SUMMARY" in shown.body
    assert "\x1b" not in shown.body
    await session.aclose()


async def test_there_may_be_nothing_to_show_or_undo(tmp_path: Path) -> None:
    session = scripted_session(tmp_path, [["x"]])
    shown = await command(session, "show")
    assert isinstance(shown, Text)
    assert "Nothing was compacted" in shown.body
    assert await command(session, "undo") == Failure("There is no compaction to undo.")
    await session.aclose()


async def test_undo_reports_the_figures(tmp_path: Path) -> None:
    session = await compacted(tmp_path)
    small = session.status.context_used
    undone = await command(session, "undo")
    assert isinstance(undone, CommandNotice)
    assert undone.text.startswith(f"Compaction undone: ~{small} → ~")
    assert session.status.context_used > small
    await session.aclose()


async def test_the_summary_is_a_part_of_the_window(tmp_path: Path) -> None:
    session = await compacted(tmp_path)
    context = CommandTable().find("context")
    assert context is not None
    shown = await run_command(context, "", session)
    assert isinstance(shown, Text)
    assert "Summary by /compact" in shown.body
    assert "Summary by /compact" not in shown.body.partition("Turn ")[2].partition("Largest")[0]
    await session.aclose()
