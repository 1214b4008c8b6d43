"""The paths that a repository's config names, read without running git."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Literal

from forge_core.workspace.repository import read_small

_SECTION = re.compile(r'\s*\[\s*(?P<name>[\w.-]+)(?:\s+"(?:[^"\\]|\\.)*")?\s*\](?P<rest>.*)')
_SETTING = re.compile(r"\s*(?P<key>[\w-]+)\s*=\s*(?P<value>.*)")


def named_paths(config: Path, work_tree: Path) -> list[tuple[Path, Literal["folder", "file"]]]:
    """Real paths of core.hooksPath and core.worktree (folders) and of included config files. Too many rather
    than too few: a value that git would refuse may be among them."""
    found: list[tuple[Path, Literal["folder", "file"]]] = []
    section = ""
    for line in (read_small(config) or "").splitlines():
        header = _SECTION.match(line)
        if header is not None:
            section = header["name"].lower()
        setting = _SETTING.match(line if header is None else header["rest"])
        if setting is None:
            continue
        value = setting["value"].strip().strip('"')
        match section, setting["key"].lower():
            case "core", "hookspath":
                found.append((_real(value, work_tree), "folder"))
            case "core", "worktree":
                found.append((_real(value, config.parent), "folder"))
            case (("include" | "includeif"), "path"):
                found.append((_real(value, config.parent), "file"))
    return found


def _real(value: str, base: Path) -> Path:
    # Only the folder is resolved: a link at the very end is what could be replaced.
    path = base / os.path.expanduser(value)  # noqa: PTH111 - "~" stays text where there is no such home
    return (
        Path(os.path.realpath(path.parent)) / path.name if path.name != ".." else Path(os.path.realpath(path))
    )
