"""What only the user can decide, as requests to the client, each with the whole command or change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from acp import schema

from forge_core.approval import (
    Answer,
    ApprovalReply,
    ApprovalRequest,
    Effect,
    PlanAnswer,
    PlanReply,
    PlanRequest,
    QuestionOption,
    QuestionReply,
    QuestionRequest,
    UserRequest,
)
from forge_core.events import as_json
from forge_core.integrations.acp import tool_calls
from forge_core.integrations.acp.client import EditorClient
from forge_core.integrations.acp.event_updates import EventUpdates, new_id, plain_markdown
from forge_core.integrations.acp.question_form import form_of, message_of, reply_of
from forge_core.sanitize import safe_line, safe_text

_KINDS: dict[Effect, schema.ToolKind] = {
    Effect.READ: "read",
    Effect.WRITE: "edit",
    Effect.RUN: "execute",
    Effect.NETWORK: "fetch",
}
_MAX_ATTEMPTS = 3
"""How often a form is shown whose answers are not what is wanted."""
_NO_ANSWER = "the user did not answer"


class ClientResponder:
    """Replies to the requests of one session."""

    def __init__(
        self, client: EditorClient, session_id: Callable[[], str], updates: EventUpdates, folder: Path
    ) -> None:
        self._client = client
        self._updates = updates
        self._session_id = session_id
        self._folder = folder

    async def __call__(self, request: UserRequest[Any], /) -> Any:
        match request:
            case ApprovalRequest():
                return await self._permission(request)
            case PlanRequest():
                return await self._plan(request)
            case QuestionRequest():
                return await self._questions(request)
            case _:
                raise TypeError(f"There is no request of the protocol for a {type(request).__name__}.")

    async def _call_id(self, request: UserRequest[Any]) -> str:
        """Return the client's id of the call that waits, which the client knows by then."""
        return await self._updates.announced(request.call_id) if request.call_id else new_id()

    async def _permission(self, request: ApprovalRequest) -> ApprovalReply:
        call = permission_call(request, await self._call_id(request), self._folder)
        options = [_option("once", "Allow", "allow_once")]
        if request.always_rule:
            rule = safe_line(request.always_rule)
            options.append(_option("always", f"Always allow {rule} in this project", "allow_always"))
        options.append(_option("no", "Deny", "reject_once"))
        match await self._client.choose(self._session_id(), call, options):
            case "once":
                return ApprovalReply(Answer.ONCE)
            case "always":
                return ApprovalReply(Answer.ALWAYS)
            case "no":
                return ApprovalReply(Answer.NO)
            case _:
                return request.unanswered(_NO_ANSWER)

    async def _plan(self, request: PlanRequest) -> PlanReply:
        call = schema.ToolCallUpdate(
            tool_call_id=await self._call_id(request),
            title="Forge has a plan",
            kind="switch_mode",
            status="pending",
            content=[tool_calls.markdown_content(safe_text(request.plan))],
        )
        options = [_option("approve", f"Approve (mode {request.mode})", "allow_once")]
        if request.offers_edits:
            options.append(_option("accept_edits", "Approve, and accept edits", "allow_always"))
        options.append(_option("keep_planning", "Keep planning", "reject_once"))
        match await self._client.choose(self._session_id(), call, options):
            case "":
                return request.unanswered(_NO_ANSWER)
            case chosen:
                return PlanReply(PlanAnswer(chosen))

    async def _questions(self, request: QuestionRequest) -> QuestionReply:
        if not self._client.shows_forms:
            return await self._choices(request)
        call_id = await self._call_id(request) if request.call_id else ""
        message, form = message_of(request), form_of(request)
        for _ in range(_MAX_ATTEMPTS):
            match await self._client.fill_in(self._session_id(), call_id, message, form):
                case "decline":
                    return QuestionReply(declined=True, reason="the user declined")
                case "cancel":
                    return request.unanswered(_NO_ANSWER)
                case content:
                    try:
                        return reply_of(request, content)
                    except ValueError as error:
                        message = safe_line(str(error))
        return request.unanswered(_NO_ANSWER)

    async def _choices(self, request: QuestionRequest) -> QuestionReply:
        """Ask one question after the other, each as a choice of its options."""
        if request.is_form or any(not question.options for question in request.questions):
            return request.unanswered("the editor cannot show this form")
        call_id = await self._call_id(request)
        answers: list[tuple[str, ...]] = []
        for question in request.questions:
            call = schema.ToolCallUpdate(
                tool_call_id=call_id,
                title=safe_line(request.heading or question.text.split("\n", 1)[0]),
                kind="think",
                status="pending",
                content=[
                    tool_calls.text_content(question.text),
                    tool_calls.markdown_content(_listing(request.server, question.options)),
                ],
            )
            options = [
                _option(str(number), safe_line(one.label), "allow_once")
                for number, one in enumerate(question.options)
            ]
            options.append(_option("none", "No answer", "reject_once"))
            chosen = await self._client.choose(self._session_id(), call, options)
            if chosen in ("", "none"):
                return QuestionReply(declined=True, reason=_NO_ANSWER, cancelled=not chosen)
            answers.append((question.options[int(chosen)].label,))
        return QuestionReply(tuple(answers))


def permission_call(request: ApprovalRequest, call_id: str, folder: Path) -> schema.ToolCallUpdate:
    """Return the call that needs permission, with all that the user must see to decide."""
    changes = [*tool_calls.file_changes(request.diffs, folder)]
    content: list[tool_calls.Content] = [change.content for change in changes]
    if changes and changes[-1].is_cut:
        content.append(tool_calls.text_content("The rest of the change is not shown."))
    if not content and request.target:
        content.append(tool_calls.text_content(request.target))
    facts = [request.reason, *(f"{name}: {value}" for name, value in request.details.items())]
    if request.agent:
        facts.append(f"Asked by the agent {request.agent}")
    if request.needs_network:
        facts.append("It reaches other machines")
    if request.is_destructive:
        facts.append("This may not be undone")
    tool = request.server_tool
    if tool is not None:
        facts.append(f"Tool {tool.name} of the MCP server {tool.server} ({tool.source}): {tool.description}")
        facts += [f"The server says that it {hint}" for hint in tool.hints]
        content.append(tool_calls.text_content(str(as_json(request.arguments))))
    facts += request.changes
    lines = "\n".join(f"- {plain_markdown(safe_line(fact))}" for fact in facts if fact)
    if lines:
        content.append(tool_calls.markdown_content(lines))
    action = request.action or f"use {request.tool}"
    return schema.ToolCallUpdate(
        tool_call_id=call_id,
        title=safe_line(f"{action[:1].upper()}{action[1:]}: {request.target}")[: tool_calls.MAX_TITLE_CHARS],
        kind=_KINDS[request.effect],
        status="pending",
        content=content,
        locations=[change.location for change in changes] or None,
        raw_input=as_json(request.arguments),
    )


def _option(option_id: str, name: str, kind: schema.PermissionOptionKind) -> schema.PermissionOption:
    return schema.PermissionOption(option_id=option_id, name=name, kind=kind)


def _listing(server: str, options: Sequence[QuestionOption]) -> str:
    lines = [
        f"- {plain_markdown(safe_line(f'{one.label}: {one.description}'))}"
        for one in options
        if one.description
    ]
    asks = [f"The MCP server {plain_markdown(safe_line(server))} asks."] if server else []
    return "\n".join([*asks, *lines]) or "Choose an answer."
