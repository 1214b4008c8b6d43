"""`forge sessions export` and `show` on a terminal: what a session holds cannot control it."""

from __future__ import annotations

from pathlib import Path

import pytest

from forge_core.redact import Redactor
from forge_core.store.journal import Journal, journal_path
from tests.support.terminal import Terminal, python

ID = "20261120-100000-00000a"


@pytest.mark.pty
@pytest.mark.parametrize("arguments", [("show", ID), ("export", ID), ("export", ID, "--format", "jsonl")])
def test_a_session_that_is_printed_on_a_terminal_cannot_control_it(
    arguments: tuple[str, ...], _own_home: Path
) -> None:
    journal = Journal(journal_path(_own_home / "forge" / "state", ID), Redactor())
    journal.record("session", {"id": ID, "working_dir": "/w"})
    journal.record("user", {"text": "before \x1b]0;title\x07 \x9b31m after"})
    journal.close()
    with Terminal(python("-m", "forge_tui.cli", "sessions", *arguments), folder=_own_home) as terminal:
        assert terminal.wait_for_exit() == 0
        assert "before" in terminal.text and "after" in terminal.text
        assert not {"\x1b", "\x07", "\x9b"} & set(terminal.output.decode())
