"""JSON as people write it in configuration files, with comments and trailing commas: parsed, and edited in
place, so that everything else in the file stays as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_COMMENT = re.compile(r'"(?:[^"\\]|\\.?)*+"?|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_TRAILING_COMMA = re.compile(r'"(?:[^"\\]|\\.?)*+"?|,(?=\s*[}\]])', re.DOTALL)
"""Both also match texts, in which neither comments nor commas mean anything. A text may lack its end: if each
of its quotation marks were tried as a start, the time would be quadratic."""
_BLANK = re.compile(r"[ \t\r\n]*")


def parse(text: str) -> Any:
    """Return the value of a text. Raises ValueError."""
    try:
        try:
            return json.loads(text)  # 20 times as fast
        except ValueError:
            return json.loads(_plain(text))
    except json.JSONDecodeError as error:
        if _without_comments(text).lstrip().startswith('"') and error.msg == "Extra data":
            raise ValueError("it is only a part of a JSON object: put { before it and } after it") from error
        reason = error.msg[:1].lower() + error.msg[1:]
        raise ValueError(f"line {error.lineno}, column {error.colno} is not JSON: {reason}") from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def with_member(text: str, path: Sequence[str], name: str, value: Any) -> str:
    """Return the text with one more member, the last, in the object that `path` leads to, in the style of
    those before it. The object must exist, and have no member of the name."""
    found = _object_at(text, path)
    line_end = "\r\n" if "\r\n" in text else "\n"
    place = len(text[: found.end - 1].rstrip())
    if not found.members:
        outer = _indentation(text, found.start)
        lead = outer + ("\t" if "\t" in outer else " " * (len(outer) // len(path) if outer else 2))
        member = _member(name, value, lead, len(path) + 1, line_end)
        rest = text[place : found.end - 1]
        closing = rest if "\n" in rest else line_end + outer
        return text[:place] + line_end + lead + member + closing + text[found.end - 1 :]
    last = found.members[-1]
    comma = "" if "," in _without_comments(text)[last.end : found.end] else ","
    if "\n" not in text[found.start : found.end]:
        member = f"{json.dumps(name)}: {_dumped(value)}"
        return f"{text[: last.end]}{comma}{text[last.end : place]} {member}{text[place:]}"
    lead = _indentation(text, found.members[0].start)
    member = _member(name, value, lead, len(path) + 1, line_end)
    return text[: last.end] + comma + text[last.end : place] + line_end + lead + member + text[place:]


def without_member(text: str, path: Sequence[str], name: str) -> str:
    """Return the text without the member of this name, of which there must be one, in the object that `path`
    leads to. Comments stay."""
    found = _object_at(text, path)
    at = next(index for index, one in enumerate(found.members) if one.name == name)
    member, bare = found.members[at], _without_comments(text)
    comma = bare.find(",", member.end, found.end)
    start, end = member.start, (member.end if comma < 0 else comma + 1)
    line_start, line_end = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    if line_end >= 0 and not (text[line_start:start] + text[end:line_end]).strip():
        start, end = line_start, line_end + 1  # nothing else is in its lines
    text = text[:start] + text[end:]
    if comma < 0 and at:
        before = bare.index(",", found.members[at - 1].end)
        text = text[:before] + text[before + 1 :]
    names = [one.name for one in found.members]
    return without_member(text, path, name) if names.count(name) > 1 else text


@dataclass(frozen=True, slots=True)
class _Member:
    name: str
    start: int
    """Of its name."""
    value: int
    """Where its value starts."""
    end: int


@dataclass(frozen=True, slots=True)
class _Object:
    start: int
    end: int
    members: Sequence[_Member]


def _object_at(text: str, path: Sequence[str]) -> _Object:
    """Return where an object is. As in `parse`, the last member of a name counts."""
    plain = _plain(text)
    found = _read_object(plain, _blank_end(plain, 0))
    for name in path:
        found = _read_object(plain, {one.name: one.value for one in found.members}[name])
    return found


def _read_object(plain: str, start: int) -> _Object:
    decoder, members = json.JSONDecoder(), []
    at = _blank_end(plain, start + 1)
    while plain[at] != "}":
        name, colon = decoder.raw_decode(plain, at)
        value = _blank_end(plain, _blank_end(plain, colon) + 1)
        _, end = decoder.raw_decode(plain, value)
        members.append(_Member(name, at, value, end))
        at = _blank_end(plain, end)
        at = _blank_end(plain, at + 1) if plain[at] == "," else at
    return _Object(start, at + 1, members)


def _blank_end(text: str, at: int) -> int:
    blank = _BLANK.match(text, at)
    return at if blank is None else blank.end()


def _member(name: str, value: Any, lead: str, depth: int, line_end: str) -> str:
    unit: str | int = "\t" if "\t" in lead else max(len(lead) // depth, 2)
    lines = _dumped(value, unit).split("\n")
    return f"{json.dumps(name)}: " + (line_end + lead).join(lines)


def _dumped(value: Any, unit: str | int | None = None) -> str:
    text = json.dumps(value, indent=unit, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # an argument or a path need not be valid Unicode
        return json.dumps(value, indent=unit)
    return text


def _indentation(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip())]


def _plain(text: str) -> str:
    """Return the text as JSON of the same length."""
    return _TRAILING_COMMA.sub(lambda found: " " if found[0] == "," else found[0], _without_comments(text))


def _without_comments(text: str) -> str:
    """Return the text with blanks in the place of comments."""
    return _COMMENT.sub(
        lambda found: found[0] if found[0][0] == '"' else re.sub(r"[^\r\n]", " ", found[0]), text
    )
