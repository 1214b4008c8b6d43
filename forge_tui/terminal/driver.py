"""Textual's Linux driver, taking over from the launcher without a flicker and leaving nothing behind."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from textual.drivers.linux_driver import LinuxDriver

from forge_tui.terminal import launcher, signals

if TYPE_CHECKING:
    from textual.app import App

_ALTERNATE_SCREEN = "\x1b[?1049h"


class ForgeDriver(LinuxDriver):
    """Relies on these of Textual 8.2.8's `LinuxDriver`: `write`, `start_application_mode` (writes ?1049h,
    reads the tty's settings into `attrs_before`), `stop_application_mode` (sets them back), `App._exit`."""

    def __init__(
        self,
        app: App[object],
        *,
        debug: bool = False,
        mouse: bool = True,
        size: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._is_screen_on = False

    def write(self, data: str) -> None:
        # The launcher has switched to the alternate screen: some terminals clear it when told again.
        if self._is_screen_on and _ALTERNATE_SCREEN in data:
            self._is_screen_on = False
            data = data.replace(_ALTERNATE_SCREEN, "")
        if data:
            super().write(data)

    def start_application_mode(self) -> None:
        self._is_screen_on = launcher.take_over()
        super().start_application_mode()  # type: ignore[no-untyped-call]
        self._is_screen_on = False
        original = launcher.attributes()
        if original is not None:
            self.attrs_before = original
        loop = asyncio.get_running_loop()
        signals.install(launcher.restore)
        signals.on_end(lambda code: _leave(loop, self._app, code))

    def stop_application_mode(self) -> None:
        self.write("\x1b[r\x1b[?1016l")  # mouse reports in pixels, which Textual leaves on
        super().stop_application_mode()
        if not self._app._exit:
            signals.pause()  # another program has the terminal: Ctrl-C is meant for it
        launcher.left()


def _leave(loop: asyncio.AbstractEventLoop, app: App[object], code: int) -> None:
    loop.call_soon_threadsafe(lambda: app.exit(return_code=code))
