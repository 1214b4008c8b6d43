"""A saved session as the parts of a document: messages, answers, reasoning, tool calls and notices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from forge_core.events import AgentEnd, Compaction, Error, LLMChunk, Notice, Steered, ToolEnd, ToolStart
from forge_core.redact import Redactor
from forge_core.store.event_records import event_of
from forge_core.store.saved_session import SavedSession
from forge_core.workspace.record_file import Record

Kind: TypeAlias = Literal["user", "answer", "reasoning", "notice", "error", "reset"]
_OTHER_TURN = frozenset({"user", "retry", "resume", "reset", "rewind"})
"""Records after which a call that is still running will never end."""


@dataclass(frozen=True, slots=True)
class TextPart:
    """A text of one kind; empty for a reset."""

    kind: Kind
    text: str = ""


@dataclass(frozen=True, slots=True)
class CallPart:
    """A tool call with its result."""

    title: str
    target: str
    summary: str
    body: str
    """The changes that it made to files, else its result."""
    is_diff: bool
    success: bool
    is_inner: bool = False
    """Whether a sub-agent made it; it follows the call that the sub-agent is of."""


Part: TypeAlias = "TextPart | CallPart"


def parts_of(saved: SavedSession, redact: Redactor) -> Iterator[Part]:
    """Yield the parts of the whole session, those before a reset too.

    Keys are redacted here: a format may write a key's characters in another way, where it would no longer be
    found.
    """
    for part in _parts(saved):
        match part:
            case TextPart():
                yield replace(part, text=redact(part.text))
            case CallPart():
                yield replace(
                    part,
                    title=redact(part.title),
                    target=redact(part.target),
                    summary=redact(part.summary),
                    body=redact(part.body),
                )


def _parts(saved: SavedSession) -> Iterator[Part]:
    texts: dict[str, str] = {}
    """What has come of the reasoning and the answer of a model call, by kind."""
    running = dict[str, ToolStart]()
    inner = dict[str, list[CallPart]]()
    """The calls of sub-agents that have ended, by the call that the sub-agent is of."""

    def finished() -> Iterator[Part]:
        for kind in ("reasoning", "answer"):
            if text := texts.pop(kind, "").strip():
                yield TextPart("answer" if kind == "answer" else "reasoning", text)

    def never_ended() -> Iterator[Part]:
        for start in running.values():
            yield _call(start, None)
            yield from inner.pop(start.call_id, ())
        running.clear()

    for record in saved.records:
        event = event_of(record)
        if isinstance(event, LLMChunk):
            texts[event.kind] = texts.get(event.kind, "") + event.text
            continue
        if event is not None and event.parent_id is not None:
            if isinstance(event, ToolStart):
                running[event.call_id] = event
            elif isinstance(event, ToolEnd):
                call = replace(_call(running.pop(event.call_id, None), event), is_inner=True)
                inner.setdefault(event.parent_id, []).append(call)
            continue
        yield from finished()
        if event is None and record["type"] in _OTHER_TURN:
            yield from never_ended()
        match event:
            case ToolStart():
                running[event.call_id] = event
            case ToolEnd():
                yield _call(running.pop(event.call_id, None), event)
                yield from inner.pop(event.call_id, ())
                if event.document:
                    yield TextPart("answer", event.document)
            case Steered(text=text):
                yield TextPart("user", text)
            case Notice(text=text):
                yield TextPart("notice", text)
            case Compaction():
                yield TextPart("notice", event.text)
            case Error(error=text):
                yield TextPart("error", text)
            case AgentEnd() if event.result.stopped_reason != "complete":
                yield TextPart("notice", f"Stopped: {event.result.stopped_reason}")
            case None:
                yield from _part_of(record)
            case _:
                continue
    yield from finished()
    yield from never_ended()


def _part_of(record: Record) -> Iterator[Part]:
    """Yield the part of a record that is no event."""
    data = record["data"]
    match record["type"]:
        case "user":
            yield TextPart("user", str(data.get("text", "")))
        case "rewind" if turn := data.get("turn"):
            yield TextPart("notice", f"Rewound to message {turn}")
        case "unrewind":
            yield TextPart("notice", "The rewind was undone")
        case "reset":
            yield TextPart("reset")


def _call(start: ToolStart | None, end: ToolEnd | None) -> CallPart:
    """Return a call of which the start or the end was recorded, or both."""
    title, target = ("", "") if start is None else start.heading
    target = " ".join(target.split())
    if end is None:
        return CallPart(title, target, "not finished", "", is_diff=False, success=False)
    diffs = "\n".join(f"--- {one.path}\n{one.diff}" for one in end.diffs)
    body = diffs or end.display or end.result
    return CallPart(title or end.name, target, end.summary, body, bool(diffs), end.success)
