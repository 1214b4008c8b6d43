"""The built-in model: rules instead of a network, behind an httpx transport that speaks the protocol.

Nothing above the client knows it from a real one. It is for the first run, demos, air-gapped work and tests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forge_core.lazy import lazy_exports

if TYPE_CHECKING:
    from forge_core.offline.transport import OfflineTransport as OfflineTransport

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "forge_core.offline.transport": ("OfflineTransport",),
    },
)
