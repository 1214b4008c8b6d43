"""The theme `auto` follows the terminal's background, from the first frame on."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from forge_core.config.forge_config import ForgeConfig
from forge_tui.terminal.background import QUERY, REPORTS_OFF, REPORTS_ON
from forge_tui.terminal.input import BackgroundFound
from forge_tui.terminal.known_backgrounds import Background, expected_background, remember_background
from forge_tui.theming import load_builtin
from tests.support.chat_app import ChatApp, make_app, make_config, ready, say, shown, until
from tests.support.terminal import Terminal, python
from tests.tui.test_theming import MINE, write

DARK, LIGHT = Background.DARK, Background.LIGHT
CHAT = python("-m", "forge_tui.cli", "chat", "--model", "offline")
XTERM = {"TERM": "xterm-256color"}


def color_code(theme: str) -> bytes:
    """What selects the background of a theme."""
    found = load_builtin(theme)
    assert found is not None and found.background is not None
    return b"48;2;%d;%d;%d" % tuple(bytes.fromhex(found.background[1:]))


# What is known before the terminal answers


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("", DARK),
        ("15;0", DARK),
        ("0;15", LIGHT),
        ("0;default;7", LIGHT),
        ("0;8", DARK),
        ("default;default", DARK),
        ("0;231", DARK),
        ("0;²", DARK),
    ],
)
def test_colorfgbg_says_what_to_expect(tmp_path: Path, value: str, expected: Background) -> None:
    assert expected_background(tmp_path, {**XTERM, "COLORFGBG": value}) is expected


def test_the_last_answer_of_a_kind_of_terminal_is_expected_again(tmp_path: Path) -> None:
    state, other = tmp_path / "state", {**XTERM, "TERM_PROGRAM": "other\twith\nodd name"}
    remember_background(state, XTERM, LIGHT)
    assert expected_background(state, XTERM) is LIGHT
    assert expected_background(state, {**XTERM, "SSH_CONNECTION": "10.0.0.1"}) is DARK
    remember_background(state, other, LIGHT)
    remember_background(state, XTERM, DARK)
    assert (expected_background(state, XTERM), expected_background(state, other)) == (DARK, LIGHT)


def test_what_is_expected_anyway_is_not_written(tmp_path: Path) -> None:
    remember_background(tmp_path / "state", XTERM, DARK)
    assert not (tmp_path / "state").exists()


def test_the_file_of_backgrounds_stays_small_and_private(tmp_path: Path) -> None:
    for number in range(60):
        remember_background(tmp_path, {"TERM": f"kind-{number}" * 100}, LIGHT)
    file = tmp_path / "backgrounds"
    assert len(file.read_text().splitlines()) == 50
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe\x00", b"light", b"pink\tTERM=xterm-256color\n", b"\n\n\t\n"]
)
def test_a_damaged_file_of_backgrounds_counts_as_empty(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "backgrounds").write_bytes(content)
    assert expected_background(tmp_path, XTERM) is DARK
    remember_background(tmp_path, XTERM, LIGHT)
    assert expected_background(tmp_path, XTERM) is LIGHT


# The app


def found(app: ChatApp, background: Background) -> None:
    app.post_message(BackgroundFound(background))


async def test_auto_is_the_default_and_changes_with_the_background(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        assert (app.themes.chosen, app.theme) == ("auto", "forge-dark")
        await say(pilot, "a message")
        rows = shown(app)
        found(app, LIGHT)
        await until(pilot, lambda: app.theme == "forge-light")
        assert shown(app) == rows  # nothing moves
        found(app, DARK)
        await until(pilot, lambda: app.theme == "forge-dark")
        assert app.saved == []


async def test_an_answer_before_the_session_is_built_counts(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(80, 24)) as pilot:
        found(app, LIGHT)
        await ready(pilot)
        await until(pilot, lambda: app.theme == "forge-light")


async def test_the_next_start_expects_the_background_that_was_found(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        found(app, LIGHT)
        await until(pilot, (config.state_dir / "backgrounds").exists)
    assert make_app(config).theme == "forge-light"
    assert make_app(replace(config, theme="forge-dark")).theme == "forge-dark"


async def test_another_theme_ends_the_following_and_auto_begins_it_again(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await say(pilot, "/theme nord")
        await until(pilot, lambda: app.theme == "nord")
        assert not app.follows_background
        found(app, LIGHT)  # it was on its way
        await pilot.pause()
        assert app.theme == "nord"
        await say(pilot, "/theme auto")
        await until(pilot, lambda: app.theme == "forge-light")
        assert app.follows_background
        assert app.saved == [("theme", "nord"), ("theme", "auto")]


async def test_the_picker_lists_auto_and_escape_goes_back_to_it(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await say(pilot, "/theme")
        await until(pilot, lambda: "like the terminal · now" in shown(app))
        await pilot.press("down", "down")
        assert app.theme == "forge-light" and app.follows_background
        await pilot.press("escape")
        assert app.theme == "forge-dark"
        found(app, LIGHT)
        await until(pilot, lambda: app.theme == "forge-light")


async def test_the_pair_of_auto_can_be_set(tmp_path: Path) -> None:
    write(tmp_path / "config" / "themes", MINE)
    app = make_app(make_config(tmp_path, theme_dark="mine", theme_light="catppuccin-latte"))
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        assert app.theme == "mine"
        found(app, LIGHT)
        await until(pilot, lambda: app.theme == "catppuccin-latte")


async def test_a_missing_theme_of_the_pair_is_reported(tmp_path: Path) -> None:
    app = make_app(make_config(tmp_path, theme_light="auto"))
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        assert "There is no theme 'auto'" in shown(app)
        found(app, LIGHT)
        await pilot.pause()
        assert app.theme == "forge-dark"


# In a terminal


def chat(folder: Path, background: str, **environment: str) -> Terminal:
    """The chat in a terminal that answers with this colour, or has none to tell."""
    home: Mapping[str, str] = {"FORGE_HOME": str(folder / "home"), "HOME": str(folder), **environment}
    work = folder / "work"
    work.mkdir(exist_ok=True)
    terminal = Terminal(CHAT, folder=work, environment=home, is_preloaded=True)
    terminal.emulator.background = background
    return terminal


def is_painted_in(terminal: Terminal, theme: str) -> bool:
    """Whether the corner of the screen, where nothing is written, has the theme's background."""
    wanted = load_builtin(theme)
    assert wanted is not None and wanted.background is not None
    return bool(terminal.emulator.cells()[0][-1][2] == wanted.background[1:].lower())


