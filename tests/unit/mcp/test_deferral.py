"""Which tools of servers are deferred, in what order definitions are sent, and how names are listed."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from forge_core.llm.tokens import estimate_tokens
from forge_core.mcp.deferral import MAX_LISTED_TOKENS, ToolChoice, grouped
from forge_core.mcp.mcp_tool import McpTool
from tests.support.many_tools import SERVERS, AnsweringCaller, listed_tool, many_tools, server_tools

CALLER = AnsweringCaller()
MANY = many_tools(CALLER, 60, ("one", "two"))
ALWAYS = server_tools(CALLER, "core", [listed_tool("ping"), listed_tool("pong")], always_load=True)
WIDE = 1_000_000


def first(tools: Sequence[McpTool], setting: str = "auto", window: int | None = WIDE) -> ToolChoice:
    return ToolChoice.first(tools, setting, window)


@pytest.mark.parametrize(
    ("count", "setting", "window", "sent"),
    [
        (40, "auto", WIDE, 40),
        (41, "auto", WIDE, 0),
        (41, "never", 1_000, 41),
        (1, "always", WIDE, 0),
        (20, "auto", 60_000, 20),  # about 140 tokens each
        (20, "auto", 20_000, 0),
        (20, "20%", 20_000, 20),
        (41, "20%", WIDE, 41),
        (20, "0.1%", 60_000, 0),
        (20, "auto", None, 20),
    ],
)
def test_tools_are_deferred_above_a_number_and_a_share_of_the_window(
    count: int, setting: str, window: int | None, sent: int
) -> None:
    choice = first(MANY[:count], setting, window)
    assert (len(choice.sent), len(choice.deferred)) == (sent, count - sent)
    assert choice.is_active is bool(choice.deferred) is bool(choice.listing)


def test_servers_that_are_always_loaded_are_never_deferred() -> None:
    assert first([*MANY, *ALWAYS]).sent == tuple(ALWAYS)
    assert first(ALWAYS, "always").sent == tuple(ALWAYS)
    assert first(ALWAYS, window=10).deferred == ()


def test_while_tools_are_deferred_what_is_sent_only_grows_at_its_end() -> None:
    choice = first([*ALWAYS, *MANY])
    [ping, _], late = ALWAYS, server_tools(CALLER, "late", [listed_tool("a")], always_load=True)
    [changed] = server_tools(CALLER, "core", [listed_tool("pong", "Now different.")], always_load=True)
    few = server_tools(CALLER, "few", [listed_tool("b")])

    later = choice.changed_to([*late, ping, changed, *few], "auto", WIDE)

    assert later.sent == (*ALWAYS, *late)
    assert later.deferred == (changed, *few)  # the new definition of pong is found by tool_search
    assert (later.is_active, later.listing) == (True, choice.listing)
    gone = later.changed_to([], "auto", WIDE)
    assert (gone.sent, gone.deferred, gone.is_active) == (later.sent, (), True)


def test_without_deferral_what_is_sent_follows_the_servers_and_late_tools_come_last() -> None:
    choice = first(MANY[5:10])
    assert choice.sent == tuple(MANY[5:10])
    late = choice.changed_to(MANY[:10], "auto", WIDE)
    assert late.sent == (*MANY[5:10], *MANY[:5]) and not late.is_active
    fewer = late.changed_to(MANY[2:9], "auto", WIDE)
    assert fewer.sent == (*MANY[5:9], *MANY[2:5])
    again = fewer.changed_to(MANY[:10], "auto", WIDE)
    assert again.sent == (*fewer.sent, *MANY[:2], MANY[9])


def test_a_later_overflow_defers_only_what_comes_later() -> None:
    choice = first(MANY[:30])
    over = choice.changed_to([*MANY, *ALWAYS], "auto", WIDE)
    assert over.sent == (*MANY[:30], *ALWAYS) and over.deferred == tuple(MANY[30:])
    assert (over.is_active, over.listing) == (True, "")


def test_the_names_of_500_tools_are_listed_by_server_within_the_limit() -> None:
    tools = many_tools(CALLER)
    lines = grouped(tools, MAX_LISTED_TOKENS)
    assert sum(map(estimate_tokens, lines)) <= MAX_LISTED_TOKENS
    assert [line.partition(":")[0] for line in lines] == [f"- {server}" for server in SERVERS]
    assert "- git-lab: 50 tools" in lines or "list_" in lines[-1]
    assert grouped(tools[:3], 100) == ["- github: list_issue, get_issue, create_issue"]


def test_the_largest_servers_are_counted_first_and_the_last_ones_left_out() -> None:
    small = server_tools(CALLER, "small", [listed_tool("a"), listed_tool("b")])
    one = server_tools(CALLER, "one", [listed_tool("x" * 50)])
    assert grouped([*many_tools(CALLER, 500, ["big"]), *small], 100) == ["- big: 500 tools", "- small: a, b"]
    assert grouped([*one], 8) == ["- one: 1 tool"]
    crowd = [tool for number in range(900) for tool in server_tools(CALLER, f"s{number}", [listed_tool("a")])]
    lines = grouped(crowd, 100)
    assert sum(map(estimate_tokens, lines[:-1])) <= 100
    assert lines[-1] == f"- and {900 - len(lines) + 1} more servers"


def test_definitions_are_found_in_any_spelling_of_the_name() -> None:
    choice = first(MANY)
    found = choice.definitions(["one list-issue", "bash", "mcp__two__nothing"])
    assert [*found] == ["mcp__one__list_issue"]
    assert found["mcp__one__list_issue"].startswith("mcp__one__list_issue: List one issue")
