"""The private parts of Textual 8.2.8 that Forge uses by a call. Check them when Textual changes.

Modules that override private methods, or are about private parts, name them in their docstrings: `app`,
`keymap`, `screens.chat.screen`, and in this folder `caret`, `compositor`, `driver`, `input`, `output` and
`screen_model`. `tests/tui/test_internals.py` checks that no other module uses any, and that all exist.
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

    from forge_tui.terminal.title import Activity


def report_exception(app: App[ReturnType], error: Exception) -> None:
    """End the app after an exception in a callback of the loop, which no message handler catches.

    `App._handle_exception` receives the exceptions of handlers.
    """
    app._handle_exception(error)


def write(app: App[ReturnType], sequence: str) -> None:
    """Write to the terminal, bypassing the screen. `App._driver` is None while the app does not run."""
    if app._driver is not None:
        app._driver.write(sequence)
        app._driver.flush()


def show_title(app: App[ReturnType], folder: str, activity: Activity) -> None:
    """Show folder and activity in the window's title, if the driver (`App._driver`) can."""
    show = getattr(app._driver, "show_title", None)
    if show is not None:
        show(folder, activity)


def release_mouse(app: App[ReturnType], *, is_released: bool) -> None:
    """Release the mouse to the terminal, or capture it, if the driver (`App._driver`) can."""
    release = getattr(app._driver, "release_mouse", None)
    if release is not None:
        release(is_released=is_released)


def follow_background(app: App[ReturnType], *, is_followed: bool) -> None:
    """Let the driver (`App._driver`) send a `BackgroundFound` now and after each change, or no more."""
    follow = getattr(app._driver, "follow_background", None)
    if follow is not None:
        follow(is_followed=is_followed)


def bound(node: DOMNode, key: str) -> Sequence[Binding]:
    """Return the bindings of the key in this widget, its bases included (`DOMNode._bindings`)."""
    return node._bindings.key_to_bindings.get(key, ())


def unbind(node: DOMNode, key: str) -> None:
    """Leave the key to the ancestors of this widget (`DOMNode._bindings`, a copy of its own)."""
    node._bindings.key_to_bindings.pop(key, None)


def all_bindings(node: DOMNode) -> dict[str, list[Binding]]:
    """Return the bindings of this node by key, its bases included (`DOMNode._bindings`)."""
    return node._bindings.key_to_bindings


def rebind(node: DOMNode, bindings: dict[str, list[Binding]]) -> None:
    """Replace the bindings of this node (`DOMNode._bindings`, a copy of its own)."""
    node._bindings.key_to_bindings = bindings


def is_wrapped_to_width(area: TextArea) -> bool:
    """Return whether the text is wrapped for its current width (`WrappedDocument._width`)."""
    return area.wrapped_document._width == area.wrap_width


def paint_now(widget: Widget) -> None:
    """Repaint after `widget.refresh()` without waiting for the screen's timer of 1/60 s.

    The timer calls `Screen._on_timer_update`, which paints `_dirty_widgets`. It also does what needs more
    than a repaint (`_repaint_required` without `_layout_required`).
    """
    screen = widget.screen
    if widget._repaint_required and screen is widget.app.screen and not screen._layout_required:
        screen._dirty_widgets.add(widget)
        widget._repaint_required = False
        screen._on_timer_update()
