"""A saved session as a document: Markdown to read, JSON or JSON lines for programs."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Literal, TypeAlias

from forge_core.events import AgentEnd, Error, LLMChunk, LLMEnd, Notice, ToolEnd, ToolStart
from forge_core.redact import Redactor
from forge_core.store.event_records import event_of
from forge_core.store.saved_session import SavedSession
from forge_core.store.session_index import summary_of

ExportFormat: TypeAlias = Literal["markdown", "json", "jsonl"]


def exported(saved: SavedSession, form: ExportFormat, redact: Redactor) -> str:
    """Return the document; keys are redacted."""
    if form == "markdown":
        return redact(markdown(saved))
    records = [redact.values(record) for record in saved.records]
    if form == "jsonl":
        return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    whole = {**summary_of(saved, 0).as_dict(), "records": records}
    return json.dumps(whole, ensure_ascii=False, indent=2) + "\n"


def markdown(saved: SavedSession) -> str:
    """Return the whole session as Markdown: messages, answers, and each tool call with its result."""
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(saved.started))
    head = f"# {saved.title or saved.id}\n\n{saved.working_dir} · {when} · {saved.model} · {saved.id}\n"
    return head + "".join(f"\n{part}\n" for part in _parts(saved))


def _parts(saved: SavedSession) -> Iterator[str]:
    answer, starts = "", dict[str, ToolStart]()
    for record in saved.records:
        event = event_of(record)
        if not isinstance(event, LLMChunk) and answer.strip():
            yield answer.strip()
        if not isinstance(event, LLMChunk):
            answer = ""
        match event:
            case LLMChunk(kind="answer"):
                answer += event.text
            case ToolStart():
                starts[event.call_id] = event
            case ToolEnd():
                yield _call(starts.get(event.call_id), event)
            case Notice() | Error():
                yield f"> {' '.join((event.text if isinstance(event, Notice) else event.error).split())}"
            case AgentEnd() if event.result.stopped_reason != "complete":
                yield f"> Stopped: {event.result.stopped_reason}"
            case None if record["type"] == "user":
                yield f"## {_quoted(str((record.get('data') or {}).get('text', '')))}"
            case None if record["type"] == "reset":
                yield "---"
            case None if record["type"] == "rewind" and (turn := (record.get("data") or {}).get("turn")):
                yield f"> Rewound to message {turn}"
            case None if record["type"] == "unrewind":
                yield "> The rewind was undone"
            case LLMEnd() | None | _:
                continue
    if answer.strip():
        yield answer.strip()


def _quoted(text: str) -> str:
    """Return a message with its first line as a heading and the others below it."""
    first, _, rest = text.strip().partition("\n")
    return f"{first}\n\n{rest.strip()}" if rest.strip() else first


def _call(start: ToolStart | None, end: ToolEnd) -> str:
    title, target = start.heading if start is not None else (end.name, "")
    heading = f"**{title}** {_code(target)}".rstrip() + (f" ({end.summary})" if end.summary else "")
    body = "\n".join(f"--- {one.path}\n{one.diff}" for one in end.diffs) or end.display or end.result
    fence = "`" * max(3, _longest_run(body) + 1)
    return f"{heading}\n\n{fence}{'diff' if end.diffs else 'text'}\n{body}\n{fence}"


def _code(text: str) -> str:
    line = " ".join(text.split())
    fence = "`" * (_longest_run(line) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}" if line else ""


def _longest_run(text: str) -> int:
    """Return the length of the longest run of backticks."""
    longest = run = 0
    for char in text:
        run = run + 1 if char == "`" else 0
        longest = max(longest, run)
    return longest
