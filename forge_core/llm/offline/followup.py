"""Answers to the model's own questions: "all", "line 12", "2", "again", the content of a new file."""

from __future__ import annotations

import re

from forge_core.llm.offline import phrases
from forge_core.llm.offline.intents import Intent
from forge_core.llm.offline.memory import Memory, as_place
from forge_core.llm.offline.parse import Request, parse
from forge_core.llm.offline.wording import mask

_CONTENT_ASKED = re.compile(re.escape(phrases.WHAT_CONTENT).replace(r"\{path\}", "(?P<path>[^`]+)"))
_ASKS_WHICH = phrases.WHICH_ONE.split("?")[0] + "? Answer"
_FOLLOW_UPS = (Intent.PICK, Intent.AGAIN, Intent.ACK, Intent.MORE)


def resolve(text: str, memory: Memory) -> tuple[Request, ...]:
    """The requests in `text`, with follow-ups replaced by what they stand for."""
    requests = parse(text)
    if len(requests) != 1 or not memory.exchanges:
        return requests
    request, before = requests[0], memory.exchanges[-1]
    asked = _CONTENT_ASKED.search(before.answer)
    if asked and _is_content(request, text):
        return (_creation(asked["path"], text, before.request),)
    if request.intent is Intent.AGAIN:
        return _repeated(memory) or requests
    if request.intent is Intent.PICK:
        return _picked(request, memory) or requests
    return requests


def _is_content(request: Request, text: str) -> bool:
    """Whether an answer to "what should be in it?" is the content and not a new request."""
    is_request = request.intent not in (Intent.UNKNOWN, Intent.BEYOND)
    return not is_request or "```" in text or text[:1] in "\"'`“‘"


def _creation(path: str, text: str, earlier: str) -> Request:
    masked = mask(text)
    content = masked.quoted[0] if len(masked.quoted) == 1 and len(masked.text) < 80 else text
    return Request(Intent.CREATE, {"file": path, "content": content}, earlier)


def _repeated(memory: Memory) -> tuple[Request, ...]:
    """The latest requests that were no follow-ups themselves."""
    for exchange in reversed(memory.exchanges):
        requests = parse(exchange.request)
        if not all(request.intent in _FOLLOW_UPS for request in requests):
            return requests
    return ()


def _picked(request: Request, memory: Memory) -> tuple[Request, ...]:
    before = memory.exchanges[-1]
    if _ASKS_WHICH in before.answer:
        return _narrowed(request, memory)
    item = memory.item(request.get("nth") or request.get("n"))
    if item is None:
        return ()
    place = as_place(item)
    if place is None:
        return parse(item)
    position = request.get("nth") or request.get("n")
    return (Request(Intent.READ, {"nth": position}, request.text),)


def _narrowed(request: Request, memory: Memory) -> tuple[Request, ...]:
    """The edit that was asked about, now with "all" or a line."""
    edits = [item for item in _repeated(memory) if item.intent in (Intent.REPLACE, Intent.DELETE_LINE)]
    if not edits:
        return ()
    edit = edits[-1]
    if request.get("all"):
        return (Request(edit.intent, {**edit.args, "all": "all"}, edit.text),)
    line = request.get("a")
    if not line:
        item = memory.item(request.get("nth") or request.get("n"))
        place = as_place(item) if item else None
        line = str(place.line) if place and place.line else request.get("n")
    return (Request(edit.intent, {**edit.args, "line": line}, edit.text),) if line else ()
