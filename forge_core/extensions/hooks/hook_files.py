"""Reads the files that declare hooks. One bad entry never voids its file, and one bad file no other."""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from forge_core.config.forge_config import ForgeConfig
from forge_core.extensions.hook_locations import HookSource, hook_sources
from forge_core.extensions.hooks.hook_events import TOOL_EVENTS, HookEvent
from forge_core.extensions.hooks.matching import MAX_PATTERN, matcher_problem
from forge_core.extensions.locations import ExtensionScope
from forge_core.sanitize import safe_line

DEFAULT_TIMEOUT_S = 60.0
MAX_TIMEOUT_S = 600.0
SESSION_END_TIMEOUT_S = 2.0
_MAX_BYTES = 1_000_000
_MAX_NAME = 60
_MAX_LINE = 20_000
"""Characters of a command line. A longer one can hardly be reviewed."""
_MAX_HOOKS = 200
"""Of one file: each is looked at, and shown, by itself."""
_MAX_REASON = 300
_MAX_ENTRY = 50_000
"""Characters of JSON, fields included that Forge does not know: all of it is kept with the approval."""
_MAX_LEVELS = 20
MAX_SUMMARY = 120
"""Characters of what is displayed of an entry that is not run."""
_FOREIGN_TYPES = frozenset({"http", "prompt", "agent", "mcp_tool"})
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=\S*")
_INTERPRETER = re.compile(r"(?:ba|da|z|k)?sh|python[\d.]*|node|ruby|perl|deno|bun|php|uv|npx|env|exec|run")
_CODE_OPTIONS = frozenset({"-c", "-e", "-lc", "--eval"})
"""What follows is code for an interpreter, which names no program."""


@dataclass(frozen=True, slots=True)
class Hook:
    """One program and when it runs. All text in it is untrusted."""

    name: str
    """"PreToolUse:check.sh": unique among those of its folder. Safe to display."""
    event: HookEvent
    source: HookSource
    matcher: str
    command: str
    args: tuple[str, ...] | None
    """The arguments of the program `command`; None: `command` is a line for the shell."""
    timeout_s: float
    condition: str
    """The rule of `if`; empty without one."""
    fails_closed: bool
    """Whether a failure of the hook blocks what it was asked about."""
    is_detached: bool
    """It runs beside the action, which does not wait for its answer (`async`)."""
    entry: Mapping[str, Any]
    """What was declared, for the approval: event, matcher and the fields of the hook."""

    @property
    def key(self) -> tuple[Path, str]:
        """Identifies it among all hooks."""
        return self.source.folder, self.name

    @property
    def command_line(self) -> str:
        """What runs, in one line."""
        return self.command if self.args is None else shlex.join((self.command, *self.args))


@dataclass(frozen=True, slots=True)
class SkippedHook:
    """A declared hook that Forge does not run."""

    source: HookSource
    event: str
    what: str
    reason: str

    @property
    def text(self) -> str:
        event, what = self.event[:_MAX_NAME], self.what[:MAX_SUMMARY]
        return safe_line(f"{event} {what}: {self.reason[:_MAX_REASON]}")


@dataclass(frozen=True, slots=True)
class HookTable:
    """All hooks that were declared."""

    hooks: tuple[Hook, ...] = ()
    """In the order in which they were read: the user's before the project's."""
    skipped: tuple[SkippedHook, ...] = ()
    problems: tuple[str, ...] = ()
    """Files that could not be read, as sentences; safe to display."""

    def of(self, event: HookEvent) -> list[Hook]:
        return [hook for hook in self.hooks if hook.event is event]


def load_hooks(config: ForgeConfig) -> HookTable:
    """Return the hooks of all files that count now. Runs nothing. Blocks while it reads."""
    tables = [read_source(source) for source in hook_sources(config)]
    return HookTable(
        tuple(_with_unique_names(hook for table in tables for hook in table.hooks)),
        tuple(one for table in tables for one in table.skipped),
        tuple(problem for table in tables for problem in table.problems),
    )


