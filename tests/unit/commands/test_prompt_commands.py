"""Commands of files among the built-in ones, and in prompts without a screen."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import pytest

from forge_core.approval import deny_all
from forge_core.commands.command_spec import Scope
from forge_core.commands.command_table import CommandTable, split_command
from forge_core.commands.dispatch import run_command
from forge_core.commands.prompt_commands import command_use, follow_prompts, headless_turn
from forge_core.errors import ConfigError
from forge_core.events import AgentEnd, ToolEnd, ToolStart
from forge_core.runtime import build_session, load_session_config
from forge_core.session.session import ForgeSession

FILES = {
    "work/.claude/commands/survey.md": "---\nargument-hint: [file]\n---\nSurvey $1 as the project does.",
    "work/.claude/commands/model.md": "Take the built-in's name.",
    "work/.claude/commands/user/survey.md": "Take the place of the user's own.",
    "work/.claude/commands/db/Migrate.md": "Migrate.",
    "own/commands/survey.md": "Survey $1 in my own way.",
    "own/commands/note.md": "---\ndescription: Take a note\n---\nNote: $ARGUMENTS",
}


@asynccontextmanager
async def opened(tmp_path: Path, *, trust: bool) -> AsyncIterator[tuple[ForgeSession, CommandTable]]:
    """A session of the offline model in a folder with commands, and the table that follows it."""
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    config = load_session_config(tmp_path / "work", flags={"model": "offline", "sandbox": "off"}, trust=trust)
    session = build_session(dataclasses.replace(config, own_extensions=(tmp_path / "own",)), deny_all)
    table = CommandTable(is_complete=False)
    try:
        follow_prompts(table, session)
        yield session, table
    finally:
        await session.aclose()


def body_of(session: ForgeSession, name: str) -> str:
    use = command_use(name, "", session)
    return "" if use is None else use.command.definition.body


async def test_no_command_takes_a_built_in_or_a_qualified_name(tmp_path: Path) -> None:
    async with opened(tmp_path, trust=True) as (session, table):
        assert table.expect("survey") is not None and table.find("survey") is None  # it may still come
        await session.extensions.loaded()

        custom = [(spec.name, spec.description) for spec in table.specs if spec.scope is Scope.PROMPT]
        assert custom == [
            ("db:Migrate", "project: Migrate."),
            ("note", "user: Take a note"),
            ("project:model", "project: Take the built-in's name."),
            ("project:user:survey", "project: Take the place of the user's own."),
            ("survey", "project: Survey $1 as the project does."),
            ("user:survey", "user: Survey $1 in my own way."),
        ]
        model, survey = table.find("model"), table.find("survey")
        assert model is not None and model.scope is Scope.SESSION
        assert survey is not None and survey.argument_hint == "[file]"
        assert survey.problem("anything at all") is None
        assert body_of(session, "USER:survey") == FILES["own/commands/survey.md"]
        assert body_of(session, "project:user:survey") == "Take the place of the user's own."
        assert body_of(session, "db:migrate") == "Migrate."
        assert body_of(session, "model") == ""
        near = table.nearest("survy")
        assert near is survey
        assert [spec.name for spec in table.suggest("mig")] == ["db:Migrate"]
        assert table.expect("no-such") is None


async def test_nothing_of_an_untrusted_project_can_be_typed_until_it_is_trusted(tmp_path: Path) -> None:
    async with opened(tmp_path, trust=False) as (session, table):
        await session.extensions.loaded()

        names = [spec.name for spec in table.specs if spec.scope is Scope.PROMPT]
        assert names == ["note", "survey"]
        assert body_of(session, "survey") == FILES["own/commands/survey.md"]
        assert "igrate" not in str(table.specs) and "project" not in [spec.source for spec in table.specs]

        trust = table.find("trust")
        assert trust is not None
        await run_command(trust, "yes", session)
        assert "db:Migrate" in [spec.name for spec in table.specs]


@pytest.mark.parametrize(
    ("prompt", "typed"),
    [
        ("/note buy milk", "/note buy milk"),
        ("/note\tbuy milk", "/note\tbuy milk"),
        ("/note\nbuy milk", "/note\nbuy milk"),
    ],
)
async def test_a_prompt_may_be_a_command(prompt: str, typed: str, tmp_path: Path) -> None:
    async with opened(tmp_path, trust=False) as (session, _):
        async with aclosing(await headless_turn(session, prompt, "\n\nBe brief.")) as events:
            seen = [event async for event in events]

        saved = await session.recorded()
        sent = [event.result for event in seen if isinstance(event, ToolEnd) and event.name == "/note"]
        assert sent == ["Note: buy milk\n\nBe brief."]
        assert saved.turns[0].text == typed
        assert saved.messages[0].content == sent[0]
        assert isinstance(seen[-1], AgentEnd)
        assert next(event.title for event in seen if isinstance(event, ToolStart)) == "Sent"


@pytest.mark.parametrize(
    ("prompt", "problem"),
    [
        ("/nte x", "There is no command /nte. Did you mean /note?"),
        ("/cost", "/cost is a command of forge chat."),
    ],
)
async def test_a_prompt_with_an_unknown_command_is_an_error(
    prompt: str, problem: str, tmp_path: Path
) -> None:
    async with opened(tmp_path, trust=False) as (session, _):
        with pytest.raises(ConfigError) as caught:
            await headless_turn(session, prompt)
    assert str(caught.value).startswith(problem)


async def test_a_prompt_that_begins_with_a_path_is_a_message(tmp_path: Path) -> None:
    async with opened(tmp_path, trust=False) as (session, _):
        async with aclosing(await headless_turn(session, "/usr/bin/env is what?")) as events:
            async for _ in events:
                pass
        assert (await session.recorded()).messages[0].content == "/usr/bin/env is what?"


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("/a b  c", ("a", "b  c")),
        ("/a\tb", ("a", "b")),
        ("/a\nb", ("a", "b")),
        ("/", ("", "")),
        ("/a:b/c d", ("a:b/c", "d")),
        ("text", ("", "")),
    ],
)
def test_the_first_blank_ends_the_name(line: str, parts: tuple[str, str]) -> None:
    assert split_command(line) == parts
