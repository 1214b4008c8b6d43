"""The slash commands that can be typed in a conversation: finding, suggesting and correcting their names."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from forge_core.commands.command_spec import CommandSpec, Scope, Tier
from forge_core.commands.specs import SPECS
from forge_core.sanitize import safe_line

BUILT_IN_NAMES = frozenset(name for spec in SPECS for name in (spec.name, *spec.aliases))
"""The names that no command of a file takes."""


class CommandTable:
    """The commands of one conversation. Completion, the palette, the help and the parser read the same."""

    def __init__(self, *, is_complete: bool = True) -> None:
        self.owner: object = None
        """What the added commands are from."""
        self.use(tuple, is_complete=is_complete)

    def use(self, added: Callable[[], Iterable[CommandSpec]], *, is_complete: bool = True) -> None:
        """Count these commands too, in place of those that were added before. While they are not complete,
        a name that does not exist may still come. `added` is called when they are needed: there may be
        thousands, and a turn that begins needs none."""
        self.is_complete = is_complete
        self._added = added
        self._known: tuple[Sequence[CommandSpec], Mapping[str, CommandSpec]] | None = None

    @property
    def specs(self) -> Sequence[CommandSpec]:
        return self._all()[0]

    @property
    def _by_name(self) -> Mapping[str, CommandSpec]:
        return self._all()[1]

    def _all(self) -> tuple[Sequence[CommandSpec], Mapping[str, CommandSpec]]:
        if self._known is None:
            specs = (*SPECS, *self._added())
            by_name = {name.lower(): spec for spec in specs for name in (spec.name, *spec.aliases)}
            self._known = specs, by_name
        return self._known

    def find(self, name: str) -> CommandSpec | None:
        """Return the command of this name or alias, without the slash; case is ignored."""
        return self._by_name.get(name.lower())

    def expect(self, name: str) -> CommandSpec | None:
        """Return the command of this name or, if it may still come, a row that stands in for it. The prompt
        of an MCP server may come at any time."""
        found = self.find(name)
        is_of_server = name.lower().startswith("mcp__")
        if found is not None or (self.is_complete and not is_of_server) or not name or "/" in name:
            return found
        return CommandSpec(name, "", "", scope=Scope.PROMPT, accepts=("TEXT...",), tier=Tier.IDLE)

    def suggest(self, prefix: str, use: Callable[[str], float] = lambda name: 0.0) -> list[CommandSpec]:
        """Return the commands that match what was typed after the slash, best first: the exact name, then by
        prefix of the name, of an alias, of a keyword, then those that contain the letters in order.

        Of those that match equally, the ones with more `use` come first.
        """
        typed = prefix.lower()
        ranked = [
            (rank, -use(spec.name), spec) for spec in self.specs if (rank := _rank(spec, typed)) is not None
        ]
        return [spec for _, _, spec in sorted(ranked, key=lambda row: row[:2])]

    def nearest(self, name: str) -> CommandSpec | None:
        """Return the command that another name is known to mean, or whose name is most similar to it; None if
        none is close."""
        meant = next((spec for spec in self.specs if name.lower() in spec.keywords), None)
        if meant is not None:
            return meant
        # "mcp" is not like "copy"
        close = difflib.get_close_matches(name.lower(), self._by_name, n=1, cutoff=0.65)
        if close:
            return self._by_name[close[0]]
        found = (spec for spec in self.suggest(name) if _rank(spec, name.lower()) != _SCATTERED)
        return next(found, None)

    def complaint(self, name: str) -> str:
        """Return the error for a line whose command does not exist, with the nearest name."""
        shown = safe_line(name if len(name) <= 60 else name[:60] + "…")
        as_message = "To send it as a message, put a space first."
        if not name:
            return f"A single / is not a command; /help lists them. {as_message}"
        if "/" in name:
            return f"/{shown} is not a command; /help lists them. {as_message}"
        near = self.nearest(name)
        hint = f"Did you mean /{near.name}?" if near else "/help lists the commands."
        return f"There is no command /{shown}. {hint} {as_message}"


def split_command(text: str) -> tuple[str, str]:
    """Return the name and the argument of a line that begins with a slash: the first blank ends the name."""
    found = re.match(r"/([^ \t\n]*)", text)
    return ("", "") if found is None else (found[1], text[found.end() + 1 :])


_SCATTERED = 4


def _rank(spec: CommandSpec, typed: str) -> int | None:
    name = spec.name.lower()
    letters = iter(name)
    matches = (
        typed in (name, *spec.aliases),
        name.startswith(typed),
        any(alias.startswith(typed) for alias in spec.aliases),
        any(word.startswith(typed) for word in spec.keywords),
        all(letter in letters for letter in typed),  # scattered
    )
    return matches.index(True) if True in matches else None
