"""New files: what they may hold, and where they may stand."""

from __future__ import annotations

from pathlib import Path

from forge_core.errors import ToolError
from forge_core.tools.base import ExecutionContext
from forge_core.tools.editing.change import Change
from forge_core.tools.editing.checks import refuse_placeholders
from forge_core.tools.editing.store import Target
from forge_core.tools.paths import shown


def new_file(target: Target, name: str, content: str, context: ExecutionContext) -> Change:
    """A file that does not exist yet. Raises ToolError for content that no file can hold."""
    refuse_placeholders(content, "")
    check_parent(target.path, context)
    return Change(target, name, _encoded(content), None, "", content)


def _encoded(content: str) -> bytes:
    try:
        return content.encode()
    except UnicodeEncodeError as error:
        raise ToolError("The content holds half of a surrogate pair, which no text file can hold.") from error


def check_parent(real: Path, context: ExecutionContext) -> None:
    """Raises ToolError when a part of the path is a file."""
    for parent in real.parents:
        if parent.exists():
            if not parent.is_dir():
                raise ToolError(f"{shown(parent, context)!r} is a file, so nothing can be made below it.")
            return
