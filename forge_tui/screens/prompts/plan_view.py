"""The widget that shows a plan: Markdown that scrolls."""

from __future__ import annotations

from rich.segment import Segment
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from forge_core.sanitize import safe_text
from forge_tui.terminal.output import depth_of
from forge_tui.widgets.blockview.blocks import TEXT_WIDTH
from forge_tui.widgets.blockview.rows import Canvas
from forge_tui.widgets.blockview.styles import TranscriptStyles
from forge_tui.widgets.transcript.markdown.markdown_rows import draw_markdown


class PlanView(ScrollView, can_focus=False):
    """Shows complete Markdown, scrolled by its owner or the wheel."""

    DEFAULT_CSS = """
    PlanView { height: auto; overflow-x: hidden; scrollbar-size-vertical: 1; color: $foreground; }
    """

    def __init__(self, source: str) -> None:
        super().__init__()
        self._source = safe_text(source, keep_invisible=True)
        self._rows: list[list[Segment]] = []
        self._drawn: tuple[int, str] = (-1, "")
        """The width and the theme for which the rows are."""

    def show(self, source: str) -> None:
        """Show another plan, from its beginning."""
        self._source, self._drawn = safe_text(source, keep_invisible=True), (-1, "")
        self.scroll_home(animate=False)
        self.refresh(layout=True)

    def row_count(self, width: int) -> int:
        """Return the number of rows in that many cells."""
        return len(self._rows_for(width))

    @property
    def rows_below(self) -> int:
        """The number of rows below those on the screen."""
        return len(self._rows) - round(self.scroll_y) - self.size.height

    def _rows_for(self, width: int) -> list[list[Segment]]:
        drawn = width, self.app.theme
        if drawn != self._drawn:
            styles = TranscriptStyles.from_theme(
                self.app.theme_variables, self.background_colors[1], depth_of(self.app)
            )
            canvas = Canvas(min(width, TEXT_WIDTH))
            draw_markdown(self._source, canvas, styles)
            self._rows, self._drawn = [row.segments for row in canvas.rendered.rows], drawn
        return self._rows

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return self.row_count(width - 1)

    def on_resize(self) -> None:
        self.virtual_size = Size(self.size.width, self.row_count(max(self.container_size.width - 1, 4)))

    def render_line(self, y: int) -> Strip:
        rows = self._rows_for(self._drawn[0])  # again, after a change of the theme
        index = y + self.scroll_offset.y
        segments = rows[index] if index < len(rows) else []
        return Strip(segments).adjust_cell_length(self.size.width).apply_style(self.rich_style)
