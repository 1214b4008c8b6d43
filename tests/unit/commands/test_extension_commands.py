"""`/extensions` and `/reload`."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from forge_core.approval import deny_all
from forge_core.commands.command_table import CommandTable
from forge_core.commands.dispatch import run_command
from forge_core.commands.result import CommandNotice, CommandResult, Text
from forge_core.runtime import build_session, load_session_config
from forge_core.session.session import ForgeSession


async def run(session: ForgeSession, line: str) -> CommandResult:
    name, _, argument = line.partition(" ")
    spec = CommandTable().find(name)
    assert spec is not None
    return await run_command(spec, argument, session)


def session_in(folder: Path, tmp_path: Path, **flags: object) -> ForgeSession:
    config = load_session_config(folder, flags={"model": "offline", "sandbox": "off", **flags})
    own = () if config.safe else (tmp_path / "own",)
    return build_session(dataclasses.replace(config, own_extensions=own), deny_all)


async def test_what_is_in_use_is_listed_and_read_again_on_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    work, commands = tmp_path / "work", tmp_path / "work/.claude/commands"
    commands.mkdir(parents=True)
    (commands / "review.md").write_text("Review it.")
    (tmp_path / "own/commands").mkdir(parents=True)
    (tmp_path / "own/commands/review.md").write_text("My own way.")
    session = session_in(work, tmp_path)
    try:
        before = await run(session, "extensions")
        trusted = await run(session, "trust yes")
        listed = await run(session, "extensions")
        (commands / "fix.md").write_text("Fix it.")
        read_again = await run(session, "reload")
        unchanged = await run(session, "reload")
    finally:
        await session.aclose()

    assert isinstance(before, Text)
    assert before.body == (
        "Commands\n  /review  ~/own/commands/review.md\n\n"
        "1 file of this project is left out, because the folder is not trusted. /trust shows what would count."
    )
    assert isinstance(trusted, Text)
    assert trusted.body.endswith("\n  new: command /review")
    assert isinstance(listed, Text)
    assert listed.body == (
        "Commands\n"
        "  /review       .claude/commands/review.md\n"
        "  /user:review  ~/own/commands/review.md (another one has its name)"
    )
    assert read_again == CommandNotice("Read again: new: command /fix.")
    assert unchanged == CommandNotice("Read again: nothing has changed.")


async def test_a_safe_start_says_that_everything_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "work/.claude/commands").mkdir(parents=True)
    (tmp_path / "work/.claude/commands/review.md").write_text("Review it.")
    session = session_in(tmp_path / "work", tmp_path, safe=True)
    try:
        listed = await run(session, "extensions")
    finally:
        await session.aclose()

    assert listed == Text(
        "Everything from files is left out, because Forge was started with --safe.", "Extensions"
    )
