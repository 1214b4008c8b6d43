"""Which files Forge itself keeps from the model, as where it makes a diff for it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from forge_core.approval import Effect, ToolKind
from forge_core.permissions.policy import PermissionPolicy
from forge_core.permissions.verdict import Decision
from forge_core.tools.base import ToolUse

_READ_TOOL = "read"


async def hidden_paths(policy: PermissionPolicy, top: Path, paths: Sequence[str]) -> list[str]:
    """Return those of some files below `top` that the model may not read without asking: they hold keys, a
    rule denies them, or they are outside the folders of the session."""

    def may_read(path: Path) -> bool:
        use = ToolUse(effect=Effect.READ, target=str(path), kind=ToolKind.LOOK, paths=(path,))
        return policy.decide(_READ_TOOL, use).decision is Decision.ALLOW

    return await asyncio.to_thread(lambda: [path for path in paths if not may_read(top / path)])
