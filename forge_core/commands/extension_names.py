"""The names by which definitions are reached whose own name something else has."""

from __future__ import annotations

from collections.abc import Iterator
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
    typed = {id(one): name for name, one in named_commands(catalog, BUILT_IN_NAMES).items()}
    for kind in ExtensionKind:
        sign = "/" if kind in _TYPED else ""
        for one in catalog.of_kind(kind):
            is_taken = one.name.lower() in _TAKEN[kind]
            if kind in _TYPED:
                name = typed.get(id(one), one.name)
            else:
                name = one.qualified_name if is_taken else one.name
            if name != one.name:
                is_reserved = one.name.lower().startswith(_RESERVED)
                what = "is built in" if is_taken else "is reserved" if is_reserved else "is a command"
                yield RenamedDefinition(one, f"{sign}{name}", f"{sign}{one.name} {what}")
