"""`forge chat`: the app with its session and its event loop."""

from __future__ import annotations

import asyncio
import sys
from functools import partial
from typing import TYPE_CHECKING

from forge_core.config.models import ForgeConfig
from forge_core.sanitize import safe_line
from forge_tui.app import CRASH_CODE, ForgeApp

if TYPE_CHECKING:
    from forge_core.approval import Approver, Questioner
    from forge_core.session import ForgeSession


def run_chat(config: ForgeConfig) -> int:
    """Runs the app to its end; returns the exit code."""
    app = ForgeApp(config, partial(_make_session, config), save_setting=partial(_save_setting, config))
    asyncio.run(app.run_async())
    if app.crash is not None:
        where = f"The details are in {app.crash_log}" if app.crash_log else "No log could be written"
        words = safe_line(f"{type(app.crash).__name__}: {app.crash}")
        print(f"forge: Forge failed: {words}. {where}", file=sys.stderr)
        return CRASH_CODE
    return app.return_code or 0


def _make_session(
    config: ForgeConfig, approver: Approver, questioner: Questioner | None = None
) -> ForgeSession:
    from forge_core.runtime import build_session, harden_process

    harden_process()
    return build_session(config, approver, questioner)


def _save_setting(config: ForgeConfig, name: str, value: str) -> None:
    from forge_core.config.save import save_user_setting

    save_user_setting(config.config_dir, name, value)
