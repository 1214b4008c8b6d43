"""Answers to the model's own questions: "all", "line 12", "2", "again", the content of a new file."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from forge_core.offline import phrases
from forge_core.offline.intents import IT, Intent, Request
from forge_core.offline.parse import mask, parse
from forge_core.offline.references import Memory, as_location

_CONTENT_ASKED = re.compile(re.escape(phrases.WHAT_CONTENT).replace(r"\{path\}", "(?P<path>[^`]+)"))
_ASKS_WHICH = phrases.WHICH_ONE.split("?")[0] + "? Answer"
_GOES_ON = re.compile(r"(?:continue|go on|go ahead|proceed|carry on|resume|keep going)", re.I)
_ELSEWHERE = re.compile(
    r"(?:(?:and|also|only|just|but|then|ok|now|same|the same|what about|how about) )+"
    r"(?P<place>(?:only |just )?(?:in|under|inside|for) )?(?:the )?([\w./*-]+)"
    r"(?: (?:folder|file|directory|too|as well))*"
)
_LOOSE = (Intent.UNKNOWN, Intent.READ, Intent.DEFINITION, Intent.FIND_FILES, Intent.LIST)
_MOVABLE = (
    Intent.TEXT, Intent.USAGES, Intent.DEFINITION, Intent.EXPLAIN_SYMBOL, Intent.EXPLAIN, Intent.MEASURE,
    Intent.LIST, Intent.READ, Intent.LOG, Intent.DIFF
)  # fmt: skip
_FOLLOW_UPS = (Intent.PICK, Intent.AGAIN, Intent.ACK, Intent.MORE)


def resolve(text: str, memory: Memory) -> tuple[Request, ...]:
    """Return the requests in `text`, with follow-ups replaced by the requests that they mean."""
    requests = parse(text)
    if len(requests) != 1 or not memory.turns:
        return requests
    request, before = requests[0], memory.turns[-1]
    asked = _CONTENT_ASKED.search(before.answer)
    if asked and _is_content(request, text):
        return (_creation(asked["path"], text, before.request),)
    if request.intent is Intent.AGAIN and "Say `more`" in before.answer and _GOES_ON.match(request.text):
        return (Request(Intent.MORE, {}, request.text),)
    if request.intent is Intent.AGAIN:
        return _repeated(memory) or requests
    elsewhere = _ELSEWHERE.fullmatch(text.strip().lower().rstrip("?!. "))
    if elsewhere and request.intent in _LOOSE:
        return _moved(elsewhere[2], bool(elsewhere["place"]), memory) or requests
    if request.intent is Intent.PICK or (request.intent is Intent.READ and request.get("nth")):
        return _picked(request, memory) or requests
    return requests


def _is_content(request: Request, text: str) -> bool:
    """Return whether an answer to "what should be in it?" is the content and not a new request."""
    is_request = request.intent not in (Intent.UNKNOWN, Intent.BEYOND)
    return not is_request or "```" in text or text[:1] in "\"'`“‘"


def _creation(path: str, text: str, earlier: str) -> Request:
    masked = mask(text)
    content = masked.quoted[0] if len(masked.quoted) == 1 and len(masked.text) < 80 else text
    return Request(Intent.CREATE, {"file": path, "content": content}, earlier)


def _moved(target: str, is_place: bool, memory: Memory) -> tuple[Request, ...]:
    """Return the last request once more, for another folder, file or name."""
    last = next(iter(_repeated(memory)), None)
    if last is None or last.intent not in _MOVABLE:
        return ()
    what = next((key for key in ("name", "text", "file") if last.get(key)), "path")
    if is_place and last.intent is not Intent.READ:
        what = "path"
    return (last.with_args(**{what: target}),)


def _repeated(memory: Memory) -> tuple[Request, ...]:
    """Return the latest requests that were no follow-ups themselves."""
    for turn in reversed(memory.turns):
        requests = parse(turn.request)
        if not all(request.intent in _FOLLOW_UPS for request in requests):
            return requests
    return ()


def _picked(request: Request, memory: Memory) -> tuple[Request, ...]:
    before = memory.turns[-1]
    if _ASKS_WHICH in before.answer:
        return _narrowed(request, memory)
    item = memory.item(request.get("nth") or request.get("n"))
    if item is None:
        return ()
    if re.fullmatch(r"[0-9a-f]{7,40}", item):
        return (Request(Intent.RUN, {"command": f"git show --stat {item}"}, request.text),)
    if as_location(item) is None:
        return parse(item)
    position = request.get("nth") or request.get("n")
    return (Request(Intent.READ, {**request.args, "nth": position}, request.text),)


def about(request: Request, memory: Memory) -> Request:
    """Return the request with "it" replaced by the name or the file that was mentioned last."""
    if request.get("name") != IT:
        return request
    for turn in reversed(memory.turns):
        for earlier in reversed(parse(turn.request)):
            name, file = earlier.get("name") or earlier.get("text"), earlier.get("file")
            if name != IT and re.fullmatch(r"[\w.:]+", name):
                return request.with_args(name=name)
            if file and file != IT and request.intent is not Intent.USAGES:
                return Request(Intent.EXPLAIN, {"file": file}, request.text)
            if file and file != IT:
                module = PurePosixPath(file).stem
                return request.with_args(name=module)
    is_what = request.intent is Intent.EXPLAIN_SYMBOL
    return Request(Intent.OVERVIEW if is_what else Intent.UNKNOWN, {}, request.text)


def _narrowed(request: Request, memory: Memory) -> tuple[Request, ...]:
    """Return the edit that was asked about, now with "all" or a line."""
    edits = [item for item in _repeated(memory) if item.intent in (Intent.REPLACE, Intent.DELETE_LINE)]
    if not edits:
        return ()
    edit = edits[-1]
    if request.get("all"):
        return (edit.with_args(all="all"),)
    line = request.get("a")
    if not line:
        item = memory.item(request.get("nth") or request.get("n"))
        location = as_location(item) if item else None
        line = str(location.line) if location and location.line else request.get("n")
    return (edit.with_args(line=line),) if line else ()
