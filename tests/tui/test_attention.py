"""Desktop notifications: sent to a user who looks at another window, and to nobody else."""

from __future__ import annotations

from typing import Any

import pytest
from textual import events

from forge_core.config.forge_config import ForgeConfig
from forge_tui.screens.chat.attention import LONG_TURN_S, UNSEEN_TURN_S, Attention, notice
from tests.support.chat_app import command_request, make_app, ready, say, until
from tests.support.scripted_session import Gate, Step, answer

ITERM = {"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}
OSC_9 = "\x1b]9;Forge: done in 3 min\x1b\\"


@pytest.mark.parametrize(
    ("environ", "written"),
    [
        (ITERM, OSC_9),
        ({"TERM": "xterm-256color", "LC_TERMINAL": "iTerm2"}, OSC_9),
        ({"TERM": "xterm-ghostty"}, OSC_9),
        ({"TERM": "xterm-kitty"}, "\x1b]99;;Forge: done in 3 min\x1b\\"),
        ({"TERM": "foot"}, "\x1b]777;notify;Forge;Forge: done in 3 min\x1b\\"),
        ({"TERM": "xterm-256color"}, "\a"),
        ({**ITERM, "TERM_PROGRAM": "tmux", "TMUX": "/tmp/tmux-0/default,1,0"}, "\a"),
        ({"TERM": "screen", "KITTY_WINDOW_ID": "1", "STY": "1.pts-0"}, "\a"),
    ],
)
def test_each_terminal_gets_the_notification_sequence_it_supports(
    environ: dict[str, str], written: str
) -> None:
    assert notice("Forge: done in 3 min", "auto", environ) == written
    assert notice("Forge: done in 3 min", "bell", environ) == "\a"
    assert notice("Forge: done in 3 min", "off", environ) == ""


def test_notification_text_cannot_end_the_escape_sequence_or_start_another() -> None:
    written = notice("a\x1b\\\x07\x9c]b;c\n" + "x" * 500, "auto", ITERM)
    inside = written.removeprefix("\x1b]9;").removesuffix("\x1b\\")
    assert len(inside) <= 80
    assert all(character.isprintable() for character in inside)
    assert ";" not in inside


class Terminal:
    """Collects what would ring."""

    def __init__(self, setting: Any = "auto", **environ: str) -> None:
        self.written: list[str] = []
        self.attention = Attention(setting, {**ITERM, **environ}, self.written.append)


@pytest.mark.parametrize(
    ("focus", "environ", "duration_s", "stopped", "calls"),
    [
        (False, {}, LONG_TURN_S, "complete", 1),
        (False, {}, LONG_TURN_S - 0.1, "complete", 0),
        (False, {}, 400.0, "error", 1),
        (False, {}, 400.0, "cancelled", 0),
        (True, {}, 400.0, "complete", 0),
        (None, {}, 400.0, "complete", 0),
        (None, {"TMUX": "x"}, UNSEEN_TURN_S, "complete", 1),
        (None, {"TMUX": "x"}, UNSEEN_TURN_S - 0.1, "complete", 0),
        (True, {"TMUX": "x"}, 400.0, "complete", 0),
    ],
)
def test_only_a_long_unseen_turn_notifies(
    focus: bool | None, environ: dict[str, str], duration_s: float, stopped: str, calls: int
) -> None:
    terminal = Terminal(**environ)
    if focus is not None:
        terminal.attention.focus_changed(focus)
    terminal.attention.turn_ended(duration_s, stopped)
    assert len(terminal.written) == calls


def test_the_notification_reveals_only_how_the_turn_ended() -> None:
    terminal = Terminal()
    terminal.attention.focus_changed(False)
    terminal.attention.turn_ended(14.2, "complete")
    terminal.attention.turn_ended(200, "error")
    terminal.attention.turn_ended(4800, "complete")
    terminal.attention.asked("ba\x1b]0;sh\x07")
    terminal.attention.asked("")
    words = [text.removeprefix("\x1b]9;").removesuffix("\x1b\\") for text in terminal.written]
    assert words[:3] == [
        "Forge: done in 14 s",
        "Forge: stopped after 3 min 20 s",
        "Forge: done in 1 h 20 min",
    ]
    assert words[3].startswith("Forge asks: may it use ba")
    assert all(word.isprintable() for word in words)
    assert words[4] == "Forge has a question"


async def test_the_app_notifies_for_a_prompt_and_at_the_end_of_a_long_turn(
    config: ForgeConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TMUX", "STY", "KITTY_WINDOW_ID", "LC_TERMINAL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in ITERM.items():
        monkeypatch.setenv(name, value)
    gate = Gate()
    script: list[Step] = [command_request("deploy --token s3cret"), gate, *answer("Done.")]
    app = make_app(config, [script, answer("quick")])
    written: list[str] = []
    monkeypatch.setattr(app.chat.attention, "_write", written.append)
    async with app.run_test() as pilot:
        await ready(pilot)
        app.post_message(events.AppBlur())
        await pilot.pause()
        await say(pilot, "go")
        await until(pilot, lambda: app.chat.prompts.is_taken)
        await pilot.pause()
        assert written == ["\x1b]9;Forge asks: may it use bash?\x1b\\"]
        app.post_message(events.AppFocus())
        await pilot.pause()
        app.clock.pass_(200)
        await pilot.press("1", "enter")
        await until(pilot, gate.reached.is_set)
        app.post_message(events.AppBlur())
        await pilot.pause()
        gate.open()
        await until(pilot, lambda: not app.chat.has_turn)
        await until(pilot, lambda: len(written) == 2)
        assert written[1] == "\x1b]9;Forge: done in 3 min 20 s\x1b\\"
        await say(pilot, "again")
        await until(pilot, lambda: len(app.scripted.sent) == 2 and not app.chat.has_turn)
        assert len(written) == 2
