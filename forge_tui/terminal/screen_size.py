"""Screens that keep the terminal's size when it changes twice in a moment.

Relies on these of Textual 8.2.8: a layout posts the size it was made for to the screen itself, as a `Resize`
like the one that the app posts, and `Screen._on_resize` lays out for whatever size such a message names. By
then the terminal may have another one; the layout for the old size would post the old size again, and the
screen would stay so. `App.size` is the terminal's own, and the app posts it to the screen last of all. A
handler of the subclass runs first, and `prevent_default` keeps those of the base from running.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events

if TYPE_CHECKING:
    from textual.screen import Screen, ScreenResultType


def pass_over_outdated(event: events.Resize, screen: Screen[ScreenResultType]) -> None:
    """Lets Textual handle the event only if the terminal still has this size."""
    if event.size != screen.app.size:
        event.prevent_default()
