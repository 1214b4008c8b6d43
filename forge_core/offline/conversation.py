"""The messages of a request as turns: what was asked, which calls were made, what was answered.

Everything here is tolerant: other clients send lists of parts, unknown roles, orphaned results, no system
message. Nothing raises; what cannot be read is left out.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

from forge_core.config.permission_mode import PermissionMode
from forge_core.errors import ImageError
from forge_core.images.image_header import checked_header, size_text
from forge_core.images.image_reference import replace_written
from forge_core.untrusted import unframe_tool_output

_REMINDER = re.compile(
    r"<(system-reminder)\b[^>]*>.*?</\1>|\A\s*<(environment\w*|context|attachment)\b[^>]*>.*?</\2>"
    r"|\n\n<forge-note>\n.*\n</forge-note>\Z",
    re.DOTALL | re.I,
)
_SKILL = re.compile(
    r'(?:^\[Forge adds [^\n]*\]\n)?<skill mark="([0-9a-f]+)"[^>\n]*>\n.*?\n</skill mark="\1">',
    re.DOTALL | re.MULTILINE,
)
"""The instructions of a skill, as Forge gives them."""
_USES_SKILL = re.compile(r"\AUse the skill (.+?) now: ")
_DENIED = re.compile(
    r"\b(?:denied|declined|rejected|not (?:allow(?:ed)?|permitted)|said no|forbidden by"
    r"|refused by the (?:user|person))\b",
    re.I,
)
_HALF_PAIR = re.compile("[\ud800-\udfff]")
_BY_USER = re.compile(
    r"\bthe (?:user|person) did not allow|\b(?:denied|declined|rejected) by the (?:user|person)\b", re.I
)
_SYSTEM_DENIAL = re.compile(r"permission denied|access (?:is )?denied|errno|operation not permitted", re.I)
Argument: TypeAlias = "str | int | float | bool | Sequence[object] | Mapping[str, object] | None"


class CallStatus(StrEnum):
    """How a tool call ended."""

    OK = "ok"
    FAILED = "failed"
    DENIED = "denied"
    """The user or a rule refused it."""


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call."""

    name: str
    arguments: Mapping[str, Argument]


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """The result of a call, as the conversation holds it."""

    text: str
    status: CallStatus = CallStatus.OK

    @property
    def failed(self) -> bool:
        return self.status is not CallStatus.OK


@dataclass(frozen=True, slots=True)
class CompletedCall:
    """A call and its outcome."""

    call: Call
    outcome: CallOutcome


@dataclass(frozen=True, slots=True)
class ConversationTurn:
    """One request of the user, with the calls and the answer that followed."""

    request: str
    done: tuple[CompletedCall, ...] = ()
    answer: str = ""
    """The last text of the answer."""
    full_answer: str = ""
    """All texts of the answer."""
    images: tuple[str, ...] = ()
    """The kind, the dimensions and the size of each image that came with the request."""
    skill: str = ""
    """The name of the skill that the request is to be served with; empty for none."""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request to the model: the turns before, the one to answer, and the offered tools."""

    now: ConversationTurn
    earlier: tuple[ConversationTurn, ...] = ()
    tools: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Tool name → names of its parameters; an empty set means that they are not known."""
    parallel: bool = True
    """Whether one reply may make several calls."""
    is_planning: bool = False
    """Whether the system message says that the session is in plan mode."""


def read_request(body: Mapping[str, Any]) -> ChatRequest:
    """Return the conversation in a chat-completions request body."""
    turns = _read_turns(body.get("messages"))
    now = turns[-1] if turns else ConversationTurn("")
    tools = {} if body.get("tool_choice") == "none" else _tools(body.get("tools"))
    is_parallel = body.get("parallel_tool_calls") is not False
    return ChatRequest(now, tuple(turns[:-1]), tools, is_parallel, _is_planning(body.get("messages")))


def _is_planning(messages: object) -> bool:
    first = messages[0] if isinstance(messages, list) and messages else None
    if not isinstance(first, Mapping) or first.get("role") != "system":
        return False
    return PermissionMode.PLAN.instruction in content_text(first.get("content"))


def content_text(content: object) -> str:
    """Return the text of a message's content: a string, a list of parts, or anything else."""
    if isinstance(content, str):
        return _HALF_PAIR.sub("\ufffd", content)
    if isinstance(content, Mapping):
        return content_text(content.get("text") or content.get("content"))
    if isinstance(content, list):
        return "\n".join(filter(None, (content_text(part) for part in content)))
    return ""


