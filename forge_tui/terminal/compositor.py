"""Textual's compositor, asking only those widgets for their rows that can show in what is painted.

Textual's own asks every widget on the screen for all of its rows at every repaint, however small: the
screen itself, the containers, the composer, the scroll bar. That was half the cost of a frame of an answer.

Relies on these of Textual 8.2.8's `Compositor`: `render_partial_update` copies and clears `_dirty_regions`;
`_get_renders` is asked once per update and yields from the front to the back; `visible_widgets`. And on
`Screen._compositor`, made in `Screen.__init__`. Beside what is painted an update holds pieces that not all
layers were asked for: the output stage leaves them alone, which Textual's own output would not.
"""

from __future__ import annotations

from collections.abc import Iterable

from textual import events
from textual._compositor import ChopsUpdate, Compositor
from textual.geometry import Region
from textual.screen import Screen, ScreenResultType
from textual.strip import Strip

from forge_tui.terminal.output import RowDiffOutput
from forge_tui.terminal.screen_size import pass_over_outdated


class FrugalScreen(Screen[ScreenResultType]):
    """A screen that is painted by a `FrugalCompositor`, where the output stage is on."""

    def __init__(self) -> None:
        super().__init__()
        if RowDiffOutput.row_diff_enabled:
            self._compositor = FrugalCompositor()

    async def _on_resize(self, event: events.Resize) -> None:
        pass_over_outdated(event, self)


class FrugalCompositor(Compositor):
    """See above."""

    def __init__(self) -> None:
        super().__init__()
        self._painted: list[Region] | None = None
        """What a partial update is to paint."""

    def render_partial_update(self) -> ChopsUpdate | None:
        self._painted = list(self._dirty_regions)
        try:
            return super().render_partial_update()
        finally:
            self._painted = None

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
