"""The command lines by which ripgrep gives the answers that our own engine gives.

Its own ignoring may leave in more than ours (it is filtered afterwards), never less: no global or `.ignore`
files, no rules from above the folder unless that lies in a repository.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from forge_core.tools.searching.query import MAX_COLUMNS, Query
from forge_core.workspace.repository import find_repository

_PLAIN_GLOB = re.compile(r"[\w.*?{},-]+")


def count_arguments(query: Query) -> list[str]:
    """Prints `path NUL count LF` for each file with a match."""
    arguments = [
        "--count",
        *_common(query),
        "--hidden",
        "--no-ignore-dot",
        "--no-ignore-global",
        "--glob=!.git",
    ]
    if find_repository(Path(query.root)) is None:
        arguments += ["--no-require-git", "--no-ignore-parent"]
    if query.glob and _PLAIN_GLOB.fullmatch(query.glob):
        arguments.append(f"--glob={query.glob}")
    return [*arguments, f"--regexp={query.pattern}", "--", f"./{query.start}"]


def line_arguments(query: Query, paths: Sequence[str]) -> list[str]:
    """Prints `path NUL number (: or -) text LF` for each match and line of context, in the order of
    `paths`."""
    return [
        *_common(query),
        "--line-number",
        "--no-heading",
        "--no-context-separator",
        f"--before-context={query.before}",
        f"--after-context={query.after}",
        f"--max-columns={MAX_COLUMNS}",
        "--max-columns-preview",
        "--threads=1",
        f"--regexp={query.pattern}",
        "--",
        *(f"./{path}" for path in paths),
    ]


def _common(query: Query) -> list[str]:
    arguments = ["--no-config", "--no-messages", "--color=never", "--with-filename", "--null", "--crlf"]
    arguments.append("--ignore-case" if query.ignore_case else "--case-sensitive")
    if query.multiline:
        arguments += ["--multiline", "--multiline-dotall"]
    return arguments
