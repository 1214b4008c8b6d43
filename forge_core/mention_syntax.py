"""Mentions of files in a message: `@path`, `@"a path"`, each also with lines as in `@path:10-20` or
`@path#L10-20`.

A mention begins after white space or at the beginning of a line, so that e-mail addresses are none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

_MENTION = re.compile(
    r'(?<!\S)@(?:"(?P<quoted>[^"\n]+)"(?P<after>(?::|#L)\d+(?:-L?\d+)?)?|(?P<plain>[^\s"]+))'
)
_OPEN = re.compile(r'(?<!\S)@(?:"(?P<quoted>[^"]*)|(?P<plain>[^\s"]*))\Z')
_LINES = re.compile(r"(?::|#L)(?P<first>\d{1,9})(?:-L?(?P<last>\d{0,9}))?\Z")
TRAILING = ".,;:!?)]}'"
"""Punctuation that ends a sentence and not a path."""


@dataclass(frozen=True, slots=True)
class MentionedPath:
    """A path in a message, and the lines that are meant."""

    path: str
    first: int | None = None
    """The first line, from 1; None: the whole file."""
    last: int | None = None
    """The last line; None: only the first."""
    shorter: str = ""
    """The path without punctuation at its end, in case that there is no file of the whole name."""
    written: str = field(default="", compare=False)
    """All of it after the `@`, without quotation marks."""


@dataclass(frozen=True, slots=True)
class OpenMention:
    """The mention that is being typed before the cursor."""

    start: int
    """The index of its `@`."""
    path: str
    lines: str = ""
    """`:10-20` as far as it has been typed."""


def mentions_in(text: str) -> list[MentionedPath]:
    """Return the mentions in a message, each once, in order."""
    found: dict[MentionedPath, None] = {}

    def add(mention: MentionedPath, written: str) -> None:
        found.setdefault(replace(mention, written=written), None)

    for match in _MENTION.finditer(text):
        if match["quoted"]:
            after = match["after"] or ""
            add(_with_lines(match["quoted"], after, ""), match["quoted"] + after)
            continue
        whole = match["plain"]
        path, lines = split_lines(whole)
        shorter, shorter_lines = split_lines(whole.rstrip(TRAILING))
        if shorter_lines and not lines:  # "see @a.py:10-20."
            path, lines = shorter, shorter_lines
        if path:
            add(_with_lines(path, lines, shorter if shorter != path else ""), whole)
    return list(found)


def mention_before(before: str) -> OpenMention | None:
    """Return the mention at the end of a line's text before the cursor; None if there is none."""
    match = _OPEN.search(before)
    if match is None:
        return None
    if match["quoted"] is not None:
        return OpenMention(match.start(), match["quoted"])
    return OpenMention(match.start(), *split_lines(match["plain"]))


def split_lines(text: str) -> tuple[str, str]:
    """Return a path and the lines after it: `a.py:10-20` as `a.py` and `:10-20`."""
    match = _LINES.search(text)
    return (text[: match.start()], match[0]) if match and match.start() else (text, "")


def written_mention(path: str, lines: str = "") -> str:
    """Return the mention of a path, in quotes if it needs them. The path must hold no quotation mark."""
    needs_quotes = any(character.isspace() for character in path) or split_lines(path)[1]
    return f'@"{path}"{lines}' if needs_quotes else f"@{path}{lines}"


def _with_lines(path: str, lines: str, shorter: str) -> MentionedPath:
    match = _LINES.search(lines)
    if match is None:
        return MentionedPath(path, shorter=shorter)
    first = max(int(match["first"]), 1)
    last = int(match["last"]) if match["last"] else None
    return MentionedPath(path, first, None if last is None else max(last, first), shorter)
