"""What can be completed on a line that starts with a slash, and the popup that shows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from forge_core.commands import specs
from forge_core.sanitize import safe_line
from forge_tui.widgets.choices import Choice, ChoiceList


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to complete the line."""

    line: str
    """The whole line after completing."""
    label: str
    hint: str = ""
    detail: str = ""
    is_sure: bool = True
    """Whether what was typed is the beginning of it; then Enter may run it at once."""
    takes_argument: bool = False


ArgumentValues: TypeAlias = Callable[[str], Sequence[tuple[str, str]]]
"""Command name → (value, what it is) for its argument."""


def no_values(command: str) -> Sequence[tuple[str, str]]:
    """No command's argument can be completed."""
    return ()


def candidates(text: str, argument_values: ArgumentValues) -> list[Candidate]:
    """How `text`, with the cursor at its end, can be completed; best first."""
    if not text.startswith("/") or "\n" in text or text.startswith("//"):
        return []
    name, space, argument = text[1:].partition(" ")
    if "/" in name:
        return []
    if space:
        return _argument_candidates(name, argument.lstrip(), argument_values)
    return [_command_candidate(spec, name.lower()) for spec in specs.suggest(name)]


def _command_candidate(spec: specs.CommandSpec, typed: str) -> Candidate:
    is_sure = any(name.startswith(typed) for name in (spec.name, *spec.aliases))
    return Candidate(
        line=f"/{spec.name}",
        label=f"/{spec.name}",
        hint=spec.argument_hint,
        detail=spec.summary,
        is_sure=is_sure,
        takes_argument=bool(spec.argument_hint),
    )


def _argument_candidates(name: str, typed: str, argument_values: ArgumentValues) -> list[Candidate]:
    spec = specs.find(name)
    if spec is None or not spec.argument_hint:
        return []
    values = argument_values(spec.name)
    wanted = typed.lower()
    starting = [row for row in values if row[0].lower().startswith(wanted)]
    containing = [row for row in values if wanted in row[0].lower() and row not in starting]
    return [
        Candidate(line=f"/{name} {value}", label=safe_line(value), detail=safe_line(detail))
        for value, detail in (*starting, *containing)
    ]


class CompletionPopup(ChoiceList):
    """The candidates, floating above the composer; the composer drives it."""

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

    def __init__(self, argument_values: ArgumentValues = no_values) -> None:
        super().__init__()
        self._argument_values = argument_values
        self._found: list[Candidate] = []
        self._text = ""
        """What was last followed or dismissed."""

    @property
    def is_open(self) -> bool:
        return self.has_class("-open")

    @property
    def candidate(self) -> Candidate | None:
        """The chosen one, while the popup is open."""
        return self._found[self.chosen] if self.is_open else None

    def follow(self, text: str) -> None:
        """Show what completes `text`, or nothing."""
        if text == self._text:
            return
        self._text = text
        self._found = candidates(text, self._argument_values) if text.startswith("/") else []
        if len(self._found) == 1 and self._found[0].line == text and not self._found[0].takes_argument:
            self._found = []
        if self._found:
            self.show([Choice(item.label, item.hint, item.detail) for item in self._found])
        self.set_class(bool(self._found), "-open")

    def close(self, text: str) -> None:
        """Hide until the text is another than this."""
        self._text = text
        self.remove_class("-open")