@pytest.mark.pty
def test_the_chat_changes_to_the_light_theme_once_and_begins_with_it_the_next_time(tmp_path: Path) -> None:
    white = "rgb:ffff/ffff/ffff"
    with chat(tmp_path, white) as terminal:
        terminal.wait_for(lambda t: is_painted_in(t, "forge-light"))
        terminal.wait_for(lambda t: (tmp_path / "home/state/backgrounds").exists())
        terminal.send("typed")
        terminal.wait_for("typed")
        assert "rgb" not in terminal.text
        assert terminal.output.count(QUERY.encode()) == 1
    with chat(tmp_path, white) as terminal:
        terminal.wait_for(lambda t: QUERY.encode() in t.output)
        terminal.wait_until_quiet(0.5)
        assert is_painted_in(terminal, "forge-light")
        assert color_code("forge-light") in terminal.output
        assert color_code("forge-dark") not in terminal.output


@pytest.mark.pty
def test_a_terminal_without_an_answer_stays_dark_and_is_never_waited_for(tmp_path: Path) -> None:
    with chat(tmp_path, "") as terminal:
        terminal.send("typed early")
        terminal.wait_for("typed early")
        terminal.wait_for(lambda t: QUERY.encode() in t.output)
        terminal.wait_until_quiet(0.5)
        assert is_painted_in(terminal, "forge-dark") and "typed early" in terminal.text
        assert color_code("forge-light") not in terminal.output


@pytest.mark.pty
def test_the_chat_follows_a_change_and_another_theme_ends_that(tmp_path: Path) -> None:
    with chat(tmp_path, "rgb:0000/0000/0000") as terminal:
        terminal.wait_for(lambda t: "2031" in t.emulator.modes)
        terminal.wait_until_quiet(0.5)
        terminal.emulator.background = "rgb:ffff/ffff/ffff"
        terminal.send("\x1b[?997;2n")
        terminal.wait_for(lambda t: is_painted_in(t, "forge-light"))
        terminal.send("/theme nord\r")
        terminal.wait_for(lambda t: is_painted_in(t, "nord") and "2031" not in t.emulator.modes)
        assert terminal.output.count(REPORTS_OFF.encode()) == 1
        asked = terminal.output.count(QUERY.encode())
        terminal.send("\x1b[?997;1n")  # it was on its way
        terminal.send("typed")
        terminal.wait_for("typed")
        assert terminal.output.count(QUERY.encode()) == asked


@pytest.mark.pty
@pytest.mark.parametrize(
    "how",
    [{"NO_COLOR": "1"}, {"TERM": "linux"}, {"FORGE_PLAIN": "1"}, {"TERM": "dumb"}, {"FORGE_THEME": "nord"}],
    ids=str,
)
def test_nothing_is_asked_where_no_answer_is_needed(tmp_path: Path, how: dict[str, str]) -> None:
    with chat(tmp_path, "rgb:ffff/ffff/ffff", **how) as terminal:
        terminal.send("hello\r")
        terminal.wait_for(lambda t: t.text.count("hello") > 0 and "forge" in t.text.lower())
        terminal.wait_until_quiet(0.5)
        assert b"\x1b]11;" not in terminal.output and b"\x1b[c" not in terminal.output
        assert REPORTS_ON.encode() not in terminal.output


@pytest.mark.pty
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_tmux_answers_for_its_pane(tmp_path: Path) -> None:
    socket, work = str(tmp_path / "tmux"), tmp_path / "work"
    work.mkdir()
    settings = "set -g window-style bg=#fafafa\nset -g status off\nset -as terminal-features ',*:RGB'\n"
    (tmp_path / "tmux.conf").write_text(settings)
    command = ["tmux", "-S", socket, "-f", str(tmp_path / "tmux.conf"), "new-session", shlex.join(CHAT)]
    environment = {"FORGE_HOME": str(tmp_path / "home"), "HOME": str(tmp_path), "TMUX": ""}
    with Terminal(command, folder=work, environment=environment) as terminal:
        try:
            terminal.send("typed")
            terminal.wait_for("typed")
            terminal.wait_for(lambda t: is_painted_in(t, "forge-light"))
            assert "rgb" not in terminal.text and "typed" in terminal.text
        finally:
            subprocess.run(["tmux", "-S", socket, "kill-server"], capture_output=True, check=False)
