"""A repaint renders only the affected widgets, with the result of Textual's own compositor."""

from __future__ import annotations

import random

import pytest
from rich.segment import Segment
from textual._compositor import Compositor
from textual.geometry import Region
from textual.widgets import Input

from forge_tui.terminal.compositor import DirtyRegionCompositor
from forge_tui.terminal.output import _pieces
from tests.support.output_app import OutputApp

pytestmark = pytest.mark.slow


SIZE = (80, 30)


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
