"""Asks the terminal to tell Shift+Enter and Ctrl+Enter from Enter, by xterm's modifyOtherKeys.

Textual asks by kitty's protocol, which xterm does not know and tmux does not pass on. Level 1 changes only
keys that otherwise have no sequence of their own. Only terminals that are known to obey are asked: some
others take the sequence for an underline. Source: xterm's ctlseqs, "Set/reset key modifier options".
"""

from __future__ import annotations

from collections.abc import Mapping

MODIFIED_KEYS_OFF = "\x1b[>4m"
_ON = "\x1b[>4;1m"
_OBEDIENT = ("TMUX", "XTERM_VERSION")
"""Variables that only these terminals set; tmux does what `extended-keys` says."""


def modified_keys_on(environ: Mapping[str, str]) -> str:
    """Return the request; "" for a terminal that is not known to obey."""
    return _ON if any(environ.get(name) for name in _OBEDIENT) else ""


def modified_keys_off(environ: Mapping[str, str]) -> str:
    """Return what takes the request back."""
    return MODIFIED_KEYS_OFF if modified_keys_on(environ) else ""
