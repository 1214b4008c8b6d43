"""A tool call as the protocol shows it: its kind, title, files, and what it has done."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from acp import schema

from forge_core.approval import ToolKind
from forge_core.events import ToolEnd, ToolStart, as_json
from forge_core.result import FileDiff
from forge_core.sanitize import safe_line, safe_text

MAX_TITLE_CHARS = 200
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,\d+)? @@")
_FENCE = re.compile(r"`{3,}")

Content = schema.ContentToolCallContent | schema.FileEditToolCallContent | schema.TerminalToolCallContent


def kind_of(start: ToolStart) -> schema.ToolKind:
    """Return the protocol's word for what a call does."""
    match start.kind:
        case ToolKind.LOOK:
            return "read" if start.subject is not None and start.subject.verb == "read" else "search"
        case ToolKind.WRITE:
            return "edit"
        case ToolKind.RUN | ToolKind.USER:
            return "execute"
        case ToolKind.SESSION | ToolKind.AGENT:
            return "think"
        case ToolKind.OTHER:
            return "other"


def title_of(start: ToolStart) -> str:
    """Return the title of a call, as a card shows it: one line."""
    title, target = start.heading
    text = safe_line(f"{title} {target}".strip())
    return text if len(text) <= MAX_TITLE_CHARS else text[: MAX_TITLE_CHARS - 1] + "…"


def started(start: ToolStart, call_id: str, folder: Path) -> schema.ToolCallStart:
    """Return the update that announces a call as `call_id`."""
    return schema.ToolCallStart(
        session_update="tool_call",
        tool_call_id=call_id,
        title=title_of(start),
        kind=kind_of(start),
        status="in_progress",
        locations=_named_file(start, folder) or None,
        raw_input=as_json(start.arguments),
    )


def ended(end: ToolEnd, call_id: str, folder: Path) -> schema.ToolCallProgress:
    """Return the update that completes a call: the changes that it made to files, else its result."""
    changes = [*file_changes(end.diffs, folder)]
    text = _for_user(end)
    content: list[Content] = [change.content for change in changes]
    if not content or not end.success:
        content.append(text_content(text))
    if changes and changes[-1].is_cut:
        content.append(text_content("The rest of the change is not shown."))
    return schema.ToolCallProgress(
        session_update="tool_call_update",
        tool_call_id=call_id,
        status="completed" if end.success else "failed",
        content=content,
        locations=[change.location for change in changes] or None,
    )


def _for_user(end: ToolEnd) -> str:
    """Return the result without the parts that only the model needs."""
    if end.display:
        return end.display
    text = end.result
    for note in filter(None, (end.aside, *end.model_notes)):
        text = text.replace(note, "", 1)
    return text if end.success else text.removeprefix("Error: ")


def progressed(call_id: str, tail: str) -> schema.ToolCallProgress:
    """Return the update with the last output of a running call."""
    return schema.ToolCallProgress(
        session_update="tool_call_update",
        tool_call_id=call_id,
        status="in_progress",
        content=[text_content(tail)],
    )


def text_content(text: str) -> schema.ContentToolCallContent:
    """Return a text that is shown as it is."""
    return markdown_content(fenced(text))


def fenced(text: str, language: str = "") -> str:
    """Return a text in a fence of Markdown that nothing in it closes."""
    safe = safe_text(text).strip("\n")
    longest = max((len(found) for found in _FENCE.findall(safe)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{safe}\n{fence}"


def markdown_content(text: str) -> schema.ContentToolCallContent:
    """Return Markdown."""
    block = schema.TextContentBlock(type="text", text=text)
    return schema.ContentToolCallContent(type="content", content=block)


@dataclass(frozen=True, slots=True)
class ChangedPlace:
    """One place in a file that changes."""

    content: schema.FileEditToolCallContent
    location: schema.ToolCallLocation
    is_cut: bool = False
    """Whether more changes are not shown after this one."""


def file_changes(diffs: Sequence[FileDiff], folder: Path) -> Iterator[ChangedPlace]:
    """Yield the places that change, with the lines around each; the paths are absolute."""
    for diff in diffs:
        yield from _changes(diff, str(folder / diff.path))


def _changes(diff: FileDiff, path: str) -> Iterator[ChangedPlace]:
    old, new, first, is_new_file = list[str](), list[str](), 1, False
    is_open = False

    def change() -> ChangedPlace:
        content = schema.FileEditToolCallContent(
            type="diff",
            path=path,
            old_text=None if is_new_file else "".join(old),
            new_text="".join(new),
        )
        return ChangedPlace(content, schema.ToolCallLocation(path=path, line=max(first, 1)))

    last: list[list[str]] = []
    for row in diff.diff.split("\n"):
        if (header := _HUNK.fullmatch(row)) is not None:
            if is_open:
                yield change()
            old, new, first, is_open = [], [], int(header[3]), True
            is_new_file = header[1] == "0" and header[2] == "0"
            continue
        if row.startswith("\\"):
            if row.startswith("\\ No newline"):
                for lines in last:
                    lines[-1] = lines[-1].removesuffix("\n")
            else:
                yield replace(change(), is_cut=True)
                return
            continue
        last = [side for mark, side in (("-", old), ("+", new)) if row[:1] in (mark, " ")]
        for lines in last:
            lines.append(row[1:] + "\n")
    if is_open:
        yield change()


def _named_file(start: ToolStart, folder: Path) -> list[schema.ToolCallLocation]:
    """Return the file that the arguments of a call on files name, and the line where it begins."""
    if start.kind not in (ToolKind.LOOK, ToolKind.WRITE):
        return []
    named = next((start.arguments.get(key) for key in ("file_path", "path")), None)
    if not isinstance(named, str) or not named or "\0" in named:
        return []
    return [schema.ToolCallLocation(path=str(folder / named), line=_line(start.arguments))]


def _line(arguments: Mapping[str, Any]) -> int | None:
    line = arguments.get("offset")
    return line if isinstance(line, int) and not isinstance(line, bool) and line > 0 else None
