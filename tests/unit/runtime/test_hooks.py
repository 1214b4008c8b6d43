"""Hooks in sessions as programs build them: how each begins and ends, and where their output goes."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from forge_core.approval import deny_all
from forge_core.config.forge_config import ForgeConfig
from forge_core.events import Notice
from forge_core.redact import Redactor
from forge_core.runtime import build_session, load_session_config
from forge_core.session.saved_sessions import SavedSessions
from forge_core.session.session import ForgeSession
from tests.support.hooks import declared, write_hooks

STARTS = ("startup", "resume", "fork", "clear", "compact")


@pytest.fixture
def config(tmp_path: Path) -> ForgeConfig:
    (tmp_path / "work").mkdir()
    return load_session_config(tmp_path / "work", flags={"model": "offline"})


async def turn(session: ForgeSession, text: str = "hello") -> list[str]:
    """Send a message; return the notices of the turn."""
    return [event.text async for event in session.send(text) if isinstance(event, Notice)]


async def test_a_start_runs_the_hooks_whose_matcher_names_it(config: ForgeConfig) -> None:
    log = config.working_dir / "log"
    write_hooks(
        config.config_dir / "hooks.json",
        *(declared("SessionStart", f"echo {start} >> log", matcher=start) for start in STARTS),
    )
    saved = SavedSessions(config.state_dir, Redactor())

    async def starts_of(resume: str | None, *, clears: bool = False) -> tuple[str, list[str]]:
        """How hooks saw a session of one turn begin; its id comes first."""
        log.unlink(missing_ok=True)
        session = build_session(config, deny_all, resume=resume)
        await turn(session)
        if clears:
            for _ in range(3):
                await turn(session, "a long line " * 900)
            async for _ in session.compact():
                pass
            await session.reset()
        await session.aclose()
        return session.id, log.read_text().split()

    first, starts = await starts_of(None, clears=True)
    assert starts == ["startup", "compact", "clear"]
    assert await starts_of(first) == (first, ["resume"])
    fork = saved.fork(first)
    assert await starts_of(fork) == (fork, ["fork"])
    assert await starts_of(fork) == (fork, ["resume"])
    again = saved.fork(fork)
    assert await starts_of(again) == (again, ["fork"])


async def test_hooks_of_the_end_have_two_seconds_and_print_to_the_log(config: ForgeConfig) -> None:
    key = "Zq7+wV/2mN9xKp4tRb8yLc3d"
    config = dataclasses.replace(config, endpoint=dataclasses.replace(config.endpoint, api_key=key))
    line = f"echo ended with {key} >&2; sleep 600"
    write_hooks(config.config_dir / "hooks.json", declared("SessionEnd", line, timeout=60))
    session = build_session(config, deny_all)
    await turn(session)
    await session.aclose()

    path = config.state_dir / "logs/forge.log"
    assert path.stat().st_mode & 0o777 == 0o600
    text = path.read_text()
    assert "hook SessionEnd:echo: it did not end within 2 s\n  stderr: ended with" in text
    assert key not in text
