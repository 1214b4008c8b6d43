"""`forge hooks`, `/hooks` and the doctor's findings, over the same files."""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path

import pytest

from forge_core.commands.diagnosis import diagnose
from forge_core.commands.hooks_command import hooks
from forge_core.commands.result import ApprovePrograms, Text
from forge_core.config.forge_config import ForgeConfig
from forge_core.errors import ConfigError
from forge_core.exit_codes import ExitCode
from forge_core.headless.hook_actions import run_action
from forge_core.runtime import load_session_config
from tests.support.hooks import declared, write_hooks
from tests.support.sessions import scripted_session


@pytest.fixture
def config(tmp_path: Path) -> ForgeConfig:
    (tmp_path / "work").mkdir()
    write_hooks(
        tmp_path / "own/hooks.json",
        declared("PreToolUse", "cat > seen.json; echo no pushing >&2; exit 2", matcher="Bash"),
        declared("PreToolUse", "touch wrong", matcher="Edit"),
        declared("Stop", "./gone.sh"),
    )
    write_hooks(tmp_path / "work/.claude/settings.json", declared("PreToolUse", "touch ran; echo '{'"))
    loaded = load_session_config(tmp_path / "work", trust=True)
    return dataclasses.replace(loaded, config_dir=tmp_path / "own", own_extensions=(tmp_path / "own",))


def options(action: str, event: str = "", file: str | None = None) -> argparse.Namespace:
    return argparse.Namespace(action=action, event=event, file=file)


def test_hooks_are_listed(config: ForgeConfig, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_action(options("list"), config) == ExitCode.COMPLETE
    out = capsys.readouterr().out
    assert "PreToolUse:cat  your own\n" in out
    assert ".claude/settings.json  PreToolUse:touch  new\n  touch ran; echo '{'\n" in out


def test_hooks_of_an_event_run_as_a_test(config: ForgeConfig, capsys: pytest.CaptureFixture[str]) -> None:
    given = config.working_dir / "input.json"
    given.write_text('{"tool_input": {"command": "git push"}}')

    assert run_action(options("test", "PreToolUse", str(given)), config) == ExitCode.COMPLETE
    out = capsys.readouterr().out
    assert "PreToolUse:cat: exit 2" in out
    assert "  decision: deny\n  blocks: True\n  reason: no pushing\n  stderr: no pushing\n" in out
    assert "not run, it is not approved (--approve PreToolUse:touch)" in out
    seen = json.loads((config.working_dir / "seen.json").read_text())
    assert (seen["tool_name"], seen["tool_input"]) == ("Bash", {"command": "git push"})
    assert not (config.working_dir / "ran").exists()
    assert not (config.working_dir / "wrong").exists()

    approving = dataclasses.replace(config, approved_programs=("PreToolUse:touch",))
    assert run_action(options("test", "PreToolUse"), approving) == ExitCode.UNFINISHED
    assert "failure: its answer is not valid JSON" in capsys.readouterr().out
    assert (config.working_dir / "ran").exists()


@pytest.mark.parametrize(("event", "file"), [("Nope", None), ("Stop", "gone.json")])
def test_bad_arguments_are_refused(config: ForgeConfig, event: str, file: str | None) -> None:
    with pytest.raises(ConfigError):
        run_action(options("test", event, file), config)


def test_the_doctor_names_hooks_that_wait(config: ForgeConfig) -> None:
    found = [(one.name, one.text) for one in diagnose(config, "", colours="none") if one.section == "Hooks"]
    assert found == [
        ("run", "3 hooks"),
        ("approval", "PreToolUse:touch in .claude/settings.json: new, so it does not run"),
    ]


async def test_the_command_lists_runs_and_asks(tmp_path: Path) -> None:
    write_hooks(tmp_path / "own/hooks.json", declared("Stop", "true"), declared("Stop", "./gone.sh"))
    write_hooks(
        tmp_path / ".forge/hooks.json", declared("Stop", "touch x"), declared("Setup", "unknown"),
    )  # fmt: skip
    session = scripted_session(tmp_path, [["ok"]], is_trusted=True)
    async for _ in session.send("hello"):
        pass
    listed = await hooks("", session)
    assert isinstance(listed, Text)
    assert "Stop:true: 1 run, " in listed.body
    assert "last: ok\n    true" in listed.body
    assert "last: the script './gone.sh' does not exist" in listed.body
    assert "Stop:touch: not approved: /hooks approve\n    touch x" in listed.body
    assert "Setup unknown: Forge has no such event" in listed.body
    assert session.status.broken_hooks == 1

    asked = await hooks("approve", session)
    assert isinstance(asked, ApprovePrograms)
    assert [one.command_line for one in asked.programs] == ["touch x"]
    assert await session.hooks.decide(asked.programs, {0}) == 1
    assert session.hooks.waiting() == []
    async for _ in session.send("again"):
        pass
    assert (tmp_path / "x").exists()
    await session.aclose()
