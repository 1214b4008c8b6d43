"""The card of `/doctor`, in the app and in plain text."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from forge_core.approval import Responder
from forge_core.commands.doctor_command import doctor
from forge_core.commands.findings import Finding, Level
from forge_core.commands.result import ShowDiagnosis
from forge_core.config.forge_config import Endpoint, ForgeConfig
from forge_core.text_width import cell_len
from forge_tui.widgets.blockview.styles import TranscriptStyles
from forge_tui.widgets.transcript.diagnosis_block import DiagnosisBlock
from tests.support.chat_app import make_app, make_config, ready, say, shown, until
from tests.support.scripted_session import ScriptedSession
from tests.support.sessions import scripted_session

KEY = "Zq7+wV/2mN9xKp4tRb8yLc3d"
FINDINGS = (
    Finding("Terminal", "type", "xterm-256color"),
    Finding(
        "Endpoint", "connection", "not reached: 日本語 " + "word " * 30, Level.PROBLEM, "Use --model offline."
    ),
    Finding(
        "Disk", "a-name-that-is-longer-than-its-column", "\x1b[31mfree [bold]", Level.WARNING, "Free some."
    ),
)


def rows(width: int) -> list[str]:
    rendered = DiagnosisBlock(FINDINGS).render(width, TranscriptStyles.bare())
    return ["".join(segment.text for segment in row.segments) for row in rendered.rows]


@pytest.mark.parametrize("width", [40, 80, 120])
def test_the_card_fits_and_says_what_to_do(width: int) -> None:
    text = rows(width)
    assert all(cell_len(row) <= width for row in text)
    assert " ".join(" ".join(text).split()).endswith("✗ 1 problem and 1 warning found: Endpoint, Disk")
    flat = "\n".join(text)
    assert "✗" in flat and "!" in flat and "→" in flat and "\x1b" not in flat and "[bold]" in flat


def test_the_sections_are_named_once_and_all_text_is_found_by_a_search() -> None:
    text = DiagnosisBlock(FINDINGS).find_text().split("\n")
    assert [line for line in text if line in ("Terminal", "Endpoint", "Disk")] == [
        "Terminal",
        "Endpoint",
        "Disk",
    ]
    assert any("xterm-256color" in line for line in text) and any(
        "Use --model offline." in line for line in text
    )


async def test_the_report_is_gathered_in_a_thread_and_holds_no_key(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", KEY)
    session: Any = scripted_session(tmp_path, [])
    broken = f"The settings in {KEY!r} were not read."
    session.config = replace(session.config, notices=(broken,), endpoint=Endpoint("offline", "", KEY))
    before = threading.active_count()
    result = await doctor("", session)
    assert isinstance(result, ShowDiagnosis)
    assert KEY not in result.body and KEY not in repr(result.findings) and "[redacted]" in result.body
    assert threading.active_count() <= before + 1
    await session.aclose()


async def test_the_command_shows_the_card_below_its_line(tmp_path: Path) -> None:
    config: ForgeConfig = make_config(tmp_path, working_dir=tmp_path, endpoint=Endpoint("offline", ""))

    def make(responder: Responder, _: ScriptedSession) -> Any:
        return scripted_session(tmp_path, [])

    app = make_app(config, make_session=make)
    async with app.run_test(size=(80, 70)) as pilot:
        await ready(pilot)
        await say(pilot, "/doctor")
        await until(pilot, lambda: " Doctor\n" in shown(app))
        text = shown(app)
        assert text.index("/doctor") < text.index(" Doctor\n") and "Sandbox" in text and "Git" in text
        assert "Checking" not in app.chat.activity.text
