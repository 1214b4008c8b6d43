"""Completion of lines that begin with a slash, and the popup that shows the candidates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from forge_core.commands import specs
from forge_core.commands.specs import ArgumentValue
from forge_core.sanitize import safe_line
from forge_tui.widgets.choices import NONE_CHOSEN, Choice, ChoiceList


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate(Choice):
    """One way to complete the line."""

    line: str
    """The whole line after completion."""
    is_sure: bool = True
    """Whether Enter may run it at once: it begins with what was typed, and nothing is missing."""
    takes_argument: bool = False


class Offer(NamedTuple):
    """The ways to complete a line, best first."""

    candidates: tuple[Candidate, ...] = ()
    chosen: int = NONE_CHOSEN
    """The candidate that Enter runs before the arrow keys have chosen one; none if the line is complete as it
    is."""


ArgumentValues: TypeAlias = Callable[[str], Sequence[ArgumentValue]]
"""Command name → the values of its argument that only the screen or the session knows."""


def offer(text: str, argument_values: ArgumentValues) -> Offer:
    """Return how `text` can be completed, with the cursor at its end."""
    if not text.startswith("/") or "\n" in text or text.startswith("//"):
        return Offer()
    name, space, argument = text[1:].partition(" ")
    if "/" in name:
        return Offer()
    if space:
        return _argument_offer(name, argument.lstrip(), argument_values)
    found = tuple(
        Candidate(
            line=f"/{spec.name}",
            label=f"/{spec.name}",
            hint=spec.argument_hint,
            detail=spec.summary,
            is_sure=any(known.startswith(name.lower()) for known in (spec.name, *spec.aliases)),
            takes_argument=bool(spec.argument_hint),
        )
        for spec in specs.suggest(name)
    )
    return Offer(found, 0 if found else NONE_CHOSEN)


def _argument_offer(name: str, typed: str, argument_values: ArgumentValues) -> Offer:
    """Return the values that are equal to the typed words, then those that begin with them, then those that
    contain them."""
    spec = specs.find(name)
    if spec is None:
        return Offer()
    before, space, last = typed.rpartition(" ")
    known = argument_values(spec.name)
    if known:
        before, space, last = "", "", typed
    values = known or [ArgumentValue(word) for word in spec.words_after(before.split())]
    wanted = last.lower()
    ranked = [(rank, value) for value in values if (rank := _rank(value.text.lower(), wanted)) is not None]
    ranked.sort(key=lambda row: row[0])
    found = tuple(
        _value_candidate(f"/{name} {before}{space}{value.text}", value, spec, is_exact=rank == 0)
        for rank, value in ranked
    )
    if wanted:
        return Offer(found, 0 if found else NONE_CHOSEN)
    current = (at for at, (_, value) in enumerate(ranked) if value.is_current)
    return Offer(found, next(current, NONE_CHOSEN))


def _value_candidate(
    line: str, value: ArgumentValue, spec: specs.CommandSpec, *, is_exact: bool
) -> Candidate:
    is_whole = spec.problem(line.partition(" ")[2]) is None
    return Candidate(
        line=line,
        label=safe_line(value.text),
        detail=safe_line(value.detail),
        is_sure=is_whole and (is_exact or value.is_current or not spec.is_open),
        takes_argument=not is_whole,
    )


def _rank(value: str, wanted: str) -> int | None:
    """Return 0 for the exact word, 1 for its beginning, 2 for a part of it, None for none of these."""
    if value == wanted:
        return 0
    if value.startswith(wanted):
        return 1
    return 2 if wanted in value else None


class CompletionPopup(ChoiceList):
    """The candidates, above the composer, which controls it."""

    DEFAULT_CSS = """
    CompletionPopup {
        layer: overlay;
        dock: bottom;
        display: none;
        background: $panel;
        padding: 0 1;
        &.-open { display: block; }
    }
    """

    def __init__(self, argument_values: ArgumentValues) -> None:
        super().__init__()
        self._argument_values = argument_values
        self._found: tuple[Candidate, ...] = ()
        self._text = ""
        """The text last followed or dismissed."""

    @property
    def is_open(self) -> bool:
        return self.has_class("-open")

    @property
    def candidate(self) -> Candidate | None:
        """The candidate that Enter runs: the chosen one of the open popup; None if the line is complete."""
        return self._found[self.chosen] if self.is_open and self.chosen != NONE_CHOSEN else None

    @property
    def completion(self) -> Candidate | None:
        """The candidate that Tab completes to: the chosen one, otherwise the first."""
        return self._found[max(self.chosen, 0)] if self.is_open else None

    def follow(self, text: str) -> None:
        """Show the completions of `text`, or hide."""
        if text == self._text:
            return
        self._text = text
        self._found, chosen = offer(text, self._argument_values) if text.startswith("/") else Offer()
        if len(self._found) == 1 and self._found[0].line == text and not self._found[0].takes_argument:
            self._found = ()
        if self._found:
            self.show(self._found, chosen)
        self.set_class(bool(self._found), "-open")

    def close(self, text: str) -> None:
        """Hide until the text differs from this one."""
        self._text = text
        self.remove_class("-open")
