"""The launcher paints the app's own first frame: nothing changes when the app takes over."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from forge_core.config.forge_config import Endpoint, ForgeConfig
from forge_core.config.permission_mode import PermissionMode
from forge_core.session.playback import Playback
from forge_core.store.saved_session import load_session
from forge_tui.app import ForgeApp
from forge_tui.first_frame import FirstFrame
from forge_tui.replay import ReplayApp, replay_config
from forge_tui.screens.chat.environment import Environment
from forge_tui.terminal.known_backgrounds import Background, remember_background
from forge_tui.terminal.screen_model import render
from tests.support.terminal import Emulator
from tests.unit.store.test_recorded_journals import JOURNALS

pytestmark = pytest.mark.pty


HOME = Path("/home/ada")
TYPED = ["", "hello", "/mo", "漢字かな交じり", "e\u0301te\u0301 ok", "🎉 ok 🚀", "x" * 35]


class FirstFrameApp(ForgeApp):
    """Stops before anything changes its first frame."""

    def __init__(self, config: ForgeConfig) -> None:
        super().__init__(config, lambda *_: None, environment=Environment(home=HOME))  # type: ignore[arg-type, return-value]

    def _begin_warm_up(self) -> None:
        return


Cells = list[list[tuple[Any, ...]]]


def cells(painted: str, size: tuple[int, int]) -> Cells:
    """What a terminal shows: characters, colours and attributes; a blank's foreground does not show."""
    emulator = Emulator(*size)
    emulator.feed(painted)
    return [
        [(cell[0], None if not cell[0].strip() else cell[1], *cell[2:]) for cell in row]
        for row in emulator.cells()
    ]


async def of_the_app(config: ForgeConfig, size: tuple[int, int], typed: str) -> Cells:
    app = FirstFrameApp(config)
    app.take_typed_text(typed)
    async with app.run_test(size=size) as pilot:
        app.chat.popup.styles.display = "none"
        await pilot.pause()
        return shown_cells(app, size)


def shown_cells(app: ForgeApp, size: tuple[int, int]) -> Cells:
    strips = app.screen._compositor.render_strips()
    rows = (f"\x1b[{y};1H{render(fresh(strip), app.style_codes())}" for y, strip in enumerate(strips, 1))
    return cells("".join(rows), size)


def fresh(strip: Strip) -> list[Segment]:
    """The segments in styles that no other terminal has been drawn with: a style keeps its sequence."""
    segments = []
    for text, style, _ in strip._segments:
        assert style is not None
        segments.append(Segment(text, Style(color=style.color, bgcolor=style.bgcolor, bold=style.bold)))
    return segments


def of_the_launcher(config: ForgeConfig, size: tuple[int, int], typed: str) -> Cells:
    return cells(FirstFrame(config, home=HOME)(*size).painted(typed), size)


def is_same(one: Any, other: Any) -> bool:
    """Whether two colours or attributes look the same: Textual's themes move a colour by a unit of its 256."""
    if one == other:
        return True
    if not (isinstance(one, str) and isinstance(other, str) and len(one) == len(other) == 6):
        return False
    pairs = zip(bytes.fromhex(one), bytes.fromhex(other), strict=True)
    return all(abs(a - b) <= 1 for a, b in pairs)


def differences(one: Cells, other: Cells) -> list[str]:
    """Where both differ, for the message of a failure."""
    return [
        f"row {y}, column {x}: {cell}, {wanted}"
        for y, (row, wanted_row) in enumerate(zip(one, other, strict=True))
        for x, (cell, wanted) in enumerate(zip(row, wanted_row, strict=True))
        if cell[0] != wanted[0] or not all(map(is_same, cell[1:], wanted[1:]))
    ]


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ForgeConfig:
    use_terminal(monkeypatch)
    return ForgeConfig(
        working_dir=HOME / "src/engine",
        endpoint=Endpoint("offline", ""),
        model="forge/offline",
        state_dir=tmp_path / "state",
        config_dir=tmp_path / "config",
    )


