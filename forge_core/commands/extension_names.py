"""The names that reach definitions, also where something else has their own name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from forge_core.commands.command_table import BUILT_IN_NAMES
from forge_core.context.output_style import BUILT_IN as BUILT_IN_STYLES
from forge_core.extensions.agents import BUILT_IN_AGENTS
from forge_core.extensions.catalog import ExtensionCatalog
from forge_core.extensions.custom_commands import named_commands
from forge_core.extensions.definitions import Definition
from forge_core.extensions.locations import ExtensionKind, ExtensionScope

_TAKEN = {
    ExtensionKind.COMMAND: BUILT_IN_NAMES,
    ExtensionKind.SKILL: BUILT_IN_NAMES,
    ExtensionKind.AGENT: frozenset(one.name for one in BUILT_IN_AGENTS),
    ExtensionKind.STYLE: frozenset(one.name for one in BUILT_IN_STYLES),
}
_TYPED = (ExtensionKind.COMMAND, ExtensionKind.SKILL)
_NAMED = 5
"""Changed definitions up to which each is named."""
_RESERVED = tuple(f"{scope}:" for scope in ExtensionScope)


@dataclass(frozen=True, slots=True)
class RenamedDefinition:
    """A definition that its own name does not reach, although it is the first of its kind that has it. Safe
    to display."""

    definition: Definition
    name: str
    """Reaches it: "/project:help", "user:explore"."""
    reason: str
    """What has its name: "/help is built in"."""


def renamed_definitions(catalog: ExtensionCatalog) -> Iterator[RenamedDefinition]:
    """Yield the definitions whose name is built in or reserved, and the skills whose name a command has.

    The model loads a skill by its own name all the same.
    """
    names = _names(catalog) | {id(one): name for name, one in _typed(catalog).items()}
    for kind in ExtensionKind:
        sign = "/" if kind in _TYPED else ""
        for one in catalog.of_kind(kind):
            is_taken = one.name.lower() in _TAKEN[kind]
            if (name := names[id(one)]) != one.name:
                is_reserved = one.name.lower().startswith(_RESERVED)
                what = "is built in" if is_taken else "is reserved" if is_reserved else "is a command"
                yield RenamedDefinition(one, f"{sign}{name}", f"{sign}{one.name} {what}")


def changes_text(before: ExtensionCatalog, after: ExtensionCatalog) -> str:
    """Return what came, changed and went, in one line, by the names that reach it, or by number if they are
    many; empty if nothing did."""
    changes = after.changes_since(before)
    parts = (
        ("new", changes.new, after),
        ("changed", changes.changed, after),
        ("gone", changes.gone, before),
    )
    return "; ".join(f"{word}: {_listing(some, catalog)}" for word, some, catalog in parts if some)


def _listing(definitions: Sequence[Definition], catalog: ExtensionCatalog) -> str:
    if len(definitions) > _NAMED:
        counts = Counter(one.kind for one in definitions)
        return ", ".join(f"{count:,} {kind}{'s'[: count != 1]}" for kind, count in counts.items())
    names = _names(catalog)
    return ", ".join(one.title_as(names[id(one)]) for one in definitions)


def _names(catalog: ExtensionCatalog) -> dict[int, str]:
    """Return the name that reaches each definition, by its identity; of a skill, the model's name for it."""
    names = {id(one): one.name for one in catalog.definitions}
    for kind in ExtensionKind:
        names |= {id(one): one.qualified_name for one in catalog.shadowed(kind)}
        if kind not in _TYPED:
            taken = (one for one in catalog.of_kind(kind) if one.name.lower() in _TAKEN[kind])
            names |= {id(one): one.qualified_name for one in taken}
    commands = _typed(catalog).items()
    return names | {id(one): name for name, one in commands if one.kind is ExtensionKind.COMMAND}


def _typed(catalog: ExtensionCatalog) -> dict[str, Definition]:
    return named_commands(catalog, BUILT_IN_NAMES)