def _images_in(content: object) -> list[str]:
    """Return what can be said without seeing of each image in a message: "PNG, 1024×768 pixels, 210 KB"."""
    found = []
    for part in content if isinstance(content, list) else ():
        source = part.get("image_url") if isinstance(part, Mapping) else None
        url = source.get("url") if isinstance(source, Mapping) else None
        if isinstance(url, str):
            found.append(_description(url))
    return found


def _description(url: str) -> str:
    if not url.startswith("data:"):
        return "an address that I cannot open"
    try:
        data = base64.b64decode(url.partition(",")[2], validate=True)
        header = checked_header(data, "image")
    except (ValueError, ImageError):
        return "data that I cannot read"
    return f"{header.kind.label}, {header.width}×{header.height} pixels, {size_text(len(data))}"


def outcome_of(text: str) -> CallOutcome:
    """Return the outcome that the text of a tool message reports."""
    head = text.lstrip()[:400]
    if not head.lower().startswith(("error", "denied", "declined", "rejected", "permission")):
        return CallOutcome(text)
    first = head.split("\n", 1)[0]
    if _BY_USER.search(first) or (_DENIED.search(first) and not _SYSTEM_DENIAL.search(first)):
        return CallOutcome(text, CallStatus.DENIED)
    return CallOutcome(text, CallStatus.FAILED)


def _tools(offered: object) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for tool in offered if isinstance(offered, list) else ():
        function = tool.get("function") if isinstance(tool, Mapping) else None
        if isinstance(function, Mapping) and isinstance(function.get("name"), str):
            schema = function.get("parameters")
            properties = schema.get("properties") if isinstance(schema, Mapping) else None
            names = properties.keys() if isinstance(properties, Mapping) else ()
            found[function["name"]] = frozenset(str(name) for name in names)
    return found


@dataclass(slots=True)
class _OpenTurn:
    """A turn that is being read."""

    requests: list[str]
    images: list[str] = field(default_factory=list)
    calls: list[tuple[str, Call]] = field(default_factory=list)
    results: dict[str, str] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    skill: str = ""

    @property
    def is_fresh(self) -> bool:
        return not self.calls and not self.texts

    def close(self) -> ConversationTurn:
        results = self.results
        done = tuple(
            CompletedCall(call, outcome_of(results[key])) for key, call in self.calls if key in results
        )
        answer = self.texts[-1] if self.texts else ""
        request, full_answer = "\n".join(self.requests).strip(), "\n\n".join(self.texts)
        return ConversationTurn(request, done, answer, full_answer, tuple(self.images), self.skill)


def _read_turns(messages: object) -> list[ConversationTurn]:
    found: list[_OpenTurn] = []
    for message in messages if isinstance(messages, list) else ():
        if not isinstance(message, Mapping):
            continue
        role, text = message.get("role"), content_text(message.get("content"))
        if role == "user" and found and text.startswith("<forge-note>"):
            continue  # within a turn: tools that have come, images in a result
        if role == "user":
            has_skill, text = _SKILL.search(text) is not None, _SKILL.sub("", text)
            request = replace_written(_REMINDER.sub("", text), lambda _: "").strip()
            _add_request(found, request, _images_in(message.get("content")))
            if has_skill and (used := _USES_SKILL.match(request)):
                found[-1].skill = used[1]
        elif found and role == "assistant":
            _add_answer(found[-1], message, text)
        elif found and role in ("tool", "function"):
            call_id = str(message.get("tool_call_id") or message.get("name"))
            found[-1].results.setdefault(call_id, unframe_tool_output(text))
    return [turn.close() for turn in found]


def _add_request(found: list[_OpenTurn], text: str, images: Sequence[str]) -> None:
    """Add a user message. Two in a row are one request; an empty one starts none."""
    if not (found and found[-1].is_fresh):
        if found and not text and not images:
            return
        found.append(_OpenTurn([]))
    found[-1].requests += [text] if text else []
    found[-1].images += images


def _add_answer(turn: _OpenTurn, message: Mapping[str, Any], text: str) -> None:
    if text.strip():
        turn.texts.append(text)
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, Mapping) else None
        if isinstance(function, Mapping):
            name = str(function.get("name") or "")
            made = Call(name, _arguments(function.get("arguments")))
            turn.calls.append((str(call.get("id") or name), made))


def _arguments(raw: object) -> dict[str, Any]:
    try:
        value = json.loads(raw) if isinstance(raw, str) else raw
    except ValueError:
        return {}
    return {str(key): item for key, item in value.items()} if isinstance(value, Mapping) else {}
