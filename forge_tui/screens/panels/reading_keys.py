"""The conversation screen's keys for reading: scrolling, jumping, finding, copying, the mouse.

Overrides one private method of Textual 8.2.8's: `Screen._key_escape`, which comes before the bindings.
"""

from __future__ import annotations

import contextlib
import os
from abc import abstractmethod
from typing import TYPE_CHECKING

from textual.errors import NoWidget

from forge_tui.terminal import internals
from forge_tui.terminal.compositor import FrugalScreen
from forge_tui.widgets.activity import ActivityLine

if TYPE_CHECKING:
    from forge_tui.widgets.composer import Composer
    from forge_tui.widgets.find_bar import FindBar, FindLine
    from forge_tui.widgets.transcript import Transcript


class ReadingKeys(FrugalScreen[None], inherit_bindings=False):
    """What each of these keys does; the table is `keymap.KEYS`."""

    activity: ActivityLine
    composer: Composer
    _find_bar: FindBar | None = None

    @property
    @abstractmethod
    def transcript(self) -> Transcript:
        """The conversation."""

    def on_mount(self) -> None:
        # GNU screen keeps a lone Esc back until the next key while a program reads the mouse.
        if os.environ.get("STY") and not os.environ.get("TMUX"):
            self.action_lend_mouse()

    # Scrolling

    def action_page_up(self) -> None:
        self.transcript.page_up()

    def action_page_down(self) -> None:
        self.transcript.page_down()

    def action_scroll_top(self) -> None:
        self.transcript.scroll_to_start()

    def action_scroll_bottom(self) -> None:
        self.transcript.scroll_to_end()

    def action_prompt(self, direction: int) -> None:
        self.transcript.landmark(direction)

    def on_activity_line_new_below_clicked(self) -> None:
        self.transcript.scroll_to_end()

    # Finding

    @property
    def is_finding(self) -> bool:
        """Whether the line for it is open."""
        return self._find_bar is not None and self._find_bar.display

    async def action_find(self) -> None:
        """Open the line, or begin it anew."""
        from forge_tui.widgets.find_bar import FindBar

        if self._find_bar is None:
            self._find_bar = FindBar()
            self._find_bar.display = False
            await self.mount(self._find_bar, before=self.activity)
            self.watch(self.transcript, "find_status", self._find_bar.status.show)
            self.watch(self.activity, "said", self._find_bar.status.say)
            self.watch(self.activity, "is_mouse_lent", self._find_bar.status.show_mouse_lent)
        if not self._find_bar.display:
            self.transcript.finder.begin()
            self._find_bar.display, self.activity.display = True, False
            self.transcript.finder.find(self._find_bar.line.value)
        self._find_bar.begin()

    def end_find(self, *, is_kept: bool) -> None:
        """Close the line; the view stays at the match, or goes back to where it was."""
        if self._find_bar is not None and self._find_bar.display:
            self._find_bar.display, self.activity.display = False, True
            self.transcript.finder.end(is_kept=is_kept)
            self.return_focus()

    @abstractmethod
    def return_focus(self) -> None:
        """Give the keys to whoever has them now."""

    def on_find_bar_changed(self) -> None:
        self._look()

    def _look(self) -> None:
        """Look for what stands in the line now: its keys may come sooner than word of its change."""
        if self._find_bar is not None and self.is_finding:
            self.transcript.finder.find(self._find_bar.line.value)

    def on_find_line_stepped(self, message: FindLine.Stepped) -> None:
        self._look()
        finder = self.transcript.finder
        (finder.older_match if message.direction < 0 else finder.newer_match)()

    def on_find_line_closed(self, message: FindLine.Closed) -> None:
        self._look()
        is_about_selection = self.end_selection() if message.is_kept else self.copy_selection()
        if not is_about_selection:
            self.end_find(is_kept=message.is_kept)

    # Copying

    def copy_selection(self) -> bool:
        """Copy what is selected, which then is so no longer; whether anything was."""
        if selected := self.composer.selected_text:
            self.app.copy_to_clipboard(selected)
        elif selected := self.transcript.selected_text():
            self.app.copy_to_clipboard(selected)
            self.transcript.select(None)
        return bool(selected)

    def end_selection(self) -> bool:
        """Select nothing in the conversation; whether anything was."""
        is_any = self.transcript.selected is not None
        self.transcript.select(None)
        return is_any

    def clear_selection(self) -> None:
        """End a selection where a click does; a click in the conversation sees to its own."""
        super().clear_selection()
        # Whether it has taken the mouse says nothing yet where both ends of a click come in one burst.
        with contextlib.suppress(NoWidget):  # a report may be older than the last resize
            if self.get_widget_at(*self.app.mouse_position)[0] is self.transcript:
                return
        self.transcript.select(None)

    def _key_escape(self) -> None:
        # Textual 8.2.8 comes here before the bindings: Esc ends a selection only where nothing is open.
        super().clear_selection()

    # The mouse

    def action_lend_mouse(self) -> None:
        """Give the mouse to the terminal, or take it back."""
        is_lent = not self.activity.is_mouse_lent
        self.app.capture_mouse(None)
        internals.lend_mouse(self.app, is_lent=is_lent)
        self.activity.is_mouse_lent = is_lent
