"""Paths in the arguments of MCP servers' tools: the files about which a call asks in spite of a rule."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from forge_core.home_paths import expand_home
from forge_core.permissions.path_info import locate
from forge_core.sanitize import safe_line
from forge_core.workspace.folders import Workspace, main_folder

_MAX_TEXTS = 200
_MAX_CHARS = 4_096
_NO_PATH = re.compile(r"[\n\0]|^[^/~.].*\s", re.DOTALL)
"""Texts with spaces are rarely paths, unless they begin like one."""
_FORGE_FOLDER = re.compile(r"/\.(?:config|local/state)/forge(?:/|$)")


def reason_to_ask(arguments: str, folders: Workspace, *, only_reads: bool) -> str:
    """Return why a call asks although a rule allows it; empty if nothing speaks against it.

    An argument that is a path may lead to a file with keys, or to one that programs act on. `arguments` are
    JSON. Looks links up.
    """
    for text in _paths(arguments):
        place = locate(main_folder(folders) / expand_home(text), folders)
        if place.has_secret_name:
            return f"{_shown(text)} may contain keys or passwords"
        if any(_FORGE_FOLDER.search(one.as_posix()) for one in (place.given, place.real)):
            return f"{_shown(text)} is Forge's own"
        if place.acting_program and not only_reads:
            return f"{place.acting_program} acts on {_shown(text)} without asking"
    return ""


def _paths(arguments: str) -> Iterator[str]:
    """Yield the texts in the arguments that may be paths."""
    try:
        found = json.loads(arguments)
    except ValueError:
        return
    for number, text in enumerate(_texts(found)):
        if number >= _MAX_TEXTS:
            return
        path = unquote(text.removeprefix("file://")) if text.startswith("file://") else text
        if path and len(path) <= _MAX_CHARS and not _NO_PATH.search(path):
            yield path


def _texts(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        match waiting.pop():
            case str(text):
                yield text
            case list(items):
                waiting += items
            case dict(members):
                waiting += members.values()


def _shown(text: str) -> str:
    return safe_line(text if len(text) <= 80 else f"…{text[-79:]}")
