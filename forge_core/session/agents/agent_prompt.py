"""The parts of the system prompt about agents: the available ones, and the role of a sub-agent."""

from __future__ import annotations

from collections.abc import Iterable

from forge_core.extensions.agents import AgentCatalog, AgentDefinition
from forge_core.sanitize import safe_text
from forge_core.tools.base import BaseTool
from forge_core.tools.builtin.skill import SkillTool
from forge_core.tools.output import OUTPUT_LIMIT
from forge_core.untrusted import escape_tags

MAX_LISTED_CHARS = 8_000
"""Of the whole list; the agents beyond it are counted."""
MAX_DESCRIPTION_CHARS = 400


def agents_section(catalog: AgentCatalog) -> str:
    """Return the list of agents for the model of the session."""
    lines, size = ["# Agents for task"], 0
    for one in catalog.agents:
        lines.append(escape_tags(f"- {one.name}: {one.description[:MAX_DESCRIPTION_CHARS]}"))
        size += len(lines[-1])
        if size > MAX_LISTED_CHARS:
            more = len(catalog.agents) - len(lines) + 1
            lines.append(f"- {more} more, which the user may name" if more else "")
            break
    return "\n".join(lines).rstrip() + "\n"


def role_section(definition: AgentDefinition, tools: Iterable[BaseTool], deferred: str = "") -> str:
    """Return the part of a sub-agent's prompt that describes its role; `deferred` lists its deferred
    tools."""
    lines = [
        "# Your role",
        f"You are the sub-agent {definition.name!r}. The first message is a task from the model that works "
        "with the user. No questions can be asked: decide, and state your assumptions. Your last message is "
        "your report, the only part of your work that is read: complete, without preamble, at most "
        f"{OUTPUT_LIMIT:,} characters.",
    ]
    if definition.skills and any(tool.name == SkillTool.name for tool in tools):
        lines.append(f"Load these skills first: {', '.join(definition.skills)}.")
    if definition.prompt:
        lines.append(f"\n{safe_text(definition.prompt, keep_invisible=True)}")
    if deferred:
        lines.append(f"\n{deferred.rstrip()}")
    return "\n".join(lines) + "\n"
