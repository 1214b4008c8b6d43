"""All definitions that count in a session, each under the names by which it can be reached."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from forge_core.config.forge_config import ForgeConfig
from forge_core.errors import ConfigError
from forge_core.extensions.accepted import AcceptedDefinitions, PendingDefinition
from forge_core.extensions.definitions import Definition
from forge_core.extensions.locations import (
    ExtensionKind,
    find_files,
    project_searched_folders,
    searched_folders,
)
from forge_core.sanitize import safe_line

MAX_BYTES = 32 * 2**20
"""Of all files together."""
_LISTED = 6


class CatalogChanges(NamedTuple):
    """The definitions that differ between two catalogs."""

    new: Sequence[Definition]
    changed: Sequence[Definition]
    """As they are now."""
    gone: Sequence[Definition]


@dataclass(frozen=True, slots=True)
class ExtensionCatalog:
    """What was found at one moment. The strongest of several with one name has the name; the others are
    reached by their qualified names."""

    definitions: tuple[Definition, ...] = ()
    """The strongest first."""
    problems: tuple[str, ...] = ()
    """What could not be read, and what is wrong with what could, as sentences; safe to display."""
    limits: tuple[str, ...] = ()
    """What was not searched or read because there is too much, as sentences; safe to display."""
    pending: tuple[PendingDefinition, ...] = ()
    """What is left out because it is new or changed since the user accepted the project's files."""

    def of_kind(self, kind: ExtensionKind) -> list[Definition]:
        """Return the definitions of a kind that have their name, sorted by it."""
        found = {one.name: one for one in reversed(self.definitions) if one.kind is kind}
        return sorted(found.values(), key=lambda one: one.name)

    def shadowed(self, kind: ExtensionKind) -> list[Definition]:
        """Return the definitions of a kind whose name a stronger one has, sorted by it."""
        named = {id(one) for one in self.of_kind(kind)}
        hidden = (one for one in self.definitions if one.kind is kind and id(one) not in named)
        return sorted(hidden, key=lambda one: one.name)

    def find(self, kind: ExtensionKind, name: str) -> Definition | None:
        """Return the definition of this name or qualified name; case is ignored."""
        wanted = name.lower()
        matches = (one for one in self.definitions if one.kind is kind)
        return next(
            (one for one in matches if wanted in (one.name.lower(), one.qualified_name.lower())), None
        )

    def changes_since(self, before: ExtensionCatalog) -> CatalogChanges:
        """Return what is different from an earlier catalog."""
        old = {one.path: one for one in before.definitions}
        new = {one.path: one for one in self.definitions}
        return CatalogChanges(
            new=[one for path, one in new.items() if path not in old],
            changed=[one for path, one in new.items() if path in old and one.digest != old[path].digest],
            gone=[one for path, one in old.items() if path not in new],
        )

    @property
    def pending_text(self) -> str:
        """What is pending, in one line: "skill pdf (changed), command /a (new)"; empty if nothing is."""
        return listed(
            [f"{one.definition.title} ({'new' if one.is_new else 'changed'})" for one in self.pending]
        )


def load_catalog(config: ForgeConfig, accepted: AcceptedDefinitions | None = None) -> ExtensionCatalog:
    """Return the definitions of the user, and those of the project if the user trusts it: with `accepted`
    only those whose contents the user has accepted.

    Runs nothing. A file that cannot be read hides no other. Blocks while it reads.
    """
    found, problems, limits = _read_all(config)
    problems += [f"{safe_line(str(one.path))}: {problem}." for one in found for problem in one.problems]
    if accepted is None:
        return ExtensionCatalog(tuple(found), tuple(problems), tuple(limits))
    problems += [accepted.problem] if accepted.problem else []
    if accepted.accepts_all:
        try:
            accepted.accept(found)
        except ConfigError as error:
            problems.append(str(error))
    counting = tuple(one for one in found if accepted.accepts(one))
    pending = tuple(accepted.pending(one) for one in found if not accepted.accepts(one))
    return ExtensionCatalog(counting, tuple(problems), tuple(limits), pending)


def _read_all(config: ForgeConfig) -> tuple[list[Definition], list[str], list[str]]:
    """Return what the files define, what could not be read, and which limits were reached."""
    found: list[Definition] = []
    problems: list[str] = []
    limits: list[str] = []
    left_bytes, unread = MAX_BYTES, 0
    for kind in ExtensionKind:
        for folder in searched_folders(config, kind):
            reached: list[str] = []
            for file in find_files(folder, kind, reached.append):
                if left_bytes <= 0:
                    unread += 1
                    continue
                try:
                    one = Definition.read(file.path, kind, folder, file.real)
                    left_bytes -= len(one.body)
                    if kind is ExtensionKind.SKILL and not one.file.text("description"):
                        problems.append(f"{safe_line(str(file.path))} was skipped: it has no description.")
                    else:
                        found.append(one)
                except (OSError, ValueError) as error:
                    reason = getattr(error, "strerror", None) or error
                    problems.append(f"{safe_line(str(file.path))} was not read: {reason}.")
            limits += [f"{safe_line(str(folder.path))}: {limit}." for limit in reached]
    if unread:
        limits.append(f"{unread:,} files were not read: those before them hold {MAX_BYTES // 2**20} MB.")
    return [*_real_once(found)], problems, limits


def project_definitions(working_dir: Path) -> Iterator[Path]:
    """Yield the files of a project that define something, for the question whether the user trusts it."""
    for kind in ExtensionKind:
        for folder in project_searched_folders(working_dir, kind):
            yield from (file.path for file in find_files(folder, kind))


def _real_once(found: Iterable[Definition]) -> Iterator[Definition]:
    """Yield each real file once: `.agents/skills` is often a link to `.claude/skills`."""
    seen: set[tuple[ExtensionKind, str]] = set()
    for one in found:
        key = (one.kind, str(one.real))
        if key not in seen:
            seen.add(key)
            yield one


def listed(names: Sequence[str]) -> str:
    """Return the first names, and how many more there are: "command /a, skill b and 3 more"."""
    more = f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more
