"""A repaint renders only the affected widgets, with the result of Textual's own compositor."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from rich.console import RenderableType
from rich.segment import Segment
from textual._compositor import ChopsUpdate, Compositor, LayoutUpdate
from textual.geometry import Region
from textual.screen import Screen
from textual.widgets import Input

from forge_tui.terminal.compositor import DirtyRegionCompositor
from forge_tui.terminal.output import _pieces
from tests.support.chat_app import ChatApp, make_app, make_config, ready, shown, until
from tests.support.output_app import OutputApp

pytestmark = pytest.mark.slow


SIZE = (80, 30)


class PaintedApp(ChatApp):
    """Keeps the text of all that it paints."""

    painted = ""

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        super()._display(screen, renderable)
        if isinstance(renderable, ChopsUpdate | LayoutUpdate):
            self.painted += "".join(strip.text for _, _, strip in _pieces(renderable))


async def test_a_widget_is_painted_when_part_of_its_screen_is_dirty_too(tmp_path: Path) -> None:
    app = make_app(make_config(tmp_path), kind=PaintedApp)
    assert isinstance(app, PaintedApp)
    async with app.run_test(size=(160, 40)) as pilot:
        await ready(pilot)
        await pilot.press("f1")
        await until(pilot, lambda: "Esc close" in shown(app))
        app.chat.activity.show_queue("first behind")
        await until(pilot, lambda: "first behind" in app.painted)
        app.chat.refresh(Region(0, 0, 1, 1))
        app.chat.activity.show_queue("then behind")
        await until(pilot, lambda: "then behind" in app.painted)
        with app.batch_update():  # in one frame
            app.screen.refresh(Region(0, 0, 1, 1))  # as each change behind does
            app.screen.query_one(".panel").border_title = "in front"
            await pilot.pause()
        app.screen.check_idle()
        await until(pilot, lambda: "in front" in app.painted)


def painted(
    compositor: Compositor, regions: set[Region], kind: type[Compositor]
) -> dict[tuple[int, int], Segment]:
    """Cell → what an update of these regions puts there."""
    compositor._dirty_regions = set(regions)
    update = kind.render_partial_update(compositor)
    assert update is not None
    cells: dict[tuple[int, int], Segment] = {}
    for y, x, strip in _pieces(update):
        for segment in strip:
            for character in segment.text:
                cells[x, y] = Segment(character, segment.style)
                x += 1
    return cells


@pytest.mark.parametrize("keys", [(), ("f1", "f1"), ("f1", "f2"), ("f1", "f6", "f4")])
async def test_painted_rows_equal_those_of_textual(keys: tuple[str, ...]) -> None:
    app = OutputApp()
    chosen = random.Random(4)
    async with app.run_test(size=SIZE) as pilot:
        for key in keys:
            await pilot.press(key)
        await pilot.pause()
        ours = app.screen_stack[0]._compositor
        assert isinstance(ours, DirtyRegionCompositor)
        for _ in range(40):
            regions = set()
            for _ in range(chosen.randint(1, 3)):
                x, y = chosen.randrange(SIZE[0]), chosen.randrange(SIZE[1])
                width, height = chosen.randint(1, SIZE[0] - x), chosen.randint(1, SIZE[1] - y)
                regions.add(Region(x, y, width, height))
            assert painted(ours, regions, DirtyRegionCompositor) == painted(ours, regions, Compositor)


async def test_painting_a_transcript_row_renders_only_the_transcript(monkeypatch: pytest.MonkeyPatch) -> None:
    app = OutputApp()
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("f1")
        await pilot.pause()
        compositor = app.screen._compositor
        asked = []
        for widget in compositor.visible_widgets:
            kind = type(widget)

            def render_lines(self: object, crop: Region, inner: object = kind.render_lines) -> object:
                asked.append(type(self))
                return inner(self, crop)  # type: ignore[operator]

            monkeypatch.setattr(kind, "render_lines", render_lines)
        where = app.transcript.region
        compositor._dirty_regions = {Region(where.x, where.y + 2, app.transcript.size.width - 1, 1)}
        assert compositor.render_partial_update() is not None
        assert set(asked) == {type(app.transcript)}
        asked.clear()
        compositor._dirty_regions = {app.query_one(Input).region}
        assert compositor.render_partial_update() is not None
        assert set(asked) == {Input}
