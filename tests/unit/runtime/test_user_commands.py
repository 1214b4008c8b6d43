"""What is shown, recorded and sent to the model of a line in the user's own shell."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from forge_core.errors import ForgeError
from forge_core.events import AgentEvent, ToolEnd, ToolStart
from forge_core.redact import Redactor
from forge_core.session.replay import replayed_turns
from forge_core.session.user_commands import UserCommands
from forge_core.store.journal import Journal
from forge_core.store.saved_session import load_session
from forge_core.tools.shell.user_shell import UserShell

KEY = "sk-or-v1-0123456789abcdef"


async def run(folder: Path, journal: Journal, *commands: str) -> tuple[list[AgentEvent], list[str]]:
    shown: list[AgentEvent] = []
    news: list[str] = []
    runs = UserCommands(journal, folder / "outputs", Redactor((KEY,)), news.append)
    shell = UserShell(folder, {**os.environ, "SHELL": "/bin/sh", "SOME_KEY": KEY})
    try:
        for command in commands:
            await runs.run(shell, command, shown.append)
    finally:
        await shell.aclose()
    return shown, news


async def test_the_output_is_shown_and_sent_without_keys(tmp_path: Path) -> None:
    shown, news = await run(tmp_path, Journal(tmp_path / "j.jsonl", Redactor()), "echo $SOME_KEY; exit 3")
    start, end = shown[0], shown[-1]
    assert isinstance(start, ToolStart) and start.heading == ("!", "echo $SOME_KEY; exit 3")
    assert isinstance(end, ToolEnd) and (end.result, end.summary) == ("[redacted]", "exit 3")
    assert not any(KEY in repr(event) for event in shown)
    assert "(exit code 3)" in news[0] and "$ echo $SOME_KEY; exit 3\n[redacted]\n" in news[0]


async def test_a_long_output_is_limited_and_kept_in_a_file(tmp_path: Path) -> None:
    shown, news = await run(tmp_path, Journal(tmp_path / "j.jsonl", Redactor()), "seq 1 30000")
    end = shown[-1]
    assert isinstance(end, ToolEnd) and end.omission is not None
    assert len(news[0]) < 32_000 and Path(end.omission.kept_in).read_text().endswith("30000\n")


async def test_what_can_never_be_undone_is_not_run(tmp_path: Path) -> None:
    with pytest.raises(ForgeError, match="Not run"):
        await run(tmp_path, Journal(tmp_path / "j.jsonl", Redactor()), "rm -rf /")


async def test_a_line_after_a_turn_is_shown_again_with_it(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "20261120-000000-abcdef.jsonl", Redactor())
    journal.record("session", {"id": "20261120-000000-abcdef", "working_dir": str(tmp_path)})
    journal.record("user", {"text": "hello", "model": "m", "mode": "ask"})
    from forge_core.events import AgentEnd
    from forge_core.llm.models import TokenUsage
    from forge_core.result import AgentResult

    journal.event(AgentEnd(result=AgentResult("hi", [], [], TokenUsage(), 1)))
    await run(tmp_path, journal, "echo again")
    journal.close()
    [turn] = replayed_turns(load_session(journal.path))
    assert [type(event).__name__ for event in turn.events] == ["AgentEnd", "ToolStart", "ToolEnd"]
