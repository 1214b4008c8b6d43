"""Requests to the user and their replies: permission for a tool call, the model's questions, and its plans.

The core awaits a `Responder` and does not know what replies: a prompt on the screen or a program. The class
of the request decides the class of the reply. Time spent waiting never counts against a timeout.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Generic, Literal, Protocol, TypeAlias, TypeVar

from forge_core.config.permission_mode import PermissionMode
from forge_core.config.project_state import Scripts
from forge_core.result import FileDiff

ReplyT = TypeVar("ReplyT")


class Effect(StrEnum):
    """The effect of a call; the policy decides by it, and the prompt is worded by it."""

    READ = "read"
    WRITE = "write"
    RUN = "run"
    NETWORK = "network"


class ToolKind(StrEnum):
    """What a tool is for. The policy, the transcript and the loop detector treat tools by their kind."""

    LOOK = "look"
    """Reads files. Runs unasked inside the folder."""
    WRITE = "write"
    """Changes files. Rules for `edit` cover it."""
    RUN = "run"
    """Runs commands, which the policy judges one by one."""
    SESSION = "session"
    """Acts only on the session itself: its tasks, questions and jobs. Runs unasked in every mode."""
    AGENT = "agent"
    """Starts a sub-agent. Runs without asking in every mode: the policy decides on each of its calls."""
    USER = "user"
    """No tool: a line that the user ran in their own shell."""
    OTHER = "other"
    """Anything else, such as a LangChain tool. Always asks."""


class Answer(StrEnum):
    ONCE = "once"
    SESSION = "session"
    ALWAYS = "always"
    """In this project, from now on."""
    NO = "no"


@dataclass(frozen=True, slots=True)
class UserRequest(Generic[ReplyT]):
    """Something that only the user can decide. All text in it is untrusted: show it as data."""

    call_id: str
    """The tool call that waits for the reply; empty where none does."""

    def unanswered(self, reason: str) -> ReplyT:
        """Return the reply where no user is available: permission is denied, a question declined."""
        raise NotImplementedError


class Responder(Protocol):
    """Replies to requests; must not raise.

    Requests of parallel calls arrive concurrently: a responder with one screen queues them. A wait is
    cancelled when the call is interrupted, or when the reply to another request decides it too.
    """

    async def __call__(self, request: UserRequest[ReplyT], /) -> ReplyT: ...


@dataclass(frozen=True, slots=True)
class ApprovalReply:
    """The user's decision about one tool call."""

    answer: Answer
    reason: str = ""
    """On a no: the user's reason, for the model."""
    rule: str = ""
    """On a yes for the session or the project: the rule as the user edited it; empty: as offered."""
    is_unattended: bool = False
    """Whether the no means only that no user was available."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTool:
    """A tool of an MCP server, as the policy and the user judge it. All text in it is untrusted."""

    server: str
    source: str
    """The file that declares the server."""
    name: str
    """As the server lists it."""
    description: str
    """As the server lists it: a claim."""
    hints: tuple[str, ...] = ()
    """What the server says about the effects of a call, in words to follow "says that it"."""
    host: str = ""
    """The URL to which arguments are sent; empty for a program on this machine."""
    only_reads: bool = False
    """The server says that a call changes nothing, and its entry lets this count."""
    rule_name: str
    """The name that the tool has in rules if no other tool needs the same: `mcp__git__log`."""
    server_rule: str
    """The name of the server in rules: `mcp__git`."""
    seen: Scripts
    """What the user sees of the tool and its server, each part with its hash or its text. A prompt grants the
    tool as long as all of this is the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequest(UserRequest[ApprovalReply]):
    """A request for permission to run one tool call."""

    tool: str
    effect: Effect
    arguments: Mapping[str, Any]
    target: str
    """What the call acts on: a path, or the exact command line."""
    action: str = ""
    """What the tool does, after "Forge wants to": "run a command". Empty for tools that do not say."""
    reason: str
    """Why it asks, in one line."""
    is_usual_reason: bool = False
    """Whether the reason follows from the call itself: a prompt need not repeat it."""
    session_rule: str
    """The `tool(pattern)` rule that "yes, for this session" would add."""
    always_rule: str = ""
    """The rule that "always in this project" would save; empty when no rule can be saved."""
    diffs: tuple[FileDiff, ...] = ()
    """What an edit would change, already computed."""
    is_destructive: bool = False
    """Deletes, leaves the folder, uses the network, or is a tool that has changed: the default answer is then
    no."""
    is_undoable: bool = False
    """Whether undo covers all that the call would change."""
    needs_network: bool = False
    """The command is to reach other machines from within the sandbox."""
    agent: str = ""
    """The sub-agent whose call it is; empty for one of the session's own."""
    sandbox: Literal["full", "weak", "off", ""] = ""
    """The strength of the sandbox that the command would run in; empty for calls that run none."""
    risky: tuple[tuple[int, int], ...] = ()
    """The parts of a command line that make it ask, by the indexes of their first character and after their
    last one, in order; empty if no part stands out."""
    details: Mapping[str, str] = field(default_factory=dict)
    """Further labelled lines for the prompt ("Timeout": "120 s")."""
    server_tool: ServerTool | None = None
    """The tool of a server that is called; None for all other tools."""
    changes: tuple[str, ...] = ()
    """The parts of that tool that have changed since the user allowed it, as lines; those that show how a
    text differs begin with "-", "+" or a space."""

    def unanswered(self, reason: str) -> ApprovalReply:
        return ApprovalReply(Answer.NO, reason, is_unattended=True)


