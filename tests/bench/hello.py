"""The least Textual app with an input: what a typed word costs without Forge."""

from __future__ import annotations

from textual.app import App, ComposeResult
from textual.widgets import Input


class Hello(App[None]):
    """An input, nothing else."""

    def compose(self) -> ComposeResult:
        yield Input()


if __name__ == "__main__":
    Hello().run()