def use_terminal(
    monkeypatch: pytest.MonkeyPatch, term: str = "xterm-256color", colorterm: str = "truecolor"
) -> None:
    monkeypatch.setenv("TERM", term)
    monkeypatch.setenv("COLORTERM", colorterm)
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.mark.parametrize("typed", TYPED)
@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
@pytest.mark.parametrize("theme", ["forge-dark", "forge-light"])
async def test_launcher_and_app_paint_the_same_first_frame(
    config: ForgeConfig, theme: str, size: tuple[int, int], typed: str
) -> None:
    config = replace(config, theme=theme)
    assert differences(of_the_launcher(config, size, typed), await of_the_app(config, size, typed)) == []


@pytest.mark.parametrize("last", Background)
async def test_both_expect_the_background_of_the_last_time(config: ForgeConfig, last: Background) -> None:
    remember_background(config.state_dir, os.environ, last)
    frame = of_the_launcher(config, (80, 24), "")
    assert differences(frame, await of_the_app(config, (80, 24), "")) == []
    assert frame == of_the_launcher(replace(config, theme=f"forge-{last}"), (80, 24), "")


class FirstReplayFrameApp(ReplayApp):
    """As `FirstFrameApp`."""

    def _begin_warm_up(self) -> None:
        return


@pytest.mark.parametrize("size", [(80, 24), (100, 30), (47, 19), (20, 7)])
async def test_launcher_and_app_paint_the_same_first_frame_of_a_replay(
    config: ForgeConfig, size: tuple[int, int]
) -> None:
    playback = Playback(load_session(JOURNALS / "plain_answer.jsonl"))
    app = FirstReplayFrameApp(config, playback, environment=Environment(home=HOME))
    painted = FirstFrame(replay_config(config, playback), home=HOME, is_replay=True)(*size).painted("")
    async with app.run_test(size=size):
        assert differences(cells(painted, size), shown_cells(app, size)) == []


@pytest.mark.parametrize(
    "size", [(20, 7), (40, 10), (47, 19), (48, 20), (60, 21), (200, 70), (19, 30), (80, 6)]
)
async def test_launcher_and_app_paint_the_same_first_frame_at_any_size(
    config: ForgeConfig, size: tuple[int, int]
) -> None:
    if size[0] < 20 or size[1] < 7:  # too small for a frame: the launcher leaves the ground
        assert {cell[0] for row in of_the_launcher(config, size, "") for cell in row} == {" "}
        return
    assert differences(of_the_launcher(config, size, ""), await of_the_app(config, size, "")) == []


@pytest.mark.parametrize("size", [(80, 24), (60, 22), (60, 21), (60, 20), (60, 19)])
async def test_mounting_the_transcript_does_not_change_the_first_frame(
    config: ForgeConfig, size: tuple[int, int]
) -> None:
    app = FirstFrameApp(config)
    async with app.run_test(size=size) as pilot:
        before = [strip.text for strip in app.screen._compositor.render_strips()]
        app.chat.show_transcript()
        await pilot.pause()
        assert app.chat.transcript.is_attached
        assert [strip.text for strip in app.screen._compositor.render_strips()] == before


@pytest.mark.parametrize(
    ("term", "colorterm", "no_color"),
    [("xterm-256color", "", False), ("xterm", "", False), ("linux", "", False), ("xterm", "truecolor", True)],
)
async def test_launcher_and_app_paint_the_same_first_frame_with_fewer_colours(
    config: ForgeConfig, monkeypatch: pytest.MonkeyPatch, term: str, colorterm: str, no_color: bool
) -> None:
    use_terminal(monkeypatch, term, colorterm)
    if no_color:
        monkeypatch.setenv("NO_COLOR", "1")
    assert (
        differences(of_the_launcher(config, (80, 24), "hi"), await of_the_app(config, (80, 24), "hi")) == []
    )


@pytest.mark.parametrize(
    "changes",
    [
        {
            "model": "anthropic/claude",
            "endpoint": Endpoint("openrouter", "https://openrouter.ai/api/v1", "sk-x"),
        },
        {"working_dir": Path("/srv") / ("ein-ordner" * 12)},
        {"working_dir": HOME / "プロジェクト/混合\x1b[31m"},
        {"permission_mode": PermissionMode.YOLO},
    ],
    ids=["a real model", "a long folder", "a strange folder", "yolo"],
)
async def test_launcher_and_app_paint_the_same_first_frame_for_any_settings(
    config: ForgeConfig, changes: dict[str, Any]
) -> None:
    config = replace(config, **changes)
    assert differences(of_the_launcher(config, (80, 24), ""), await of_the_app(config, (80, 24), "")) == []
