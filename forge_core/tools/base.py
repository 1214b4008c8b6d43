"""The declaration of a tool, the context of a call, and its result."""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from forge_core.approval import Effect, PlanReviewer, Questioner, ServerTool, ToolKind
from forge_core.errors import ToolError as ToolError  # part of the public interface of this module
from forge_core.events import AgentEvent, Subject, ToolStart
from forge_core.images.image_reference import ImageReference
from forge_core.llm.models import TokenUsage, ToolDefinition
from forge_core.llm.tokens import estimate_tokens
from forge_core.result import FileDiff, Omission, ToolOutcome
from forge_core.workspace.folders import WorkspaceFolders

if TYPE_CHECKING:
    from forge_core.permissions.sandbox.sandbox import Sandbox
    from forge_core.tools.builtin.exit_plan_mode import SessionPlan
    from forge_core.tools.builtin.skill import SkillSource
    from forge_core.tools.builtin.todo import TodoList
    from forge_core.tools.builtin.tool_search import DeferredTools
    from forge_core.tools.output import OutputStore
    from forge_core.tools.shell.job_table import JobTable
    from forge_core.tools.tool_hooks import ToolHooks
    from forge_core.undo import CommandEffects, ExpectedEffects

INTERRUPT_GRACE_S = 0.12
"""How long an interrupted call of a tool may usually take to return what it has."""
JsonType: TypeAlias = Literal["string", "integer", "number", "boolean", "array", "object"]


class ToolCategory(StrEnum):
    FILE = "file"
    SEARCH = "search"
    EXECUTION = "execution"
    PLANNING = "planning"
    NETWORK = "network"
    AGENT = "agent"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class ToolParameter:
    """One parameter, as JSON schema knows it."""

    name: str
    type: JsonType
    description: str = ""
    required: bool = True
    default: Any = None
    enum: Sequence[Any] | None = None
    minimum: float | None = None
    maximum: float | None = None
    items: Mapping[str, Any] | None = None
    """JSON schema of an array's elements."""
    properties: Mapping[str, Any] | None = None
    """JSON schemas of an object's fields."""

    def to_json_schema(self) -> dict[str, Any]:
        schema: dict[str, Any] = {"type": self.type}
        for key in ("description", "default", "enum", "minimum", "maximum", "items", "properties"):
            value = getattr(self, key)
            if value is not None and value != "":
                schema[key] = list(value) if key == "enum" else value
        return schema


