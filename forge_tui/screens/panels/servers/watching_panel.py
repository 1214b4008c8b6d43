"""What the list of MCP servers and the page of one have in common: both show what changes by itself."""

from __future__ import annotations

from forge_tui.screens.panels.overlay import Overlay

_REFRESH_S = 0.5


class WatchingPanel(Overlay[None]):
    """Reads what it shows twice a second, and hides while another panel is above it."""

    async def on_mount(self) -> None:
        await self.refresh_shown()
        self._timer = self.set_interval(_REFRESH_S, self.follow)
        self.opened()

    def on_screen_suspend(self) -> None:
        if self.is_mounted:
            self._timer.pause()
            self.query_one(".panel").visible = False  # it must not show beside a smaller one above it

    async def on_screen_resume(self) -> None:
        if self.is_mounted:
            self._timer.resume()
            self.query_one(".panel").visible = True
            await self.refresh_shown()

    def opened(self) -> None:
        """Called once everything shows."""

    async def refresh_shown(self) -> None:
        """Read everything, and show what has changed."""
        raise NotImplementedError

    async def follow(self) -> None:
        """Do so regularly; called twice a second."""
        await self.refresh_shown()
