"""`forge chat`: the app with its session and its event loop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from functools import partial
from typing import TYPE_CHECKING

from forge_core.config.models import ForgeConfig
from forge_core.exit_codes import ExitCode
from forge_core.sanitize import safe_line
from forge_tui.app import ForgeApp

_MOST_LINES = 30
_LINES_LEFT = 4
"""Rows of the window kept free for the cost and the prompt of the shell."""
_HUNG_UP = 128 + signal.SIGHUP

if TYPE_CHECKING:
    from forge_core.approval import Responder
    from forge_core.session import ForgeSession


def run_chat(config: ForgeConfig) -> int:
    """Run the app; return the exit code."""
    app = ForgeApp(config, partial(_make_session, config), save_setting=partial(_save_setting, config))
    asyncio.run(app.run_async())
    if app.crash is not None:
        with contextlib.suppress(Exception):  # what broke the app may break this too: report the crash anyway
            _leave_traces(app)
        where = f"The details are in {app.crash_log}" if app.crash_log else "No log could be written"
        words = safe_line(f"{type(app.crash).__name__}: {app.crash}")
        print(f"forge: Forge failed: {words}. {where}", file=sys.stderr)
        return ExitCode.CRASH
    if app.return_code != _HUNG_UP:  # after a hang-up nobody can read it
        _leave_traces(app)
    return app.return_code or 0


def _leave_traces(app: ForgeApp) -> None:
    """Print the end of the conversation, and its cost, to the terminal's normal screen."""
    height = os.get_terminal_size(1).lines if os.isatty(1) else 0
    lines = app.last_lines(min(_MOST_LINES, height - _LINES_LEFT))
    if lines:
        with contextlib.suppress(OSError, ValueError):
            print(*lines, sep="\n", flush=True)


def _make_session(config: ForgeConfig, responder: Responder) -> ForgeSession:
    from forge_core.runtime import build_session, harden_process

    harden_process()
    return build_session(config, responder, responder)


def _save_setting(config: ForgeConfig, name: str, value: str) -> None:
    from forge_core.config.save import save_user_setting

    save_user_setting(config.config_dir, name, value)
