"""The window's title and the progress in its tab."""

from __future__ import annotations

import pytest

from forge_core.config.forge_config import ForgeConfig
from forge_tui.terminal import internals
from forge_tui.terminal.title import POP_TITLE, Activity, WindowTitle, shows_progress
from tests.support.chat_app import command_request, make_app, ready, say, say_until, until
from tests.support.scripted_session import Gate, answer

GHOSTTY = {"TERM_PROGRAM": "ghostty", "TERM_PROGRAM_VERSION": "1.2.0"}


@pytest.mark.parametrize(
    ("environ", "is_shown"),
    [
        ({}, False),
        ({"TERM_PROGRAM": "Apple_Terminal"}, False),
        ({"WT_SESSION": "1"}, True),
        ({"ConEmuANSI": "ON"}, True),
        (GHOSTTY, True),
        ({**GHOSTTY, "TERM_PROGRAM_VERSION": "1.1.3"}, False),
        ({**GHOSTTY, "TERM_PROGRAM_VERSION": ""}, False),
        ({"TERM_PROGRAM": "iTerm.app", "TERM_PROGRAM_VERSION": "3.6.6"}, True),
        ({"TERM_PROGRAM": "iTerm.app", "TERM_PROGRAM_VERSION": "3.5.14"}, False),
        ({"VTE_VERSION": "8001"}, True),
        ({"VTE_VERSION": "7603"}, False),
        ({"VTE_VERSION": "²"}, False),
        ({**GHOSTTY, "TMUX": "/tmp/tmux-0/default,1,0"}, False),
        ({**GHOSTTY, "STY": "1.pts-0"}, False),
    ],
)
def test_progress_is_sent_only_to_terminals_that_show_it(environ: dict[str, str], is_shown: bool) -> None:
    assert shows_progress(environ) is is_shown


def test_only_changes_are_written() -> None:
    title = WindowTitle({})
    assert title.show("engine", Activity.IDLE) == "\x1b]0;forge · engine\x1b\\"
    assert title.show("engine", Activity.IDLE) == ""
    assert title.show("engine", Activity.WORKING) == "\x1b]0;✳ forge · engine\x1b\\"
    assert title.show("engine", Activity.ASKING) == "\x1b]0;● forge · engine\x1b\\"
    assert title.end() == POP_TITLE
    assert title.begin() == "\x1b]0;● forge · engine\x1b\\"


def test_progress_begins_pauses_and_ends_with_the_work() -> None:
    title = WindowTitle(GHOSTTY)
    assert "\x1b]9;" not in title.show("engine", Activity.IDLE)
    assert title.show("engine", Activity.WORKING).endswith("\x1b]9;4;3;0\x1b\\")
    assert title.show("engine", Activity.ASKING).endswith("\x1b]9;4;4;100\x1b\\")
    assert title.end() == f"\x1b]9;4;0;0\x1b\\{POP_TITLE}"
    assert title.begin().endswith("\x1b]9;4;4;100\x1b\\")
    assert title.show("engine", Activity.IDLE).endswith("\x1b]9;4;0;0\x1b\\")
    assert title.end() == POP_TITLE


def test_the_name_of_a_folder_cannot_end_the_sequence() -> None:
    shown = WindowTitle({}).show("a\x1b\\\x07\x9c\n" + "b" * 500, Activity.IDLE)
    inside = shown.removeprefix("\x1b]0;").removesuffix("\x1b\\")
    assert inside.isprintable() and len(inside) < 80


async def test_the_title_follows_the_turn_and_its_requests(
    config: ForgeConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[tuple[str, Activity]] = []
    monkeypatch.setattr(internals, "show_title", lambda app, *state: shown.append(state))
    gate = Gate()
    app = make_app(config, [[gate, command_request(), *answer("Done.")]])
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await until(pilot, lambda: shown[-1:] == [("engine", Activity.IDLE)])
        await say_until(pilot, "go", gate)
        await until(pilot, lambda: shown[-1] == ("engine", Activity.WORKING))
        gate.open()
        await until(pilot, lambda: shown[-1] == ("engine", Activity.ASKING))
        await say(pilot, "")
        app.chat.interrupt()
        await until(pilot, lambda: shown[-1] == ("engine", Activity.IDLE))
