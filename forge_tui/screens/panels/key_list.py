"""The page of `/keys`: the keys that work now, then all others, each with its ids for the user's file."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from textwrap import wrap

from textual.content import Content

from forge_core.sanitize import safe_line
from forge_tui.keymap import KeyContext
from forge_tui.keys.assignment import FIXED_CONTEXTS
from forge_tui.keys.effective import EffectiveKeys, HelpRow, default_keys, effective_keys
from forge_tui.screens.panels.help import COLUMN

_CHANGED = "* "


def key_list(now: Collection[KeyContext], text: str = "", width: int = 76) -> Content:
    """Return the keys in effect that have `text` in their names, description or ids.

    `now` are the parts of the screen whose keys work at present. Changed keys have a mark.
    """
    keys = effective_keys()
    lines = [*_introduction(keys, width)]
    contexts = [*(one for one in KeyContext if one in now), *(one for one in KeyContext if one not in now)]
    found = False
    for context in contexts:
        if rows := [row for row in keys.rows(context) if _matches(row, text)]:
            state = " · now" if context in now else ""
            lines += [Content(), Content.assemble((str(context), "bold $accent"), (state, "$forge-muted"))]
            lines += [line for row in rows for line in _row_lines(row, context, width)]
            found = True
    if not found:
        shown = safe_line(text[:60])
        lines += [Content(), Content(f"No key has {shown!r} in its name, description or id.")]
    return Content("\n").join(lines)


def _introduction(keys: EffectiveKeys, width: int) -> Iterator[Content]:
    preset = "" if keys.preset == "default" else f" Preset: {keys.preset}."
    marked = f" {_CHANGED.strip()} marks what is changed." if keys.changed else ""
    text = f"keys.toml in the folder of your settings changes keys by their ids.{preset}{marked}"
    yield from (Content.styled(line, "$forge-muted") for line in wrap(text, width))


def _matches(row: HelpRow, text: str) -> bool:
    words = text.casefold().split()
    where = f"{row.label} {row.summary} {' '.join(row.ids)}".casefold()
    return all(word in where for word in words)


def _row_lines(row: HelpRow, context: KeyContext, width: int) -> Iterator[Content]:
    """Yield the keys with what they do beside them, then the ids."""
    first = f"{_CHANGED if row.is_changed else '  '}{row.label}".ljust(COLUMN)
    room = max(width - COLUMN, 12)
    if len(first) > COLUMN - 1 and not first.endswith(" "):
        yield Content(first)
        first = " " * COLUMN
    for piece in wrap(row.summary, room):
        yield Content(first + piece)
        first = " " * COLUMN
    ids = [key_id for key_id in row.ids if key_id in default_keys()]
    if context not in FIXED_CONTEXTS:
        for piece in wrap(" ".join(ids), room):
            yield Content.styled(" " * COLUMN + piece, "$forge-muted")
