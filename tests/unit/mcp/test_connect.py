"""Servers of a program that uses Forge as a library."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from forge_core import ForgeAgent
from forge_core.errors import ConfigError
from forge_core.langchain import adapt_tools_for_langchain
from forge_core.mcp import connect_servers
from tests.support.mcp_bench import SERVER
from tests.support.scripted_llm import Call, ScriptedLLM


def entry(*faults: str) -> dict[str, object]:
    return {"command": sys.executable, "args": ["-S", SERVER, *faults]}


async def test_an_agent_and_langchain_call_the_tools_of_servers(tmp_path: Path) -> None:
    async with connect_servers({"one": entry(), "two": entry()}, folder=tmp_path) as tools:
        names = [tool.name for tool in tools]
        assert {"mcp__one__echo", "mcp__two__echo"} <= set(names)

        llm = ScriptedLLM(replies=[[Call("mcp__two__echo", {"text": "hello"})], "Done."])
        result = await ForgeAgent(llm=llm, tools=[*tools]).run("Say hello.")
        assert [(one.name, one.result) for one in result.tool_calls] == [("mcp__two__echo", "hello")]

        echo = adapt_tools_for_langchain([one for one in tools if one.name == "mcp__one__echo"])[0]
        assert await echo.ainvoke({"text": "hi"}) == "hi"
        wrong = await echo.ainvoke({"type": "tool_call", "id": "1", "name": echo.name, "args": {"text": 1}})
        assert wrong.status == "error"


@pytest.mark.parametrize(
    ("servers", "message"),
    [
        ({"a b": entry()}, "'a b' cannot be used: its name must be"),
        ({"one": {}}, "'one' cannot be used"),
        ({"one": entry(), "bad": entry("exits")}, "not connected: bad: exited with code 3 .*fatal"),
        ({"one": {"url": "${NOT_SET_ANYWHERE}"}}, "NOT_SET_ANYWHERE is not set"),
    ],
    ids=json.dumps,
)
async def test_what_cannot_be_connected_is_named(servers: dict[str, dict[str, object]], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        async with connect_servers(servers):
            raise AssertionError
