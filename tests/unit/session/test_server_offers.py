"""Prompts of MCP servers as commands, and resources in messages, in a session."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from forge_core.commands.command_table import CommandTable
from forge_core.commands.prompt_commands import command_use, follow_prompts, headless_turn
from forge_core.errors import ConfigError
from forge_core.events import AgentEnd, AgentEvent, Notice, ToolEnd
from forge_core.session.session import ForgeSession
from tests.support.scripted_llm import Call
from tests.support.server_sessions import declare, server_session, turn
from tests.unit.session.test_server_results import FORM, IMAGE, requests

pytestmark = pytest.mark.usefixtures("preloaded_bridge")

GREET = {"name": "greet", "description": "Say hello", "arguments": [{"name": "who", "required": True}]}


def messages(*contents: Any) -> dict[str, Any]:
    return {"result": {"messages": [{"role": "user", "content": one} for one in contents]}}


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def sent(session: ForgeSession) -> str:
    """The last message to the model, without the marks of frames."""
    content = requests(session)[-1][-1].content
    shown = content if isinstance(content, str) else content[0]["text"]
    return re.sub(r' mark="\w+"', "", shown)


async def run(session: ForgeSession, line: str) -> list[AgentEvent]:
    name, _, argument = line.removeprefix("/").partition(" ")
    return await turn(session, line, command=command_use(name, argument, session))


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.01)


async def test_a_prompt_is_a_command_whose_text_is_framed_and_mentions_nothing(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("the-secret")
    said = "Greet them. @secret.txt [Image 1×1 PNG 1 KB #0123456789abcdef]"
    script = {"prompts/list": {"result": {"prompts": [GREET]}}, "prompts/get": messages(text(said), IMAGE)}
    async with server_session(tmp_path, script=script) as session:
        table = CommandTable()
        follow_prompts(table, session)
        spec = table.find("mcp__bench__GREET")
        assert spec is not None
        assert (spec.description, spec.argument_hint) == ("bench: Say hello", "who")

        events = await run(session, "/mcp__bench__greet Ann")

        message = sent(session)
        assert message.startswith("The user ran the prompt 'greet' of the MCP server 'bench'.")
        assert '<server-prompt server="bench" prompt="greet">\nuser:\nGreet them. @secret.txt' in message
        assert "the-secret" not in message
        image = requests(session)[-1][-1].content[1]
        assert image["image_url"]["url"].startswith("forge-image:")
        [card] = [event for event in events if isinstance(event, ToolEnd)]
        assert card.name == "/mcp__bench__greet" and "Greet them." in str(card.result)
        with pytest.raises(ConfigError, match="needs the argument 'who'"):
            command_use("mcp__bench__greet", "", session)


async def test_a_prompt_that_the_server_does_not_send_is_not_sent_either(tmp_path: Path) -> None:
    script = {"prompts/get": messages()}
    async with server_session(tmp_path, script=script) as session:
        events = await run(session, "/mcp__bench__greet Ann")
        assert requests(session) == []
        assert "Not sent: the MCP server 'bench' has sent nothing" in [
            event.text for event in events if isinstance(event, Notice)
        ]
        [end] = [event for event in events if isinstance(event, AgentEnd)]
        assert end.result.stopped_reason == "denied"


async def test_an_interrupt_ends_the_wait_for_a_prompt(tmp_path: Path) -> None:
    script = {"prompts/get": {"asks": [{"method": "elicitation/create", "params": FORM}]}}

    async def interrupt(request: Any) -> Any:
        session.interrupt()
        await asyncio.Event().wait()

    async with server_session(tmp_path, script=script, questioner=interrupt) as session:
        events = await run(session, "/mcp__bench__greet Ann")
        assert requests(session) == []
        [end] = [event for event in events if isinstance(event, AgentEnd)]
        assert end.result.stopped_reason == "cancelled"


async def test_a_run_without_a_screen_sends_prompts(tmp_path: Path) -> None:
    async with server_session(tmp_path) as session:
        _ = [event async for event in await headless_turn(session, "/mcp__bench__greet Ann", "\n\nIn JSON.")]
        assert "Greet Ann." in sent(session) and sent(session).endswith("</server-prompt>\n\nIn JSON.")
        for line, problem in (
            ("/mcp__bench__greet", "needs the argument 'who'"),
            ("/mcp__bench__gret x", "Did you mean /mcp__bench__greet"),
        ):
            with pytest.raises(ConfigError, match=problem):
                await headless_turn(session, line)


async def test_prompts_and_resources_that_change_are_listed_anew(tmp_path: Path) -> None:
    changes = [{"method": f"notifications/{kind}/list_changed"} for kind in ("prompts", "resources")]
    script = {
        "prompts/list": {"result": {"prompts": []}},
        "resources/list": {"result": {"resources": []}},
        "tools/call echo": {"sends": changes, "result": {"content": []}},
    }
    call = Call("mcp__bench__echo", {"text": "x"})
    async with server_session(tmp_path, [call], ["done"], script=script) as session:
        offers, changed = session.servers.offers, asyncio.Event()
        offers.on_change(changed.set)
        assert (list(offers.prompts), offers.completed("bench:")) == ([], [])
        declare(tmp_path, {"tools/call echo": script["tools/call echo"]})
        await turn(session)
        await until(lambda: offers.prompts and offers.completed("bench:"))
        assert changed.is_set()
        assert [one.text for one in offers.completed("bench:")] == ["bench:file:///readme"]


RESOURCES = {
    "resources/list": {"result": {"resources": [{"uri": "file:///readme", "name": "readme"}]}},
    "resources/templates/list": {
        "result": {"resourceTemplates": [{"name": "log", "uriTemplate": "log://{day}"}]}
    },
}


@pytest.mark.parametrize(
    ("message", "contents", "attached", "notice"),
    [
        (
            "See @bench:file:///readme.",
            {"uri": "file:///readme", "text": "Read\x1b[2J me."},
            '<tool-output server="bench" of="file:///readme">\n[resource file:///readme]\nRead␛[2J me.\n'
            "</tool-output>",
            "Read bench:file:///readme: 2 lines",
        ),
        (
            "@bench:log://monday",
            {"uri": "log://monday", "blob": "AAAA", "mimeType": "application/pdf"},
            "[resource log://monday, application/pdf, 3 bytes, saved as ",
            "Read bench:log://monday: 1 line",
        ),
        ("@bench:other @nobody:file:///readme", {}, "", "'nobody:file:///readme' is mentioned but"),
        ("@bench:gone://x", None, "bench:gone://x: not attached: ", "Not attached: bench:gone://x: "),
    ],
    ids=["text", "binary", "none", "error"],
)
async def test_a_resource_is_attached_as_a_file_is(
    tmp_path: Path, message: str, contents: dict[str, Any] | None, attached: str, notice: str
) -> None:
    script: dict[str, Any] = {**RESOURCES, "resources/read": {"result": {"contents": [contents]}}}
    if contents is None:
        script["resources/read"] = {"result": {"contents": 7}}
    async with server_session(tmp_path, script=script) as session:
        events = await turn(session, message)
        assert attached in sent(session) if attached else sent(session) == message
        notices = [event.text for event in events if isinstance(event, Notice)]
        assert any(one.startswith(notice) for one in notices)


async def test_a_resource_is_bounded_and_not_sent_twice(tmp_path: Path) -> None:
    body = {"uri": "file:///readme", "text": "x" * 100_000}
    script = {**RESOURCES, "resources/read": {"result": {"contents": [body]}}}
    async with server_session(tmp_path, ["ok"], ["ok"], script=script) as session:
        await turn(session, "@bench:file:///readme")
        assert len(sent(session)) < 32_000 and "the whole output is in" in sent(session)
        await turn(session, "@bench:file:///readme")
        assert "unchanged since it was attached above" in sent(session)


async def test_values_of_arguments_come_from_the_server_without_a_wait(tmp_path: Path) -> None:
    completed = {"result": {"completion": {"values": ["monday", "bad\x1b", "tuesday"]}}}
    script = {**RESOURCES, "completion/complete": completed}
    async with server_session(tmp_path, script=script) as session:
        offers, came = session.servers.offers, asyncio.Event()
        offers.on_completed = came.set
        assert [one.text for one in offers.completed("be")] == ["bench:"]
        assert offers.completed("bench:log://m") == []
        async with asyncio.timeout(30):
            await came.wait()
        found = offers.completed("bench:log://m")
        assert [one.text for one in found] == ["bench:log://monday", "bench:log://tuesday"]

        came.clear()
        assert list(offers.argument_values("mcp__bench__greet", "An")) == []
        async with asyncio.timeout(30):
            await came.wait()
        assert "monday" in offers.argument_values("mcp__bench__greet", "An")
        assert list(offers.argument_values("mcp__bench__greet", '"An')) == []
        assert list(offers.argument_values("mcp__bench__greet", "Ann more")) == []


@pytest.mark.parametrize(
    ("rule", "has_prompt", "has_resources"),
    [
        ("mcp__bench", False, False),
        ("mcp__bench__*", False, False),
        ("*", False, False),
        ("mcp__bench__gre.et", False, True),
        ("mcp__bench__gre_et", False, True),
        ("mcp__bench__other", True, True),
        ("mcp__ben", True, True),
    ],
)
async def test_deny_rules_cover_prompts_and_resources(
    tmp_path: Path, rule: str, has_prompt: bool, has_resources: bool
) -> None:
    script = {**RESOURCES, "prompts/list": {"result": {"prompts": [{"name": "gre.et"}]}}}
    async with server_session(tmp_path, ["ok"], ["ok"], script=script) as session:
        offers, table = session.servers.offers, CommandTable()
        follow_prompts(table, session)
        use = command_use("mcp__bench__gre_et", "", session)
        session.policy.add("deny", rule)
        session.rules_changed()

        assert (table.find("mcp__bench__gre_et") is not None) is has_prompt
        assert (command_use("mcp__bench__gre_et", "", session) is not None) is has_prompt
        assert bool(offers.completed("be")) is bool(offers.completed("bench:")) is has_resources
        await turn(session, "see @bench:file:///readme")
        await turn(session, "/mcp__bench__gre_et", command=use)

        received = (tmp_path / "own" / "received").read_text()
        assert ("resources/read" in received) is has_resources
        assert ("prompts/get" in received) is has_prompt
