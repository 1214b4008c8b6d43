"""The system prompt: Forge's own, one of the caller's, or one per domain."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

SystemPrompt = str | Callable[[str], str] | Mapping[str, str]
"""A text; a function of the policy; or texts by domain, `"default"` for the others."""

PLACEHOLDER = "{domain_policy}"
DEFAULT_PROMPT = """
<instructions>
You are a customer service agent. You help the user within the <policy> below, and only within it.
In each turn you do one of two things: send the user a message, or make tool calls. Never both at once.
Find out with the tools what you do not know; never make up facts, ids or arguments.
Before an action that changes something, make sure that the policy allows it and that the user wants it.
Tool arguments are valid JSON that fits the tool's schema.
</instructions>
<policy>
{domain_policy}
</policy>
""".strip()

_DOMAIN_MODULE = re.compile(r"^tau2\.domains\.(\w+)\.")


def build_prompt(prompt: SystemPrompt | None, policy: str, domain: str | None) -> str:
    """Return the text that goes to the model. `{domain_policy}` in it becomes the policy; other braces
    stay."""
    if callable(prompt):
        return prompt(policy)
    if isinstance(prompt, Mapping):
        prompt = prompt.get(domain or "", prompt.get("default"))
    return (DEFAULT_PROMPT if prompt is None else prompt).replace(PLACEHOLDER, policy)


def domain_of(tools: Sequence[Any]) -> str | None:
    """Return the domain whose toolkit the tools belong to, known by its module (tau2 does not pass it);
    None when they belong to none of tau2's own."""
    for tool in tools:
        found = _DOMAIN_MODULE.match(type(toolkit_of(tool)).__module__)
        if found:
            return found.group(1)
    return None


def toolkit_of(tool: Any) -> Any:
    """Return the toolkit that `tool` is a method of; None for a plain function."""
    return getattr(getattr(tool, "_func", None), "__self__", None)
