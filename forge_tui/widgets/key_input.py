"""Keys of text inputs: what a key types, and the bindings that it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol
from unicodedata import category

from textual import events
from textual.widget import Widget

from forge_tui.keys.effective import effective_keys
from forge_tui.terminal import internals


class KeyMode(Protocol):
    """Gives keys another meaning, as Vim's modes do."""

    @property
    def mark(self) -> str:
        """What is drawn before the text; empty for the usual mark."""
        ...

    def handle(self, event: events.Key) -> bool:
        """Handle a key, and stop it; return whether it has another meaning now."""
        ...

    def reset(self, unfold: Callable[[str], str]) -> None:
        """Begin a new text; `unfold` returns a part of this one with folded parts in place of chips."""
        ...

    def show(self) -> None:
        """Show the mode."""
        ...


_TYPES_NOTHING = ("Cc", "Cs", "Zl", "Zp")
"""Unicode categories: controls, surrogates, line and paragraph separators."""


def typed_text(event: events.Key) -> str:
    """Return the text that the key types; "" for a key that does something else.

    `Key.is_printable` relies on `str.isprintable`, which rejects characters that people do type: the
    ideographic space, no-break spaces, joiners, direction marks, private-use letters, and emoji newer than
    Python's tables.
    """
    text = event.character or ""
    if text.isprintable() or not any(category(character) in _TYPES_NOTHING for character in text):
        return text
    return ""


def writes(event: events.Key) -> bool:
    """Return whether a key only edits the text: a letter, a new line, a backspace; not one that sends."""
    return bool(typed_text(event)) or event.key == "backspace" or is_newline(event.key)


def is_newline(key: str) -> bool:
    """Return whether a key begins a new line, and does not send."""
    # The second: with a modifier, as xterm's modifyOtherKeys reports Enter.
    return key in effective_keys().keys["composer.newline"] or key.endswith("\r")


async def run_binding(widget: Widget, key: str) -> bool:
    """Run the widget's binding of `key` at once; return whether there was one that handled it.

    Letters typed after the key would overtake a binding that is run through the app.
    """
    for binding in internals.bound(widget, key):
        if await widget.app.run_action(binding.action, widget):
            return True
    return False


async def handle_key(widget: Widget, event: events.Key, write: Callable[[str], None]) -> None:
    """Run the widget's binding of the key, or `write` text that Textual's inputs do not take as typed.

    Any other key is left to the widget's base class. That would type the letter of a key with Alt, hence the
    bindings of the screen come first for it.
    """
    has_letter = event.key.startswith("alt+") and event.is_printable
    if not await run_binding(widget, event.key) and not (
        has_letter and await run_binding(widget.screen, event.key)
    ):
        if event.is_printable or not (text := typed_text(event)):
            return
        write(text)
    event.prevent_default()
    event.stop()
