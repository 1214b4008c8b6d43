"""The conversation on the screen: one widget, however long it grows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forge_core.lazy import lazy_exports

if TYPE_CHECKING:
    from forge_tui.widgets.transcript.transcript_view import Transcript as Transcript

__getattr__, __dir__ = lazy_exports(
    __name__, {"forge_tui.widgets.transcript.transcript_view": ("Transcript",)}
)
