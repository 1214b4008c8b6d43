"""Styles of files: how the model writes, chosen by name."""

from __future__ import annotations

from forge_core.context.output_style import BUILT_IN, MAX_CHARS, OutputStyle
from forge_core.extensions.catalog import ExtensionCatalog
from forge_core.extensions.definitions import Definition
from forge_core.extensions.locations import ExtensionKind
from forge_core.sanitize import safe_text

_BUILT_IN_NAMES = frozenset(style.name for style in BUILT_IN)


def known_styles(catalog: ExtensionCatalog) -> list[OutputStyle]:
    """Return the styles that can be chosen, the built-in ones first, then those of files by name.

    One whose name is a built-in style's, or a stronger one's, has its qualified name.
    """
    kind = ExtensionKind.STYLE
    named = catalog.of_kind(kind)
    taken = [one for one in named if one.name.lower() in _BUILT_IN_NAMES]
    found = {one.name: one for one in named if one not in taken}
    found |= {one.qualified_name: one for one in (*taken, *catalog.shadowed(kind))}
    return [*BUILT_IN, *(_style(name, one) for name, one in sorted(found.items()))]


def find_style(name: str, catalog: ExtensionCatalog) -> OutputStyle | None:
    """Return the style of this name; case is ignored."""
    return next((style for style in known_styles(catalog) if style.name.lower() == name.lower()), None)


def _style(name: str, one: Definition) -> OutputStyle:
    text = safe_text(one.body)[:MAX_CHARS]
    return OutputStyle(
        name, one.description, text, keeps_work=one.file.flag("keep-coding-instructions", default=False)
    )
