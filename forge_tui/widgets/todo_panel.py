"""The model's task list, above the activity line: a few rows, or one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget

from forge_core.sanitize import safe_line
from forge_core.text_width import cell_len, clip
from forge_tui.keys.effective import effective_keys
from forge_tui.widgets.edges import MARK_COLUMN, RIGHT_MARGIN
from forge_tui.widgets.role_strip import role_strip

if TYPE_CHECKING:
    from forge_core.tools.builtin.todo import TodoItem

MAX_ROWS = 6
"""Tasks shown; the others are counted in one more row."""


def window(todos: Sequence[TodoItem]) -> tuple[int, int]:
    """Return the first and the end of the tasks shown: one before the current one, then the next ones."""
    if len(todos) <= MAX_ROWS:
        return 0, len(todos)
    first = min(max(_current(todos) - 1, 0), len(todos) - MAX_ROWS)
    return first, first + MAX_ROWS


def summary(todos: Sequence[TodoItem], width: int) -> str:
    """Return the list in one line: the current task, clipped, and how many are done."""
    done = sum(todo.status == "completed" for todo in todos)
    current = todos[_current(todos)]
    counts = f" · {done} of {len(todos)} done · {effective_keys().hint('Ctrl+T', 'chat.toggle_todos')}"
    text = clip(safe_line(current.content), max(width - cell_len(counts) - 2, 0))
    return clip(f"{current.status.mark} {text}{counts}", width)


def _current(todos: Sequence[TodoItem]) -> int:
    """Return the index of the task in progress, otherwise of the next one, otherwise of the last one."""
    for status in ("in_progress", "pending"):
        for index, todo in enumerate(todos):
            if todo.status == status:
                return index
    return len(todos) - 1


class TodoPanel(Widget):
    """The tasks; hidden while there are none, one line once the model has stopped updating them."""

    DEFAULT_CSS = f"""
    TodoPanel {{
        padding: 0 {RIGHT_MARGIN} 0 {MARK_COLUMN};
        height: auto;
        margin-top: 1;
        color: $foreground;
        display: none;
        &.-shown {{ display: block; }}
        & > .todo--pending {{ color: $forge-muted; }}
        & > .todo--completed {{ color: $forge-muted; }}
        & > .todo--in_progress {{ color: $accent; }}
    }}
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"todo--pending", "todo--completed", "todo--in_progress"}

    def __init__(self) -> None:
        super().__init__()
        self._todos: tuple[TodoItem, ...] = ()
        self.is_wanted = True
        """Whether the user wants to see it."""
        self._is_folded = False
        self._is_at_work = False
        """Whether the model has updated the list in this turn."""
        self._is_held = False
        """Whether the user has unfolded it."""

    @property
    def todos(self) -> tuple[TodoItem, ...]:
        return self._todos

    @property
    def doing(self) -> str:
        """The task in progress, if the model has updated the list in this turn; otherwise ""."""
        if not self._is_at_work:
            return ""
        current = next((todo for todo in self._todos if todo.status == "in_progress"), None)
        return "" if current is None else safe_line(current.active_form or current.content)

    def begin_turn(self) -> None:
        """Begin a turn, in which the list has not been updated yet."""
        self._is_at_work = False

    def end_turn(self) -> None:
        """Fold the list if this turn has not updated it: the conversation has moved on."""
        is_left = not self._is_at_work and not self._is_held
        self._fold(self._is_folded or is_left)

    def refresh_list(self, todos: Sequence[TodoItem], *, is_over: bool, is_update: bool) -> None:
        """Show these tasks, which the model has just updated if `is_update`; at the end of a turn a completed
        list is hidden."""
        is_gone = is_over and all(todo.status == "completed" for todo in todos)
        (self.update_list if is_update else self.show)(() if is_gone else todos)

    def update_list(self, todos: Sequence[TodoItem]) -> None:
        """Show the list that the model has just updated."""
        self._is_at_work, self._is_held = True, False
        self._fold(False)
        self.show(todos)

    def show(self, todos: Sequence[TodoItem]) -> None:
        """Show these tasks; cause a layout only if the number of rows changes."""
        if tuple(todos) == self._todos:
            return
        before, self._todos = self._row_count(), tuple(todos)
        if not todos:
            self._is_folded = self._is_held = False
        self.refresh(layout=before != self._row_count())
        self._settle()

    def toggle(self) -> None:
        """Show the whole list, or hide it if all of it shows."""
        self.is_wanted = self._is_folded or not self.is_wanted
        self._is_held = self.is_wanted
        self._fold(False)
        self._settle()

    def _fold(self, is_folded: bool) -> None:
        before, was_folded = self._row_count(), self._is_folded
        self._is_folded = is_folded and bool(self._todos)
        if was_folded != self._is_folded:
            self.refresh(layout=before != self._row_count())

    def _settle(self) -> None:
        self.set_class(bool(self._todos) and self.is_wanted, "-shown")

    def _row_count(self) -> int:
        if self._is_folded:
            return 1
        return min(len(self._todos), MAX_ROWS) + (len(self._todos) > MAX_ROWS)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return self._row_count()

    def render_line(self, y: int) -> Strip:
        if self._is_folded:
            return role_strip(self, "todo", [("pending", summary(self._todos, self.size.width))])
        first, end = window(self._todos)
        if first + y >= end:
            return role_strip(self, "todo", [("pending", f"  +{len(self._todos) - (end - first)} more")])
        todo = self._todos[first + y]
        text = clip(safe_line(todo.content), max(self.size.width - 2, 0))
        role = todo.status if todo.status == "completed" else "plain"
        return role_strip(self, "todo", [(todo.status, f"{todo.status.mark} "), (role, text)])
