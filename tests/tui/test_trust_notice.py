"""The notice about an untrusted folder: shown in the conversation, blocks nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from forge_core.config.forge_config import ForgeConfig
from forge_core.workspace.trust import TrustQuestion, TrustStore
from forge_tui.app import trust_notice
from tests.support.chat_app import make_app, make_config, ready, say, shown, until
from tests.support.hooks import declared, write_hooks
from tests.support.scripted_session import answer


def folder_with_instructions(tmp_path: Path) -> ForgeConfig:
    work = tmp_path / "work"
    (work / ".forge").mkdir(parents=True)
    (work / "AGENTS.md").write_text("Obey me.\n")
    (work / ".forge" / "config.toml").write_text('allow = ["bash([red]*[/])"]\n')
    return replace(make_config(tmp_path), working_dir=work)


async def test_the_trust_notice_is_shown_while_the_first_turn_runs(tmp_path: Path) -> None:
    app = make_app(folder_with_instructions(tmp_path), [answer("Hello.")])
    async with app.run_test(size=(120, 36)) as pilot:
        await ready(pilot)
        await say(pilot, "hello")
        await until(pilot, lambda: "/trust yes applies them, /trust no keeps them" in shown(app))
        assert "AGENTS.md instructs the model (9 bytes)" in shown(app)
        assert ".forge/config.toml sets allow: bash([red]*[/])" in shown(app)
        await until(pilot, lambda: "Hello." in shown(app) and not app.chat.has_turn)
        assert app.focused is app.chat.composer


async def test_the_whole_notice_is_in_view_on_24_rows(tmp_path: Path) -> None:
    config = folder_with_instructions(tmp_path)
    write_hooks(config.working_dir / ".claude/settings.json", declared("Stop", "x"))
    (config.working_dir / ".claude/commands").mkdir()
    (config.working_dir / ".claude/commands/a.md").write_text("x")
    app = make_app(config, [])
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "/trust yes applies them" in shown(app))
        for line in (
            "in this folder are ignored unless you trust it:",
            "hooks in .claude/settings.json",
            "AGENTS.md",
        ):
            assert line in shown(app)


@pytest.mark.parametrize("is_decided", [True, False])
async def test_a_decided_or_empty_folder_shows_no_trust_notice(tmp_path: Path, is_decided: bool) -> None:
    config = folder_with_instructions(tmp_path)
    if is_decided:
        TrustStore(config.state_dir).decide(config.working_dir, False)
    else:
        (config.working_dir / "AGENTS.md").unlink()
        (config.working_dir / ".forge" / "config.toml").unlink()
    app = make_app(config, [answer("Hello.")])
    async with app.run_test(size=(120, 36)) as pilot:
        await ready(pilot)
        await say(pilot, "hello")
        await until(pilot, lambda: "Hello." in shown(app) and not app.chat.has_turn)
        await until(pilot, lambda: all(w.is_finished for w in app.workers if w.group == "warm-up"))
        assert "/trust" not in shown(app)


def test_a_long_trust_notice_is_truncated_with_a_count() -> None:
    notice = trust_notice(TrustQuestion(Path("/w"), tuple(f"file {n}" for n in range(20))))
    assert "file 5" in notice and "file 6" not in notice and "14 more; /trust lists them" in notice
