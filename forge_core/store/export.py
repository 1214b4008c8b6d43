"""A saved session as a document: Markdown or HTML to read, JSON or JSON lines for programs."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Literal, TypeAlias

from forge_core.errors import ConfigError
from forge_core.home_paths import expand_home
from forge_core.redact import Redactor
from forge_core.store.saved_session import SavedSession
from forge_core.store.session_index import summary_of
from forge_core.store.transcript_parts import CallPart, Part, TextPart, parts_of

ExportFormat: TypeAlias = Literal["markdown", "html", "json", "jsonl"]
SUFFIXES: dict[str, ExportFormat] = {".md": "markdown", ".html": "html", ".json": "json", ".jsonl": "jsonl"}
"""The end of a file's name → its format."""


def exported(saved: SavedSession, form: ExportFormat, redact: Redactor) -> str:
    """Return the document; keys are redacted."""
    if form == "markdown":
        return redact(markdown(saved, redact))
    if form == "html":
        from forge_core.store.html_export import html  # imports a Markdown parser

        return html(saved, redact)
    records = [redact.values(record) for record in saved.records]
    if form == "jsonl":
        return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    whole = {**redact.values(summary_of(saved, 0).as_dict()), "records": records}
    return json.dumps(whole, ensure_ascii=False, indent=2) + "\n"


def write_export(saved: SavedSession, path: Path, redact: Redactor, form: ExportFormat | None = None) -> None:
    """Write the document to a new file; without a `form`, the name of the file decides.

    Raises:
        ConfigError: the file exists, or cannot be written.
    """
    text = exported(saved, form or SUFFIXES.get(path.suffix.lower(), "markdown"), redact)
    try:
        with path.open("x", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except FileExistsError as error:
        raise ConfigError(f"{str(path)!r} exists already. Choose another name, or delete it.") from error
    except OSError as error:
        raise ConfigError(f"{str(path)!r} cannot be written: {error.strerror}.") from error


def export_in(folder: Path, name: str, saved: SavedSession, redact: Redactor) -> Path:
    """Write the document to a new file of this name, relative to `folder`; return its path.

    Without a name the file is named after the session, and holds Markdown.

    Raises:
        ConfigError: the file exists, or cannot be written.
    """
    path = folder / expand_home(name or f"forge-{saved.id}.md")
    write_export(saved, path, redact)
    return path


def markdown(saved: SavedSession, redact: Redactor) -> str:
    """Return the whole session as Markdown: messages, answers, and each tool call with its result."""
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(saved.started))
    head = f"# {saved.title or saved.id}\n\n{saved.working_dir} · {when} · {saved.model} · {saved.id}\n"
    return head + "".join(f"\n{_written(part)}\n" for part in parts_of(saved, redact))


def _written(part: Part) -> str:
    """Return a part as Markdown."""
    match part:
        case CallPart():
            return _call(part)
        case TextPart("user", text):
            first, _, rest = text.strip().partition("\n")
            return f"## {first}\n\n{rest.strip()}".rstrip()
        case TextPart("notice" | "error", text):
            return f"> {' '.join(text.split())}"
        case TextPart("reset"):
            return "---"
        case TextPart("reasoning", text):
            return "\n".join(f"> {line}".rstrip() for line in ("*Reasoning*", "", *text.splitlines()))
        case TextPart(text=text):
            return text


def _call(call: CallPart) -> str:
    summary = f" ({call.summary})" if call.summary else ""
    heading = f"**{call.title}** {_code(call.target)}".rstrip() + summary
    if call.is_inner:
        return f"- {heading}"
    if not call.body:
        return heading
    fence = "`" * max(3, _longest_run(call.body) + 1)
    return f"{heading}\n\n{fence}{'diff' if call.is_diff else 'text'}\n{call.body}\n{fence}"


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
