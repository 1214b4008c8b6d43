"""Rows bypass the compositor only if the widget is completely visible."""

from __future__ import annotations

import pytest
from textual.app import App, ComposeResult
from textual.geometry import Region
from textual.widgets import Static

from forge_tui.terminal.compositor import DirtyRegionCompositor, DirtyRegionScreen


class Body(DirtyRegionScreen[None]):
    def compose(self) -> ComposeResult:
        yield Static("text", id="text")
        yield Static("float", id="float")


class BodyApp(App[None]):
    CSS = """
    Body { layers: below above; overflow: hidden }
    #text { height: 5; width: 20 }
    #float { layer: above; width: 4; height: 2; offset: 18 1; display: none }
    """

    def get_default_screen(self) -> Body:
        return Body()


def uncovered(app: BodyApp, width: int) -> Region | None:
    compositor = app.screen._compositor
    assert isinstance(compositor, DirtyRegionCompositor)
    return compositor.uncovered(app.screen.query_one("#text"), width)


async def test_a_widget_is_uncovered_until_another_widget_overlaps_its_columns() -> None:
    app = BodyApp()
    async with app.run_test(size=(30, 10)) as pilot:
        assert uncovered(app, 20) == Region(0, 0, 20, 5)
        app.screen.query_one("#float").display = True
        await pilot.pause()
        assert uncovered(app, 20) is None
        assert uncovered(app, 18) == Region(0, 0, 20, 5)
        app.screen.query_one("#float").display = False
        await pilot.pause()
        assert uncovered(app, 20) == Region(0, 0, 20, 5)


@pytest.mark.parametrize("size", ((12, 10), (30, 3)))
async def test_a_widget_that_is_cut_is_not_uncovered(size: tuple[int, int]) -> None:
    app = BodyApp()
    async with app.run_test(size=size):
        assert uncovered(app, 20) is None


async def test_without_the_output_stage_rows_are_left_to_the_compositor() -> None:
    app = BodyApp()
    async with app.run_test(size=(30, 10)):
        assert isinstance(app.screen, Body)
        assert not app.screen.paint_rows(app.screen.query_one("#text"), [])
