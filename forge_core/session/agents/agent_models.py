"""Which model a sub-agent uses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from forge_core.config.forge_config import OFFLINE_MODEL
from forge_core.extensions.agents import AgentDefinition
from forge_core.sanitize import safe_line
from forge_core.session.provider import SessionProvider

CLAUDE_ALIASES = frozenset({"haiku", "sonnet", "opus"})
"""Names of models in files for Claude Code (https://docs.claude.com/en/docs/claude-code/sub-agents)."""


@dataclass(frozen=True, slots=True)
class AgentModels:
    """Chooses models of one endpoint."""

    provider: SessionProvider
    small_model: str = ""
    """Empty if none is set."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Alias, in lower case, → model."""

    def choose(self, definition: AgentDefinition, asked: str, current: str) -> tuple[str, str]:
        """Return the model of a sub-agent, and what the user should know about the choice, else "".

        `asked` is the model that the call names, and `current` that of the session, which counts where no
        other can be used.
        """
        wanted = asked or definition.model or (self.small_model if definition.is_small else "")
        if not wanted or wanted == current or current == OFFLINE_MODEL:
            return current, ""
        model = self.aliases.get(wanted.lower(), wanted)
        known = {choice.id for choice in self.provider.known_models()}
        if model.lower() not in CLAUDE_ALIASES and (not known or model in known):
            return model, ""
        return current, (
            f"Agent {definition.name} asks for the model {safe_line(wanted)!r}, which is unknown here. It "
            f"uses {safe_line(current)}."
        )
