"""Compaction: making a history shorter so that it fits the model's window again.

Without a model, old tool output, arguments, pictures and reasoning are left out (`elision`). If that is not
enough, a model summarises the older messages; the newest stay as they are. The pinned facts are checked
mechanically and added where the summary lacks them. When the model fails, it is given less, then the oldest
turns are removed.

Invariants of every result: a call and its results stay together, the user's last message stays, and the
history fits `Budget.limit`, unless what must stay is larger than that.
"""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from forge_core.context.elision import elided
from forge_core.context.pinned_facts import (
    REQUEST_CHARS,
    Fact,
    PinnedFacts,
    is_note,
    is_request,
    is_summary,
    note_message,
    squeezed,
    summary_message,
)
from forge_core.errors import (
    ContextLengthError,
    ForgeError,
    MalformedResponseError,
    ProviderError,
    ProviderTimeoutError,
)
from forge_core.events import CompactionMethod
from forge_core.llm.models import Message, MessageRole

KEPT_TOKENS = 20_000
"""The newest messages that stay as they are, at most."""
ENTRY_CHARS = (4_000, 600)
"""Characters of a message that the model is given to summarise, and when that has failed."""
_ENOUGH = 0.6
"""The share of the limit to which the history must shrink for no summary to be needed."""
_FACTS_SHARE = 0.3
"""The share of the limit that the pinned facts may take."""
_CHARS_PER_TOKEN = 3
_WORTH_A_SECOND_TRY = (ContextLengthError, ProviderTimeoutError, MalformedResponseError)


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """What a model is to summarise."""

    messages: Sequence[Message]
    previous: str
    """The summary of what came before these messages; empty if there is none."""
    focus: str
    """What the user wants the summary to keep above all; empty if they did not say."""
    entry_chars: int
    """Characters of one message that the model is given."""


Summarise: TypeAlias = Callable[[SummaryRequest], Awaitable[str]]
"""Returns a model's summary. May raise ForgeError."""


