"""`/extensions` and `/reload`."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path

import pytest

from forge_core.approval import deny_all
from forge_core.commands.command_table import CommandTable
from forge_core.commands.dispatch import run_command
from forge_core.commands.extension_findings import extension_findings
from forge_core.commands.prompt_commands import command_use
from forge_core.commands.result import CommandNotice, CommandResult, Failure, Text
from forge_core.extensions.accepted import record_file
from forge_core.runtime import build_session, load_session_config
from forge_core.session.session import ForgeSession
from tests.support.hooks import declared, write_hooks


async def run(session: ForgeSession, line: str) -> CommandResult:
    name, _, argument = line.partition(" ")
    spec = CommandTable().find(name)
    assert spec is not None
    return await run_command(spec, argument, session)


def session_in(folder: Path, tmp_path: Path, **flags: object) -> ForgeSession:
    config = load_session_config(folder, flags={"model": "offline", "sandbox": "off", **flags})
    own = tmp_path / "own"
    places = () if config.safe else (own,)
    return build_session(dataclasses.replace(config, config_dir=own, own_extensions=places), deny_all)


async def test_what_is_in_use_is_listed_and_read_again_on_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    work, commands = tmp_path / "work", tmp_path / "work/.claude/commands"
    commands.mkdir(parents=True)
    (commands / "survey.md").write_text("Survey it.")
    (tmp_path / "own/commands").mkdir(parents=True)
    (tmp_path / "own/commands/survey.md").write_text("My own way.")
    for name, field in (
        ("pdf", "license: MIT"),
        ("a", "user-invocable: no"),
        ("b", "disable-model-invocation: 1"),
    ):
        (tmp_path / "own/skills" / name).mkdir(parents=True)
        (tmp_path / "own/skills" / name / "SKILL.md").write_text(f"---\ndescription: d\n{field}\n---\n")
    session = session_in(work, tmp_path)
    try:
        before = await run(session, "extensions")
        trusted = await run(session, "trust yes")
        listed = await run(session, "extensions")
        chosen = await run(session, "extensions hand")
        missing = await run(session, "extensions nonsense")
    finally:
        await session.aclose()

    assert isinstance(before, Text)
    skills = (
        "Skills\n"
        "  a        only the model  ~/own/skills/a/\n"
        "  b        only by hand    ~/own/skills/b/\n"
        "  pdf      in use          ~/own/skills/pdf/"
    )
    assert before.body == (
        f"Commands\n  /survey  in use          ~/own/commands/survey.md\n\n{skills}\n\n"
        "1 file of this project is left out, because the folder is not trusted. /trust shows what would count."
    )
    assert isinstance(trusted, Text)
    assert trusted.body.endswith("\n  new: command /survey")
    assert isinstance(listed, Text)
    today = time.strftime("%Y-%m-%d")
    assert listed.body == (
        "Commands\n"
        f"  /survey       accepted {today}  .claude/commands/survey.md\n"
        "  /user:survey  shadowed             ~/own/commands/survey.md\n\n"
        "Skills\n"
        "  a             only the model       ~/own/skills/a/\n"
        "  b             only by hand         ~/own/skills/b/\n"
        "  pdf           in use               ~/own/skills/pdf/"
    )
    assert chosen == Text("Skills\n  b  only by hand  ~/own/skills/b/", "Extensions")
    assert missing == Text("No definition has 'nonsense' in its name, description or state.", "Extensions")


def define(folder: Path, text: str, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"---\ndescription: d\n---\n{text}")


async def test_what_has_the_name_of_something_built_in_is_listed_by_the_name_that_reaches_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    names = "commands/help.md", "commands/fix.md", "skills/fix/SKILL.md", "skills/Diff/SKILL.md"
    define(tmp_path / "own", "Do it.", *names, "agents/explore.md", "styles/concise.md")
    define(tmp_path / "own", "Do it.", "commands/user/fix.md")
    (tmp_path / "work").mkdir()
    session = session_in(tmp_path / "work", tmp_path)
    try:
        listed = await run(session, "extensions")
        uses = [command_use(name, "", session) for name in ("help", "user:help", "user:fix", "user:diff")]
        agent = session.agents.catalog.find("user:explore")
        findings = [
            one.text
            for one in extension_findings(dataclasses.replace(session.config, state_dir=tmp_path / "s"))
            if one.name == "name"
        ]
        define(
            tmp_path / "work/.claude",
            "Do it.",
            "commands/fix.md",
            "commands/help.md",
            "skills/fix/SKILL.md",
            "agents/verify.md",
        )
        trusted = await run(session, "trust yes")
        (tmp_path / "work/.claude/commands/help.md").unlink()
        (tmp_path / "own/commands/fix.md").unlink()
        reloaded = await run(session, "reload")
        define(
            tmp_path / "own", "Do it.", *(f"commands/c{number}.md" for number in range(5)), "styles/new.md"
        )
        many = await run(session, "reload")
    finally:
        await session.aclose()

    assert listed == Text(
        "Commands\n"
        "  /fix            in use                 ~/own/commands/fix.md\n"
        "  /user:help      /help is built in      ~/own/commands/help.md\n"
        "  /user:user:fix  /user:fix is reserved  ~/own/commands/user/fix.md\n\n"
        "Skills\n"
        "  Diff            by hand /user:Diff     ~/own/skills/Diff/\n"
        "  fix             by hand /user:fix      ~/own/skills/fix/\n\n"
        "Agents\n"
        "  user:explore    explore is built in    ~/own/agents/explore.md\n\n"
        "Styles\n"
        "  user:concise    concise is built in    ~/own/styles/concise.md\n\n"
        "Problems\n"
        "  ~/own/skills/Diff/SKILL.md: its name 'Diff' has other characters than lower-case letters, digits and "
        "hyphens.",
        "Extensions",
    )
    assert isinstance(trusted, Text)
    assert trusted.body.split("\n  new: ")[1] == (
        "command /fix, command /project:help, skill fix, agent project:verify"
    )
    assert reloaded == CommandNotice("Read again: gone: command /project:help, command /user:fix.")
    assert many == CommandNotice("Read again: new: 5 commands, 1 style.")
    assert [use is None for use in uses] == [True, False, False, False]
    assert agent is not None
    assert findings == [
        f"/help is built in, so the command in {tmp_path}/own/commands/help.md is reached as /user:help",
        f"/user:fix is reserved, so the command in {tmp_path}/own/commands/user/fix.md is reached as /user:user:fix",
        f"/Diff is built in, so the skill in {tmp_path}/own/skills/Diff/SKILL.md is reached as /user:Diff",
        f"/fix is a command, so the skill in {tmp_path}/own/skills/fix/SKILL.md is reached as /user:fix",
        f"explore is built in, so the agent in {tmp_path}/own/agents/explore.md is reached as user:explore",
        f"concise is built in, so the style in {tmp_path}/own/styles/concise.md is reached as user:concise",
    ]


async def test_problems_name_the_file_as_briefly_as_the_list_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    define(tmp_path / "own", "Do it.", "skills/Odd/SKILL.md")
    agent = tmp_path / "work/.claude/agents/worker.md"
    agent.parent.mkdir(parents=True)
    agent.write_text("---\ndescription: d\ntools: Read, Bash(git *)\n---\nWork.")
    session = session_in(tmp_path / "work", tmp_path)
    try:
        await run(session, "trust yes")
        listed = await run(session, "extensions")
        found = [one.text for one in extension_findings(session.config) if one.name == "problem"]
    finally:
        await session.aclose()

    left_out = "agents/worker.md: the tool 'Bash(git *)' was left out: tools of agents take no pattern."
    odd = "own/skills/Odd/SKILL.md: its name 'Odd' has other characters than lower-case letters, digits and hyphens."
    assert isinstance(listed, Text)
    assert listed.body.endswith(f"Problems\n  ~/{odd}\n  .claude/{left_out}")
    assert f"{agent.parents[1]}/{left_out}" in found


async def test_hooks_are_listed_with_what_the_user_decided_about_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    work = tmp_path / "work"
    programs = [declared("PreToolUse", f"./{name}.sh", matcher="Read") for name in "abcd"]
    write_hooks(work / ".claude/settings.json", *programs)
    write_hooks(tmp_path / "own/hooks.json", declared("Stop", "./gone.sh"))
    for name in "abcd":
        (work / f"{name}.sh").write_text("#!/bin/sh\n")
        (work / f"{name}.sh").chmod(0o755)
    session = session_in(work, tmp_path)
    try:
        before = await run(session, "extensions pretool")
        await run(session, "trust yes")
        write_hooks(work / ".claude/settings.json", *programs[:3])
        await session.hooks.reload()
        await session.hooks.decide(session.hooks.waiting(), {0, 2})
        write_hooks(work / ".claude/settings.json", *programs)
        (work / "c.sh").write_text("#!/bin/sh\ncurl x\n")
        await session.hooks.reload()
        async for _ in session.send("hello"):
            pass
        listed = await run(session, "extensions")
        chosen = await run(session, "extensions declined")
    finally:
        await session.aclose()

    today = time.strftime("%Y-%m-%d")
    place = ".claude/settings.json"
    assert isinstance(before, Text)
    assert before.body.startswith("No definition has")
    assert listed == Text(
        "Hooks\n"
        f"  Stop:gone.sh     broken               ~/own/hooks.json\n"
        f"  PreToolUse:a.sh  approved {today}  {place}\n"
        f"  PreToolUse:b.sh  declined             {place}\n"
        f"  PreToolUse:c.sh  changed              {place}\n"
        f"  PreToolUse:d.sh  new                  {place}\n"
        "  New and changed hooks do not run: /hooks approve shows their command lines.",
        "Extensions",
    )
    assert chosen == Text(f"Hooks\n  PreToolUse:b.sh  declined  {place}", "Extensions")


async def test_what_has_changed_since_it_was_accepted_waits_until_the_user_accepts_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    commands = tmp_path / "work/.claude/commands"
    commands.mkdir(parents=True)
    (commands / "survey.md").write_text("Survey it.")
    session = session_in(tmp_path / "work", tmp_path)
    try:
        await run(session, "trust yes")
        (commands / "survey.md").write_text("Delete it.")
        (commands / "fix.md").write_text("Fix it.")
        read_again = await run(session, "reload")
        names = [one.name for one in session.extensions.catalog.definitions]
        notices = session.waiting_notices()
        (commands / "fix.md").write_text("Break it.")
        accepted = await run(session, "reload accept")
        rest = await run(session, "reload accept")
        untouched = await run(session, "reload")
        twice = session.waiting_notices()
        (commands / "survey.md").write_text("Once more.")
        trusted = await run(session, "trust yes")
    finally:
        await session.aclose()

    heading = "Left out until you accept them with /reload accept\n"
    assert read_again == Text(
        f"Read again: gone: command /survey.\n\n{heading}"
        "  command /fix is new: .claude/commands/fix.md\n"
        "    Fix it.\n"
        "  command /survey is changed: .claude/commands/survey.md\n"
        "    -Survey it.\n"
        "    +Delete it.",
        "Reload",
    )
    assert names == []
    assert [notice.text for notice in notices] == [
        "New or changed since you trusted this folder, so left out: command /fix (new), command /survey (changed). "
        "/extensions shows the differences, /reload accept accepts them."
    ]
    assert accepted == Text(
        f"Read again: new: command /survey.\n\n{heading}"
        "  command /fix is changed: .claude/commands/fix.md\n"
        "    -Fix it.\n"
        "    +Break it.",
        "Reload",
    )
    assert rest == CommandNotice("Read again: new: command /fix.")
    assert untouched == CommandNotice("Read again: nothing has changed.")
    assert len(twice) == 1
    assert isinstance(trusted, Text)
    assert trusted.body.endswith("changed: command /survey")


async def test_what_cannot_be_forgotten_is_reported(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    session = session_in(tmp_path / "work", tmp_path)
    try:
        await run(session, "trust yes")
        record = record_file(session.config.state_dir, session.config.working_dir)
        record.unlink(missing_ok=True)
        record.mkdir()
        result = await run(session, "trust no")
    finally:
        await session.aclose()

    assert isinstance(result, Failure)
    assert result.text == (
        f"The folder is not trusted any more, but what you accepted in it is still recorded: {str(record)!r} "
        "cannot be removed (Is a directory)."
    )


async def test_a_safe_start_says_that_everything_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "work/.claude/commands").mkdir(parents=True)
    (tmp_path / "work/.claude/commands/survey.md").write_text("Survey it.")
    session = session_in(tmp_path / "work", tmp_path, safe=True)
    try:
        listed = await run(session, "extensions")
    finally:
        await session.aclose()

    assert listed == Text(
        "Everything from files is left out, because Forge was started with --safe.", "Extensions"
    )
