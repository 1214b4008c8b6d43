"""What "it", "that file" and "the second one" refer to: files and lines of the conversation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from forge_core.offline.conversation import Argument, CompletedCall, ConversationTurn
from forge_core.offline.intents import IT, Request
from forge_core.offline.tool_output import grep_hits, paths, tree_paths

_ITEM = re.compile(r"^\s{0,3}(?:\d{1,3}[.)]|[-*])\s+`([^`\n]+)`", re.MULTILINE)
_NUMBERED_ITEM = re.compile(r"^\s{0,3}\d{1,3}[.)]\s+.*?`([^`\n]+)`", re.MULTILINE)
_LOCATION = re.compile(r"^(?P<path>[^\s`:]+|[^`:]*[^`:\s]\.\w+):(?P<line>\d{1,7})(?:[-–]\d+)?$")
_FILE = re.compile(r"^[^\s`:]*(?:[./][^\s`:]*)$|^[A-Z][A-Za-z]+$")
_TICKED = re.compile(r"`([^`\n]+)`")
_ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]
_NUMBERS = ["one", "two", "three", "four", "five"]


@dataclass(frozen=True, slots=True)
class FileLocation:
    """A file, maybe a line in it."""

    path: str
    line: int | None = None


@dataclass(slots=True)
class Memory:
    """The turns so far, and at their end the finished steps of the present message."""

    turns: list[ConversationTurn]
    tools: frozenset[str] = frozenset()
    root: str = ""
    upcoming: list[str] = field(default_factory=list)
    """The steps of the present message that come after the one that is running."""
    done: list[CompletedCall] = field(default_factory=list)
    """The calls of the step that is running."""
    is_planning: bool = False
    """Whether the session is in plan mode."""

    def latest(self) -> FileLocation | None:
        """Return what "it" means: the file or line that was mentioned last."""
        for turn in reversed(self.turns):
            location = _mentioned(turn)
            if location is not None:
                return FileLocation(self.short(location.path), location.line)
        return None

    def path_of(self, name: str) -> str:
        """Return `name`, but for IT the path that was mentioned last; "" where there is none."""
        location = self.latest() if name == IT else FileLocation(name)
        return location.path if location else ""

    def items(self) -> list[str]:
        """Return the numbered entries of the latest answer that has some, as written between backticks."""
        for turn in reversed(self.turns):
            found = _NUMBERED_ITEM.findall(turn.answer)
            if found:
                return [str(item) for item in found]
            last = turn.done[-1] if turn.done else None
            if last and last.call.name == "ls" and not last.outcome.failed:
                folder = _text(last.call.arguments.get("path")).rstrip("/")
                return [f"{folder}/{path}".lstrip("/") for path in tree_paths(last.outcome.text)]
        return []

    def item(self, which: str) -> str | None:
        """Return the entry that "2", "second" or "last" names; None when there is none."""
        items = self.items()
        which = re.sub(r"(?<=\d)(?:st|nd|rd|th)$", "", which.lower())
        if which == "last":
            return items[-1] if items else None
        words = next((words for words in (_ORDINALS, _NUMBERS) if which in words), None)
        position = words.index(which) if words else int(which) - 1 if which.isdecimal() else -1
        return items[position] if 0 <= position < len(items) else None

    def last_edited(self) -> str | None:
        """Return the file that was last changed in this conversation."""
        for turn in reversed(self.turns):
            for done in reversed(turn.done):
                if done.call.name in ("edit", "write") and not done.outcome.failed:
                    return self.short(_text(done.call.arguments.get("file_path")))
        return None

    def short(self, path: str) -> str:
        """Return `path` relative to the working folder where it is inside of it."""
        root = self.root.rstrip("/")
        return path[len(root) + 1 :] if root and path.startswith(root + "/") else path


def as_location(item: str) -> FileLocation | None:
    """Return a list entry as a file or a line of one; None when it is something else (a suggestion)."""
    match = _LOCATION.match(item)
    if match:
        return FileLocation(match["path"], int(match["line"]))
    return FileLocation(item) if _FILE.match(item) else None


def target(request: Request, memory: Memory) -> FileLocation | None:
    """Return the file (and line) of a request; None when it names none and none was mentioned."""
    which = request.get("nth")
    if which:
        item = memory.item(which)
        return as_location(item) if item else None
    file = request.get("file")
    return FileLocation(file) if file and file != IT else memory.latest()


def search_scope(path: str, memory: Memory) -> dict[str, str]:
    """Return the arguments that keep a search to `path`: a glob, a file or folder, or nothing."""
    path = memory.path_of(path)
    if "*" in path:
        return {"glob": path}
    if path.startswith(".") and "/" not in path and path[1:].isalnum() and len(path) <= 6:
        return {"glob": f"*{path}"}
    return {"path": path} if path else {}


def _mentioned(turn: ConversationTurn) -> FileLocation | None:
    """Return the first entry of the answer's list, else the first place it names, else what the calls were
    about."""
    for item in (*_ITEM.findall(turn.answer)[:1], *_TICKED.findall(turn.answer)):
        location = as_location(item)
        if location is not None and _was_seen(location, turn):
            return location
    for done in reversed(turn.done):
        location = _touched(done)
        if location is not None:
            return location
    return None


def _was_seen(location: FileLocation, turn: ConversationTurn) -> bool:
    """Return whether the calls of the turn know the path: what an answer merely mentions is not "it"."""
    return any(
        location.path in done.outcome.text
        or location.path in _text(done.call.arguments.get("file_path"))
        or location.path in _text(done.call.arguments.get("command"))
        for done in turn.done
    )


def _touched(done: CompletedCall) -> FileLocation | None:
    if done.outcome.failed:
        return None
    path = done.call.arguments.get("file_path")
    if isinstance(path, str) and path:
        return FileLocation(path)
    return next(_listed(done), None)


def _listed(done: CompletedCall) -> Iterator[FileLocation]:
    if done.call.name == "grep":
        yield from (FileLocation(hit.path, hit.line) for hit in grep_hits(done.outcome.text))
    if done.call.name in ("grep", "glob"):
        yield from (FileLocation(path) for path in paths(done.outcome.text) if _FILE.match(path))


def _text(value: Argument | None) -> str:
    return value if isinstance(value, str) else ""
