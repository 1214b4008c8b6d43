"""What a tool declares of itself: the heading of its card, what a call looks at, its kind."""

from __future__ import annotations

from typing import Any

import pytest

from forge_core.approval import Effect, ToolKind
from forge_core.events import Subject, ToolStart
from forge_core.tools.base import BaseTool
from forge_core.tools.registry import builtin_tools

TOOLS = {tool.name: tool for tool in builtin_tools()}
PATCH = "*** Begin Patch\n*** Update File: a\n*** Add File: b\n*** Delete File: c\n*** End Patch\n"


@pytest.mark.parametrize(
    ("name", "arguments", "heading"),
    [
        ("read", {"file_path": " a.py "}, ("Read", "a.py")),
        ("read", {"path": 7}, ("Read", "")),
        ("grep", {"pattern": "x", "path": "src"}, ("Search", "x in src")),
        ("glob", {"pattern": "*.py", "path": "."}, ("Find", "*.py")),
        ("ls", {}, ("List", ".")),
        ("bash", {"command": "a\nb"}, ("Run", "a\nb")),
        ("write", {"file_path": "a", "content": "x"}, ("Write", "a")),
        ("multi_edit", {"file_path": "a.py", "edits": [{"old_string": "x"}]}, ("Edit", "a.py")),
        ("multi_edit", {"edits": [{"file_path": "a.py"}, {"file_path": "a.py"}]}, ("Edit", "a.py")),
        ("multi_edit", {"edits": [{"file_path": "a.py"}, {"path": "b.py"}]}, ("Edit", "2 files")),
        ("multi_edit", {"edits": "nonsense"}, ("Edit", "")),
        ("apply_patch", {"patch": PATCH}, ("Patch", "3 files")),
        ("apply_patch", {"patch": "*** Update File: only.py\n"}, ("Patch", "only.py")),
        ("apply_patch", {"patch": None}, ("Patch", "")),
        ("job_output", {"job_id": 2}, ("Look at", "job 2")),
        ("job_stop", {"job_id": 2}, ("Stop", "job 2")),
        ("todo", {"items": [{"content": "a", "status": "in_progress"}, {"content": "b"}]}, ("Plan", "a")),
        ("todo", {"items": [7, None, {}]}, ("Plan", "")),
        ("ask_user", {"questions": [{"question": "Which?"}]}, ("Ask", "Which?")),
        ("ask_user", {"questions": [{"question": "Which?"}, {"question": "Why?"}]}, ("Ask", "2 questions")),
        ("ask_user", {"questions": {}}, ("Ask", "")),
    ],
)
def test_the_heading_of_a_call_is_a_verb_and_its_target(
    name: str, arguments: dict[str, Any], heading: tuple[str, str]
) -> None:
    assert TOOLS[name].start_event("1", arguments).heading == heading


@pytest.mark.parametrize(
    ("name", "arguments", "heading"),
    [
        ("mcp_lookup", {"deep": None, "query": "q", "limit": 3}, ("Mcp lookup", "q")),
        ("read", {"file_path": "a.py"}, ("Read", "a.py")),
        ("", {}, ("Tool", "")),
    ],
)
def test_the_heading_of_an_untitled_call_is_its_name_and_first_argument(
    name: str, arguments: dict[str, Any], heading: tuple[str, str]
) -> None:
    assert ToolStart(call_id="1", name=name, arguments=arguments).heading == heading


@pytest.mark.parametrize(
    ("name", "arguments", "subject"),
    [
        ("read", {"file_path": "./src//a.py"}, Subject("read", "file", "src/a.py", "a.py")),
        ("read", {}, Subject("read", "file", "", "")),
        ("grep", {"pattern": "x", "path": "src"}, Subject("searched", "pattern", "x", "x")),
        ("glob", {"pattern": "*.py"}, Subject("searched", "pattern", "*.py", "*.py")),
        ("ls", {}, Subject("listed", "folder", ".", ".")),
        ("ls", {"path": "src/"}, Subject("listed", "folder", "src", "src")),
        ("bash", {"command": "ls"}, None),
    ],
)
def test_read_calls_declare_their_subject(
    name: str, arguments: dict[str, Any], subject: Subject | None
) -> None:
    assert TOOLS[name].start_event("1", arguments).subject == subject


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS.keys())
def test_headings_accept_any_arguments(tool: BaseTool) -> None:
    names = [*(parameter.name for parameter in tool.parameters), "path"]
    for value in (None, 7, True, "", [], [1, [None]], {"a": {}}, [{"question": None}], "\ud800"):
        start = tool.start_event("1", dict.fromkeys(names, value))
        assert all(isinstance(text, str) for text in start.heading), value


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS.keys())
def test_the_kind_agrees_with_the_effect(tool: BaseTool) -> None:
    effects = {
        ToolKind.LOOK: Effect.READ,
        ToolKind.WRITE: Effect.WRITE,
        ToolKind.RUN: Effect.RUN,
        ToolKind.SESSION: Effect.READ,
        ToolKind.AGENT: Effect.READ,
    }
    assert tool.effect is effects[tool.kind]
    assert tool.title
    assert (tool.start_event("1", {}).subject is not None) == (tool.kind is ToolKind.LOOK)
