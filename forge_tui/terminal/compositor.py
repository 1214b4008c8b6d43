"""A screen that loses no update, and a compositor that renders only widgets that overlap the dirty regions.

Textual's own compositor renders all rows of every visible widget at every repaint, however small: the screen
itself, the containers, the composer, the scroll bar. That was half the cost of a frame of an answer.

Relies on these parts of Textual 8.2.8's `Compositor`: `render_partial_update` copies and clears
`_dirty_regions`; `_get_renders` is called once per update and yields from front to back; `visible_widgets` is
a new object after each layout, in the order from front to back. And on `Screen._compositor`, made in
`Screen.__init__`, and `Screen._layout_required`; `SteadyScreen` names what it relies on. Outside the dirty
regions an update contains pieces for which not all layers were rendered: `RowDiffOutput` ignores them,
Textual's own output would not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from textual import events
from textual._compositor import ChopsUpdate, Compositor
from textual.geometry import Region
from textual.screen import Screen, ScreenResultType
from textual.strip import Strip
from textual.widget import Widget

from forge_tui.terminal.output import RowDiffOutput


class SteadyScreen(Screen[ScreenResultType]):
    """A screen that loses no update and no change of size, unlike Textual 8.2.8's own.

    Updates: `Screen._on_timer_update` empties `_dirty_widgets` if `_repaint_required` is set, as if all of
    the screen were dirty. But each change in a screen below another sets it for both, and marks only a region
    as dirty. So a panel would not show a move of its cursor that falls into one frame with a step of the
    spinner behind it, and of two changes behind a panel the second would be missing.

    Sizes: a layout posts the size it was made for to the screen itself, as a `Resize` like the one that the
    app posts, and `Screen._on_resize` lays out for whatever size such a message names. If the terminal is
    resized twice in a moment, the layout for the old size would post that size again, and the screen would
    keep it. `App.size` is the terminal's own, and the app posts it to the screen last of all: `_resize_event`
    is what it has not posted yet. But of several such messages in a queue only the last is handled, so an
    outdated one may replace the app's.
    """

    def _on_timer_update(self) -> None:
        if self._repaint_required:
            self._compositor.update_widgets(self._dirty_widgets)
        super()._on_timer_update()

    async def _on_resize(self, event: events.Resize) -> None:
        # The handler of a subclass runs first, and `prevent_default` keeps those of the base from running.
        if event.size == self.app.size:
            return
        event.prevent_default()
        if self.app._resize_event is None:
            self.post_message(events.Resize(self.app.size, self.app.size))


class DirtyRegionScreen(SteadyScreen[ScreenResultType]):
    """A screen with a `DirtyRegionCompositor`, if `RowDiffOutput` is enabled."""

    def __init__(self) -> None:
        super().__init__()
        if RowDiffOutput.row_diff_enabled:
            self._compositor = DirtyRegionCompositor()

    def paint_rows(self, widget: Widget, rows: Sequence[tuple[int, Strip]]) -> bool:
        """Paint rows of a widget at once, bypassing the compositor.

        Return False if that is impossible: something covers the widget, a layout is due, or `RowDiffOutput`
        is disabled. A row is its index in the widget and a strip that begins at the left edge. The compositor
        is not informed: the widget must render the same rows when it asks for them.
        """
        app, compositor = self.app, self._compositor
        if (
            not isinstance(compositor, DirtyRegionCompositor)
            or self._layout_required
            or self is not app.screen
            or not isinstance(app, RowDiffOutput)
        ):
            return False
        width = max((strip.cell_length for _, strip in rows), default=0)
        region = compositor.uncovered(widget, width)
        if region is None:
            return False
        top, left = region.offset.y, region.offset.x
        return app.paint_pieces([(top + y, left, strip) for y, strip in rows if y < region.height])


class DirtyRegionCompositor(Compositor):
    """Renders what the dirty regions need."""

    def __init__(self) -> None:
        super().__init__()
        self._painted: list[Region] | None = None
        """The regions of the current partial update."""
        self._uncovered: tuple[object, Widget, int, Region | None] | None = None
        """The last answer of `uncovered`, with what it depends on."""

    def render_partial_update(self) -> ChopsUpdate | None:
        self._painted = list(self._dirty_regions)
        try:
            return super().render_partial_update()
        finally:
            self._painted = None

    def uncovered(self, widget: Widget, width: int) -> Region | None:
        """Return the region of a widget; None if it is clipped, or its first `width` columns are covered."""
        visible = self.visible_widgets
        known = self._uncovered
        if known is not None and known[0] is visible and known[1:3] == (widget, width):
            return known[3]
        region = _uncovered(visible, widget, width)
        self._uncovered = (visible, widget, width, region)
        return region

    def _get_renders(self, crop: Region | None = None) -> Iterable[tuple[Region, Region, list[Strip]]]:
        if self._painted is None:
            yield from super()._get_renders(crop)
            return
        wanted = self._painted
        for widget, (region, clip) in self.visible_widgets.items():
            shown = region.intersection(clip)
            if not any(map(shown.overlaps, wanted)):
                continue
            yield region, clip, widget.render_lines(shown.translate(-region.offset))
            wanted = [part for part in wanted if not shown.contains_region(part)]
            if not wanted:
                return


def _uncovered(visible: Mapping[Widget, tuple[Region, Region]], widget: Widget, width: int) -> Region | None:
    if widget not in visible:
        return None
    region, clip = visible[widget]
    wanted = Region(region.x, region.y, width, region.height)
    if not clip.contains_region(region) or not region.contains_region(wanted):
        return None
    for other, (place, limits) in visible.items():  # from the front to the back
        if other is widget:
            break
        if wanted.overlaps(place.intersection(limits)):
            return None
    return region
