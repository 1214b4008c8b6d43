"""What Forge uses of Textual 8.2.8 beyond its public interface, where a call does: look here when it changes.

Where a private method is overridden, or private parts are what a file is about, that file's docstrings name
them: `app`, `keymap`, `screens.chat.screen`, and in this folder `compositor`, `driver`, `input`, `output`
and `screen_model`. No other file uses any, and each still exists: `tests/tui/test_internals.py`
sees to both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import App, ReturnType
    from textual.binding import Binding
    from textual.dom import DOMNode
    from textual.widget import Widget
    from textual.widgets import TextArea


def report_fault(app: App[ReturnType], error: Exception) -> None:
    """Ends the app by a fault of ours in what the loop has called, where no message handler catches it.

    `App._handle_exception` is what a fault in a handler comes to.
    """
    app._handle_exception(error)


def write(app: App[ReturnType], sequence: str) -> None:
    """Writes to the terminal itself, past the screen. Nothing where the app does not run.

    `App._driver` is None before the start and after the end.
    """
    if app._driver is not None:
        app._driver.write(sequence)
        app._driver.flush()


def lend_mouse(app: App[ReturnType], *, is_lent: bool) -> None:
    """Gives the mouse to the terminal, or takes it back; other drivers than ours (`App._driver`) keep it."""
    lend = getattr(app._driver, "lend_mouse", None)
    if lend is not None:
        lend(is_lent=is_lent)


def bound(node: DOMNode, key: str) -> Sequence[Binding]:
    """What the key is bound to in this widget itself (`DOMNode._bindings`), its bases included."""
    return node._bindings.key_to_bindings.get(key, ())


def unbind(node: DOMNode, key: str) -> None:
    """Leaves the key to whoever stands around this widget (`DOMNode._bindings`, a copy of its own)."""
    node._bindings.key_to_bindings.pop(key, None)


def is_wrapped_to_width(area: TextArea) -> bool:
    """Whether the text is wrapped for the width that it has (`WrappedDocument._width`)."""
    return area.wrapped_document._width == area.wrap_width


def paint_now(widget: Widget) -> None:
    """Paints what `widget.refresh()` left to be painted, without waiting for the screen's tick of 1/60 s.

    That tick calls `Screen._on_timer_update`, which paints `_dirty_widgets`; whatever needs more than a
    repaint (`_repaint_required` without `_layout_required`) is left to it.
    """
    screen = widget.screen
    if widget._repaint_required and screen is widget.app.screen and not screen._layout_required:
        screen._dirty_widgets.add(widget)
        widget._repaint_required = False
        screen._on_timer_update()
