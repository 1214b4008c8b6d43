"""`--input stream-json`: messages, interrupts and replies to requests as JSON lines on standard input.

The lines that a driver may send:

- `{"type": "user", "text": "…"}`: a message. It starts a turn, or waits for the running one to end. With
  `"steer": true` the running turn takes it at its next model call (event `steered`); if the turn ends before,
  the message starts the next one.
- `{"type": "interrupt"}`: ends the running turn in order.
- `{"type": "permission", "id": "…", "answer": "once" | "session" | "always" | "no", "reason": "…"}`: replies
  to a `permission_request`. The reason, of a no, is for the model.
- `{"type": "answers", "id": "…", "answers": [["…"], …]}`: the reply to a `question_request`, a list of texts
  for each question; `{"type": "answers", "id": "…", "declined": true}` declines, and with `"cancelled": true`
  leaves the questions of an MCP server undecided. In a form (`is_form`), the list for a question that is not
  required may be empty.
- `{"type": "plan", "id": "…", "answer": "approve" | "accept_edits" | "keep_planning", "feedback": "…"}`:
  replies to a `plan_request`. The feedback, where planning continues, is for the model. A "plan" replaces the
  text of the plan.

At the end of the input the messages that wait are still answered; requests are then denied.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, TextIO

from forge_core.approval import (
    MAX_PLAN_CHARS,
    Answer,
    ApprovalReply,
    ApprovalRequest,
    PlanAnswer,
    PlanReply,
    PlanRequest,
    QuestionReply,
    QuestionRequest,
    UserRequest,
)
from forge_core.commands.prompt_commands import headless_turn
from forge_core.errors import ConfigError
from forge_core.events import SCHEMA_VERSION, AgentEnd, AgentEvent, as_json
from forge_core.exit_codes import ExitCode, exit_code_for
from forge_core.langchain.agent.steering import SteeringMessage
from forge_core.session.session import ForgeSession

Emit = Callable[[Mapping[str, Any]], None]
_LONGEST_LINE = 20_000_000


class InputError(Exception):
    """A line that cannot be used; the text says why."""


@dataclass(slots=True)
class _Waiting:
    """A request that waits for its reply."""

    request: UserRequest[Any]
    reply: asyncio.Future[Any]


@dataclass(slots=True)
class StreamDriver:
    """Runs a session by the lines of a driver. `emit` writes a record, `event` prints an event."""

    emit: Emit
    event: Callable[[AgentEvent], None]
    _texts: asyncio.Queue[str | None] = field(default_factory=asyncio.Queue)
    """Messages; None ends the input."""
    _waiting: dict[str, _Waiting] = field(default_factory=dict)
    _steering: list[SteeringMessage] = field(default_factory=list)
    """Messages for the running turn."""
    _left: list[str] = field(default_factory=list)
    """Messages that a turn has not taken, for the next ones."""
    _is_running: bool = False
    _session: ForgeSession | None = None
    _is_over: bool = False
    _count: int = 0

    async def respond(self, request: UserRequest[Any], /) -> Any:
        """Pass a request to the driver, and wait for its reply."""
        if self._is_over:
            return request.unanswered("the driver's input has ended")
        self._count += 1
        request_id = f"r{self._count}"
        reply = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = _Waiting(request, reply)
        self._emit(_request_kind(request), {"id": request_id, **_fields_of(request)})
        try:
            return await reply
        finally:
            self._waiting.pop(request_id, None)

    async def run(self, session: ForgeSession, source: TextIO) -> int:
        """Run turns until the input ends; return the exit code of the last one."""
        self._session = session
        self._emit("ready", {"session": session.id, "model": session.status.model})
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, args=(source, loop), name="forge-input", daemon=True).start()
        code = int(ExitCode.COMPLETE)
        while (text := await self._next_text()) is not None:
            code = await self._run_turn(session, text)
            self._left[:0] = self._undelivered(session)
        return code

    async def _next_text(self) -> str | None:
        return self._left.pop(0) if self._left else await self._texts.get()

    async def _run_turn(self, session: ForgeSession, text: str) -> int:
        """Run a turn and return its exit code."""
        code = int(ExitCode.COMPLETE)
        self._is_running = True
        try:
            async with aclosing(await headless_turn(session, text)) as events:
                async for event in events:
                    await session.settle(event)
                    self.event(event)
                    if isinstance(event, AgentEnd):
                        code = exit_code_for(event.result.stopped_reason)
        except ConfigError as error:  # there is no such command
            self._emit("input_error", {"error": str(error), "line": text.strip()[:200]})
            code = int(ExitCode.USAGE)
        finally:
            self._is_running = False
        return code

    def _undelivered(self, session: ForgeSession) -> list[str]:
        """Return the messages that the turn has not taken."""
        messages, self._steering = self._steering, []
        return [message.text for message in messages if session.steering.withdraw(message)]

    def stop(self) -> None:
        """Interrupt the running turn, and run no other."""
        if self._session is not None:
            self._session.interrupt()
            self._undelivered(self._session)
        self._left.clear()
        while not self._texts.empty():
            self._texts.get_nowait()
        self._end()

    def _read(self, source: TextIO, loop: asyncio.AbstractEventLoop) -> None:
        """Read lines in a thread until the input ends."""
        try:
            while line := source.readline(_LONGEST_LINE):
                if line.strip():
                    loop.call_soon_threadsafe(self._take, line)
        except (OSError, ValueError):  # closed, or not UTF-8
            pass
        try:
            loop.call_soon_threadsafe(self._end)
        except RuntimeError:  # the run has ended already
            return

    def _take(self, line: str) -> None:
        try:
            self._apply(_parsed(line))
        except InputError as error:
            self._emit("input_error", {"error": str(error), "line": line.strip()[:200]})

    def _apply(self, message: Mapping[str, Any]) -> None:
        match message.get("type"):
            case "user":
                text = message.get("text")
                if not isinstance(text, str) or not text.strip():
                    raise InputError('a "user" line needs a "text" that is not empty')
                if message.get("steer") and self._is_running and self._session is not None:
                    self._steering.append(self._session.steering.add(text))
                else:
                    self._texts.put_nowait(text)
            case "interrupt":
                if self._session is not None:
                    self._session.interrupt()
            case "permission" | "answers" | "plan" as kind:
                waiting = self._waiting.get(str(message.get("id")))
                if waiting is None:
                    raise InputError(f"no request {message.get('id')!r} is waiting")
                reply = _reply_to(waiting.request, kind, message)
                if not waiting.reply.done():
                    waiting.reply.set_result(reply)
            case other:
                known = "user, interrupt, permission, answers and plan"
                raise InputError(f"unknown type {other!r}; known are {known}")

    def _end(self) -> None:
        self._is_over = True
        for waiting in list(self._waiting.values()):
            if not waiting.reply.done():
                waiting.reply.set_result(waiting.request.unanswered("the driver's input has ended"))
        self._texts.put_nowait(None)

    def _emit(self, kind: str, data: Mapping[str, Any]) -> None:
        self.emit({"v": SCHEMA_VERSION, "type": kind, "timestamp": time.time(), "data": data})


def _parsed(line: str) -> Mapping[str, Any]:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not a line of JSON: {error}") from error
    if not isinstance(message, dict):
        raise InputError("a line must be a JSON object")
    return message


def _request_kind(request: UserRequest[Any]) -> str:
    kinds = {ApprovalRequest: "permission_request", PlanRequest: "plan_request"}
    return kinds.get(type(request), "question_request")


def _fields_of(request: UserRequest[Any]) -> dict[str, Any]:
    fields: dict[str, Any] = as_json(request)
    return fields


def _reply_to(request: UserRequest[Any], kind: str, message: Mapping[str, Any]) -> Any:
    """Return the reply that a line holds. Raises InputError."""
    if isinstance(request, ApprovalRequest):
        if kind != "permission":
            raise InputError('that request is for permission; reply with a "permission" line')
        answers = [str(answer) for answer in Answer]
        answer = message.get("answer")
        if answer not in answers:
            raise InputError(f'"answer" is {answer!r}; it must be one of {", ".join(answers)}')
        if answer == Answer.ALWAYS and not request.always_rule:
            raise InputError('no rule can be saved for this request, so "always" is not possible')
        return ApprovalReply(Answer(answer), reason=str(message.get("reason") or ""))
    if isinstance(request, PlanRequest):
        return _plan_reply(kind, message)
    if not isinstance(request, QuestionRequest) or kind != "answers":
        raise InputError('that request holds questions; reply with an "answers" line')
    if message.get("declined") or message.get("cancelled"):
        is_cancelled = bool(message.get("cancelled"))
        return QuestionReply(declined=True, reason=str(message.get("reason") or ""), cancelled=is_cancelled)
    given = message.get("answers")
    if not isinstance(given, list) or len(given) != len(request.questions):
        raise InputError(f'"answers" must be a list with {len(request.questions)} lists of texts')
    if not all(isinstance(one, list) and all(isinstance(text, str) for text in one) for one in given):
        raise InputError('each element of "answers" must be a list of texts')
    if not request.is_form and not all(given):
        raise InputError('each element of "answers" must be a list of one or more texts')
    if request.server:
        problems = (question.problem(one) for question, one in zip(request.questions, given, strict=True))
        if problem := next(filter(None, problems), ""):
            raise InputError(problem)
    return QuestionReply(answers=tuple(tuple(one) for one in given))


def _plan_reply(kind: str, message: Mapping[str, Any]) -> PlanReply:
    answers = [str(answer) for answer in PlanAnswer]
    answer = message.get("answer")
    if kind != "plan" or answer not in answers:
        raise InputError(
            f'that request is a plan; reply with a "plan" line: "answer" is {", ".join(answers)}'
        )
    feedback, plan = (str(message.get(key) or "") for key in ("feedback", "plan"))
    return PlanReply(PlanAnswer(answer), feedback, plan=plan[:MAX_PLAN_CHARS])
