"""Completion of lines that begin with a slash, and the popup that shows the candidates and those for `@`."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from collections.abc import Callable, Sequence
from contextvars import copy_context
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from forge_core.commands.command_spec import ArgumentValue, CommandSpec, Scope
from forge_core.commands.command_table import CommandTable
from forge_core.mention_syntax import OpenMention, written_mention
from forge_core.sanitize import safe_line
from forge_core.text_width import cell_len
from forge_core.workspace.path_completion import PathCompletion, shortened
from forge_tui.keys.effective import command_keys
from forge_tui.widgets.choices import MARK, NONE_CHOSEN, Choice, ChoiceList
from forge_tui.widgets.edges import MARK_COLUMN, RIGHT_MARGIN

if TYPE_CHECKING:
    from forge_core.session.server_offers import OfferedMention, ServerOffers
    from forge_core.workspace.file_index import Match


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate(Choice):
    """One way to complete the line."""

    line: str
    """The whole line after completion, or what replaces the text from `column` to the cursor."""
    is_sure: bool = True
    """Whether Enter may run it at once: it begins with what was typed, and nothing is missing."""
    takes_argument: bool = False
    column: int | None = None
    """Where in the cursor's line a path begins; None for a slash command."""
    path: str = ""
    is_file: bool = True
    """Whether that is the path of a file, and not a resource of a server."""


class Offer(NamedTuple):
    """The ways to complete a line, best first."""

    candidates: tuple[Candidate, ...] = ()
    chosen: int = NONE_CHOSEN
    """The candidate that Enter runs before the arrow keys have chosen one; none if the line is complete as it
    is."""


ArgumentValues: TypeAlias = Callable[[str], Sequence[ArgumentValue]]
"""Command name → the values of its argument that only the screen or the session knows."""


TypedValues: TypeAlias = Callable[[str, str], Sequence[str]]
"""Command name, typed arguments → the values of the last one that a server knows."""


def _no_values(name: str, typed: str) -> Sequence[str]:
    return ()


def offer(
    text: str,
    commands: CommandTable,
    argument_values: ArgumentValues,
    use: Callable[[str], float] = lambda name: 0.0,
    typed_values: TypedValues = _no_values,
) -> Offer:
    """Return how `text` can be completed, with the cursor at its end.

    Of commands that match equally, the ones with more `use` come first.
    """
    if not text.startswith("/") or "\n" in text or text.startswith("//"):
        return Offer()
    name, space, argument = text[1:].partition(" ")
    if "/" in name:
        return Offer()
    if space:
        spec, argument = commands.find(name), argument.lstrip()
        if spec is not None and spec.scope is Scope.PROMPT:
            return _prompt_offer(spec, argument, typed_values(spec.name, argument))
        return _argument_offer(spec, name, argument, argument_values)
    keys, suggested = command_keys(), commands.suggest(name, use)
    found = tuple(_command_candidate(spec, name, keys.get(spec.name, "")) for spec in suggested)
    if not name and suggested[0] is not commands.specs[0]:  # Enter runs nothing because it was run often
        found = (replace(found[0], is_sure=False), *found[1:])
    return Offer(found, 0 if found else NONE_CHOSEN)


def _command_candidate(spec: CommandSpec, typed: str, key: str) -> Candidate:
    return Candidate(
        line=f"/{spec.name}",
        label=f"/{spec.name}",
        hint=spec.argument_hint,
        detail=spec.description,
        key=key,
        is_sure=any(known.startswith(typed.lower()) for known in (spec.name, *spec.aliases)),
        takes_argument=bool(spec.argument_hint),
    )


def _argument_offer(
    spec: CommandSpec | None, name: str, typed: str, argument_values: ArgumentValues
) -> Offer:
    """Return the values that are equal to the typed words, then those that begin with them, then those that
    contain them."""
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


def _prompt_offer(spec: CommandSpec, typed: str, values: Sequence[str]) -> Offer:
    """Return the values that a server knows for the last argument, quoted as in a shell."""
    before, space, _ = typed.rpartition(" ")
    found = (
        Candidate(
            line=f"/{spec.name} {before}{space}{shlex.quote(value)}",
            label=safe_line(value),
            is_sure=False,
            takes_argument=True,
        )
        for value in values
        if value.isprintable()
    )
    return Offer(tuple(found))


def _value_candidate(line: str, value: ArgumentValue, spec: CommandSpec, *, is_exact: bool) -> Candidate:
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


def _completed_mention(offered: OfferedMention) -> str:
    """Return what replaces a mention; one that goes on is left open."""
    written = written_mention(offered.text)
    return f"{written} " if offered.is_whole else written.removesuffix('"')


