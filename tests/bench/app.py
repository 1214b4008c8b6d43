"""A small app around the transcript: every kind of block, a scripted stream. For looking and for measuring.

python -m tests.bench.app [--show] [--theme forge-light] [--rate 100] [--tokens 400] [--history 1000]

Enter in the composer streams an answer; Ctrl+O unfolds the cards.
"""

from __future__ import annotations

import argparse
import asyncio
import threading
from typing import ClassVar

from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Static, TextArea

from forge_tui.terminal.output import RowDiffOutput
from forge_tui.theming import load_builtin
from forge_tui.widgets.transcript import Transcript
from tests.bench import script


class Prompt(TextArea):
    """A composer of the least kind."""

    async def _on_key(self, event: events.Key) -> None:
        if event.key == "enter":
            event.prevent_default()
            event.stop()
            self.app.send(self.text)  # type: ignore[attr-defined]
            self.text = ""
            return
        await super()._on_key(event)


class BenchApp(RowDiffOutput, App[None]):
    """Transcript, composer, status line."""

    CSS = """
    Transcript { height: 1fr; }
    Prompt { height: 4; border: none; border-top: solid $foreground 20%; }
    #status { height: 1; padding: 0 1; }
    """
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+o", "cards", priority=True),
        Binding("pageup", "page_up", priority=True),
        Binding("pagedown", "page_down", priority=True),
        Binding("ctrl+home", "to_start", priority=True),
        Binding("ctrl+end", "to_end", priority=True),
        Binding("ctrl+t", "switch_theme", priority=True),
    ]

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__()
        self.options = options
        self.transcript = Transcript()
        self._turn: asyncio.Task[None] | None = None

    def compose(self) -> ComposeResult:
        yield self.transcript
        yield Prompt()
        yield Static("model  0 tok  $0.00", id="status", markup=False)

    def on_mount(self) -> None:
        for name in ("forge-dark", "forge-light"):
            theme = load_builtin(name)
            if theme is not None:
                self.register_theme(theme)
        self.theme = self.options.theme
        prompt = self.query_one(Prompt)
        prompt.cursor_blink = False
        prompt.focus()
        for block in range(self.options.history):
            script.add_history(self.transcript, block)
        if self.options.show:
            for event in script.every_block():
                if isinstance(event, str):
                    self.transcript.add_user(event)
                else:
                    self.transcript.apply(event)
            self.transcript.add_text("Tool   Permission\nread   runs unasked\nbash   asks", "/tools")
        self.call_after_refresh(lambda: threading.Thread(target=Transcript.warm, daemon=True).start())

    def send(self, text: str) -> None:
        """Answers with a scripted stream."""
        self.transcript.add_user(text)
        self._turn = asyncio.create_task(self._stream())

    async def _stream(self) -> None:
        async for event in script.turn(self.options.tokens, self.options.rate):
            self.transcript.apply(event)

    def action_cards(self) -> None:
        self.transcript.toggle_cards()

    def action_page_up(self) -> None:
        self.transcript.page(-1)

    def action_page_down(self) -> None:
        self.transcript.page(1)

    def action_to_start(self) -> None:
        self.transcript.scroll_to_start()

    def action_to_end(self) -> None:
        self.transcript.scroll_to_end()

    def action_switch_theme(self) -> None:
        self.theme = "forge-light" if self.theme == "forge-dark" else "forge-dark"


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The options of the demonstration."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--theme", default="forge-dark")
    parser.add_argument("--rate", type=float, default=100.0, help="tokens a second; 0 for all at once")
    parser.add_argument("--tokens", type=int, default=400)
    parser.add_argument("--history", type=int, default=0, help="blocks before the start")
    parser.add_argument("--show", action="store_true", help="one of every kind of block")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    BenchApp(parse()).run()
