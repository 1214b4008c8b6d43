"""What a person asked for, as intents with arguments. Pure: text in, requests out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from forge_core.offline.intents import Intent, argument_name, compiled
from forge_core.offline.vocabulary import (
    CODE_ENDINGS,
    ENDINGS,
    NO_NAMES,
    NOUNS,
    NOWHERE,
    PRONOUNS,
    SPOKEN_OF,
    VERBS,
)
from forge_core.offline.wording import CLOSE, OPEN, Masked, halves, mask, mend, plain, spelt_out, steps

IT = "@it"
"""Stands in an argument for "it", "that file", …: what the conversation was about last."""

_MAX_ASKED = 1_500
"""What is left to match once quoted text is set aside."""
_MAX_PARSED_STEPS = 20
_COMMAND = re.compile(r"^\s*(?:\$|!)\s*(\S.*)$", re.DOTALL)
_PLAN = re.compile(
    r"\s*(?:please\s+)?(?:(?:make|write|set up|keep|create|note)\s+)?(?:(?:a|the|my|this|our)\s+)?"
    r"(?:plan|to-?dos?(?:\s+list)?|task list|tasks)\s*:\s*(?P<content>.+)",
    re.I | re.DOTALL,
)
_ASK_ME = re.compile(
    r"\s*(?:please\s+)?ask me\s+(?:(?P<kind>whether|if|which|what)\s+)(?P<text>\S.*)", re.I | re.DOTALL
)
_TALK = (Intent.ACK, Intent.GREET, Intent.THANKS, Intent.BYE)
_LISTS = (Intent.READ, Intent.EXPLAIN, Intent.FIND_FILES)
_ANOTHER_FILE = re.compile(r"\s*[\w./-]+\.\w+ (?:with|containing)\b", re.I)
_ATTRIBUTE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+(?:\(\))?")
_FILE_LIKE = re.compile(
    r"[./*\\]|^(?:README|LICEN[CS]E|CHANGELOG|Makefile|Dockerfile|Procfile|Gemfile|Rakefile|Justfile|NOTICE)$",
    re.I,
)
_WHOLE = ("content", "new", "old", "text", "command", "purpose")
"""Arguments whose spaces and marks are kept as typed."""


@dataclass(frozen=True, slots=True)
class Request:
    """One thing to do."""

    intent: Intent
    args: Mapping[str, str] = field(default_factory=dict)
    text: str = ""
    """The step as it was typed."""

    def get(self, name: str) -> str:
        """An argument, or "" when it was not given."""
        return self.args.get(name, "")

    def number(self, name: str) -> int | None:
        """An argument that is a number."""
        value = self.args.get(name, "")
        return int(value) if value.isdecimal() else None


def parse(text: str) -> tuple[Request, ...]:
    """The requests in `text`, in order. At least one; what is not understood has Intent.UNKNOWN."""
    text = text.strip()
    command = _COMMAND.match(text)
    if command and "\n" not in text:
        return (Request(Intent.RUN, {"command": command[1].strip()}, text),)
    undivided = _whole_request(text)
    if undivided is not None:
        return (Request(undivided[0], undivided[1], text),)
    masked = mask(text)
    asked = re.sub(r"[ \t]+", " ", masked.text)[:_MAX_ASKED]
    parts = [spelt_out(step) for step in steps(asked)[:_MAX_PARSED_STEPS]]
    found = [request for part in parts for request in _parse_step(masked, part)]
    if any(request.intent is Intent.UNKNOWN for request in found):
        whole = _match(masked, plain(asked.replace("\n", " ")))
        if whole is not None:
            return (whole,)
        loose = {masked.fill_typed(part).strip(): _match(masked, plain(part), last=True) for part in parts}
        found = [loose.get(one.text) or one if one.intent is Intent.UNKNOWN else one for one in found]
        if all(request.intent is Intent.UNKNOWN for request in found):
            found = []
    return tuple(found) or (Request(Intent.UNKNOWN, {}, text),)


def _whole_request(text: str) -> tuple[Intent, Mapping[str, str]] | None:
    """What a message asks for that is one request to its end, whatever commas and "then" stand in it."""
    if plan := _PLAN.fullmatch(text):
        return Intent.PLAN, {"content": plan["content"].strip()}
    if asked := _ASK_ME.fullmatch(text):
        return Intent.ASK_ME, {"kind": (asked["kind"] or "").lower(), "text": asked["text"].strip(" .?!")}
    return None


def _parse_step(masked: Masked, step: str) -> list[Request]:
    """One step, or two when it reads as "this and that"."""
    exact = _match(masked, step.strip().rstrip("?!. "))
    if exact is not None and exact.intent in (*_TALK, Intent.MORE):
        return [exact]
    for first, second in halves(step):
        left, right = _match(masked, plain(first)), _parse_rest(masked, second)
        if left is not None and left.intent is Intent.CREATE and not right:
            right = _parse_rest(masked, f"create {second}") if _ANOTHER_FILE.match(second) else []
        if left is not None and left.intent in _LISTS and not right:
            other = _match(masked, f"{plain(first).split(' ')[0]} {plain(second)}")  # "read a.md and b.md"
            right = [other] if other is not None and other.intent is left.intent else []
        if left and right and left.intent is not Intent.BEYOND and not _is_open_ended(left, first):
            return right if left.intent in _TALK else [left, *right]
    ways = (plain(step), mend(plain(step), VERBS, NOUNS))
    request = next((found for way in ways if (found := _match(masked, way))), None)
    return [request or Request(Intent.UNKNOWN, {}, masked.fill_typed(step).strip())]


def _parse_rest(masked: Masked, text: str) -> list[Request]:
    """The second half, itself maybe two; empty when any part of it is not a request of its own."""
    whole = _match(masked, plain(text))
    for first, second in halves(text):
        left, right = _match(masked, plain(first)), _match(masked, plain(second))
        if left and right and _starts_anew(first) and _starts_anew(second):
            return [left, right]
    if whole is None or whole.intent is Intent.BEYOND or not _starts_anew(text):
        return []
    return [whole]


def _starts_anew(text: str) -> bool:
    """Whether a half begins like a request (a verb, a question), not like the rest of a list."""
    words = plain(text).lower().split(" ")
    return words[0] in VERBS or words[0] in (
        "cat",
        "tell",
        "git",
        "look",
        "go",
        "who",
        "how",
        "give",
        "rm",
        "mv",
    )


def _is_open_ended(request: Request, text: str) -> bool:
    """Whether cutting here would tear quotes-less content apart ("create x.md with salt and show pepper")."""
    return request.intent is Intent.CREATE and "content" in request.args and OPEN not in text


@lru_cache(maxsize=256)
def _match(masked: Masked, text: str, *, last: bool = False) -> Request | None:
    """The first row of the table that fits the whole text."""
    if not text:
        return None
    for intent, pattern in compiled(last=last):
        found = pattern.fullmatch(text)
        if found:
            given = {
                argument_name(name): said for name, said in found.groupdict().items() if said is not None
            }
            args = {name: _argument(masked, name, said) for name, said in given.items()}
            if _is_sound(intent, args):
                kept = {name: value for name, value in args.items() if value or name == "new"}
                return Request(intent, kept, masked.fill_typed(text))
    return None


def _argument(masked: Masked, name: str, value: str) -> str:
    quoted = value.startswith(OPEN) and value.endswith(CLOSE) and value.count(OPEN) == 1
    if name in ("purpose", "command") and not quoted:
        return masked.fill_typed(value).strip()
    value = masked.fill(value)
    if quoted:
        return value
    if name in _WHOLE:
        return value.strip()
    value = value.strip().removeprefix("@").rstrip(",;:!?")
    if name in ("file", "path", "other"):
        return _place(name, value)
    if name == "name":
        return IT if value.lower() in SPOKEN_OF else value.removesuffix("()")
    return value


def _place(name: str, value: str) -> str:
    """A path as typed; IT for a pronoun; "" where it means the whole folder."""
    if value.lower() in PRONOUNS:
        return IT
    if name == "path" and value.lower() in NOWHERE:
        return ""
    if value.endswith(".") and value.strip("./"):
        value = value.rstrip(".")
    return value


def _is_sound(intent: Intent, args: Mapping[str, str]) -> bool:
    """Whether the arguments can be what the pattern took them for."""
    ending = args.get("name", "").rpartition(".")
    if ending[0] and ending[2].lower() in CODE_ENDINGS:
        return False  # a file, not a name in one
    if args.get("name", "x").lower() in NO_NAMES or ("name" in args and not args["name"].strip()):
        return False
    if intent is Intent.REPLACE:
        return bool(args.get("old"))
    file = args.get("file", "")
    path = args.get("path", "")
    if intent is Intent.LIST and re.search(r"\w\.\w+$", path):
        return False
    if _ATTRIBUTE.fullmatch(file) and file.rsplit(".", 1)[-1].lower() not in ENDINGS:
        return intent not in (Intent.READ, Intent.EXPLAIN, Intent.FIND_FILES)
    if "\n" in file or (" " in file and not _FILE_LIKE.search(file)):
        return False
    if intent is Intent.FIND_FILES and file:
        return bool(_FILE_LIKE.search(file)) and " " not in file
    if intent in (Intent.READ, Intent.EXPLAIN, Intent.CREATE):
        return file.lower() not in NO_NAMES
    return True