@dataclass(frozen=True, slots=True)
class QuestionOption:
    """One answer that the model offers."""

    label: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A question of the model. The user can always answer in their own words instead."""

    text: str
    header: str
    """A word or two for a tab."""
    options: tuple[QuestionOption, ...]
    multi_select: bool = False


@dataclass(frozen=True, slots=True)
class QuestionReply:
    """The user's answers."""

    answers: tuple[tuple[str, ...], ...] = ()
    """For each question the chosen labels, or the user's own words."""
    declined: bool = False
    reason: str = ""
    """When declined: the user's reason, or that no user was available."""


@dataclass(frozen=True, slots=True)
class QuestionRequest(UserRequest[QuestionReply]):
    """Questions that are asked together."""

    questions: tuple[Question, ...]

    def unanswered(self, reason: str) -> QuestionReply:
        return QuestionReply(declined=True, reason=reason)


MAX_PLAN_CHARS = 20_000
"""Of a plan; a longer one is refused."""


class PlanAnswer(StrEnum):
    APPROVE = "approve"
    ACCEPT_EDITS = "accept_edits"
    """Approved, and edits inside the folder run unasked."""
    KEEP_PLANNING = "keep_planning"


@dataclass(frozen=True, slots=True)
class PlanReply:
    """The user's decision about a plan."""

    answer: PlanAnswer
    feedback: str = ""
    """When planning continues: what the user wants changed."""
    is_unattended: bool = False
    """Whether planning continues only because no user was available."""
    plan: str = ""
    """The plan as the user has edited it; empty if it is as presented."""


@dataclass(frozen=True, slots=True)
class PlanRequest(UserRequest[PlanReply]):
    """A plan to approve: plan mode ends with it."""

    plan: str
    """Markdown, written by the model."""
    mode: PermissionMode
    """The mode after `APPROVE`."""

    @property
    def offers_edits(self) -> bool:
        """Whether `ACCEPT_EDITS` allows more than `APPROVE`."""
        return self.mode is PermissionMode.ASK

    def unanswered(self, reason: str) -> PlanReply:
        return PlanReply(PlanAnswer.KEEP_PLANNING, reason, is_unattended=True)


Approver: TypeAlias = Callable[[ApprovalRequest], Awaitable[ApprovalReply]]
"""A responder, or a function that replies to requests for permission only."""

Questioner: TypeAlias = Callable[[QuestionRequest], Awaitable[QuestionReply]]
"""A responder, or a function that replies to questions only."""

PlanReviewer: TypeAlias = Callable[[PlanRequest], Awaitable[PlanReply]]
"""A responder, or a function that replies to plans only."""


def make_responder(
    approver: Approver, questioner: Questioner | None = None, plan_reviewer: PlanReviewer | None = None
) -> Responder:
    """Return a responder made of functions. Without a questioner, questions are declined; without a plan
    reviewer, no plan is approved."""

    async def respond(request: UserRequest[Any], /) -> Any:
        match request:
            case ApprovalRequest():
                return await approver(request)
            case QuestionRequest() if questioner is not None:
                return await questioner(request)
            case PlanRequest() if plan_reviewer is not None:
                return await plan_reviewer(request)
            case _:
                return await deny_all(request)

    return respond


async def deny_all(request: UserRequest[ReplyT], /) -> ReplyT:
    """Reply for a run without a user: deny permission, decline questions."""
    return request.unanswered("no user is available")