def read_source(source: HookSource) -> HookTable:
    """Return the hooks of one file. Runs nothing."""
    try:
        entries = list(_within_limit(source, _entries(source, _declared(source))))
    except (OSError, ValueError) as error:
        reason = safe_line(str(getattr(error, "strerror", None) or error))
        return HookTable(problems=(f"Hooks in {source.label} were not read: {reason}.",))
    return HookTable(
        tuple(one for one in entries if isinstance(one, Hook)),
        tuple(one for one in entries if isinstance(one, SkippedHook)),
    )


def _declared(source: HookSource) -> Mapping[str, Any]:
    """Return the `hooks` of a file. Raises OSError or ValueError when it cannot be read."""
    real = Path(os.path.realpath(source.path))
    if source.scope is ExtensionScope.PROJECT and not real.is_relative_to(os.path.realpath(source.folder)):
        raise ValueError("it is a link to a file outside the project")
    descriptor = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("it is not a regular file")
        data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise ValueError(f"it has more than {_MAX_BYTES:,} bytes")
    if not data.strip():
        return {}
    try:
        content = json.loads(data.decode("utf-8-sig"))
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if not isinstance(content, dict):
        raise ValueError("it is not a JSON object")
    if content.get("disableAllHooks") is True:
        return {}
    hooks = content.get("hooks", {})
    if not isinstance(hooks, dict):
        raise ValueError("hooks is not an object")
    return hooks


def _entries(source: HookSource, declared: Mapping[str, Any]) -> Iterator[Hook | SkippedHook]:
    for event, groups in declared.items():
        if event not in list(HookEvent):
            yield SkippedHook(source, event, _summary(groups), "Forge has no such event")
            continue
        if not isinstance(groups, list):
            yield SkippedHook(source, event, "", "it is not a list")
            continue
        for group in groups:
            yield from _group(source, HookEvent(event), group)


def _within_limit(source: HookSource, entries: Iterable[Hook | SkippedHook]) -> Iterator[Hook | SkippedHook]:
    """Yield the entries without the hooks beyond the limit, which are counted."""
    count = 0
    for one in entries:
        count += isinstance(one, Hook)
        if count <= _MAX_HOOKS or isinstance(one, SkippedHook):
            yield one
    if count > _MAX_HOOKS:
        reason = f"the file declares more than {_MAX_HOOKS} hooks"
        yield SkippedHook(source, f"{count - _MAX_HOOKS:,} more", "", reason)


def _group(source: HookSource, event: HookEvent, group: object) -> Iterator[Hook | SkippedHook]:
    handlers = group.get("hooks") if isinstance(group, dict) else None
    if not isinstance(group, dict) or not isinstance(handlers, list):
        yield SkippedHook(source, event, _summary(group), "it has no list of hooks")
        return
    matcher = group.get("matcher") or ""
    problem = "its matcher is not a string" if not isinstance(matcher, str) else matcher_problem(matcher)
    for handler in handlers:
        if problem:
            yield SkippedHook(source, event, _summary(handler), problem)
        else:
            yield _hook(source, event, matcher, handler)


def _hook(source: HookSource, event: HookEvent, matcher: str, handler: object) -> Hook | SkippedHook:
    if reason := _problem(event, handler):
        return SkippedHook(source, event, _summary(handler), reason)
    assert isinstance(handler, dict)
    args = handler.get("args")
    timeout = handler.get("timeout")
    limit = DEFAULT_TIMEOUT_S if timeout is None else float(min(timeout, MAX_TIMEOUT_S))
    return Hook(
        name=f"{event}:{_program(handler['command'], args)}",
        event=event,
        source=source,
        matcher=matcher,
        command=handler["command"],
        args=None if args is None else tuple(args),
        timeout_s=min(limit, SESSION_END_TIMEOUT_S) if event is HookEvent.SESSION_END else limit,
        condition=handler.get("if") or "",
        fails_closed=handler.get("failClosed") is True,
        is_detached=handler.get("async") is True,
        entry={**handler, "event": str(event), "matcher": matcher},
    )


