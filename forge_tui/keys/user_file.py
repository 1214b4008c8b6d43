"""The user's `keys.toml`: a preset, and keys by id.

    preset = "emacs"
    "chat.palette" = "ctrl+k"               # one key
    "chat.find" = ["ctrl+f", "ctrl+x f"]    # several; a chord has a space
    "chat.toggle_todos" = ""                # no key; so does false

A line that is wrong is reported and left out; the rest of the file applies.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from forge_core.sanitize import safe_line
from forge_tui.keys.assignment import Assignment, assign
from forge_tui.keys.effective import EffectiveKeys

MOST_BYTES = 100_000
_MOST_ERRORS = 20
"""Lines that TOML does not allow, after which the rest of the file is given up."""
_MOST_TABLES = 5
"""Within each other; ids have one."""
_AT_LINE = re.compile(r"\(at line (\d+), column \d+\)")
_LINE = re.compile(r"line (\d+):")
_AT_PLACE = re.compile(r" \(at (line \d+, column \d+|end of document)\)")
_TABLE = re.compile(r"""\s*\[\s*["']?(?P<name>[\w.-]+?)["']?\s*\]""")
_NAME = re.compile(r"""\s*(?P<name>"[^"]*"|'[^']*'|[\w.\s-]+?)\s*=""")


def _preset(keys: Mapping[str, str]) -> tuple[Assignment, ...]:
    """Return assignments; several keys of an id are separated by commas."""
    return tuple(Assignment(key_id, tuple(names.split(", "))) for key_id, names in keys.items())


PRESETS: Mapping[str, tuple[Assignment, ...]] = {
    "default": (),
    "emacs": _preset(
        {
            "composer.up": "up, ctrl+p",
            "composer.down": "down, ctrl+n",
            "composer.left": "left, ctrl+b",
            "composer.right": "right, ctrl+f",
            "composer.word_left": "ctrl+left, alt+b",
            "composer.word_right": "ctrl+right, alt+f",
            "composer.delete_word_right": "alt+d, alt+delete",
            "chat.palette": "alt+x",
            "chat.background": "ctrl+x ctrl+b",
            "chat.editor": "ctrl+x ctrl+e",
            "chat.find": "ctrl+x s",
            "chat.interrupt": "ctrl+g",
            "chat.page_up": "pageup, alt+v",
            "chat.paste_image": "ctrl+x ctrl+v",
            "find.previous_match": "enter, up, ctrl+p",
            "find.next_match": "down, ctrl+n",
            "find.close": "ctrl+g",
            "diff.line_down": "down, j, ctrl+n",
            "diff.line_up": "up, k, ctrl+p",
            "diff.page_down": "pagedown, space, ctrl+v",
            "diff.page_up": "pageup, alt+v",
            "diff.close": "q, ctrl+g",
        }
    ),
    "vi": _preset(
        {
            "sessions.next": "down, ctrl+n, ctrl+j",
            "sessions.previous": "up, ctrl+p, ctrl+k",
            "diff.page_down": "pagedown, space, ctrl+f, ctrl+d",
            "diff.page_up": "pageup, ctrl+b, ctrl+u",
            "diff.scroll_top": "home, g g, ctrl+home",
        }
    ),
}
"""Ids that are not named keep the keys of the table."""


def read_keys(path: Path) -> tuple[EffectiveKeys, list[str]]:
    """Return the keys that the file leads to, and what is wrong with it. Without a file: the default keys."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > MOST_BYTES:
            return assign(())[0], [f"it is no file of at most {MOST_BYTES:,} bytes"]
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return assign(())[0], []
    except (OSError, ValueError) as error:
        return assign(())[0], [f"it cannot be read: {error}"]
    return keys_from(text)


def keys_from(text: str) -> tuple[EffectiveKeys, list[str]]:
    """Return the keys that the text of a file leads to, and what is wrong with it, by line."""
    values, problems = _parse(text)
    lines = _lines_of_names(text)
    preset = values.pop("preset", "default")
    if not isinstance(preset, str) or preset not in PRESETS:
        shown = safe_line(str(preset)[:40])
        problems.append(
            f"line {lines.get('preset', 1)}: there is no preset {shown!r}; there are {', '.join(PRESETS)}"
        )
        preset = "default"
    assignments = []
    for key_id, value in _flat(values):
        line = lines.get(key_id, 0)
        keys = _names(value)
        if keys is None:
            problems.append(f"line {line}: {safe_line(key_id[:60])} needs a text, a list of texts or false")
        else:
            assignments.append(Assignment(key_id, keys, line))
    effective, more = assign(assignments, PRESETS[preset], preset)
    return effective, sorted([*problems, *more], key=_line_of)


def _parse(text: str) -> tuple[dict[str, Any], list[str]]:
    """Parse TOML, leaving out the lines that it does not allow."""
    import tomllib

    problems: list[str] = []
    lines = text.split("\n")
    while len(problems) < _MOST_ERRORS:
        try:
            return tomllib.loads("\n".join(lines)), problems
        except tomllib.TOMLDecodeError as error:
            found = _AT_LINE.search(str(error))
            last = max((number for number, line in enumerate(lines, 1) if line.strip()), default=1)
            number = min(int(found[1]), last) if found else last  # else: "at end of document"
            lines[number - 1] = ""
            problems.append(f"line {number}: {_AT_PLACE.sub('', safe_line(str(error)))}")
        except (RecursionError, ValueError):  # the second: a number of more than 4,300 digits
            break
    return {}, [*problems, "too much of the file is no TOML; it was ignored"]


def _flat(values: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield ids and values: `chat.palette` and `"chat.palette"` are the same."""
    for name, value in values.items():
        if isinstance(value, dict) and before.count(".") < _MOST_TABLES:
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


def _names(value: Any) -> tuple[str, ...] | None:
    """Return the names of the keys that a value of the file holds; None for a value of the wrong type."""
    if value is False or value == "":
        return ()
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list) and all(isinstance(name, str) and name for name in value):
        return tuple(value)
    return None


def _line_of(problem: str) -> int:
    found = _LINE.match(problem)
    return int(found[1]) if found else 0


def _lines_of_names(text: str) -> dict[str, int]:
    """Return the line, from 1, of each name in the file."""
    found: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.split("\n"), 1):
        if header := _TABLE.match(line):
            table = f"{header['name']}."
        elif name := _NAME.match(line):
            found.setdefault(table + re.sub(r"\s", "", name["name"].strip("\"'")), number)
    return found
