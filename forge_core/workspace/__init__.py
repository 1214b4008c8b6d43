"""The folder being worked in: its git repository, what is ignored in it, and a walk over the rest."""

from typing import TYPE_CHECKING

from forge_core.lazy import lazy_exports

if TYPE_CHECKING:
    from forge_core.workspace.git import branch as branch
    from forge_core.workspace.git import run_git as run_git
    from forge_core.workspace.ignore import IgnoreRules as IgnoreRules
    from forge_core.workspace.ignore import walk as walk

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "IgnoreRules": "forge_core.workspace.ignore",
        "branch": "forge_core.workspace.git",
        "run_git": "forge_core.workspace.git",
        "walk": "forge_core.workspace.ignore",
    },
)
