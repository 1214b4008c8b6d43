"""Adding what manifests say about a project to an AGENTS.md that exists, without changing a line of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from forge_core.tools.editing.text import dominant_terminator

_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(.*?)[ \t#]*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_SPAN = re.compile(r"`([^`]+)`")
_ITEMS = ("- ", "* ", "+ ")
_COMMANDS, _STACK = "Commands", "Stack"


@dataclass(slots=True)
class _Section:
    heading: str
    items: list[str] = field(default_factory=list)


def merged_instructions(text: str, initial: str) -> str:
    """Return the text of a file with those facts of `initial`, a text by `initial_instructions`, that it
    lacks; the same text if it lacks none.

    Every line is kept. Items go to the end of the section with the same word in its heading, or into a new
    section at the end. Title and description are not added.
    """
    end = dominant_terminator(text)
    if not text.strip():
        return initial.replace("\n", end)
    lines = text.splitlines(keepends=True)
    for section in _sections(initial):
        missing = [item for item in section.items if not _is_known(section.heading, item, text)]
        if missing:
            _add(lines, section.heading, missing, end)
    return "".join(lines)


def _sections(initial: str) -> list[_Section]:
    """Return the sections of a generated text; the lines that say what it is written in become one."""
    head, *rest = re.split(r"(?m)^## ", initial)
    stack = [f"- {line}" for line in head.splitlines() if line.endswith("`).")]
    sections = [_Section(_STACK, stack)]
    for part in rest:
        heading, *lines = part.splitlines()
        sections.append(_Section(heading, [line for line in lines if line.startswith("- ")]))
    return sections


def _is_known(heading: str, item: str, text: str) -> bool:
    """Return whether the text says already what an item says, perhaps in other words."""
    if _words(item.removeprefix("- ")) in _words(text):
        return True
    spans = _SPAN.findall(item)
    if heading == _COMMANDS:
        return bool(spans) and _names(text, spans[0])
    if heading == _STACK:
        return _names(text, item.split()[1].rstrip(","))
    paths = [span for span in spans if "/" in span or "." in span]
    return bool(paths) and all(_names(text, path) for path in paths)


def _names(text: str, name: str) -> bool:
    """Return whether a name is in the text, not as a part of a longer one; a folder also as `` `name` ``."""
    folder = name.removesuffix("/")
    if folder != name and f"`{folder}`" in text:
        return True
    after = "" if folder != name else r"(?![\w/-])"
    return re.search(rf"(?i)(?<![\w./-]){re.escape(name)}{after}", text) is not None


def _words(text: str) -> str:
    return " ".join(text.split()).casefold()


def _add(lines: list[str], heading: str, items: Sequence[str], end: str) -> None:
    """Insert items where they belong."""
    headings, open_fence = _headings(lines)
    place = next((at for at, title in headings if heading.casefold() in title.casefold().split()), None)
    if place is None:
        if lines and not lines[-1].endswith(("\n", "\r")):
            lines[-1] += end
        closing = [f"{open_fence}{end}"] if open_fence else []
        lines += [*closing, *[end][: bool(lines[-1].strip())], f"## {heading}{end}", end]
        lines += [f"{item}{end}" for item in items]
        return
    following = next((at for at, _ in headings if at > place), len(lines))
    last = max(at for at in range(place, following) if at == place or lines[at].strip())
    if not lines[last].endswith(("\n", "\r")):
        lines[last] += end
    is_list = last > place and lines[last].lstrip().startswith(_ITEMS)
    closing = [f"{open_fence}{end}"] if open_fence and following == len(lines) else []
    gap = [] if is_list and not closing else [end]
    lines[last + 1 : last + 1] = [*closing, *gap, *(f"{item}{end}" for item in items)]


def _headings(lines: Sequence[str]) -> tuple[list[tuple[int, str]], str]:
    """Return the indices and titles of the headings, those in code blocks left out, and the fence that a code
    block without end lacks."""
    found: list[tuple[int, str]] = []
    fence = ""
    for at, line in enumerate(lines):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not mark[2].strip():
                fence = ""
        elif mark:
            fence = mark[1]
        elif title := _HEADING.fullmatch(line.rstrip()):
            found.append((at, title[1]))
    return found, fence
