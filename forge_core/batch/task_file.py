"""The file of a batch: one task a line, as JSON. Every line is checked before anything starts."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from forge_core.config import checks
from forge_core.config.permission_mode import PermissionMode
from forge_core.errors import ConfigError
from forge_core.home_paths import expand_home
from forge_core.sanitize import safe_line
from forge_core.workspace.clones import has_password, is_url
from forge_core.workspace.repository import find_repository

_PLACEHOLDER = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_ID = r"[A-Za-z0-9](?:\.?[A-Za-z0-9_-]+)*"
"""Part of the names of folders and branches."""
_VARIABLE = r"[A-Za-z_][A-Za-z0-9_]*"
_UNUSABLE = re.compile("[\0\ud800-\udfff]")
"""In no argument, variable or file of a program."""
_MAX_BYTES = 50_000_000
_SHOWN_PROBLEMS = 20

Text = Annotated[str, StringConstraints(min_length=1)]
Variable = Annotated[str, StringConstraints(pattern=f"^{_VARIABLE}$")]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchTask:
    """A line of the file, checked and complete: nothing outside it is needed but the repository."""

    id: str
    prompt: str
    repo: str
    """A folder in a git repository, absolute, or the URL of one."""
    ref: str = "HEAD"
    model: str | None = None
    permission_mode: str | None = None
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    max_turns: int | None = None
    """The most model calls."""
    time_limit_s: float | None = None
    verify: str = ""
    """A command that ends with 0 if the task is done; empty: there is none."""
    env: Mapping[str, str] = field(default_factory=dict)
    digest: str = ""
    """Equal for equal lines with equal prompt files, wherever they are: by it a finished task is recognised.
    """


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    id: Annotated[str, StringConstraints(pattern=f"^{_ID}$", max_length=64)]
    prompt: Text | None = None
    prompt_file: Text | None = None
    vars: dict[str, str | int | float] = Field(default_factory=dict)
    repo: Text = "."
    ref: Text = "HEAD"
    model: Text | None = None
    permission_mode: str | None = None
    allow: list[Text] = Field(default_factory=list)
    deny: list[Text] = Field(default_factory=list)
    max_turns: int | None = Field(default=None, ge=1, lt=1_000_000_000)
    time_limit_s: float | None = Field(default=None, gt=0, lt=1e9)
    verify: str = ""
    env: dict[Variable, str] = Field(default_factory=dict)


class _LineError(Exception):
    """A line cannot be used; the text says why."""


def read_tasks(name: str | Path, *, runs_here: bool = True) -> list[BatchTask]:
    """Return the tasks of a file, whose name may begin with "~". Paths in it are relative to its folder.
    Empty lines are skipped.

    Where the tasks do not run here, neither need their repositories be: then they are not checked.

    Raises:
        ConfigError: the file cannot be read or holds no task, or with every line that cannot be used.
    """
    path = expand_home(str(name)).absolute()
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise ConfigError(f"The tasks in {str(path)!r} are over {_MAX_BYTES // 1_000_000} MB.")
        lines = path.read_text("utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"The tasks in {str(path)!r} cannot be read: {error}.") from error
    tasks: list[BatchTask] = []
    problems: list[str] = []
    first_lines: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            task = _task(line, path.parent, runs_here=runs_here)
            # The names of folders are the same in any case on some file systems.
            if (first := first_lines.setdefault(task.id.casefold(), number)) != number:
                raise _LineError(f"the id {task.id!r} is that of line {first}")
        except _LineError as error:
            problems.append(f"line {number}: {error}")
        else:
            tasks.append(task)
    if problems:
        raise ConfigError(f"Nothing was started: {safe_line(str(path))!r} has {'; '.join(_shown(problems))}.")
    if not tasks:
        raise ConfigError(f"There is no task in {str(path)!r}.")
    return tasks


def _shown(problems: list[str]) -> Iterator[str]:
    yield from problems[:_SHOWN_PROBLEMS]
    if len(problems) > _SHOWN_PROBLEMS:
        yield f"and {len(problems) - _SHOWN_PROBLEMS} lines more"


def _task(text: str, folder: Path, *, runs_here: bool) -> BatchTask:
    try:
        record = json.loads(text)
        line = _Line.model_validate(record)
    except ValidationError as error:
        raise _LineError(_words(error)) from error
    except (ValueError, RecursionError) as error:
        raise _LineError(f"it is no JSON ({error})") from error
    if unusable := next(filter(None, map(_UNUSABLE.search, _texts(record))), None):
        raise _LineError(f"it has the character {unusable[0]!r}")
    mode = line.permission_mode
    if mode is not None and mode not in list(PermissionMode):
        raise _LineError(f"permission_mode is {mode!r}, not one of {', '.join(PermissionMode)}")
    for name, rules in (("allow", line.allow), ("deny", line.deny)):
        for rule in rules:
            _check_rule(name, rule)
    repo = _repo(line.repo, folder, runs_here=runs_here)
    prompt = _prompt(line, folder)
    facts = {**line.model_dump(exclude_defaults=True), "prompt": prompt}
    return BatchTask(
        id=line.id,
        prompt=prompt,
        repo=repo,
        ref=line.ref,
        model=line.model,
        permission_mode=mode,
        allow=tuple(line.allow),
        deny=tuple(line.deny),
        max_turns=line.max_turns,
        time_limit_s=line.time_limit_s,
        verify=line.verify.strip(),
        env=line.env,
        digest=hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16],
    )


def _texts(value: object) -> Iterator[str]:
    """Yield all texts in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in (*value, *value.values()):
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)


