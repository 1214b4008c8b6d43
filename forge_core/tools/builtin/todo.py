"""The todo tool: the model's plan for a longer task, visible to the user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from forge_core.approval import Effect, ToolKind
from forge_core.errors import ToolError
from forge_core.tools.arguments import records_of
from forge_core.tools.base import (
    BaseTool,
    ExecutionContext,
    ToolCategory,
    ToolParameter,
    ToolResult,
    object_schema,
)

MAX_ITEMS = 50
MAX_CONTENT_CHARS = 300


class TodoStatus(StrEnum):
    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"

    @property
    def mark(self) -> str:
        """The sign before an item of this status."""
        return {"pending": "○", "in_progress": "●", "completed": "✓"}[self]


@dataclass(frozen=True, slots=True)
class TodoItem:
    """One step of a plan, on one line."""

    content: str
    """The task: "Fix the parser"."""
    status: TodoStatus = TodoStatus.PENDING
    active_form: str = ""
    """The same while it is being done: "Fixing the parser"."""


class TodoList:
    """A session's plan. Its items are only ever replaced as a whole, so a reader never sees half a change."""

    def __init__(self, items: Sequence[TodoItem] = ()) -> None:
        self.items = tuple(items)

    @property
    def current(self) -> TodoItem | None:
        """The step being worked on."""
        return next((item for item in self.items if item.status is TodoStatus.IN_PROGRESS), None)

    @property
    def summary(self) -> str:
        """ "3 of 5 done"; empty for an empty list."""
        done = sum(item.status is TodoStatus.COMPLETED for item in self.items)
        return f"{done} of {len(self.items)} done" if self.items else ""

    def replace(self, items: Sequence[TodoItem]) -> None:
        self.items = tuple(items)


class TodoTool(BaseTool):
    """Replaces the plan of the session."""

    name = "todo"
    claude_names = ("TodoWrite",)
    description = (
        "Writes the plan for the task: a list that the user sees beside your work. Each call replaces the "
        f"whole list, so send all of it, done steps too (at most {MAX_ITEMS} items of "
        f"{MAX_CONTENT_CHARS} characters). Use it when a task takes three or more separate steps, or the "
        "user names several things to do; not for a single edit, a question, or a search. Exactly one "
        "item is in_progress while you work; mark it completed as soon as it is done and checked, not "
        "before. Use ask_user when you need a decision: this list asks nothing."
    )
    parameters = (
        ToolParameter(
            "items",
            "array",
            "The whole list, in order. An empty list clears it.",
            items=object_schema(
                {
                    "content": {"type": "string", "description": 'What is to do: "Fix the parser".'},
                    "status": {"type": "string", "enum": [str(status) for status in TodoStatus]},
                    "active_form": {
                        "type": "string",
                        "description": 'The same while it is being done: "Fixing the parser".',
                    },
                },
                required=("content", "status"),
            ),
        ),
    )
    advice = "Keep the plan of a task with three or more steps in todo."
    category = ToolCategory.PLANNING
    effect = Effect.READ
    kind = ToolKind.SESSION
    title = "Plan"

    async def execute(self, params: dict[str, Any], context: ExecutionContext) -> ToolResult:
        items = _items(params["items"])
        if context.todos is None:
            raise ToolError("this session has no todo list. Go on without one.")
        context.todos.replace(items)
        checklist = "\n".join(f"{item.status.mark} {item.content}" for item in items)
        summary = context.todos.summary or "cleared"
        return ToolResult(True, _report(context.todos), summary=summary, display=checklist)

    def target(self, arguments: Mapping[str, Any]) -> str:
        items = records_of(arguments, "items")
        return next(
            (str(item.get("content", "")) for item in items if item.get("status") == "in_progress"), ""
        )


def _items(raw: Sequence[Mapping[str, Any]]) -> list[TodoItem]:
    if len(raw) > MAX_ITEMS:
        raise ToolError(
            f"the list has {len(raw)} items; at most {MAX_ITEMS} can be kept. Combine small steps."
        )
    items = [_item(one, position) for position, one in enumerate(raw, 1)]
    active = [item.content for item in items if item.status is TodoStatus.IN_PROGRESS]
    if len(active) > 1:
        raise ToolError(
            f"{len(active)} items are in_progress ({'; '.join(active[:3])}). Only one can be: leave the "
            "others pending. The list was not changed."
        )
    return items


def _item(one: Mapping[str, Any], position: int) -> TodoItem:
    content = " ".join(str(one.get("content", "")).split())
    if not content:
        raise ToolError(f"item {position} has no content. The list was not changed.")
    if len(content) > MAX_CONTENT_CHARS:
        raise ToolError(
            f"item {position} has {len(content)} characters; at most {MAX_CONTENT_CHARS} fit. Shorten it. "
            "The list was not changed."
        )
    active = " ".join(str(one.get("active_form") or "").split())[:MAX_CONTENT_CHARS]
    return TodoItem(content, TodoStatus(one.get("status", TodoStatus.PENDING)), active)


def _report(todos: TodoList) -> str:
    if not todos.items:
        return "The todo list is empty now."
    pending = next((item for item in todos.items if item.status is TodoStatus.PENDING), None)
    if todos.current is not None:
        return f"Todo list saved: {todos.summary}. In progress: {todos.current.content}."
    if pending is not None:
        return (
            f"Todo list saved: {todos.summary}. Next: {pending.content}. Mark it in_progress when you begin."
        )
    return f"Todo list saved: {todos.summary}. Everything on it is done."
