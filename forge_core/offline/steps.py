"""What a skill is made of: it says things, asks for tool calls, and is sent their outcomes.

The model keeps no state between requests. A skill is a generator that is run from its start for every
request; calls that the conversation already holds are answered from it, the first one that it does not hold
becomes the reply (`replay.py`).
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TypeAlias

from forge_core.offline.conversation import Argument, Call, CallOutcome


class SearchError(Exception):
    """The search tool failed; its words are the text. A skill that does not catch it ends with them."""


@dataclass(frozen=True, slots=True)
class Say:
    """Words on the way, shown before the next call."""

    text: str


@dataclass(frozen=True, slots=True)
class Batch:
    """Calls that do not need each other's results."""

    calls: tuple[Call, ...]


Skill: TypeAlias = Generator[Say | Batch, tuple[CallOutcome, ...], str]
"""Yields words and calls, returns the closing words."""


@dataclass(frozen=True, slots=True)
class ModelReply:
    """One answer of the model: words, or calls with maybe words before them."""

    text: str = ""
    calls: tuple[Call, ...] = ()


def ask(name: str, **arguments: Argument) -> Generator[Say | Batch, tuple[CallOutcome, ...], CallOutcome]:
    """One call; gives its outcome."""
    outcomes = yield Batch((Call(name, arguments),))
    return outcomes[0]


def ask_all(*calls: Call) -> Generator[Say | Batch, tuple[CallOutcome, ...], tuple[CallOutcome, ...]]:
    """Several calls in one reply; their outcomes in the same order."""
    return (yield Batch(calls))


def say(text: str) -> Generator[Say | Batch, tuple[CallOutcome, ...], None]:
    """Words before the next call."""
    yield Say(text)
