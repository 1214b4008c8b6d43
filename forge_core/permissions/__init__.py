"""Permission rules and modes, and the guard that applies in every mode."""

from typing import TYPE_CHECKING

from forge_core.lazy import lazy_exports

if TYPE_CHECKING:
    from forge_core.permissions.policy import Decision as Decision
    from forge_core.permissions.policy import PermissionPolicy as PermissionPolicy
    from forge_core.permissions.policy import Policy as Policy
    from forge_core.permissions.policy import Verdict as Verdict
    from forge_core.permissions.rules.rule import Rule as Rule
    from forge_core.permissions.rules.rule import parse_rule as parse_rule

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "forge_core.permissions.policy": ("Decision", "PermissionPolicy", "Policy", "Verdict"),
        "forge_core.permissions.rules.rule": ("Rule", "parse_rule"),
    },
)
