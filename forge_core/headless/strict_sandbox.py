"""What stands against a start that demands a full sandbox."""

from __future__ import annotations

from forge_core.config.models import ForgeConfig


def strict_problem(config: ForgeConfig) -> str | None:
    """Why commands cannot be fully confined here, and what to do; None when they can. Found by a real run."""
    from forge_core.permissions.sandbox import probe_now

    state = probe_now("strict", config.working_dir)
    if state.strength == "full":
        return None
    return (
        f"--sandbox strict, but there is no full sandbox here: {state.reason or state.label}. Nothing was "
        "started. Install what is missing, or start with --sandbox auto."
    )
