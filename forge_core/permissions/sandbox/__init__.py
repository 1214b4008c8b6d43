"""The sandbox for commands: what there is on this machine, and how to start a command in it."""

from typing import TYPE_CHECKING

from forge_core.lazy import lazy_exports

if TYPE_CHECKING:
    from forge_core.permissions.sandbox.placeholders import MountedPaths as MountedPaths
    from forge_core.permissions.sandbox.probing import probe_now as probe_now
    from forge_core.permissions.sandbox.sandbox import Launch as Launch
    from forge_core.permissions.sandbox.sandbox import Sandbox as Sandbox
    from forge_core.permissions.sandbox.sandbox import clear_leftovers as clear_leftovers
    from forge_core.permissions.sandbox.sandbox_state import SandboxKind as SandboxKind
    from forge_core.permissions.sandbox.sandbox_state import SandboxState as SandboxState

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "forge_core.permissions.sandbox.placeholders": ("MountedPaths",),
        "forge_core.permissions.sandbox.probing": ("probe_now",),
        "forge_core.permissions.sandbox.sandbox": ("Launch", "Sandbox", "clear_leftovers"),
        "forge_core.permissions.sandbox.sandbox_state": ("SandboxKind", "SandboxState"),
    },
)
