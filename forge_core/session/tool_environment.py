"""What the tool calls of a session share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forge_core.approval import ReplyT, Responder, UserRequest
from forge_core.extensions.skills import shared_skill_folders, skill_folders
from forge_core.langchain.agent.run_control import RunClock
from forge_core.permissions.policy import PermissionPolicy
from forge_core.permissions.sandbox.sandbox_state import SandboxKind, SandboxState
from forge_core.session.session_hooks import SessionHooks
from forge_core.session.session_skills import SessionSkills
from forge_core.tools.base import AgentSpawner, ExecutionContext, UnsavedFiles
from forge_core.tools.builtin.exit_plan_mode import SessionPlan
from forge_core.tools.builtin.todo import TodoList
from forge_core.tools.shell.job_table import JobTable
from forge_core.workspace.folders import WorkspaceFolders
from forge_core.workspace.program_lookup import leave_out_programs

if TYPE_CHECKING:
    from forge_core.context.folder_instructions import FolderInstructions
    from forge_core.context.instructions import Instructions
    from forge_core.extensions.catalog import ExtensionCatalog
    from forge_core.mcp.deferral import ToolChoice
    from forge_core.permissions.sandbox.sandbox import Sandbox
    from forge_core.session.offered_tools import OfferedTools
    from forge_core.session.server_offers import ServerOffers
    from forge_core.undo.undo_store import UndoStore


_NO_SANDBOX = SandboxState(SandboxKind.OFF, "none was asked for")


class SessionResponder:
    """Passes requests to the user. While `is_away`, each gets the reply for when no user is available."""

    def __init__(
        self,
        responder: Responder,
        clock: RunClock,
        on_request: Callable[[UserRequest[Any]], None] = lambda request: None,
    ) -> None:
        """`clock` counts the time of the agent's runs; it is paused while the user thinks. `on_request` is
        called with each request that the user gets."""
        self.is_away = False
        self._responder = responder
        self._clock = clock
        self._on_request = on_request

    async def __call__(self, request: UserRequest[ReplyT], /) -> ReplyT:
        if self.is_away:
            return request.unanswered("the user is away")
        self._on_request(request)
        with self._clock.paused():
            return await self._responder(request)


@dataclass(slots=True)
class ToolEnvironment:
    """One per session; each call gets a context of its own over it."""

    working_dir: Path
    policy: PermissionPolicy
    responder: SessionResponder
    output_dir: Path
    """Where outputs over the limit are kept whole."""
    sandbox_state: SandboxState = _NO_SANDBOX
    sandbox: Sandbox | None = None
    """None: commands run without a sandbox."""
    unsaved: UnsavedFiles | None = None
    """None: there is no editor."""
    undo: UndoStore | None = None
    """None: what tools do cannot be undone."""
    jobs: JobTable = field(default_factory=JobTable)
    todos: TodoList = field(default_factory=TodoList)
    plan: SessionPlan = field(default_factory=SessionPlan)
    skills: SessionSkills = field(default_factory=SessionSkills)
    files: dict[str, str] = field(default_factory=dict)
    """Real path → hash of what the model last read."""
    folder_instructions: FolderInstructions | None = None
    """None: only the instructions in the system prompt count."""
    agents: AgentSpawner | None = None
    """Starts sub-agents; None: there are none."""
    hooks: SessionHooks | None = None
    """None: no programs run around calls."""
    deferred: ToolChoice | None = None
    """The tools of MCP servers in the conversation; None: there are none."""
    offered: OfferedTools | None = None
    """What chooses them; None in a sub-agent."""
    server_offers: ServerOffers | None = None
    """The prompts and resources of MCP servers; None in a sub-agent."""
    omitted_instructions: set[str] = field(default_factory=set)
    """The real paths of the instruction files that the user has left out of the system prompt."""

    def context(self) -> ExecutionContext:
        """Return the context of one call."""
        return ExecutionContext(
            working_dir=self.working_dir,
            added_folders=self.policy.folders.added,
            files=self.files,
            sandbox=self.sandbox,
            jobs=self.jobs,
            ask=self.responder,
            review_plan=self.responder,
            todos=self.todos,
            plan=self.plan,
            skills=self.skills,
            deferred=self.deferred,
            before_images=self.undo,
            unsaved=self.unsaved,
            agents=self.agents,
            denies=self.policy.denies,
            hooks=None if self.hooks is None else self.hooks.tools,
            variables={} if self.hooks is None else self.hooks.variables,
            instructions_for=None if self.folder_instructions is None else self.folder_instructions.for_path,
        )

    @property
    def given_instructions(self) -> tuple[Instructions, ...]:
        """The instructions that followed results of tools."""
        return () if self.folder_instructions is None else self.folder_instructions.given

    async def add_folder(self, folder: Path) -> None:
        """Count a folder as a part of the workspace: the same holds in it from the next call on. It is a real
        path that `workspace.added_folders` accepts."""
        leave_out_programs((self.working_dir, folder))
        if self.undo is not None:
            await self.undo.add_folder(folder)
        if self.sandbox is not None:
            self.sandbox.add_folder(folder)
        self.policy.add_folder(folder)

    def use_skills(self, catalog: ExtensionCatalog) -> None:
        """Use the skills of another catalog from the next call on: the read tools and commands in the sandbox
        may read their folders, wherever these are."""
        self.skills.use(catalog)
        self.policy.set_skill_folders(skill_folders(catalog, self.working_dir))
        if self.sandbox is not None:
            self.sandbox.show_folders(shared_skill_folders(catalog, self.working_dir))

    def rules_changed(self) -> None:
        """Offer the model and the user what the user's rules leave, from the next request on."""
        if self.offered is not None:
            self.offered.refresh()
        if self.server_offers is not None:
            self.server_offers.changed()

    def forget_reads(self, paths: Iterable[Path]) -> None:
        """Require the model to read these files again before it overwrites them."""
        for path in paths:
            self.files.pop(str(path), None)

    def reset(self) -> None:
        """Forget what belongs to the conversation. Jobs keep running, and undo still covers what was done."""
        self.files.clear()
        if self.folder_instructions is not None:
            self.folder_instructions.forget()
        self.todos.replace(())
        self.plan.clear()
        self.skills.forget()
        if self.offered is not None:
            self.offered.tell_again()

    async def begin_turn(self, text: str, at: float) -> None:
        """Begin a turn, at this time: what calls change from here on is undone together. What skills have
        granted in the background since the last turn does not count in it."""
        self.policy.end_turn()
        if self.undo is not None:
            await self.undo.begin_turn(text, at)

    async def end_turn(self) -> None:
        self.policy.end_turn()
        if self.undo is not None:
            await self.undo.end_turn()

    async def aclose(self) -> None:
        """End what calls have left running; the jobs first, since undo still records their ends."""
        await self.jobs.aclose()
        if self.undo is not None:
            await self.undo.aclose()


class AddedFolders:
    """The folders that the user has added to the one in which a session works."""

    def __init__(
        self,
        environment: ToolEnvironment,
        changed: Callable[[], None],
        tell_servers: Callable[[], Awaitable[None]],
    ) -> None:
        """`changed` records the folders, and informs the model; `tell_servers` informs the MCP servers."""
        self._environment = environment
        self._changed = changed
        self._tell_servers = tell_servers

    @property
    def workspace(self) -> WorkspaceFolders:
        """All folders, the main one first."""
        return self._environment.policy.folders

    async def add(self, folder: Path) -> None:
        """Add a folder, as `ToolEnvironment.add_folder`."""
        await self._environment.add_folder(folder)
        self._changed()
        await self._tell_servers()
