"""Hooks that are small scripts, and a runner for them."""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from forge_core.events import Notice
from forge_core.extensions.hook_locations import HookSource
from forge_core.extensions.hooks.hook_files import Hook, read_source
from forge_core.extensions.hooks.hook_process import HookProcesses
from forge_core.extensions.hooks.hook_runner import HookRunner
from forge_core.extensions.locations import ExtensionScope

USER, PROJECT = ExtensionScope.USER, ExtensionScope.PROJECT


def declared(event: str, command: str, *, matcher: str = "", **fields: Any) -> dict[str, Any]:
    """Return the content of a file with one hook."""
    handler = {"type": "command", "command": command, **fields}
    return {"hooks": {event: [{"matcher": matcher, "hooks": [handler]}]}}


def write_hooks(path: Path, *contents: Mapping[str, Any]) -> None:
    """Write one file with the hooks of several."""
    path.parent.mkdir(parents=True, exist_ok=True)
    together: dict[str, list[Any]] = {}
    for content in contents:
        for event, groups in content["hooks"].items():
            together.setdefault(event, []).extend(groups)
    path.write_text(json.dumps({"hooks": together}))


def answering(content: object) -> str:
    """Return a command line that prints an answer."""
    return f"cat <<'END'\n{json.dumps(content)}\nEND"


@dataclass
class HookBench:
    """A runner of declared hooks, and what it reported."""

    runner: HookRunner
    folder: Path
    notices: list[Notice] = field(default_factory=list)

    @property
    def texts(self) -> list[str]:
        return [notice.text for notice in self.notices]

    @classmethod
    def of(
        cls,
        folder: Path,
        *contents: Mapping[str, Any],
        scope: ExtensionScope = USER,
        project: Mapping[str, Any] | None = None,
        refusal: Callable[[Hook], str] = lambda hook: "",
        logger: logging.Logger | None = None,
    ) -> HookBench:
        """`contents` are hooks of `scope`, `project` one of the project."""
        hooks: list[Hook] = []
        for number, (content, of) in enumerate(
            [*((one, scope) for one in contents), *([(project, PROJECT)] if project else [])]
        ):
            path = folder.parent / f"hooks-{number}.json"
            path.write_text(json.dumps(content))
            source = HookSource(path, of, path.parent, needs_approval=of is PROJECT, label=path.name)
            hooks += read_source(source).hooks
        notices: list[Notice] = []
        processes = HookProcesses(folder)
        log = logger or logging.getLogger("tests.hooks")
        runner = HookRunner(hooks, processes, refusal, notices.append, log)
        return cls(runner, folder, notices)


def running_in(folder: Path) -> list[int]:
    """Return the ids of the processes whose current folder is `folder`: those of hooks, whatever their
    environment is."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and (entry / "cwd").readlink() == folder:
                found.append(int(entry.name))
    return found


def written_objects(path: Path) -> list[dict[str, Any]]:
    """Return the JSON objects that hooks have appended to a file; those of parallel calls may share a line."""
    text, decoder, found = path.read_text().strip() if path.exists() else "", json.JSONDecoder(), []
    while text:
        one, end = decoder.raw_decode(text)
        found.append(one)
        text = text[end:].lstrip()
    return found
