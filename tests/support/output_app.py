"""An app with everything an output stage must get right: scrolling, overlays, wide characters, styles, themes.

Run as `python -m tests.support.output_app`; each key does one thing, so that a test can drive it through a pty.
"""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input, Static

from forge_tui.terminal.compositor import DirtyRegionScreen
from forge_tui.terminal.output import RowDiffOutput
from forge_tui.widgets.blockview import block_view as view
from forge_tui.widgets.transcript import Transcript
from tests.bench.script import MARKDOWN, every_block
from tests.support.at_rest import TellsWhenAtRest


class Body(DirtyRegionScreen[None]):
    """The app's screen."""


class Panel(ModalScreen[None]):
    """A modal over a dimmed background, whose text grows."""

    CSS = "Panel { align: center middle } #box { width: 30; height: 7; border: round red; background: blue }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "dismiss", priority=True),
        Binding("g", "grow", priority=True),
    ]

    def compose(self) -> ComposeResult:
        yield Static("A panel 混合", id="box", markup=False)

    def action_grow(self) -> None:
        box = self.query_one("#box", Static)
        box.update(str(box.content) + " 文字 and more")


class Styles(Widget):
    """A row of every attribute, and links."""

    def render_line(self, y: int) -> Strip:
        attributes = [
            "bold",
            "dim",
            "italic",
            "underline",
            "reverse",
            "strike",
            "red on blue",
            "#123456 on #abcdef",
        ]
        segments = [Segment(f"{name} ", Style.parse(name)) for name in attributes]
        segments.append(Segment("link", Style(link="https://example.org")))
        return Strip(segments).adjust_cell_length(self.size.width)


class OutputApp(TellsWhenAtRest, RowDiffOutput, App[None]):
    """See `BINDINGS` for what each key does."""

    CSS = """
    #body { height: 1fr }
    #side { width: 16; border-left: solid green }
    Styles { height: 1 }
    Input { height: 3 }
    .wide #side { width: 30 }
    Body { layers: below above }
    #float { layer: above; width: 24; height: 6; offset: 5 8; background: blue; display: none }
    .floating #float { display: block }
    """
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f1", "add", priority=True),
        Binding("f2", "panel", priority=True),
        Binding("f3", "theme_next", priority=True),
        Binding("f4", "side", priority=True),
        Binding("f5", "notice", priority=True),
        Binding("f6", "side_scroll", priority=True),
        Binding("f7", "lend_terminal", priority=True),
        Binding("f8", "fail", priority=True),
        Binding("f9", "float", priority=True),
        Binding("pageup", "up", priority=True),
        Binding("pagedown", "down", priority=True),
        Binding("ctrl+o", "cards", priority=True),
    ]

    def get_default_screen(self) -> Body:
        return Body()

    def compose(self) -> ComposeResult:
        with Horizontal(id="body"):
            yield Transcript()
            with VerticalScroll(id="side"):
                yield Static("\n".join(f"side {n} 縦書" for n in range(60)), markup=False)
        yield Styles()
        yield Input()
        yield Static("A float 浮動", id="float", markup=False)

    def on_mount(self) -> None:
        field = self.query_one(Input)
        field.cursor_blink = False
        field.focus()
        self._added = 0

    @property
    def transcript(self) -> Transcript:
        return self.query_one(Transcript)

    def action_add(self) -> None:
        self._added += 1
        if self._added % 3 == 0:
            for event in every_block():
                if isinstance(event, str):
                    self.transcript.add_user(event)
                elif getattr(event, "call_id", "") != "7":  # its running time would differ from run to run
                    self.transcript.apply(event)
        else:
            self.transcript.add_markdown(MARKDOWN[: 90 * self._added])

    def action_panel(self) -> None:
        self.push_screen(Panel())

    def action_theme_next(self) -> None:
        self.theme = "textual-light" if self.theme == "textual-dark" else "textual-dark"

    def action_side(self) -> None:
        self.screen.toggle_class("wide")

    def action_float(self) -> None:
        self.screen.toggle_class("floating")

    def action_notice(self) -> None:
        self.transcript.add_notice("警告: mixed 幅 text", "warning")

    def action_side_scroll(self) -> None:
        self.query_one("#side", VerticalScroll).scroll_relative(y=3, animate=False)

    def action_lend_terminal(self) -> None:
        with self.suspend():
            input("another program: ")

    def action_fail(self) -> None:
        raise RuntimeError("failed on purpose")

    def action_up(self) -> None:
        self.transcript.page(-1)

    def action_down(self) -> None:
        self.transcript.page(1)

    def action_cards(self) -> None:
        self.transcript.toggle_cards()


if __name__ == "__main__":
    view._SCROLLBAR_S = 0.0  # so long it may lag behind
    OutputApp().run()