def object_schema(properties: Mapping[str, Any], required: Sequence[str]) -> dict[str, Any]:
    """Return the JSON schema of an object with these fields and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


@dataclass(frozen=True, slots=True)
class ToolResult:
    """How a call ended. A tool's failure is a value: `success=False` and `error` in words for the model."""

    success: bool
    output: str = ""
    error: str | None = None
    summary: str = ""
    """A few words for the card's header; never sent to the model."""
    diffs: tuple[FileDiff, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    outcome: ToolOutcome | None = None
    """Finer than `success`."""
    aside: str = ""
    """The first or last line of `output` if only the model needs it: the summary contains it."""
    model_notes: tuple[str, ...] = ()
    """Parts of `output`, each of whole lines, that only the model needs, such as how to continue with a
    job."""
    omission: Omission | None = None
    """What `output` leaves out."""
    display: str = ""
    """What a card shows in place of `output`; empty: the output itself."""
    is_in_header: bool = False
    """The call's target and `summary` say it all: a folded card shows nothing of the output."""
    document: str = ""
    """Markdown by the model that the conversation shows like an answer, below the call."""
    ends_run: bool = False
    """The run ends after this round of calls, with `document` as its output: the user speaks next."""
    usage: TokenUsage | None = None
    """What the model calls that it made have used; it counts for the run."""
    images: tuple[ImageReference, ...] = ()
    """Images that the model is sent after the result, in a message of their own."""

    def for_model(self) -> str:
        """Return the text that the model reads: the output, or "Error: …" (with whatever output there
        was)."""
        if self.success:
            return self.output
        return f"Error: {self.error or 'failed'}" + (f"\n{self.output}" if self.output else "")


@dataclass(frozen=True, slots=True)
class ToolUse:
    """What a call would touch: the policy's only view of it. Computed without side effects."""

    effect: Effect
    target: str
    """The path as given, or the exact command line."""
    paths: tuple[Path, ...] = ()
    """Absolute, lexically normalised; not yet resolved."""
    is_destructive: bool = False
    details: Mapping[str, str] = field(default_factory=dict)
    needs_network: bool = False
    """Whether a sandboxed command needs to reach other machines."""
    kind: ToolKind = ToolKind.OTHER
    """Of the tool; set by `BaseTool.use`."""
    removed: tuple[Path, ...] = ()
    """Those of `paths` that are deleted or moved away, and not written."""
    server_tool: ServerTool | None = None
    """The tool of an MCP server; None for all other tools."""


class BeforeImages(Protocol):
    """Keeps what files were before a tool changes them (the undo store plugs in here)."""

    async def capture(self, path: Path) -> None:
        """Record `path`, a real path, before a file tool changes, creates or deletes it."""

    async def before_command(self, expected: ExpectedEffects = ..., earlier: object = None) -> object:
        """Look at the workspace before a command that may write. The result is passed to `after_command`.
        `expected` is what the command line is expected to do; `earlier` is the previous result if the same
        command continues."""

    async def after_command(
        self, watch: object, *, goes_on: bool = False, exit_status: int | None = None
    ) -> CommandEffects:
        """Return what has changed in the workspace since. `exit_status`: of one that has ended."""

    async def settle(self) -> None:
        """Record, after each call that may have changed something, what the files are now, so that later
        edits by the user are recognised."""


class UnsavedFiles(Protocol):
    """Knows the files that are open in the user's editor (the server for editors plugs in here)."""

    async def unsaved_text(self, path: Path) -> str | None:
        """Return the text of a file that the user has changed in the editor and not saved; None if there is
        none, or the editor does not say. Never raises."""


@dataclass(frozen=True, slots=True)
class AgentTask:
    """What a sub-agent is to do."""

    agent: str
    """The name of its definition."""
    description: str
    """A few words for the user."""
    prompt: str
    in_background: bool = False
    model: str = ""
    """Empty: that of the definition."""


class AgentSpawner(Protocol):
    """Starts sub-agents (the session plugs in here)."""

    def color(self, agent: str) -> str:
        """Return the colour of the agent of this name; empty: none."""

    async def spawn(self, task: AgentTask, context: ExecutionContext) -> ToolResult:
        """Run a sub-agent and return its report; in the background, return once it has started.

        `context` is that of the call. May raise ToolError. A cancelled wait ends the sub-agent.
        """


@dataclass(slots=True)
class ExecutionContext:
    """What a call may use. One per call; `files` is shared by all calls of a session."""

    working_dir: Path | str = "."
    added_folders: tuple[Path, ...] = ()
    """Real paths of further folders in which the same rules hold."""
    on_output: Callable[[str], None] | None = None
    """Takes the live output of a running tool, in pieces for `ToolProgress`; called on the event loop."""
    call_id: str = ""
    interrupted: asyncio.Event | None = None
    """Set when the user interrupts: a tool that can end early returns what it has at once; one that does not
    look is cancelled after `INTERRUPT_GRACE_S`."""
    emit: Callable[[AgentEvent], None] | None = None
    """Takes events of the call (PERMISSION, NOTICE)."""
    files: dict[str, str] = field(default_factory=dict)
    """Real path → sha256 of the bytes that the model last saw: the stale check. The latest is the last."""
    before_images: BeforeImages | None = None
    unsaved: UnsavedFiles | None = None
    """The files that are open in the user's editor; None: there is no editor."""
    agreed: frozenset[Path] | None = None
    """The real paths that the policy judged before the call; None without a policy. Set by the executor."""
    agreed_links: frozenset[Path] = frozenset()
    """Those that may be written although they have several links. Set by the executor."""
    switches_git_off: bool = False
    """Nobody was asked about a line in which git only reads: git runs no program of the repository for it,
    whatever its config says by then. Set by the executor."""
    hides_keys: bool = False
    """Private keys must be left out of the result, because nobody has agreed to show them. Set by the
    executor."""
    instructions_for: Callable[[Path], str] | None = None
    """Returns the instructions of the folders around a real path that the model has not been given yet."""
    instructions: str = ""
    """What the model is given after the result, outside the frame of data; set by the executor."""
    agent: str = ""
    """The name of the sub-agent whose call it is; empty for one of the session's own."""
    agent_id: str = ""
    """The id of that sub-agent's session."""
    agents: AgentSpawner | None = None
    """Starts sub-agents; None: there are none here."""
    sandbox: Sandbox | None = None
    """Where commands run; None: bare."""
    jobs: JobTable | None = None
    """The session's background jobs; None: a command that should continue in the background is refused."""
    ask: Questioner | None = None
    """Puts the model's questions to the user; None: no user is available."""
    review_plan: PlanReviewer | None = None
    """Shows a plan to the user; None: no user is available."""
    todos: TodoList | None = None
    """The session's list of tasks."""
    plan: SessionPlan | None = None
    """The session's plan; None: there is no plan mode."""
    skills: SkillSource | None = None
    """The session's skills; None: it has none."""
    deferred: DeferredTools | None = None
    """The tools that the model finds with tool_search; None: there are none."""
    environment: Mapping[str, str] | None = None
    """The environment for child processes; None: the scrubbed one of this process."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Variables for commands on top of that, whatever their names."""
    hides: Callable[[Path], bool] | None = None
    """Whether a search must leave a file out because the user's rules deny reading it; set by the
    executor."""
    denies: Callable[[str, ServerTool], bool] | None = None
    """Returns whether the user's rules deny every call of the server's tool of this name; None: there is no
    policy."""
    hooks: ToolHooks | None = None
    """The user's programs that run around calls; None: there are none."""
    ends_turn: bool = False
    """Whether a hook ends the turn after this call; set by the executor."""
    outputs: OutputStore | None = None
    """Where outputs over the cap are kept whole; set by the executor."""
    waited_s: float = 0.0
    """Seconds spent waiting for the user; written by the executor, subtracted from durations."""

    @property
    def root(self) -> Path:
        return Path(self.working_dir).absolute()

    @property
    def folders(self) -> WorkspaceFolders:
        return WorkspaceFolders(self.root, self.added_folders)

    def record_read(self, path: Path, digest: str) -> None:
        """Record what the model has seen of the file at a real path."""
        self.files.pop(str(path), None)
        self.files[str(path)] = digest


class BaseTool(ABC):
    """A tool: what the model may call, and everything that other parts of Forge need to know of it.

    To add one, write a subclass in `tools/builtin/` and add it to `builtin_tools` in `tools/registry.py`. The
    policy, the transcript, the approval prompt and the loop detector read the attributes below; the defaults
    suit a tool about which nothing is known. A tool keeps no state between calls other than what the context
    carries.
    """

    name: str
    description: str
    """Sent to the model."""
    parameters: Sequence[ToolParameter] = ()
    claude_names: tuple[str, ...] = ()
    """The tool's names in hooks, commands and agents that were written for Claude Code. Hooks are given the
    first one (https://docs.claude.com/en/docs/claude-code/hooks)."""
    advice: str = ""
    """What the system prompt says about the tool, where it is registered; names it."""
    category: ToolCategory = ToolCategory.OTHER
    effect: Effect = Effect.READ
    kind: ToolKind = ToolKind.OTHER
    """Decides which rules cover a call and whether it runs unasked; see `ToolKind`."""
    title: str = ""
    """The verb of a call's card: "Read". Empty: the name in words."""
    action: str = ""
    """What the approval prompt shows after "Forge wants to": "read a file". Empty: derived from the effect
    and the tool's name."""
    preview_rows: int = 0
    """Rows of the output that a folded card shows; 0 if the summary is enough."""
    takes_pattern: bool = False
    """A rule for the tool may have a pattern although it has no paths and no command: it is compared with the
    target of `describe_use`."""
    may_repeat: bool = False
    """The same call with the same result is no sign of a loop: waiting for a job, say."""
    checks_own_arguments: bool = False
    """The executor passes the arguments on unchecked: the tool has its own schema."""
    limits_own_output: bool = False
    """The executor passes the output on whole: the tool gives it in pages."""
    interrupt_grace_s: float = INTERRUPT_GRACE_S
    """How long an interrupted call may take to return what it has before it is cancelled."""
    for_agents: bool = True
    """Whether sub-agents may have it with the tools that their definition names: not one that speaks with the
    user, starts sub-agents, or stands in for deferred tools."""
    timeout_s: float | None = None
    """After this time the executor ends a call; None: never, or the tool sees to it itself."""

    @abstractmethod
    async def execute(self, params: dict[str, Any], context: ExecutionContext) -> ToolResult:
        """Run it. `params` are validated and completed with defaults by ToolExecutor. May raise ToolError."""

    def describe_use(self, params: dict[str, Any], context: ExecutionContext) -> ToolUse:
        """Return what this call would touch. Pure; must not raise on odd values."""
        return ToolUse(self.effect, target="")

    def use(self, params: dict[str, Any], context: ExecutionContext) -> ToolUse:
        """Return what the policy decides by: `describe_use` with the tool's kind."""
        return replace(self.describe_use(params, context), kind=self.kind)

    def target(self, arguments: Mapping[str, Any]) -> str:
        """Return what a call acts on, for its card: a path, a pattern, a command. Ignored without a title.
        The arguments are unchecked."""
        return ""

    def subject(self, arguments: Mapping[str, Any]) -> Subject | None:
        """Return what a call reads, so that a series of such calls is shown as one; None for a tool that does
        more than read. The arguments are unchecked."""
        return None

    def start_event(
        self, call_id: str, arguments: Mapping[str, Any], context: ExecutionContext | None = None
    ) -> ToolStart:
        """Return the event that announces a call. The arguments are unchecked."""
        return ToolStart(
            call_id=call_id,
            name=self.name,
            arguments=arguments,
            title=self.title,
            target=self.target(arguments) if self.title else "",
            kind=self.kind,
            subject=self.subject(arguments),
            preview_rows=self.preview_rows,
        )

    def is_offered(self, context: ExecutionContext) -> bool:
        """Return whether the model is offered the tool. Looked up when a session starts, and when what its
        context holds has changed."""
        return True

    async def preview(self, params: dict[str, Any], context: ExecutionContext) -> tuple[FileDiff, ...]:
        """Return what the call would change, for the approval prompt. Raise ToolError if the call would fail
        anyway: it then fails at once, without a prompt."""
        return ()

    async def aclose(self) -> None:  # noqa: B027  most tools leave nothing behind
        """End what calls have left running. Called once, when the session ends."""

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON schema of the parameters, of type object."""
        properties = {parameter.name: parameter.to_json_schema() for parameter in self.parameters}
        return object_schema(
            properties, [parameter.name for parameter in self.parameters if parameter.required]
        )

    def definition(self) -> ToolDefinition:
        return ToolDefinition(self.name, self.description, self.json_schema())

    @cached_property
    def tokens(self) -> int:
        """About how many tokens the definition takes in a request. Counted once."""
        return estimate_tokens(json.dumps(self.to_openai_schema(), ensure_ascii=False))

    def to_openai_schema(self) -> dict[str, Any]:
        """Return `{"type": "function", "function": {…}}`."""
        return self.definition().as_openai()
