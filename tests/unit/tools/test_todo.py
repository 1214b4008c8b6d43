"""The todo tool: a plan that is replaced as a whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from forge_core.tools.base import ExecutionContext, ToolResult
from forge_core.tools.builtin import todo as module
from forge_core.tools.builtin.todo import TodoItem, TodoList, TodoStatus, TodoTool
from forge_core.tools.executor import ToolExecutor


async def call(todos: TodoList | None, items: object) -> ToolResult:
    context = ExecutionContext(Path("/"), todos=todos)
    return await ToolExecutor().execute(TodoTool(), {"items": items}, context)


def step(content: str, status: str = "pending", **more: Any) -> dict[str, Any]:
    return {"content": content, "status": status, **more}


async def test_a_todo_call_replaces_the_whole_list_and_returns_the_progress() -> None:
    todos = TodoList([TodoItem("old")])
    result = await call(
        todos,
        [
            step("read the code", "completed"),
            step("fix  the\nparser", "in_progress", active_form="fixing the parser"),
            step("run the tests"),
        ],
    )
    assert result.success
    assert result.summary == "1 of 3 done"
    assert "In progress: fix the parser" in result.output
    assert [item.content for item in todos.items] == ["read the code", "fix the parser", "run the tests"]
    assert todos.current == TodoItem("fix the parser", TodoStatus.IN_PROGRESS, "fixing the parser")


async def test_the_next_item_and_completion_are_reported() -> None:
    todos = TodoList()
    assert "Next: b" in (await call(todos, [step("a", "completed"), step("b")])).output
    done = await call(todos, [step("a", "completed"), step("b", "completed")])
    assert "2 of 2 done. Everything" in done.output
    cleared = await call(todos, [])
    assert (cleared.summary, todos.items, todos.summary) == ("cleared", (), "")


@pytest.mark.parametrize(
    ("items", "words"),
    [
        ([step("a", "in_progress"), step("b", "in_progress")], "Only one"),
        ([step(" \n")], "item 1 has no content"),
        ([step("x" * (module.MAX_CONTENT_CHARS + 1))], "301 characters"),
        ([step("x")] * (module.MAX_ITEMS + 1), "51 items"),
        ([step("x", "done")], "'completed'"),
        ([{"content": "x"}], "lacks 'status'"),
        (["buy milk"], "object"),
        ("no list", "a list"),
    ],
)
async def test_an_invalid_todo_list_is_rejected_and_changes_nothing(items: object, words: str) -> None:
    todos = TodoList([TodoItem("kept")])
    result = await call(todos, items)
    assert not result.success
    assert words in (result.error or "")
    assert todos.items == (TodoItem("kept"),)


async def test_todo_without_a_session_reports_an_error() -> None:
    assert "has no todo list" in ((await call(None, [step("a")])).error or "")


def test_the_description_states_the_limits() -> None:
    for figure in (module.MAX_ITEMS, module.MAX_CONTENT_CHARS):
        assert str(figure) in TodoTool.description
    assert len(TodoTool.description) < 800
