"""Names of keys: as users write them ("Ctrl+K"), as Textual calls them ("ctrl+k"), as the screen shows them.

A chord is keys pressed one after the other: their names, separated by a space.
"""

from __future__ import annotations

import unicodedata

from forge_core.sanitize import safe_line

_MODIFIERS = {
    "ctrl": "ctrl",
    "control": "ctrl",
    "alt": "alt",
    "meta": "alt",
    "option": "alt",
    "opt": "alt",
    "shift": "shift",
    "super": "super",
    "cmd": "super",
    "command": "super",
}
_NAMED = {
    "enter": "enter",
    "return": "enter",
    "esc": "escape",
    "escape": "escape",
    "tab": "tab",
    "space": "space",
    "backspace": "backspace",
    "delete": "delete",
    "del": "delete",
    "insert": "insert",
    "ins": "insert",
    "up": "up",
    "down": "down",
    "left": "left",
    "right": "right",
    "home": "home",
    "end": "end",
    "pageup": "pageup",
    "pgup": "pageup",
    "pagedown": "pagedown",
    "pgdn": "pagedown",
    "minus": "minus",
    "plus": "plus",
    "comma": "comma",
    "slash": "slash",
    "backslash": "backslash",
    "underscore": "underscore",
    **{f"f{number}": f"f{number}" for number in range(1, 25)},
}
_SHOWN = {
    "enter": "Enter",
    "escape": "Esc",
    "tab": "Tab",
    "space": "Space",
    "backspace": "Backspace",
    "delete": "Delete",
    "insert": "Insert",
    "up": "Up",
    "down": "Down",
    "left": "←",
    "right": "→",
    "home": "Home",
    "end": "End",
    "pageup": "PageUp",
    "pagedown": "PageDown",
    "minus": "-",
    "plus": "+",
    "comma": ",",
    "slash": "/",
    "backslash": "\\",
    "underscore": "_",
    "at": "@",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "question_mark": "?",
    "full_stop": ".",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "circumflex_accent": "^",
    "ctrl": "Ctrl",
    "alt": "Alt",
    "shift": "Shift",
    "super": "Super",
}
_RENAMED = {
    "solidus": "slash",
    "reverse_solidus": "backslash",
    "commercial_at": "at",
    "hyphen_minus": "minus",
    "plus_sign": "plus",
    "low_line": "underscore",
}
"""Names of characters that Textual shortens."""
_SENT_AS = {
    "ctrl+i": "Tab",
    "ctrl+m": "Enter",
    "ctrl+h": "Backspace",
    "ctrl+left_square_bracket": "Esc",
}
"""Keys that a terminal cannot tell from another one."""
_CONTROL_SIGNS = frozenset(
    {"@", "at", "backslash", "right_square_bracket", "circumflex_accent", "underscore"}
)
_WITHOUT_MODIFIERS = frozenset({"enter", "escape", "tab", "space", "backspace"})
"""Keys for which the usual encoding has no Ctrl or Shift; Alt is an escape before them."""


class KeyNameError(Exception):
    """A name is no key, or a key that no terminal sends; the text says why."""


def parse_keys(text: str) -> str:
    """Return Textual's name of a key or a chord as users write it.

    Raises:
        KeyNameError: a part of it is no key that a terminal can send.
    """
    names = [_parse_key(part) for part in text.split()]
    if not names:
        raise KeyNameError("the name of the key is missing")
    return " ".join(names)


def _parse_key(text: str) -> str:
    shown = safe_line(text[:40])
    head, _, last = text.rpartition("+")
    if not last and (text == "+" or text.endswith("++")):
        head, last = head.removesuffix("+"), "+"
    modifiers = set()
    for word in head.split("+") if head else []:
        if word.lower() not in _MODIFIERS:
            raise KeyNameError(f"{shown!r} is no key: the modifiers are Ctrl, Alt, Shift and Super")
        modifiers.add(_MODIFIERS[word.lower()])
    key = _base_name(last)
    if key is None:
        raise KeyNameError(f"{shown!r} is no key{_nearest(last)}")
    if len(key) == 1 and key.isalpha() and modifiers:
        is_capital = modifiers == {"shift"}
        modifiers -= {"shift"} if is_capital else set()
        key = key.upper() if is_capital else key.lower()
    name = "+".join([*sorted(modifiers), key])
    if name in _SENT_AS:
        raise KeyNameError(f"terminals send {_SENT_AS[name]} for {show(name)}")
    return "ctrl+@" if name == "ctrl+space" else name


def _base_name(text: str) -> str | None:
    """Return Textual's name of a key without modifiers; None if there is no such key."""
    if len(text) != 1:
        return _NAMED.get(text.lower().replace("_", "").replace("-", ""))
    if text.isalnum():
        return text
    if not text.isprintable():
        return None
    name = unicodedata.name(text, "").lower().replace("-", "_").replace(" ", "_")
    return _RENAMED.get(name, name) or None


def _nearest(text: str) -> str:
    import difflib

    found = difflib.get_close_matches(text.lower(), _NAMED, n=1)
    return f"; did you mean {found[0]}?" if found else ""


def types_text(key: str) -> bool:
    """Return whether a key types a character where text is entered."""
    return "+" not in key and (len(key) == 1 or key == "space" or key in _SIGN_NAMES or "_" in key)


_SIGN_NAMES = frozenset({"minus", "plus", "comma", "slash", "backslash", "underscore", "at"})


def needs_extended_protocol(key: str) -> bool:
    """Return whether only terminals with an extended keyboard protocol, such as kitty's, send the key."""
    *modifiers, name = key.split("+")
    if "super" in modifiers:
        return True
    if name in _WITHOUT_MODIFIERS:
        return bool({"ctrl", "shift"} & set(modifiers)) and key not in ("shift+tab", "ctrl+@")
    if len(name) == 1 and name.isalpha():
        return {"ctrl", "shift"} <= set(modifiers)
    if len(name) > 1 and name not in _SIGN_NAMES and "_" not in name:
        return False
    return ("ctrl" in modifiers and name not in _CONTROL_SIGNS) or ("alt" in modifiers and len(name) > 1)


def show(keys: str) -> str:
    """Return a key or a chord for the screen: "Ctrl+X Ctrl+S"."""
    return " ".join(map(_show_key, keys.split()))


def _show_key(key: str) -> str:
    if key == "ctrl+@":
        return "Ctrl+Space"
    *modifiers, name = key.split("+")
    if len(name) == 1 and name.isalpha():
        modifiers, name = [*modifiers, *(["shift"] if name.isupper() else [])], name.upper()
    elif name not in _SHOWN and "_" in name:
        try:
            name = unicodedata.lookup(name.replace("_", " "))
        except KeyError:
            name = name.replace("_", " ")
    return "+".join([*(_SHOWN.get(one, one) for one in modifiers), _SHOWN.get(name, name.capitalize())])
