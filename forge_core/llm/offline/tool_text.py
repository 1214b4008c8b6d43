"""Reads what tools print: numbered lines, search hits, paths, exit codes. Tolerant: layouts differ between clients."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NUMBERED = re.compile(r"^ {0,10}(\d{1,9})(?:\t| ?[→│|] ?|: ?)(.*)$")
_HIT = re.compile(r"^(?P<path>(?:[A-Za-z]:)?[^:\n]{1,400}?):(?P<line>\d{1,9}):(?:\d{1,5}:(?=\s))? ?(?P<text>.*)$")
_HEADED = re.compile(r"^\s{0,8}(?P<line>\d{1,9})[:\t→|] ?(?P<text>.*)$")
_COUNT = re.compile(r"^(?P<path>\S.*?):\s?(?P<count>\d+)$")
_NOTE = re.compile(
    r"^\s*(?:[(\[<…]|no (?:files?|match|result)|found \d|\d+ (?:more|files?|match|result)|\.\.\.|error\b|note:|showing|results? )"
    r"|\bmore (?:files?|results?|match)|:$",
    re.I,
)
_EXIT = re.compile(
    r"(?:exit(?:ed)?(?: with)?(?:[ _-]?(?:code|status))?|return(?:ed)?[ _-]?code|status)[\s:=]*(-?\d{1,3})\b", re.I
)
_TOTAL = re.compile(r"\b(?:of|total:?)\s+(\d[\d,]*)(?: lines)?|(\d[\d,]*) lines (?:in|total)", re.I)
_TREE_MARKS = re.compile(r"[│├└─|`]+(?:\s|--\s?)?")


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
    """The file lines in a read result. Without numbers the lines are counted from 1."""
    found: list[Numbered] = []
    for line in output.split("\n"):
        mark = _NUMBERED.match(line)
        if mark and (not found or int(mark[1]) == found[-1].number + 1):
            found.append(Numbered(int(mark[1]), mark[2].rstrip("\r")))
    if found:
        return found
    return [Numbered(n, line.rstrip("\r")) for n, line in enumerate(output.rstrip("\n").split("\n"), 1)] if output else []


def total_lines(output: str) -> int | None:
    """The file's number of lines where the result tells it in its notes."""
    lines = output.rstrip().split("\n")
    for line in (*lines[-3:], *lines[:1]):
        told = None if _NUMBERED.match(line) else _TOTAL.search(line)
        if told:
            return int((told[1] or told[2]).replace(",", ""))
    return None


def grep_hits(output: str) -> list[Hit]:
    """The hits of a search, as `path:line:text` or as lines under their file's name."""
    found: list[Hit] = []
    heading = ""
    for line in output.split("\n"):
        line = line.rstrip("\r")
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
    """The paths of a listing, one a line, without notes."""
    found = []
    for line in output.split("\n"):
        line = line.strip()
        if line and not _NOTE.search(line):
            count = _COUNT.match(line)
            found.append(clean_path(count["path"] if count else line))
    return found


def tree_names(output: str) -> list[str]:
    """The names in a tree listing, directories with a slash at their end; nesting is dropped."""
    names = (_TREE_MARKS.sub("", line).strip() for line in output.split("\n"))
    return [name for name in names if name and not _NOTE.search(name) and " (" not in name[:2]]


def exit_code(output: str) -> int | None:
    """The exit code that a command's result tells, None when it tells none."""
    lines = output.strip().split("\n")
    for line in (*lines[:2], *reversed(lines[-3:])):
        told = _EXIT.search(line) if len(line) < 200 else None
        if told:
            return int(told[1])
    return None


def clean_path(path: str) -> str:
    """Without a leading `./`."""
    path = path.strip()
    return path[2:] if path.startswith("./") and len(path) > 2 else path


def has_nothing(output: str) -> bool:
    """Whether a search says that it found nothing."""
    head = output.strip()[:200].lower()
    return not head or bool(re.match(r"(?:\(?no (?:files?|match|result|hit|line|such)|nothing|0 (?:match|result|file))", head))