def _problem(event: HookEvent, handler: object) -> str:
    """Return why a hook is not run; empty if it is."""
    if not isinstance(handler, dict):
        return "it is not an object"
    kind = handler.get("type", "command")
    if kind != "command":
        is_known = isinstance(kind, str) and kind in _FOREIGN_TYPES
        return f"Forge does not run hooks of the type {kind!r}" if is_known else f"its type is {kind!r}"
    command, args, timeout = handler.get("command"), handler.get("args"), handler.get("timeout")
    if not isinstance(command, str) or not command.strip() or "\0" in command:
        return "it has no command"
    if args is not None and not (isinstance(args, list) and all(isinstance(one, str) for one in args)):
        return "args is not a list of strings"
    if len(command) + sum(map(len, args or ())) > _MAX_LINE:
        return f"its command line has more than {_MAX_LINE:,} characters"
    if _is_nested(handler, _MAX_LEVELS):
        return "its entry is nested too deeply"
    if len(json.dumps(handler)) > _MAX_ENTRY:
        return f"its entry is longer than {_MAX_ENTRY:,} characters"
    if handler.get("shell", "bash") != "bash":
        return f"Forge does not run the shell {handler['shell']!r}"
    if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, int | float)):
        return f"its timeout is {timeout!r}, which is not a number of seconds"
    if timeout is not None and not timeout > 0:
        return f"its timeout is {timeout!r}; it must be above 0"
    condition = handler.get("if")
    if condition is not None and not isinstance(condition, str):
        return "if is not a string"
    if condition and len(condition) > MAX_PATTERN:
        return f"if has more than {MAX_PATTERN:,} characters"
    if condition and event not in TOOL_EVENTS:
        return "if is only for events of tool calls"
    return ""


def _is_nested(value: object, levels: int) -> bool:
    """Return whether a JSON value has more than so many levels."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels == 0 or any(_is_nested(one, levels - 1) for one in inner)


def _program(command: str, args: list[str] | None) -> str:
    """Return the name of what a command line runs: the script rather than its interpreter."""
    words = [command] if args is not None else command.replace('"', "").replace("'", "").split()
    words = [word for word in [*words, *(args or ())] if not _ASSIGNMENT.fullmatch(word)]
    words = words[: next((at for at, word in enumerate(words) if word in _CODE_OPTIONS), None)]
    names = [PurePosixPath(word).name.strip("(){};&|") for word in words if not word.startswith("-")]
    scripts = (name for name in names if name and not _INTERPRETER.fullmatch(name))
    name = next(scripts, names[0] if names else "hook")
    return "-".join(safe_line(name).split())[:_MAX_NAME] or "hook"


def _with_unique_names(hooks: Iterable[Hook]) -> Iterator[Hook]:
    """Yield the hooks, the second of one name in a folder as `name-2`. No two have the same key: it stands
    for what the user has approved."""
    keys: set[tuple[Path, str]] = set()
    counts: dict[tuple[Path, str], int] = {}
    for hook in hooks:
        named, key = hook, hook.key
        while named.key in keys:
            counts[key] = counts.get(key, 1) + 1
            named = replace(hook, name=f"{hook.name}-{counts[key]}")
        keys.add(named.key)
        yield named


def _summary(declared: object) -> str:
    """Return what identifies an entry that is not run."""
    if isinstance(declared, dict):
        for name in ("command", "url", "prompt", "tool", "type"):
            if isinstance(declared.get(name), str):
                return str(declared[name])[:MAX_SUMMARY]
        if isinstance(declared.get("hooks"), list):
            return _summary(declared["hooks"])
    if isinstance(declared, list):
        return ", ".join(filter(None, map(_summary, declared[:3])))
    return ""