class Budget:
    """Tokens that a history may have. Each message is counted once."""

    def __init__(self, limit: int, count: Callable[[Message], int], kept: int = KEPT_TOKENS) -> None:
        self.limit = limit
        self.kept = min(kept, limit // 4)
        """What the newest messages that stay as they are may have."""
        self._count = count
        self._counted: dict[int, tuple[Message, int]] = {}

    def of(self, messages: Iterable[Message]) -> int:
        """Return the tokens of messages."""
        return sum(map(self._tokens, messages))

    def fits(self, messages: Iterable[Message]) -> bool:
        return self.of(messages) <= self.limit

    def _tokens(self, message: Message) -> int:
        found = self._counted.get(id(message))
        if found is None:  # the message is held, so that its id stays its own
            found = self._counted[id(message)] = message, self._count(message)
        return found[1]


@dataclass(frozen=True, slots=True)
class CompactedHistory:
    """A shorter history."""

    messages: list[Message]
    method: CompactionMethod
    replaced: int
    """Messages of the former history that are no longer in it as they were."""
    pinned: list[Fact] = field(default_factory=list)
    """All pinned facts; each is in `messages` or in the system message."""
    added: list[Fact] = field(default_factory=list)
    """Those that the summary lacked."""
    summary: str = ""
    failure: str = ""
    """Why there is no summary although one was needed; empty otherwise."""


def threshold(window: int, reserved: int) -> int:
    """Return the tokens at which a conversation is compacted: 85 % of the window, or what the longest answer
    leaves of it if that is less, but at least half of it."""
    return max(window // 2, min(window * 85 // 100, window - reserved))


def elide(history: Sequence[Message], facts: PinnedFacts, budget: Budget) -> CompactedHistory | None:
    """Shorten the older messages without a model; return None if that brings nothing."""
    old, kept = split(history, budget)
    short = elided(old)
    changed = sum(before is not after for before, after in zip(old, short, strict=True))
    result = _with_note(CompactedHistory([*short, *kept], "elided", changed), facts, len(old))
    return result if changed and budget.of(result.messages) < budget.of(history) else None


def drop(
    history: Sequence[Message], chosen: Sequence[Message], facts: PinnedFacts, budget: Budget
) -> CompactedHistory | None:
    """Leave out the long parts of the chosen messages without a model; return None if they have none."""
    names = {id(message) for message in chosen}
    pairs = zip(history, elided(history), strict=True)
    messages = [short if id(message) in names else message for message, short in pairs]
    changed = sum(before is not after for before, after in zip(history, messages, strict=True))
    if not changed:
        return None
    return _with_note(CompactedHistory(messages, "elided", changed), facts, len(split(history, budget)[0]))


async def compact(
    history: Sequence[Message],
    facts: PinnedFacts,
    budget: Budget,
    summarise: Summarise,
    *,
    focus: str = "",
    may_elide: bool = True,
) -> CompactedHistory | None:
    """Return a shorter history; None if there is nothing that could be made shorter.

    With `may_elide` no model is asked where leaving out old tool output is enough. When the model fails and
    the history fits nevertheless, the result may be the history itself, with the `failure`.
    """
    facts = fitted_facts(facts, budget)
    short = elide(history, facts, budget)
    if may_elide and short is not None and budget.of(short.messages) <= budget.limit * _ENOUGH:
        return short
    old, kept = _parts(history, budget)
    blank = summary_message("", facts, kept)[0]
    if budget.of(old) <= 2 * budget.of([blank]):  # a summary would bring nothing
        return _without_summary(history, short, facts, budget)
    summary, failure = await _summary(old, budget, summarise, focus)
    if failure:
        return _without_summary(history, short, facts, budget, failure)
    message, added = summary_message(summary, facts, kept)
    result = CompactedHistory([message, *kept], "summarised", len(old), facts.facts(), added, summary=summary)
    return result if budget.fits(result.messages) else _shrunk(result, facts, budget)


async def compact_from(
    history: Sequence[Message],
    start: int,
    facts: PinnedFacts,
    budget: Budget,
    summarise: Summarise,
    *,
    focus: str = "",
) -> CompactedHistory | None:
    """Return the history with a summary in place of the messages from index `start` on, where a message of
    the user is; None if a summary would not be shorter.

    The messages before it stay as they are. The user's last message is among the replaced ones: it has been
    answered, so its beginning becomes one of the pinned facts. When the model fails, the result is the
    history itself, with the `failure`.
    """
    last = squeezed(facts.last_message)[:REQUEST_CHARS]
    facts = replace(facts, requests=(*facts.requests, *filter(None, [last])), last_message="")
    facts = fitted_facts(facts, budget)
    kept = [*history[:start]]
    old = [message for message in history[start:] if not is_note(message)]
    blank = summary_message("", facts, kept)[0]
    if budget.of(old) <= 2 * budget.of([blank]):
        return None
    summary, failure = await _summary(old, budget, summarise, focus)
    if failure:
        return CompactedHistory([*history], "summarised", 0, failure=failure)
    message, added = summary_message(summary, facts, kept)
    return CompactedHistory(
        [*kept, message], "summarised", len(history) - start, facts.facts(), added, summary=summary
    )


def split(history: Sequence[Message], budget: Budget) -> tuple[list[Message], list[Message]]:
    """Return the older messages, and the newest that stay as they are: at least one, with its results."""
    units = _units(history)
    used, cut = 0, len(units)
    while cut > 0:
        used += budget.of(units[cut - 1])
        if used > budget.kept and cut < len(units):
            break
        cut -= 1
    return [*itertools.chain(*units[:cut])], [*itertools.chain(*units[cut:])]


def _parts(history: Sequence[Message], budget: Budget) -> tuple[list[Message], list[Message]]:
    """Return what is to be summarised, and what is kept: the user's last message too."""
    old, kept = split(history, budget)
    kept = [message for message in kept if not is_note(message)]
    old = [message for message in old if not is_note(message)]
    asked = [message for message in old if is_request(message)]
    if not asked or any(is_request(message) for message in kept):
        return old, kept
    return [message for message in old if message is not asked[-1]], [asked[-1], *kept]


def fitted_facts(facts: PinnedFacts, budget: Budget) -> PinnedFacts:
    """Return the facts without those for which a small window has no room: the oldest requests go first, then
    the files that were read first, then the definitions of the tools that were called first, then the skills
    that were loaded first, then the end of the goal."""
    room = int(budget.limit * _FACTS_SHARE)
    plan = sum(len(item.content) + 4 for item in facts.todos) // _CHARS_PER_TOKEN
    goal = facts.goal[: max(room - plan, 40) * _CHARS_PER_TOKEN]
    room -= plan + len(goal) // _CHARS_PER_TOKEN
    skills = _newest(facts.skills, room, len)
    room -= sum(map(len, skills)) // _CHARS_PER_TOKEN
    tools = dict(facts.tools or {})
    names = _newest([*tools], room, lambda name: len(tools[name]))
    room -= sum(len(tools[name]) for name in names) // _CHARS_PER_TOKEN
    files = dict(facts.files or {})
    paths = _newest([*files], room, lambda path: len(path) + 20)
    room -= sum(len(path) + 20 for path in paths) // _CHARS_PER_TOKEN
    requests = _newest([*facts.requests], room, lambda text: len(text) + 4)
    return replace(
        facts,
        goal=goal,
        requests=tuple(requests),
        files={path: files[path] for path in paths},
        skills=tuple(skills),
        tools={name: tools[name] for name in names},
    )


def _newest(texts: Sequence[str], room: int, chars: Callable[[str], int]) -> list[str]:
    kept: list[str] = []
    for text in reversed(texts):
        room -= chars(text) // _CHARS_PER_TOKEN + 1
        if room < 0:
            break
        kept.append(text)
    return kept[::-1]


async def _summary(
    old: Sequence[Message], budget: Budget, summarise: Summarise, focus: str
) -> tuple[str, str]:
    """Return the summary, or why there is none."""
    previous = _summaries(old)
    messages = [message for message in old if not is_summary(message)]
    longest = budget.limit * _CHARS_PER_TOKEN // 4
    failure = ""
    for entry_chars in ENTRY_CHARS:
        try:
            text = await summarise(SummaryRequest(messages, previous, focus, entry_chars))
        except ForgeError as error:
            failure = str(error)
            if isinstance(error, ProviderError) and not isinstance(error, _WORTH_A_SECOND_TRY):
                break
        else:
            if text.strip():
                return text.strip()[:longest], ""
            failure = "The model's summary is empty."
    return "", failure


def _summaries(messages: Iterable[Message]) -> str:
    """Return the texts of all summaries: besides that of the beginning there may be one of a later part."""
    return "\n\n".join(str(message.extra.get("summary", "")) for message in messages if is_summary(message))


def _without_summary(
    history: Sequence[Message],
    short: CompactedHistory | None,
    facts: PinnedFacts,
    budget: Budget,
    failure: str = "",
) -> CompactedHistory | None:
    """Return the history as short as it must be, without a new summary; None if it is that already."""
    best = short or CompactedHistory([*history], "elided", 0, facts.facts())
    best = replace(best, failure=failure)
    if not budget.fits(best.messages):
        return _shrunk(best, facts, budget)
    return best if best.replaced or failure else None


def _shrunk(result: CompactedHistory, facts: PinnedFacts, budget: Budget) -> CompactedHistory:
    """Leave out more until the history fits: output of the newest messages too, then whole messages, the
    oldest first. The summary and the user's last message stay."""
    present = [message for message in result.messages if not is_note(message)]
    newest = sum(map(len, _units(present)[-1:]))
    for count in (newest, 0):
        end = len(present) - count
        short = [*elided(present[:end]), *present[end:]]
        candidate = replace(result, messages=short)
        if result.method == "elided":
            candidate = _with_note(candidate, facts, len(present) - newest)
        if budget.fits(candidate.messages):
            return candidate
    return _removed(replace(result, messages=short), facts, budget)


def _removed(result: CompactedHistory, facts: PinnedFacts, budget: Budget) -> CompactedHistory:
    """Remove the oldest messages until the history fits."""
    text = _summaries(result.messages)
    rest = _units([message for message in result.messages if not is_summary(message)])
    last = next((unit for unit in reversed(rest) if is_request(unit[0])), None)
    removed = 0
    while True:
        head, added = summary_message(text, facts, [*itertools.chain(*rest)])
        excess = budget.of([head, *itertools.chain(*rest)]) - budget.limit
        at, before = 0, removed
        while excess > 0 and at < len(rest) - 1:
            if rest[at] is last:
                at += 1
                continue
            gone = rest.pop(at)
            removed, excess = removed + len(gone), excess - budget.of(gone)
        if removed == before:
            break
    return replace(
        result,
        messages=[head, *itertools.chain(*rest)],
        method=result.method if result.method == "summarised" else "removed",
        replaced=result.replaced + removed,
        pinned=facts.facts(),
        added=added,
        summary=text,
    )


def _with_note(result: CompactedHistory, facts: PinnedFacts, end: int) -> CompactedHistory:
    """Return shortened messages with a note before the one at `end`, if they lack any pinned fact."""
    old = [message for message in result.messages[:end] if not is_note(message)]
    kept = [message for message in result.messages[end:] if not is_note(message)]
    note, added = note_message(facts, [*old, *kept])
    messages = [*old, *([note] if note is not None else []), *kept]
    return replace(result, messages=messages, pinned=facts.facts(), added=added)


def _units(messages: Sequence[Message]) -> list[list[Message]]:
    """Return the messages in parts that stay together: calls with their results."""
    units: list[list[Message]] = []
    for message in messages:
        if message.role is MessageRole.TOOL and units:
            units[-1].append(message)
        else:
            units.append([message])
    return units
