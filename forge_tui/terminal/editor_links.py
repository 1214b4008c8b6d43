"""Links to files of the workspace: which paths a text mentions, and the URL that opens one in the editor.

Paths come from models and programs. Only one that is a file in a folder of the workspace, links resolved,
gets a URL, and every character of it that could end a URL or a control sequence is percent-encoded.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias
from urllib.parse import quote

from forge_core.config.settings import EditorLinksSetting
from forge_core.workspace.folders import WorkspaceFolders, is_in_workspace
from forge_tui.terminal import clipboard

_MENTION = re.compile(
    r"(?<![\w./~@%:\\-])(?P<path>/?(?:[\w.@+~-]+/)*[\w.@+~-]*\w)"
    r"(?::(?P<line>\d{1,7})(?::\d{1,5})?(?!\w)|#L(?P<anchor>\d{1,7})|\", line (?P<quoted>\d{1,7}))?"
)
"""`a/b.py`, `b.py:3`, `b.py:3:5`, `b.py#L3`, and `"b.py", line 3` as in a traceback of Python."""
_LONGEST_PATH = 300
_MOST_MENTIONS = 200
"""In one block; the others get no link."""
_LONGEST_URL = 2_000
"""Some terminals fail on longer ones."""
_OPENERS = {"darwin": "open", "linux": "xdg-open"}
_PROGRAMS = ("vscode", "cursor", "zed", "idea")
"""Kinds whose URL names the program that opens it. A `file:` URL may start any program."""


class PathMention(NamedTuple):
    """A path as a text mentions it."""

    path: str
    line: int = 0
    """0 if none is named."""

    @property
    def text(self) -> str:
        return f"{self.path}:{self.line}" if self.line else self.path


Links: TypeAlias = Mapping[PathMention, str]
"""The URLs of the mentions that are files of the workspace."""
NO_LINKS: Links = {}


def find_mentions(text: str) -> Iterator[tuple[int, int, PathMention]]:
    """Yield the paths that one line or a whole text mentions, each with its range of characters."""
    for match in _MENTION.finditer(text):
        path, line = match["path"], match["line"] or match["anchor"] or match["quoted"]
        is_path = "/" in path or "." in path or line is not None
        if is_path and len(path) <= _LONGEST_PATH and not path.replace(".", "").isdigit():
            end = match.end("path") if match["quoted"] else match.end()
            yield match.start(), end, PathMention(path, int(line or 0))


def link_url(kind: EditorLinksSetting, path: Path, line: int, host: str) -> str:
    """Return the URL of a file by its absolute path; a `file:` URL cannot name a line."""
    place = quote(os.fsencode(path), safe="/")
    match kind:
        case "file":
            return f"file://{quote(host, safe='')}{place}"
        case "idea":
            return f"idea://open?file={quote(os.fsencode(path), safe='')}" + (f"&line={line}" if line else "")
        case _:
            return f"{kind}://file{place}" + (f":{line}" if line else "")


class EditorLinks:
    """Finds the links of a text. Reads the file system: to be used in a thread."""

    def __init__(
        self, kind: EditorLinksSetting, root: Path, added: Callable[[], Sequence[Path]] = lambda: ()
    ) -> None:
        """`root` is the main folder of the workspace, `added` returns the others."""
        self._kind = kind
        self._root = root
        self._added = added
        self._host = os.uname().nodename

    def of(self, text: str) -> Links:
        """Return the links of the first paths that `text` mentions."""
        workspace = WorkspaceFolders(self._root, tuple(self._added()))
        found: dict[PathMention, str] = {}
        seen: set[PathMention] = set()
        for _, _, mention in find_mentions(text):
            if mention not in seen:
                seen.add(mention)
                if (path := _file_in(workspace, mention.path)) is not None:
                    url = link_url(self._kind, path, mention.line, self._host)
                    if len(url) <= _LONGEST_URL:
                        found[mention] = url
            if len(seen) >= _MOST_MENTIONS:
                break
        return found


def editor_links(
    kind: EditorLinksSetting, root: Path, added: Callable[[], Sequence[Path]]
) -> EditorLinks | None:
    """Return what finds the links; None if the user wants none."""
    return None if kind == "off" else EditorLinks(kind, root, added)


def _file_in(workspace: WorkspaceFolders, name: str) -> Path | None:
    """Return the file's absolute path as it was named; None if it is not a file of the workspace."""
    path = Path(os.path.normpath(workspace / name))
    try:
        real = Path(os.path.realpath(path))
        is_file = stat.S_ISREG(real.stat().st_mode)
    except (OSError, ValueError):
        return None
    return path if is_file and is_in_workspace(real, workspace) else None


def opener_of(url: str, environ: Mapping[str, str], which: clipboard.Which) -> Sequence[str]:
    """Return the command that opens a URL of an editor on this machine; empty if there is none."""
    if not url.startswith(tuple(f"{kind}://" for kind in _PROGRAMS)) or clipboard.is_remote(environ):
        return ()
    is_desktop = sys.platform == "darwin" or environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY")
    name = _OPENERS.get(sys.platform, "") if is_desktop else ""
    program = clipboard.absolute_program(which, name) if name else None
    return (program, url) if program else ()
