"""How a tool call is named on its card: a verb, and what the call is about."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from forge_core.sanitize import safe_line

_PATHS = ("path", "file_path")
_VERBS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "read": ("Read", _PATHS),
    "write": ("Write", _PATHS),
    "edit": ("Edit", _PATHS),
    "multi_edit": ("Edit", ()),
    "apply_patch": ("Patch", ()),
    "glob": ("Find", ("pattern",)),
    "grep": ("Search", ("pattern",)),
    "ls": ("List", ("path",)),
    "bash": ("Run", ("command",)),
    "job_output": ("Look at", ()),
    "job_stop": ("Stop", ()),
    "todo": ("Plan", ()),
    "ask_user": ("Ask", ()),
}
"""Tool → the verb of its header, and the arguments that may name its target."""

_PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$", re.MULTILINE)
_LONGEST_TARGET = 4_000
"""Characters of an argument that are looked at; more than any screen shows of it."""
_MARKS = {"completed": "✓", "in_progress": "●"}


@dataclass(frozen=True, slots=True)
class Look:
    """A way of looking at the workspace, in words that count."""

    done: str
    one: str
    many: str

    def counted(self, count: int) -> str:
        """ "read 4 files"."""
        return f"{self.done} {count:,} {self.one if count == 1 else self.many}"


_FILES = Look("read", "file", "files")
_PATTERNS = Look("searched", "pattern", "patterns")
_FOLDERS = Look("listed", "folder", "folders")
_LOOKS: Mapping[str, tuple[Look, tuple[str, ...]]] = {
    "read": (_FILES, _PATHS),
    "grep": (_PATTERNS, ("pattern",)),
    "glob": (_PATTERNS, ("pattern",)),
    "ls": (_FOLDERS, ("path",)),
}
"""Tools that only look, and the argument that tells one target from another."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What a call looks at."""

    look: Look
    target: str
    """Calls with the same one count once."""
    name: str
    """Short and safe."""


def subject_of(name: str, arguments: Mapping[str, Any]) -> Subject | None:
    """What the call looks at; None for one that does more than look."""
    if name not in _LOOKS:
        return None
    look, keys = _LOOKS[name]
    given = next((value for key in keys if isinstance(value := arguments.get(key), str)), "")
    target = given.strip()[:_LONGEST_TARGET]
    if look is not _PATTERNS:
        target = posixpath.normpath(target) if target else "." if look is _FOLDERS else ""
    short = posixpath.basename(target) if look is _FILES else target
    return Subject(look, target, safe_line(short or target))


def describe_call(name: str, arguments: Mapping[str, Any]) -> tuple[str, str]:
    """The verb and the target of a call, both one safe line."""
    verb, keys = _VERBS.get(name, (name.replace("_", " ").capitalize() or "Tool", ()))
    return safe_line(verb), safe_line(_target(name, keys, arguments).strip())


def _target(name: str, keys: Sequence[str], arguments: Mapping[str, Any]) -> str:
    match name:
        case "multi_edit":
            return _files([arguments, *_records(arguments.get("edits"))])
        case "apply_patch":
            return _several(_PATCHED.findall(str(arguments.get("patch", ""))))
        case "job_output" | "job_stop":
            return f"job {arguments.get('job_id', '')}"
        case "todo":
            return next((text for state, text in plan_of(arguments) if state == "in_progress"), "")
        case "ask_user":
            texts = [str(record.get("question", "")) for record in _records(arguments.get("questions"))]
            return f"{len(texts)} questions" if len(texts) > 1 else "".join(texts)
    values = [arguments[key] for key in keys if isinstance(arguments.get(key), str)]
    if not values and name not in _VERBS:
        values = [value for value in arguments.values() if isinstance(value, str | int | float)]
    target = str(values[0]) if values else "" if name != "ls" else "."
    where = arguments.get("path")
    if name in ("glob", "grep") and isinstance(where, str) and where not in ("", "."):
        target = f"{target} in {where}"
    return target


def plan_of(arguments: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """State and text of each task in a call of todo, whatever the model has sent."""
    for record in _records(arguments.get("items")):
        yield str(record.get("status", "pending")), str(record.get("content", ""))


def checklist(arguments: Mapping[str, Any]) -> str:
    """The tasks of a call of todo, one a line."""
    return "\n".join(f"{_MARKS.get(state, '○')} {safe_line(text)}" for state, text in plan_of(arguments))


def _files(records: Sequence[Mapping[str, Any]]) -> str:
    return _several([record[key] for record in records for key in _PATHS if isinstance(record.get(key), str)])


def _several(paths: Sequence[str]) -> str:
    distinct = list(dict.fromkeys(path.strip() for path in paths))
    return "".join(distinct) if len(distinct) < 2 else f"{len(distinct)} files"


def _records(value: object) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list | tuple) else []
