"""The bar in place of the composer while a recorded session is played."""

from __future__ import annotations

from typing import ClassVar

from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget

from forge_core.sanitize import safe_line
from forge_core.text_width import cell_len, clip, clip_middle
from forge_tui.widgets.edges import FRAMED_TEXT
from forge_tui.widgets.replay_text import REPLAY
from forge_tui.widgets.role_strip import role_strip


class ReplayBar(Widget, can_focus=True):
    """One row about the replay, and one for each request for permission that was open at this time."""

    DEFAULT_CSS = f"""
    ReplayBar {{
        padding: 0 1 0 {FRAMED_TEXT};
        height: auto;
        color: $forge-muted;
        border: round $forge-faint;
        & > .replay--state {{ color: $accent; }}
        & > .replay--asked {{ color: $warning; }}
        & > .replay--target {{ color: $foreground; }}
    }}
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"replay--state", "replay--asked", "replay--target"}

    def __init__(self) -> None:
        super().__init__()
        self._text = REPLAY
        self._state = ""
        self._requests: dict[str, tuple[str, str, str]] = {}
        """Id of a call → its title and target, and the answer."""

    def show(self, text: str, state: str) -> None:
        """Show what is being played, and whether it goes on."""
        if (text, state) != (self._text, self._state):
            self._text, self._state = text, state
            self.refresh()

    def ask(self, call_id: str, title: str, target: str) -> None:
        """Show a request for permission."""
        self._requests[call_id] = (safe_line(title), safe_line(target), "")
        self.refresh(layout=True)

    def answer(self, call_id: str, answer: str) -> None:
        """Show how a request was answered."""
        if call_id in self._requests:
            title, target, _ = self._requests[call_id]
            self._requests[call_id] = (title, target, safe_line(answer))
            self.refresh()

    def forget(self, call_id: str) -> None:
        """Remove the request of a call."""
        if self._requests.pop(call_id, None) is not None:
            self.refresh(layout=True)

    def forget_all(self) -> None:
        """Remove all requests: the turn has ended."""
        if self._requests:
            self._requests.clear()
            self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return 1 + len(self._requests)

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if y == 0:
            state = clip(self._state, width)
            text = clip(self._text, max(width - cell_len(state) - 2, 0))
            gap = max(width - cell_len(text) - cell_len(state), 0)
            return role_strip(self, "replay", [("plain", text + " " * gap), ("state", state)])
        requests = list(self._requests.values())
        if y > len(requests):
            return role_strip(self, "replay", [("plain", "")])
        title, target, answer = requests[y - 1]
        asked = f"Permission asked: {title} "
        answered = f" · {answer}" if answer else " · not answered yet"
        room = max(width - cell_len(asked) - cell_len(answered), 0)
        return role_strip(
            self, "replay", [("asked", asked), ("target", clip_middle(target, room)), ("plain", answered)]
        )
