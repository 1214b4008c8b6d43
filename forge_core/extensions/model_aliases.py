"""The models that files name: an id, or a name of Claude Code's that the settings map to one."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from forge_core.config.forge_config import ForgeConfig
from forge_core.sanitize import safe_line

ALIAS_TABLE = "model_aliases"
"""The table of the settings; a name in it is a setting `model_aliases_NAME`."""
_CURRENT = frozenset({"", "inherit", "default"})
_CLAUDE = re.compile(r"(?:claude-)?[\w.-]*?(haiku|sonnet|opus)[\w.-]*(?:\[1m\])?", re.IGNORECASE)
"""A name of Claude Code's: `sonnet`, `sonnet[1m]`, `claude-3-5-haiku-20241022`."""


class NamedModel(NamedTuple):
    """What a name means."""

    model: str | None
    """The id to use; None for the current model."""
    notice: str = ""
    """Why the current model is used in place of the named one; empty if it is not."""


def named_model(name: str, config: ForgeConfig, known: Collection[str]) -> NamedModel:
    """Return the model that a file means by `name`.

    `known` are the ids that the endpoint lists; any id will do where it lists none.
    """
    name = name.strip()
    if name.lower() in _CURRENT:
        return NamedModel(None)
    if name in known:
        return NamedModel(name)
    shown = safe_line(name[:80])
    if (claude := _CLAUDE.fullmatch(name)) is not None:
        alias = claude[1].lower()
        chosen: str | None = getattr(config, f"{ALIAS_TABLE}_{alias}")
        if chosen:
            return NamedModel(chosen)
        return NamedModel(
            None,
            f"No model is set for {shown!r}, so the current one is used. Set it with "
            f"/config {ALIAS_TABLE}.{alias} MODEL.",
        )
    if known or any(character.isspace() for character in name):
        return NamedModel(None, f"There is no model {shown!r} at this endpoint, so the current one is used.")
    return NamedModel(name)
