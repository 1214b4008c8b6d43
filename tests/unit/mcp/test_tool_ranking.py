"""The order in which tool_search finds tools."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from forge_core.mcp.mcp_tool import McpTool
from forge_core.mcp.tool_ranking import ToolIndex
from tests.support.many_tools import AnsweringCaller, listed_tool, many_tools, server_tools

CALLER = AnsweringCaller()
TOOLS = many_tools(CALLER)
INDEX = ToolIndex(TOOLS)


def _other_separators(tool: McpTool) -> str:
    return tool.name.replace("__", ".").replace("_", "-").title()


@pytest.mark.parametrize(
    "written",
    [
        lambda tool: tool.name,
        lambda tool: tool.listed.name,
        lambda tool: f"{tool.server.name} {tool.listed.name}",
        lambda tool: f"{tool.server.name}/{tool.listed.name}".upper(),
        lambda tool: f" MCP {tool.server.name} {tool.listed.name.replace('_', ' ')} ",
        lambda tool: f"{tool.server.name}{tool.listed.name}".replace("_", ""),
        _other_separators,
    ],
)
def test_each_of_500_tools_is_found_first_by_its_name(written: Callable[[McpTool], str]) -> None:
    assert len(TOOLS) == 500
    assert [tool.name for tool in TOOLS if INDEX.ranked(written(tool))[0] is not tool] == []


def ranked(query: str, *names: str) -> list[str]:
    """The names of those tools of one server that a query finds, in their order."""
    tools = server_tools(CALLER, "bench", [listed_tool(*name.split(": ")) for name in names])
    return [tool.listed.name for tool in ToolIndex(tools).ranked(query)]


def test_the_name_itself_comes_before_its_beginning_and_that_before_words() -> None:
    names = ("all: list every list of a list", "list_all", "list", "LIST")
    assert ranked("list", *names) == ["list", "LIST", "list_all", "all"]
    assert ranked("LIST", *names)[0] == "LIST"
    assert ranked("li", *names) == ["list_all", "list", "LIST"]


def test_words_are_found_in_name_title_description_and_arguments() -> None:
    names = ("getUserName: Return what they are called.", "ping", "send: Post a message to a channel.")
    assert ranked("user", *names) == ["getUserName"]
    assert ranked("get_user_name", *names)[0] == "getUserName"
    assert ranked("messages for channels", *names) == ["send"]
    assert ranked("weather", *names) == []
    tools = server_tools(
        CALLER, "bench", [listed_tool("a"), listed_tool("b", "", latitude={"type": "number"})]
    )
    assert [tool.listed.name for tool in ToolIndex(tools).ranked("latitude, longitude")] == ["b"]


def test_rare_words_count_more_than_frequent_ones() -> None:
    found = [
        tool.listed.name for tool in INDEX.ranked("a workspace invoice, to be archived or to archive it")
    ]
    assert found[0] == "archive_invoice"


def test_odd_queries_find_nothing_and_do_not_fail() -> None:
    for query in ("", " ", "__", "*", "\x1b[2J", "\ud800", "?" * 100_000, "mcp"):
        assert INDEX.ranked(query) == []
    assert ToolIndex([]).ranked("list") == []
    assert ToolIndex([]).nearest("list") == []


def test_names_in_other_scripts_are_found() -> None:
    names = ("天気: 予報", "日記", "получить_погоду")
    assert ranked("天気", *names) == ["天気"]
    assert ranked("ПОЛУЧИТЬ погоду", *names) == ["получить_погоду"]


@pytest.mark.parametrize(
    "wrong", ["mcp__jira__asign_board", "jira assign bord", "assign_boards", "assignBoard"]
)
def test_a_wrong_name_has_the_right_one_among_the_nearest(wrong: str) -> None:
    assert "assign_board" in [tool.listed.name for tool in INDEX.nearest(wrong)]
    assert len(INDEX.nearest(wrong)) <= 3
