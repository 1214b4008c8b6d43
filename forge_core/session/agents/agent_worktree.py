"""The worktree of a sub-agent with `isolation: worktree`: made for it, and left when it has ended."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from forge_core.config.forge_config import ForgeConfig
from forge_core.permissions.policy import PermissionPolicy
from forge_core.sanitize import safe_line
from forge_core.tools.hidden_paths import hidden_paths
from forge_core.workspace.change_source import paths_of
from forge_core.workspace.program_lookup import leave_out_programs
from forge_core.workspace.work_tree import WorkTreeChanges
from forge_core.workspace.worktrees import Worktree, Worktrees

MAX_PATCH_CHARS = 20_000
"""Of the changes in a report; what is more is only in the worktree."""


@dataclass(frozen=True, slots=True)
class AgentWorktree:
    """A worktree in which one sub-agent works."""

    worktrees: Worktrees
    worktree: Worktree

    @property
    def folder(self) -> Path:
        """The folder to work in."""
        return self.worktree.folder

    async def leave(self, policy: PermissionPolicy | None) -> str:
        """Remove the worktree if nothing is lost by it; return what follows the report: where the work is,
        and what it is if that is not long. Files that the model may not read by the `policy` for the folder
        are only named; without one, all of them."""
        patch = await _patch(self.worktree.path, policy)
        if not (reason := await self.worktrees.remove(self.worktree)):
            return ""
        where = f"{self.worktree.path} (branch {self.worktree.branch})"
        lines = [
            f"[It worked in a worktree of its own, which stays because {reason}: {where}. Nothing of this is "
            "in the user's folder. Tell the user where it is, and apply it only if they want it.]"
        ]
        if len(patch) > MAX_PATCH_CHARS:
            lines.append(f"[Its changes have {len(patch):,} characters and are left out here.]")
        elif patch:
            lines.append(f"Its changes, which are not committed:\n{patch}")
        return "\n".join(lines)


async def agent_worktree(config: ForgeConfig, agent_id: str) -> AgentWorktree:
    """Make a worktree from the commit of the session's folder.

    Raises:
        WorkspaceError: the folder is in no repository, or there is no commit.
    """
    worktrees = Worktrees(config.state_dir)
    made = await worktrees.create(config.working_dir, f"agent-{agent_id}")
    leave_out_programs((made.path,))
    return AgentWorktree(worktrees, made)


async def _patch(top: Path, policy: PermissionPolicy | None) -> str:
    """Return what has changed since the last commit, new files included, a little more than is reported."""
    changes = WorkTreeChanges(top)
    parts: list[str] = []
    files = (await changes.read()).files
    paths = paths_of(files)
    hidden = {*(paths if policy is None else await hidden_paths(policy, top, paths))}
    for file in files:
        if hidden & {file.path, file.old_path}:
            parts.append(f"{safe_line(file.path)}: not shown, as it may not be read without asking\n")
            continue
        patch = await changes.patch(file)
        parts.append(patch.text or f"{safe_line(file.path)}: {patch.remark}\n")
        if sum(map(len, parts)) > MAX_PATCH_CHARS:
            break
    return "".join(parts)
