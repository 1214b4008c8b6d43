"""Untracked files, read without following a link or blocking on a FIFO."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

from forge_core.workspace.beneath import open_file, opened_folder
from forge_core.workspace.change_source import REST_LEFT_OUT, Counts, FilePatch, header

_MAX_COUNTED_BYTES = 4 * 1024 * 1024
"""The lines of larger files are counted when they are shown."""
_SNIFFED = 8_000
"""A NUL in so many first bytes means binary, as in git."""


def count_lines(top: Path, names: Sequence[str]) -> Mapping[str, Counts]:
    """Return the number of lines of each file; unreadable files are left out."""
    counts: dict[str, Counts] = {}
    for name in names:
        try:
            data, _ = _content(top, name, _MAX_COUNTED_BYTES)
        except (OSError, ValueError):
            continue
        if len(data) <= _MAX_COUNTED_BYTES:
            is_binary = b"\0" in data[:_SNIFFED]
            lines = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
            counts[name] = Counts(None, None) if is_binary else Counts(lines, 0)
    return counts


def untracked_patch(top: Path, name: str, max_bytes: int) -> FilePatch:
    """Return a patch that adds the whole file."""
    if name.endswith("/"):
        return FilePatch(remark="A repository of its own: git lists nothing below it.")
    try:
        data, is_link = _content(top, name, max_bytes)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return FilePatch(remark=f"It can't be read: {reason}.")
    if b"\0" in data[:_SNIFFED]:
        return FilePatch(remark=f"Binary, {len(data):,} bytes.")
    if not data:
        return FilePatch(header(name, kind="new"), "An empty file.")
    is_cut = len(data) > max_bytes
    if is_cut:
        data = data[: data.rfind(b"\n", 0, max_bytes) + 1]
    lines = data.decode("utf-8", "replace").split("\n")
    has_end = lines[-1] == ""
    if has_end:
        lines.pop()
    body = [f"@@ -0,0 +1,{len(lines)} @@", *("+" + line for line in lines)]
    if is_cut:
        body.append(REST_LEFT_OUT)
    elif not has_end and not is_link:
        body.append("\\ No newline at end of file")
    return FilePatch(header(name, kind="new") + "\n".join(body) + "\n")


def _content(top: Path, name: str, max_bytes: int) -> tuple[bytes, bool]:
    """Return up to `max_bytes` + 1 bytes of a file or the target of a link, and whether it is a link. Raises
    OSError."""
    folder = (top / name).parent
    with opened_folder(folder, top) as parent:
        last = os.path.basename(name)  # noqa: PTH119 - Path would drop a final dot
        if stat.S_ISLNK(os.stat(last, dir_fd=parent, follow_symlinks=False).st_mode):
            return os.fsencode(os.readlink(last, dir_fd=parent)), True
        with open_file(last, os.O_NOFOLLOW, dir_fd=parent) as file:
            return file.read(max_bytes + 1), False
