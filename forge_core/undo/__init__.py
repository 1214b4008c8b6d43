"""The files as they were before tools changed them: undo, redo, conflicts."""

from typing import TYPE_CHECKING

from forge_core.lazy import lazy_exports

if TYPE_CHECKING:
    from forge_core.undo.expected_effects import ExpectedEffects as ExpectedEffects
    from forge_core.undo.report import CommandEffects as CommandEffects
    from forge_core.undo.report import TurnView as TurnView
    from forge_core.undo.report import UndoReport as UndoReport
    from forge_core.undo.undo_store import UndoStore as UndoStore

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "forge_core.undo.expected_effects": ("ExpectedEffects",),
        "forge_core.undo.report": ("CommandEffects", "TurnView", "UndoReport"),
        "forge_core.undo.undo_store": ("UndoStore",),
    },
)
