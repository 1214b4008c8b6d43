"""What the row of a slash command says: its body, when it may run, and which arguments it accepts.

Imported before the first frame, so a row only names its body; `load` imports it when the command first runs.
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from forge_core.sanitize import safe_line


class Tier(StrEnum):
    """When a command may run."""

    ALWAYS = "always"
    """At once, also while a turn runs."""
    INTERRUPTS = "interrupts"
    """At once; a running turn is interrupted first."""
    IDLE = "idle"
    """Only between turns."""


class Scope(StrEnum):
    """What the body of a command acts on."""

    SESSION = "session"
    """`async body(argument, session) -> CommandResult`, in a module of this package. A command that is sent
    before there is a session waits for it."""
    SCREEN = "screen"
    """`body(argument, screen) -> None`, in a module of the screen's package. Needs no session."""
    PROMPT = "prompt"
    """It has no body: with its arguments, it becomes a message for the model."""


class ArgumentValue(NamedTuple):
    """One value that an argument can have, for the completion menu."""

    text: str
    detail: str = ""
    is_current: bool = False
    """Whether choosing it changes nothing."""


def argument_values(texts: Iterable[str], current: str) -> list[ArgumentValue]:
    """Return values of which one is current."""
    return [ArgumentValue(text, "now" if text == current else "", text == current) for text in texts]


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """One slash command."""

    name: str
    """Without the slash."""
    summary: str
    body: str
    """`module:function`, relative to the package of its scope."""
    scope: Scope = Scope.SESSION
    accepts: tuple[str, ...] = ()
    """The arguments that it accepts, a form each; no argument is always accepted. In a form, `on|off` is one
    of these words, `N` and `K` are numbers, any other word in capitals is one of the user's, with "..." the
    rest of the line; "[N]" may be left out."""
    aliases: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    """Hidden words that fuzzy search finds it by."""
    tier: Tier = Tier.ALWAYS
    advice: str = ""
    """A sentence that follows the error for a wrong argument."""
    is_open: bool = False
    """Whether names that no menu lists are accepted too."""
    ends_app: bool = False
    """Whether the app ends with it: how often it is used says nothing about what comes next."""
    working: str = ""
    """What is shown while its body runs, if that may take seconds."""
    values: str = ""
    """`module:function`, given the session or screen: returns the `ArgumentValue`s known only at run time."""

    hint: str = ""
    """The arguments that a command of a file expects, in its own words; safe to display."""
    source: str = ""
    """Where a command of a file comes from, in a word; empty for a built-in one."""

    @property
    def description(self) -> str:
        """The summary, and for a command of a file where it comes from."""
        return f"{self.source}: {self.summary}" if self.source else self.summary

    @property
    def argument_hint(self) -> str:
        """The accepted arguments, for menus: "[on|off]"; empty for a command without arguments."""
        if self.scope is Scope.PROMPT:
            return self.hint
        return f"[{' | '.join(map(_without_dots, self.accepts))}]" if self.accepts else ""

    def problem(self, argument: str) -> str | None:
        """Return why this argument is invalid, and which are valid; None if it is valid."""
        words = argument.split()
        if not words or any(_matches(form, words) for form in self._forms()):
            return None
        shown = safe_line(argument if len(argument) <= _SHOWN_ARGUMENT else argument[:_SHOWN_ARGUMENT] + "…")
        if not self.accepts:
            return f"/{self.name} takes no argument, but was given {shown!r}. {self.usage}"
        return f"/{self.name} does not know {shown!r}. {self.usage}"

    @property
    def usage(self) -> str:
        """How the command is used, as sentences."""
        advice = f" {self.advice}" if self.advice else ""
        if not self.accepts:
            return f"Use /{self.name} alone.{advice}"
        forms = [_without_dots(choice) for form in self.accepts for choice in _choices(form)]
        *most, last = forms
        listing = f"{', '.join(most)} or {last}" if most else last
        return f"Use /{self.name} alone, or with {listing}.{advice}"

    def words_after(self, given: Sequence[str]) -> tuple[str, ...]:
        """Return the fixed words that may follow those `given`."""
        following = (form[len(given)] for form in self._forms() if _begins(form, given))
        words = (word for token in following if not token.isupper() for word in token.split("|"))
        return tuple(dict.fromkeys(words))

    def _forms(self) -> Iterator[list[str]]:
        """Yield the tokens of each accepted form, with and without its optional ones."""
        for form in self.accepts:
            tokens = [(token[1:-1], "") if token.startswith("[") else (token,) for token in form.split()]
            yield from ([token for token in chosen if token] for chosen in itertools.product(*tokens))


def load(name: str, package: str = __package__) -> Any:
    """Import and return `module:function`, whose module is in `package`, by default this one."""
    module, _, function = name.partition(":")
    return getattr(importlib.import_module(f"{package}.{module}"), function)


_SHOWN_ARGUMENT = 60
_NUMBERS = ("N", "K")


def _matches(form: Sequence[str], words: Sequence[str]) -> bool:
    """Return whether the words match the form."""
    is_complete = len(words) == len(form) or (len(words) > len(form) and form[-1].endswith("..."))
    return is_complete and all(map(_fits, form, words))


def _begins(form: Sequence[str], words: Sequence[str]) -> bool:
    """Return whether the form continues after the words."""
    return len(words) < len(form) and all(map(_fits, form, words))


def _fits(token: str, word: str) -> bool:
    if token in _NUMBERS:
        return word.isdecimal()
    return token.isupper() or word.lower() in token.split("|")


def _choices(form: str) -> Sequence[str]:
    """Return the form itself, or each word of a choice of words."""
    return (form,) if " " in form else form.split("|")


def _without_dots(form: str) -> str:
    return form.replace("...", "")
