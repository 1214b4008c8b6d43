"""Keys of what is written in, carried out in the order in which they come."""

from __future__ import annotations

from textual.widget import Widget

from forge_tui.terminal import internals


async def run_bound(widget: Widget, key: str) -> bool:
    """Carry out at once what is bound to the key in this widget; whether anything was and took it.

    A binding's way through the app would let later letters overtake it.
    """
    for binding in internals.bound(widget, key):
        if await widget.app.run_action(binding.action, widget):
            return True
    return False
