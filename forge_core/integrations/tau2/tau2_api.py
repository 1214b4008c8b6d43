"""The names of tau2 that Forge uses, in the version that is installed: 1.x, or 0.2 under its older names.

Everything from there is `Any` to a type checker: tau2 asks for Python 3.12, Forge's own checks run on 3.11
without it.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from importlib import import_module
from typing import Any

REPOSITORY = "https://github.com/sierra-research/tau2-bench"
NOT_INSTALLED = (
    f"tau2-bench is not installed. Use Python 3.12 and run: git clone {REPOSITORY} && "
    "pip install -e tau2-bench (the package `tau2` on PyPI is another project)."
)


@dataclass(frozen=True, slots=True)
class Tau2:
    """The names that the installed version has."""

    agent_base: Any
    """HalfDuplexAgent; LocalAgent in 0.2."""
    agent_error: type[Exception]
    messages: Any
    """The module tau2.data_model.message."""


@functools.cache
def load() -> Tau2:
    """Return the installed tau2. Raises ImportError with the address to install it from."""
    try:
        messages = import_module("tau2.data_model.message")
        agents = _agents()
    except ImportError as error:
        raise ImportError(f"{NOT_INSTALLED} ({error})", name=error.name) from error
    return Tau2(
        agent_base=getattr(agents, "HalfDuplexAgent", None) or agents.LocalAgent,
        agent_error=getattr(agents, "AgentError", RuntimeError),
        messages=messages,
    )


def _agents() -> Any:
    try:
        return import_module("tau2.agent.base_agent")
    except ModuleNotFoundError as error:
        if error.name != "tau2.agent.base_agent":
            raise
        return import_module("tau2.agent.base")


def agent_base() -> Any:
    """Return the class to derive an agent from; `object` where tau2 is missing, so that the module still
    loads."""
    try:
        return load().agent_base
    except ImportError:
        return object
