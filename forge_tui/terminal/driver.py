"""Textual's Linux driver, taking over from the launcher without a flicker and leaving nothing behind."""

from __future__ import annotations

import asyncio
import os
import selectors
import threading
import time
from typing import TYPE_CHECKING

from textual import events
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from forge_tui.terminal import launcher, signals
from forge_tui.terminal.input import TerminalInput

if TYPE_CHECKING:
    from textual.app import App

_ALTERNATE_SCREEN = "\x1b[?1049h"
_MOUSE_PIXELS_OFF = "\x1b[?1016l"
_READ_BYTES = 65536
_LOOK_EVERY_S = 0.1
"""How late the input thread may notice that it should end."""
_LONGEST_HOLD_S = 3.0
"""Keys are held back no longer than that, whether something has the focus or not."""


class ForgeDriver(LinuxDriver):
    """Relies on these of Textual 8.2.8's `LinuxDriver`: `write`, `process_message` (called by the input
    thread), `run_input_thread`, `exit_event`, `start_application_mode` (writes ?1049h, reads the tty's
    settings into `attrs_before`), `stop_application_mode` (sets them back), `resume_application_mode`; and on
    `App._exit`."""

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
        self._held: list[Message] | None = []
        """Keys that came before anything could take them; None once they have been let through."""
        self._hold_lock = threading.Lock()
        self._hold_until = time.monotonic() + _LONGEST_HOLD_S

    def write(self, data: str) -> None:
        # The launcher has switched to the alternate screen: some terminals clear it when told again.
        if self._is_screen_on and _ALTERNATE_SCREEN in data:
            self._is_screen_on = False
            data = data.replace(_ALTERNATE_SCREEN, "")
        if data:
            super().write(data)

    def process_message(self, message: Message) -> None:
        """Holds keys until `release_keys()`: Textual drops those that come while nothing has the focus."""
        if isinstance(message, events.Key | events.Paste):
            with self._hold_lock:
                if self._held is not None and time.monotonic() < self._hold_until:
                    self._held.append(message)
                    return
            self.release_keys()
        super().process_message(message)

    def release_keys(self) -> None:
        """Lets held keys through, in order. Called when something has the focus."""
        with self._hold_lock:
            held, self._held = self._held, None
            for message in held or ():
                super().process_message(message)

    def run_input_thread(self) -> None:
        """Reads the tty until `exit_event` is set, then once more: what the terminal still answers is not for
        the shell. Textual's own loop, with our reader of the bytes."""
        terminal = TerminalInput(debug=self._debug)
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            is_last = False
            while not is_last:
                is_last = self.exit_event.is_set()
                wait_s = terminal.wait_s
                if selector.select(_LOOK_EVERY_S if wait_s is None else min(wait_s, _LOOK_EVERY_S)):
                    data = os.read(self.fileno, _READ_BYTES)
                    if not data:
                        return  # the terminal is gone
                    self._process(terminal.feed(data))
                self._process(terminal.tick())

    def _process(self, messages: list[Message]) -> None:
        for message in messages:
            self.process_message(message)

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
        self.write(_MOUSE_PIXELS_OFF)  # which Textual leaves on
        super().stop_application_mode()
        if not self._app._exit:
            signals.pause()  # another program has the terminal: Ctrl-C is meant for it
        launcher.left()

    def resume_application_mode(self) -> None:
        super().resume_application_mode()
        # The alternate screen is empty now, and a resize to the same size repaints nothing.
        self._app.call_later(self._app.refresh, layout=True)
        self._app.call_later(self._app.screen.refresh)


def _leave(loop: asyncio.AbstractEventLoop, app: App[object], code: int) -> None:
    loop.call_soon_threadsafe(lambda: app.exit(return_code=code))
