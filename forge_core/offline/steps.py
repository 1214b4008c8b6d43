"""The steps of a skill: texts, and tool calls whose outcomes are sent to it.

The model keeps no state between requests. A skill is a generator that is run from its start for every
request. Calls that the conversation already holds are answered from there; the first one that it does not
hold is the reply (see `model.replay`).
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from forge_core.offline.conversation import Argument, Call, CallOutcome
from forge_core.offline.phrases import failed

T = TypeVar("T")


class StepFailedError(Exception):
    """The failure of a step that a skill cannot do without; the text is the skill's answer."""


class SearchError(Exception):
    """A failure of the search tool, in its words. It ends a skill that does not catch it."""


Steps: TypeAlias = Generator[str | tuple[Call, ...], tuple[CallOutcome, ...], T]
"""Yields texts to show before the next call, and calls that do not depend on each other; returns a result."""
Skill: TypeAlias = Steps[str]
"""Yields texts and calls, returns the last text of the answer."""


@dataclass(frozen=True, slots=True)
class ModelReply:
    """One answer of the model: a text, or calls that a text may precede."""

    text: str = ""
    calls: tuple[Call, ...] = ()


def ask(name: str, /, **arguments: Argument) -> Steps[CallOutcome]:
    """Make one call and return its outcome."""
    outcomes = yield (Call(name, arguments),)
    return outcomes[0]


def require(problem: str, name: str, /, **arguments: Argument) -> Steps[CallOutcome]:
    """Make a call that the skill cannot do without, and return its outcome.

    Raises:
        StepFailedError: the call failed; the answer is `problem` with the tool's words.
    """
    outcome = yield from ask(name, **arguments)
    if outcome.failed:
        raise StepFailedError(failed(problem, outcome.text))
    return outcome


def ask_all(*calls: Call) -> Steps[tuple[CallOutcome, ...]]:
    """Make several calls in one reply and return their outcomes in the same order."""
    return (yield calls)


def say(text: str) -> Steps[None]:
    """Show a text before the next call."""
    yield text
