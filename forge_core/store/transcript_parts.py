"""A saved session as the parts of a document: messages, answers, reasoning, tool calls and notices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from forge_core.events import AgentEnd, Error, LLMChunk, Notice, ToolEnd, ToolStart
from forge_core.store.event_records import event_of
from forge_core.store.saved_session import SavedSession

Kind: TypeAlias = Literal["user", "answer", "reasoning", "notice", "error", "reset"]


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


Part: TypeAlias = "TextPart | CallPart"


def parts_of(saved: SavedSession) -> Iterator[Part]:
    """Yield the parts of the whole session, those before a reset too."""
    texts: dict[str, str] = {}
    """What has come of the reasoning and the answer of a model call, by kind."""
    starts = dict[str, ToolStart]()

    def finished() -> Iterator[Part]:
        for kind in ("reasoning", "answer"):
            if text := texts.pop(kind, "").strip():
                yield TextPart("answer" if kind == "answer" else "reasoning", text)

    for record in saved.records:
        event = event_of(record)
        if isinstance(event, LLMChunk):
            texts[event.kind] = texts.get(event.kind, "") + event.text
            continue
        yield from finished()
        match event:
            case ToolStart():
                starts[event.call_id] = event
            case ToolEnd():
                yield _call(starts.get(event.call_id), event)
            case Notice(text=text):
                yield TextPart("notice", text)
            case Error(error=text):
                yield TextPart("error", text)
            case AgentEnd() if event.result.stopped_reason != "complete":
                yield TextPart("notice", f"Stopped: {event.result.stopped_reason}")
            case None if record["type"] == "user":
                data = record.get("data")
                yield TextPart("user", str(data.get("text", "")) if isinstance(data, dict) else "")
            case None if record["type"] == "rewind" and (turn := (record.get("data") or {}).get("turn")):
                yield TextPart("notice", f"Rewound to message {turn}")
            case None if record["type"] == "unrewind":
                yield TextPart("notice", "The rewind was undone")
            case None if record["type"] == "reset":
                yield TextPart("reset")
            case _:
                continue
    yield from finished()


def _call(start: ToolStart | None, end: ToolEnd) -> CallPart:
    title, target = start.heading if start is not None else (end.name, "")
    diffs = "\n".join(f"--- {one.path}\n{one.diff}" for one in end.diffs)
    body = diffs or end.display or end.result
    return CallPart(title, " ".join(target.split()), end.summary, body, bool(diffs), end.success)
