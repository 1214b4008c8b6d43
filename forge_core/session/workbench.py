"""What the tool calls of a session share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from forge_core.permissions.policy import PermissionPolicy
from forge_core.permissions.sandbox.state import SandboxKind, SandboxState
from forge_core.session.person import Person
from forge_core.tools.base import ExecutionContext
from forge_core.tools.builtin.todo import TodoList
from forge_core.tools.shell.job_table import JobTable

if TYPE_CHECKING:
    from forge_core.permissions.sandbox import Sandbox
    from forge_core.undo.undo_store import UndoStore


def _no_sandbox() -> SandboxState:
    return SandboxState(SandboxKind.OFF, "none was asked for")


@dataclass(slots=True)
class Workbench:
    """One per session; each call gets a context of its own over it."""

    working_dir: Path
    policy: PermissionPolicy
    person: Person
    output_dir: Path
    """Where outputs over the cap are kept whole."""
    sandbox_state: SandboxState = field(default_factory=_no_sandbox)
    sandbox: Sandbox | None = None
    """None: commands run bare."""
    undo: UndoStore | None = None
    """None: what tools do cannot be taken back."""
    jobs: JobTable = field(default_factory=JobTable)
    todos: TodoList = field(default_factory=TodoList)
    files: dict[str, str] = field(default_factory=dict)
    """Real path → hash of what the model last read."""

    def context(self) -> ExecutionContext:
        """The context of one call."""
        return ExecutionContext(
            working_dir=self.working_dir,
            files=self.files,
            sandbox=self.sandbox,
            jobs=self.jobs,
            ask=self.person.ask,
            todos=self.todos,
            before_images=self.undo,
        )

    def forget_reads(self, paths: Iterable[Path]) -> None:
        """The model has to read these again before it overwrites them."""
        for path in paths:
            self.files.pop(str(path), None)

    def reset(self) -> None:
        """Forgets what belongs to the conversation. Jobs run on, and what was done can still be undone."""
        self.files.clear()
        self.todos.replace(())

    async def begin_turn(self, text: str) -> None:
        """Whatever calls change from here on is undone together."""
        if self.undo is not None:
            await self.undo.begin_turn(text)

    async def end_turn(self) -> None:
        if self.undo is not None:
            await self.undo.end_turn()

    async def aclose(self) -> None:
        """Ends what calls have left running; the jobs first, since their ends are still recorded."""
        await self.jobs.aclose()
        if self.undo is not None:
            await self.undo.aclose()
