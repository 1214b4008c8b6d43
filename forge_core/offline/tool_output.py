"""Parses the output of tools: numbered lines, search hits, paths, exit codes. Tolerant: layouts differ."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NUMBERED = re.compile(r"^ {0,10}(\d{1,9})(?:\t| ?[→│|] ?|: ?)(.*)$")
_HIT = re.compile(r"^(?P<path>(?:[A-Za-z]:)?[^:\n]{1,400}?):(?P<line>\d{1,9}):(?P<text>.*)$")
_HEADED = re.compile(r"^\s{0,8}(?P<line>\d{1,9})[:\t→|] ?(?P<text>.*)$")
_COUNT = re.compile(r"^(?P<path>\S.*?):\s?(?P<count>\d+)$")
_NOTE = re.compile(
    r"^\s*(?:[(\[<…]|no (?:files?|match|result)|found \d|\d+ (?:more|files?|match|result)|\.\.\.|error\b"
    r"|note:|showing|results? )"
    r"|\bmore (?:files?|results?|match)|:$",
    re.I,
)
_EXIT = re.compile(
    r"(?:exit(?:ed)?(?: with)?(?:[ _-]?(?:code|status))?|return(?:ed)?[ _-]?code|status)[\s:=]*(-?\d{1,3})\b",
    re.I,
)
_TOTAL = re.compile(r"^\[.*?\bof ([\d,]+)\b|^\[([\d,]+) lines?\b")
_EMPTY = re.compile(r"^\(.* (?:is )?empty\)$")
_CONTINUED = re.compile(r"^ {0,10}\u21aa\t(.*)$")
_NEXT = re.compile(r"^\s*(?:\.\.\.|\[|\()")
_TREE_MARKS = re.compile(r"[│├└─]+|[|`]--")


@dataclass(frozen=True, slots=True)
class Hit:
    """One line that a search found."""

    path: str
    line: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class Numbered:
    """One line of a file."""

    number: int
    text: str


def numbered_lines(output: str) -> list[Numbered]:
    """Return the file lines in a read result. Without numbers the lines are counted from 1."""
    if _EMPTY.match(output.strip()):
        return []
    found: list[Numbered] = []
    for line in output.split("\n"):
        mark = _NUMBERED.match(line)
        rest = _CONTINUED.match(line)
        if mark and (not found or int(mark[1]) == found[-1].number + 1):
            found.append(Numbered(int(mark[1]), mark[2].rstrip("\r")))
        elif rest and found:
            found[-1] = Numbered(found[-1].number, found[-1].text + rest[1])
    if found:
        return found
    lines = output.rstrip("\n").split("\n") if output else []
    return [Numbered(number, line.rstrip("\r")) for number, line in enumerate(lines, 1)]


def stated_total(output: str) -> int | None:
    """Return how many lines or matches there are in all, where a note at the end states it."""
    last = output.rstrip().rsplit("\n", 1)[-1]
    found = _TOTAL.match(last)
    return int((found[1] or found[2]).replace(",", "")) if found else None


def grep_hits(output: str) -> list[Hit]:
    """Return the hits of a search, as `path:line:text` or as lines under their file's name."""
    found: list[Hit] = []
    heading = ""
    for line in output.replace("\r\n", "\n").split("\n"):
        hit = _HIT.match(line)
        headed = _HEADED.match(line)
        if headed and heading:
            found.append(Hit(heading, int(headed["line"]), headed["text"]))
        elif hit and not hit["path"].startswith((" ", "\t")):
            found.append(Hit(clean_path(hit["path"]), int(hit["line"]), hit["text"]))
        elif line.strip() and not line.startswith((" ", "\t", "-")) and " " not in line.strip():
            heading = clean_path(line.strip().rstrip(":"))
    return found


def paths(output: str) -> list[str]:
    """Return the paths of a listing, one a line, without notes."""
    found = []
    for line in map(str.strip, output.split("\n")):
        if line and not _NOTE.search(line):
            count = _COUNT.match(line)
            found.append(clean_path(count["path"] if count else line))
    return found


def tree_paths(output: str) -> list[str]:
    """Return the paths in a tree listing, relative to its root, folders with a slash at their end."""
    rows = [(len(line) - len(line.lstrip()), line.strip()) for line in _plain_tree(output)]
    if rows and rows[0][0] == 0 and rows[0][1].endswith("/") and all(indent for indent, _ in rows[1:]):
        rows = rows[1:]  # the first row names the folder itself
    found: list[str] = []
    above: list[tuple[int, str]] = []  # the open folders: indent and path, each deeper than the one before
    for indent, label in rows:
        while above and above[-1][0] >= indent:
            above.pop()
        name = re.sub(r" (?:\(ignored\)|-> .*)$", "", label)
        path = (above[-1][1] if above else "") + name
        if name.endswith("/"):
            above.append((indent, path))
        found.append(path)
    return found


def _plain_tree(output: str) -> list[str]:
    """Return the rows of a tree, its lines drawn with spaces; notes are left out."""
    rows = (_TREE_MARKS.sub(lambda mark: " " * len(mark[0]), line.rstrip()) for line in output.split("\n"))
    return [row for row in rows if row.strip() and not _NEXT.match(row)]


def exit_code(output: str) -> int | None:
    """Return the exit code that a command's result states, None when it states none."""
    lines = output.strip().split("\n")
    for line in (*lines[:2], *reversed(lines[-3:])):
        found = _EXIT.search(line) if len(line) < 200 else None
        if found:
            return int(found[1])
    return None


def clean_path(path: str) -> str:
    """Remove a leading `./`."""
    path = path.strip()
    return path[2:] if path.startswith("./") and len(path) > 2 else path


def has_nothing(output: str) -> bool:
    """Return whether a search reports that it found nothing."""
    head = output.strip()[:200].lower()
    return not head or bool(
        re.match(r"(?:\(?no (?:files?|match|result|hit|line|such)|nothing|0 (?:match|result|file))", head)
    )