def _check_rule(name: str, rule: str) -> None:
    try:
        checks.rules([rule])
    except ValueError as error:
        raise _LineError(f"{name} has {rule!r}, which is no rule like 'bash(pytest:*)'") from error


def _repo(text: str, folder: Path, *, runs_here: bool) -> str:
    if is_url(text):
        if has_password(text):
            raise _LineError("repo has a password in its URL; let git ask a credential helper for it")
        return text
    repo = (folder / expand_home(text)).absolute()
    if runs_here and (not repo.is_dir() or find_repository(repo) is None):
        raise _LineError(f"repo {text!r} is no folder in a git repository, and no URL (https, ssh, file)")
    return str(repo)


def _prompt(line: _Line, folder: Path) -> str:
    """Return the prompt with its variables. A value is never searched for further ones."""
    if (line.prompt is None) == (line.prompt_file is None):
        raise _LineError("it needs prompt or prompt_file, and not both")
    text = line.prompt
    if text is None:
        assert line.prompt_file is not None
        try:
            text = (folder / expand_home(line.prompt_file)).read_text("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise _LineError(f"prompt_file {line.prompt_file!r} cannot be read: {error}") from error
    names = set(_PLACEHOLDER.findall(text))
    if line.vars and (unused := sorted(line.vars.keys() - names)):
        raise _LineError(f"the prompt has no {{{{{unused[0]}}}}}, which is in vars")
    if line.vars and (missing := sorted(names - line.vars.keys())):
        raise _LineError(f"vars lacks {missing[0]!r}, which the prompt names")
    prompt = _PLACEHOLDER.sub(lambda found: str(line.vars[found[1]]), text) if line.vars else text
    if not prompt.strip():
        raise _LineError("the prompt is empty")
    return prompt


def _words(error: ValidationError) -> str:
    """Return the first problem that pydantic has found, in the words of the file's user."""
    first: Mapping[str, Any] = error.errors()[0]
    name = ".".join(map(str, first["loc"]))
    if first["type"] == "extra_forbidden":
        return f"there is no key {name!r}; there are {', '.join(_Line.model_fields)}"
    if first["type"] == "missing":
        return f"it has no {name}"
    if name == "id":
        return f"id is {first['input']!r}: use at most 64 letters, digits, and . _ - after the first"
    return f"{name or 'the line'} is {first['input']!r}: {first['msg']}"
