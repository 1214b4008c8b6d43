"""Requests to the user and their replies: permission for a tool call, the model's questions, and its plans.

The core awaits a `Responder` and does not know what replies: a prompt on the screen or a program. The class
of the request decides the class of the reply. Time spent waiting never counts against a timeout.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
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
    is_sandboxed: bool = False
    """The server is a program in the sandbox."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRule:
    """What an answer in the user's own words must be."""

    kind: Literal["text", "number", "integer", "email", "uri", "date", "date-time"] = "text"
    least: float | None = None
    """The smallest number, or the fewest characters."""
    most: float | None = None

    @property
    def wanted(self) -> str:
        """What an answer is, in words: "a whole number from 1 to 5"."""
        is_text = self.kind not in ("number", "integer")
        unit = " characters" if is_text else ""
        match self.least, self.most:
            case None, None:
                return _WANTED[self.kind]
            case least, None:
                bounds = f"at least {least:.15g}{unit}"
            case None, most:
                bounds = f"at most {most:.15g}{unit}"
            case least, most:
                bounds = f"{'of' if is_text else 'from'} {least:.15g} to {most:.15g}{unit}"
        return f"{_WANTED[self.kind]} {bounds}" if " to " in bounds else f"{_WANTED[self.kind]}, {bounds}"

    def accepts(self, text: str) -> bool:
        """Return whether an answer is what is wanted."""
        match self.kind:
            case "number" | "integer":
                if _NUMBER[self.kind].fullmatch(text) is None:
                    return False
                size = float(text)
            case "date" | "date-time":
                size = len(text)
                try:
                    day, _, time = text.partition("T")
                    date.fromisoformat(day)
                    if bool(time) is not (self.kind == "date-time") or len(day) != len("2026-01-31"):
                        return False
                    datetime.fromisoformat(text)
                except ValueError:
                    return False
            case kind:
                size = len(text)
                if kind in _FORMS and _FORMS[kind].fullmatch(text) is None:
                    return False
        return (self.least is None or size >= self.least) and (self.most is None or size <= self.most)


_WANTED = {
    "text": "a text",
    "number": "a number",
    "integer": "a whole number",
    "email": "an e-mail address",
    "uri": "a URL",
    "date": "a date such as 2026-01-31",
    "date-time": "a time such as 2026-01-31T09:30:00Z",
}
_NUMBER = {
    "number": re.compile(r"[+-]?(?:\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})(?:[eE][+-]?\d{1,2})?", re.ASCII),
    "integer": re.compile(r"[+-]?\d{1,30}", re.ASCII),
}
_FORMS = {"email": re.compile(r"[^@\s]+@[^@\s]+\.[^@\s.]+"), "uri": re.compile(r"[A-Za-z][\w+.-]*:\S+")}


@dataclass(frozen=True, slots=True)
class Question:
    """A question of the model, or a field of a form."""

    text: str
    header: str
    """A word or two for a tab."""
    options: tuple[QuestionOption, ...]
    multi_select: bool = False
    words: AnswerRule | None = AnswerRule()
    """What an answer in the user's own words must be; None: only options can be chosen."""
    default: tuple[str, ...] = ()
    """The answer until the user gives another."""
    is_required: bool = False
    """Whether an answer must be given, where this is a field of a form."""
    fewest: int | None = None
    most: int | None = None
    """How many options may be chosen, if any is."""
    draft: str = ""
    """The text that an answer in the user's own words begins with: a message to edit."""

    def problem(self, answer: Sequence[str]) -> str:
        """Return what is wrong with an answer, in one sentence; empty if nothing is. It may contain untrusted
        text."""
        labels = {option.label for option in self.options}
        for text in answer:
            if text not in labels and self.words is None:
                return f"{text!r} is none of the answers. Choose one of them."
            if text not in labels and self.words is not None and not self.words.accepts(text):
                return f"{text!r} is not {self.words.wanted}."
        if not answer:
            return f"{self.header} needs an answer." if self.is_required else ""
        if self.fewest is not None and len(answer) < self.fewest:
            return f"{self.header} needs at least {self.fewest} answer{'s'[: self.fewest != 1]}."
        if self.most is not None and len(answer) > self.most:
            return f"{self.header} takes at most {self.most} answer{'s'[: self.most != 1]}."
        return ""


@dataclass(frozen=True, slots=True)
class QuestionReply:
    """The user's answers."""

    answers: tuple[tuple[str, ...], ...] = ()
    """For each question the chosen labels, or the user's own words."""
    declined: bool = False
    reason: str = ""
    """When declined: the user's reason, or that no user was available."""
    cancelled: bool = False
    """When declined: the questions were dismissed without a decision, or no user was available."""


@dataclass(frozen=True, slots=True)
class QuestionRequest(UserRequest[QuestionReply]):
    """Questions that are asked together."""

    questions: tuple[Question, ...]
    server: str = ""
    """The MCP server that asks; empty for Forge and the model."""
    is_form: bool = False
    """The questions are fields of a form: `Question.problem` must find nothing wrong with any answer."""
    heading: str = ""
    """The title of the prompt; empty for the usual one."""

    def unanswered(self, reason: str) -> QuestionReply:
        return QuestionReply(declined=True, reason=reason, cancelled=True)


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
