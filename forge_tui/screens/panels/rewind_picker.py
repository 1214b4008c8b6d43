"""The picker of `/rewind`: first a message, then what goes back to it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from forge_core.durations import time_ago
from forge_core.sanitize import safe_line
from forge_core.text_width import clip
from forge_tui.screens.panels.overlay import Overlay
from forge_tui.widgets.choices import Choice, ChoiceList

if TYPE_CHECKING:
    from forge_core.session.rewinder import RewindPoint

_LONGEST = 400
"""Characters of a message or a list of names that are prepared for the screen."""
_MAX_NAMES = 6
_TITLE_CELLS = 50
"""Of the message in the panel's title."""


class RewindPicker(Overlay[str | None]):
    """Returns the argument of the `/rewind` that does what was chosen: "3 files"; None without a choice."""

    DEFAULT_CSS = """
    RewindPicker .about {
        color: $forge-muted;
        height: 1;
        margin-top: 1;
        text-wrap: nowrap;
        text-overflow: ellipsis;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,ctrl+n", "move(1)", show=False),
        Binding("up,ctrl+p", "move(-1)", show=False),
        Binding("enter", "accept", show=False),
    ]

    def __init__(
        self,
        points: Sequence[RewindPoint],
        clock: Callable[[], float] = time.time,
        *,
        key_clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`clock` gives seconds since the epoch, `key_clock` measures the time between keys."""
        super().__init__()
        self._key_clock = key_clock
        self._points = points
        self._clock = clock
        self._point: RewindPoint | None = None
        """The message that was chosen."""
        self._actions: list[str] = []

    def compose(self) -> ComposeResult:
        with Vertical(classes="panel") as panel:
            panel.border_title = "Rewind to before"
            self.show_keys("Enter choose · Esc back")
            yield ChoiceList([], max_rows=self.list_rows(12, 5), label_share=None)
            yield Static("", classes="about", markup=False)

    def on_mount(self) -> None:
        self._show_points(len(self._points) - 1)

    def action_move(self, by: int) -> None:
        self._list.move(by)
        self._show_about()

    def action_accept(self) -> None:
        chosen = self._list.chosen
        if self._point is None:
            self._show_actions(self._points[chosen])
            self.guard(self._key_clock, ("enter", self._key_clock()))
        else:
            self.dismiss(f"{self._point.number} {self._actions[chosen]}".strip())

    def action_leave(self) -> None:
        if self._point is None:
            self.dismiss(None)
        else:
            self._show_points(self._point.number - 1)

    def on_choice_list_clicked(self, event: ChoiceList.Clicked) -> None:
        if not self.refuses_click():
            event.choices.choose(event.index)
            self.action_accept()

    @property
    def _list(self) -> ChoiceList:
        return self.query_one(ChoiceList)

    def _show_points(self, chosen: int) -> None:
        self._point = None
        self.query_one(".panel").border_title = "Rewind to before"
        self._list.show([*map(self._row, self._points)], chosen)
        self._show_about()

    def _show_actions(self, point: RewindPoint) -> None:
        """Ask what goes back to this message."""
        self._point = point
        rows = {"chat": Choice("Conversation", detail="the files stay as they are")}
        if point.files:
            rows = {
                "": Choice("Conversation and files", detail=_count(len(point.files))),
                **rows,
                "files": Choice("Files", detail="the conversation stays as it is"),
            }
        if point.turns_since is not None:
            rows["summary"] = Choice("Summarise from here", detail="what came before stays as it is")
        rows["fork"] = Choice("Continue in a copy", detail="this session stays as it is")
        self._actions = [*rows]
        title = Content(f"Rewind to before “{clip(_line(point.text), _TITLE_CELLS)}”")  # no markup
        self.query_one(".panel").border_title = title
        self._list.show([*rows.values()])
        self._show_about()

    def _row(self, point: RewindPoint) -> Choice:
        changed = _count(len(point.files)) if point.files else ""
        facts = filter(None, (changed, time_ago(self._clock() - point.at)))
        return Choice(_line(point.text), detail=" · ".join(facts))

    def _show_about(self) -> None:
        """Name the files that have changed since the message."""
        point = self._point or self._points[self._list.chosen]
        names = ", ".join(safe_line(name) for name in point.files[:_MAX_NAMES])
        more = f" and {len(point.files) - _MAX_NAMES} more" if len(point.files) > _MAX_NAMES else ""
        text = (
            f"{_count(len(point.files))} changed since: {names}{more}"
            if names
            else "No file has changed since"
        )
        self.query_one(".about", Static).update(text)


def _count(files: int) -> str:
    return f"{files} file{'s'[: files != 1]}"


def _line(text: str) -> str:
    """Return a message as one safe line."""
    line = safe_line(" ".join(text[: 4 * _LONGEST].split()))
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
