"""Here-documents, checked beside the parser: where they really end, and what in them runs."""

from __future__ import annotations

import re
from collections.abc import Sequence

_BACKQUOTED = re.compile(r"(?<!\\)`((?:\\.|[^`\\])*)`", re.DOTALL)
_EXPANSION = re.compile(r"(?<!\\)\$[({\[]")
_UNCLEAR = "the end of a here-document in it is not clear"


def end_fault(written: str, body: str, end: str, behind: str, *, strips: bool) -> str:
    """Why bash may see the document end elsewhere than the parser; nothing when it does not. `written` is the
    word after `<<`, `end` the line that closes it, `behind` the character after that."""
    delimiter = re.sub(r"\\(.)|['\"]", r"\1", written)
    lines = [line.lstrip("\t") if strips else line for line in body.split("\n")]
    closes = end.lstrip("\t") if strips else end
    if delimiter in lines or closes != delimiter or re.search(r"[$`\n]", written) or behind not in ("", "\n"):
        return _UNCLEAR
    continued = re.search(r"\\\n", body) if not re.search(r"['\"\\]", written) else None
    return _UNCLEAR if continued and delimiter in body.replace("\\\n", "").split("\n") else ""


def scripts_in(body: str) -> list[str]:
    """What stands in backquotes in a document whose word was not quoted: bash runs it."""
    return [re.sub(r"\\([$`\\])", r"\1", found) for found in _BACKQUOTED.findall(body)]


def hidden_fault(body: str, seen: Sequence[str]) -> str:
    """Whether the document holds an expansion that is not in one of those that the parser has `seen`."""
    found = sum(len(_EXPANSION.findall(one)) for one in seen)
    return "a here-document in it is not clear" if len(_EXPANSION.findall(body)) > found else ""