class CompletionPopup(ChoiceList):
    """The candidates, above the composer, which controls it."""

    DEFAULT_CSS = f"""
    CompletionPopup {{
        padding: 0 {RIGHT_MARGIN} 0 {MARK_COLUMN};
        layer: overlay;
        dock: bottom;
        display: none;
        background: $panel;
        &.-open {{ display: block; }}
    }}
    """

    def __init__(
        self,
        commands: CommandTable,
        argument_values: ArgumentValues,
        paths: PathCompletion,
        use: Callable[[str], float],
    ) -> None:
        """`use` returns how much a command is used."""
        super().__init__(counts=True)
        self._commands = commands
        self._use = use
        self._argument_values = argument_values
        self.paths = paths
        self._found: tuple[Candidate, ...] = ()
        self._text = ""
        """The text last followed or dismissed."""
        self._offers: ServerOffers | None = None
        self._is_dismissed = False
        self._before: tuple[int, str] = (0, "")
        """The row of the cursor and the text before it, last followed."""
        self._shown_query = ""
        """The beginning of a path that the shown paths answer."""

    def on_unmount(self) -> None:
        self.paths.close()

    def use_offers(self, offers: ServerOffers) -> None:
        """Complete the prompts and resources of a session's servers, too."""
        self._offers, offers.on_completed = offers, self._values_came

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

    def follow(self, text: str, row: int = 0, before: str = "", *, waits: bool = False) -> None:
        """Show the completions of `text`, else of the path before the cursor in its `row`; or hide.

        Paths follow when they have been found; if it `waits`, most have been.
        """
        self._follow(text, row, before)
        if waits and self.paths.mention is not None:
            self.paths.settle()
            self._show_paths()

    def _follow(self, text: str, row: int, before: str) -> None:
        if text == self._text and (text or (row, before) == self._before):
            return
        is_other, self._text, self._before = text != self._text, text, (row, before)
        self._is_dismissed = False
        if text.startswith("/") and is_other:
            self._offer_for_line()
        elif not text.startswith("/"):
            if self.paths.follow(row, before, self._paths_found()):
                self._offer((), NONE_CHOSEN)
            self._show_paths()

    def _offer_for_line(self) -> None:
        """Show the completions of a line that begins with a slash."""
        values = _no_values if self._offers is None else self._offers.argument_values
        found, chosen = offer(self._text, self._commands, self._argument_values, self._use, values)
        if len(found) == 1 and found[0].line == self._text and not found[0].takes_argument:
            found = ()
        self._offer(found, chosen)

    def _values_came(self) -> None:
        """Show what a server has answered, unless the user has closed the popup meanwhile."""
        if not self.is_attached or self._is_dismissed:
            return
        if self._text.startswith("/"):
            self._offer_for_line()
        else:
            self._show_paths()

    def taken(self, chosen: Candidate) -> None:
        """Take note of a path that was chosen."""
        if chosen.is_file:
            self.paths.taken(chosen.path)

    def close(self, text: str) -> None:
        """Hide until the text differs from this one, and for a path until another one is begun."""
        self._text, self._is_dismissed = text, True
        self.paths.dismiss()
        self.remove_class("-open")

    def _offer(self, found: tuple[Candidate, ...], chosen: int) -> None:
        self._found = found
        if found:
            self.show(found, chosen)
        self.set_class(bool(found), "-open")

    def _show_paths(self) -> None:
        """Show the paths found by now, with the same one chosen if they answer the same query. What is shown
        stays until there is an answer."""
        mention, matches = self.paths.mention, self.paths.matches()
        if mention is None or not self.is_attached:
            return
        resources = self._resources(mention)
        is_of_server = bool(resources) and ":" in mention.path
        if matches is None and not is_of_server:
            return
        before = self.candidate if self._shown_query == mention.path and self.chosen > 0 else None
        files = () if is_of_server or matches is None else self._paths(matches)
        self._shown_query = mention.path
        found = (*resources, *files) if mention.path else (*files, *resources)
        same = (at for at, one in enumerate(found) if before is not None and one.path == before.path)
        self._offer(found, next(same, self._first_chosen(found)))

    def _paths(self, matches: Sequence[Match]) -> tuple[Candidate, ...]:
        """Return the candidates for the path before the cursor."""
        mention = self.paths.mention
        width = self.screen.size.width - MARK_COLUMN - RIGHT_MARGIN - cell_len(MARK)
        candidates = []
        for match in matches:
            label, marks = shortened(match.path, match.marks, max(width, 8))
            candidates.append(
                Candidate(
                    line=self.paths.completed(match.path),
                    label=label if label == safe_line(label) else safe_line(label),
                    marks=marks if label == safe_line(label) else (),
                    is_sure=False,
                    column=mention.start if mention else 0,
                    path=match.path,
                )
            )
        return tuple(candidates)

    def _resources(self, mention: OpenMention) -> tuple[Candidate, ...]:
        """Return the candidates for the resource of a server before the cursor."""
        if self._offers is None:
            return ()
        return tuple(
            Candidate(
                line=_completed_mention(one),
                label=safe_line(one.text),
                detail=safe_line(one.detail),
                is_sure=False,
                column=mention.start,
                path=one.text,
                is_file=False,
            )
            for one in self._offers.completed(mention.path + mention.lines)
        )

    def _paths_found(self) -> Callable[[], None]:
        """Return a function that shows what has been found by now; any thread may call it."""
        loop, context = asyncio.get_running_loop(), copy_context()

        def call() -> None:
            with contextlib.suppress(RuntimeError):  # the app has ended
                loop.call_soon_threadsafe(self._show_paths, context=context)

        return call

    def _first_chosen(self, found: tuple[Candidate, ...]) -> int:
        """Return the row of the path that Enter takes at first; none if a path or folder has been typed in
        full."""
        mention, is_file = self.paths.mention, not found or found[0].is_file
        typed = "" if mention is None else mention.path + ("" if is_file else mention.lines)
        is_whole = typed.endswith("/") or (bool(found) and found[0].path == typed)
        return NONE_CHOSEN if is_whole else 0
