"""What the tool calls of a session share."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from forge_core.permissions.policy import PermissionPolicy
from forge_core.session.person import Person
from forge_core.tools.base import ExecutionContext
from forge_core.tools.todo import TodoList


@dataclass(slots=True)
class Workbench:
    """One per session; each call gets a context of its own over it."""

    working_dir: Path
    policy: PermissionPolicy
    person: Person
    output_dir: Path
    """Where outputs over the cap are kept whole."""
    files: dict[str, str] = field(default_factory=dict)
    """Real path → hash of what the model last read."""

    todos: TodoList = field(default_factory=TodoList)

    def context(self) -> ExecutionContext:
        """The context of one call."""
        return ExecutionContext(
            working_dir=self.working_dir, files=self.files, ask=self.person.questioner, todos=self.todos
        )

    def reset(self) -> None:
        """Forgets what belongs to the conversation."""
        self.files.clear()
        self.todos.replace(())

    async def aclose(self) -> None:
        """Ends what calls have left running."""
