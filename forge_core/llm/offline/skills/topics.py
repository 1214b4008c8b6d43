"""Questions that only a reader of the code could answer: the places to look at, found by their names."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from forge_core.llm.offline import phrases
from forge_core.llm.offline.memory import Memory
from forge_core.llm.offline.parse import Request
from forge_core.llm.offline.skills.search import SearchError, grep, list_hits, literal, ranked
from forge_core.llm.offline.steps import Skill, say
from forge_core.llm.offline.tool_text import Hit
from forge_core.llm.offline.vocabulary import FILLER

_HEAD = "I can't explain it in words of my own (rules, no AI), but I can show where to look."
_DEFINES = "def|class|func|function|fn|struct|enum|trait|interface|type|const"
_NAME = re.compile(rf"\b(?:{_DEFINES})\s+(\w+)")


def topic(request: Request, memory: Memory) -> Skill:
    """Definitions whose names speak of the topic; else the lines that mention it."""
    words = keywords(request.get("topic"))
    if not words:
        return phrases.not_understood(request.text, ("explain this project", "list the files", "help"))
    told = phrases.one_of([phrases.code(word) for word in words])
    either = "|".join(literal(stem) for stem in words.values())
    try:
        hits = yield from grep(rf"\b({_DEFINES})\s+\w*({either})", {}, ignore_case=True)
        if hits:
            listing = list_hits(_by_relevance(hits, words.values()))
            return f"{_HEAD} Definitions whose names speak of {told}:\n\n{listing}\n\n`read 1` shows one."
        yield from say(f"No definition is named for {told}; looking for mentions.")
        hits = yield from grep(either, {}, ignore_case=True)
    except SearchError as problem:
        return phrases.failed("The search failed", str(problem))
    if not hits:
        return f"Nothing in this folder speaks of {told}."
    return f"{_HEAD} These lines mention {told}:\n\n{list_hits(_by_relevance(hits, words.values()))}"


def keywords(text: str) -> dict[str, str]:
    """The words of a question that may stand in names, each with its stem: "redirects" → "redirect"."""
    found: dict[str, str] = {}
    for word in re.findall(r"[^\W\d]\w*", text.lower()):
        stem = re.sub(r"(?<=[a-z]{3})(?:ies|es|s|ing|ed)$", "", word)
        if word not in FILLER and len(stem) > 2 and stem not in found.values():
            found[word] = stem
    return dict(list(found.items())[:4])


def _by_relevance(hits: Sequence[Hit], stems: Collection[str]) -> list[Hit]:
    """Sources first, and in them the names that hold the most of the stems."""

    def matches(hit: Hit) -> int:
        named = _NAME.search(hit.text)
        name = (named[1] if named else hit.text).lower()
        return sum(stem in name for stem in stems)

    return ranked(sorted(hits, key=lambda hit: -matches(hit)))
