"""The session: one conversation with its agent, journal, permissions and figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forge_core.lazy import lazy_exports

if TYPE_CHECKING:
    from forge_core.session.session import ForgeSession as ForgeSession
    from forge_core.session.status import SessionStatus as SessionStatus

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "forge_core.session.session": ("ForgeSession",),
        "forge_core.session.status": ("SessionStatus",),
    },
)
