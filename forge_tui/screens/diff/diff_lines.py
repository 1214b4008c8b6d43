"""The two lines around a diff: what is looked at, and the keys."""

from __future__ import annotations

from textual.content import Content

from forge_core.sanitize import safe_line
from forge_core.text_width import cell_len, clip, clip_middle
from forge_core.workspace.changes import ChangedFile, ChangeList, Counts

_KEYS = (
    ("] [", "hunk"),
    ("n p", "file"),
    ("b", "files"),
    ("v", "view"),
    ("E", "whole file"),
    ("s", "patch"),
    ("d", "source"),
    ("r", "again"),
    ("?", "keys"),
    ("q", "close"),
)
_LAST_KEYS = ("?", "q")
"""Those that stay when there is no room for all."""


def header_line(
    found: ChangeList, file: ChangedFile | None, index: int, counts: Counts | None, width: int
) -> Content:
    """Source, file, its place among the files, lines that came and went."""
    if file is None:
        return Content.styled(clip(safe_line(found.title), width), "bold")
    right: list[tuple[str, str]] = []
    if file.note:
        right.append((f"  {safe_line(file.note)}", "$forge-muted"))
    right.append((f"  {index + 1}/{len(found.files)}", "$forge-muted"))
    if counts is not None and counts.added:
        right.append((f"  +{counts.added}", "$diff-added"))
    if counts is not None and counts.removed:
        right.append((f"  −{counts.removed}", "$diff-removed"))
    room = max(12, width - sum(cell_len(text) for text, _ in right))
    name = safe_line(f"{file.old_path} → {file.path}" if file.old_path else file.path)
    name = clip_middle(name, room * 2 // 3)
    title = clip(safe_line(found.title), max(8, room - cell_len(name) - 2))
    blank = " " * max(0, room - cell_len(title) - cell_len(name) - 2)
    return Content.assemble((title, "$forge-muted"), "  ", (name, "bold"), blank, *right)


def footer_line(width: int, *, is_raw: bool, is_whole: bool) -> Content:
    """The keys, as many as there is room for."""
    names = {"s": "hunks" if is_raw else "patch", "E": "hunks only" if is_whole else "whole file"}
    keys = [(key, names.get(key, name)) for key, name in _KEYS]
    while sum(cell_len(f"{key} {name}") + 3 for key, name in keys) - 3 > width and len(keys) > len(
        _LAST_KEYS
    ):
        keys.pop(next(at for at in range(len(keys) - 1, -1, -1) if keys[at][0] not in _LAST_KEYS))
    parts: list[Content] = [Content.assemble((key, "$foreground"), f" {name}") for key, name in keys]
    return Content(" · ").join(parts)
