"""Textual's Linux driver, taking over from the launcher without a flicker and leaving nothing behind."""

from __future__ import annotations

import asyncio
import os
import selectors
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from textual import events
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from forge_tui.terminal import launcher, signals
from forge_tui.terminal.input import TerminalInput
from forge_tui.terminal.writing import TerminalFile

if TYPE_CHECKING:
    from textual.app import App

_ALTERNATE_SCREEN = "\x1b[?1049h"
_MOUSE_PIXELS_OFF = "\x1b[?1016l"
_READ_BYTES = 65536
_LAST_LOOK_S = 0.1
"""How long what the terminal still answers may take, once the app has ended."""
_LONGEST_HOLD_S = 3.0
"""Keys are held back no longer than that, whether something has the focus or not."""


class _Ending(threading.Event):
    """Tells the input thread to end, and wakes it: to look every now and then would make leaving slower."""

    def __init__(self) -> None:
        super().__init__()
        self.reader, self._writer = os.pipe()

    def set(self) -> None:
        super().set()
        os.write(self._writer, b"!")

    def clear(self) -> None:
        if self.is_set():
            os.read(self.reader, _READ_BYTES)
        super().clear()


class ForgeDriver(LinuxDriver):
    """Relies on these of Textual 8.2.8's `LinuxDriver`: `write`, `process_message` (called by the input
    thread), `run_input_thread`, `exit_event`, `start_application_mode` (writes ?1049h, reads the tty's
    settings into `attrs_before`), `stop_application_mode` (sets them back), `suspend_application_mode`,
    `resume_application_mode`, `_sigtstp_application`, `_sigcont_application`, `_auto_restart` (False while
    another program has the terminal), `_loop`, `_app`, `_debug`, `_file` (what it writes to); `_mouse`
    and `_mouse_pixels` with what switches them: `_enable_mouse_support`, `_disable_mouse_support`,
    `_enable_mouse_pixels`; and on `App._exit`."""

    def __init__(
        self,
        app: App[object],
        *,
        debug: bool = False,
        mouse: bool = True,
        size: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        # Textual writes to standard error, which somebody may send elsewhere: the screen is not for there.
        error = sys.__stderr__ if os.isatty(2) else None
        self._output = TerminalFile(2, error.encoding) if error else TerminalFile(1, "utf-8")
        self._file = self._output  # type: ignore[assignment]  # as much of a text file as the writer thread uses
        self.exit_event: _Ending = _Ending()
        self._is_screen_on = False
        self._is_running = False
        """Whether the modes are on and the threads at work."""
        self._typed = b""
        """What was typed before there was a driver."""
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

    def lend_mouse(self, *, is_lent: bool) -> None:
        """Gives the mouse to the terminal, so that it selects as in a shell, or takes it back. It stays so
        over a suspension: Textual switches reporting on and off only while `_mouse` is set."""
        if is_lent and self._mouse:
            self.write(_MOUSE_PIXELS_OFF)
            self._disable_mouse_support()
            self._mouse = False
        elif not is_lent and not self._mouse:
            self._mouse = True
            self._enable_mouse_support()
            if self._mouse_pixels:
                self._enable_mouse_pixels()

    def run_input_thread(self) -> None:
        """Reads the tty until `exit_event` is set, then once more: what the terminal still answers is not for
        the shell. Textual's own loop, with our reader of the bytes."""
        terminal = TerminalInput(debug=self._debug)
        typed, self._typed = self._typed, b""
        self._process(terminal.feed(typed))
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            selector.register(self.exit_event.reader, selectors.EVENT_READ)
            is_last = False
            while not is_last:
                is_last = self.exit_event.is_set()
                if is_last:
                    selector.unregister(self.exit_event.reader)
                ready = selector.select(_LAST_LOOK_S if is_last else terminal.wait_s)
                if any(key.fd == self.fileno for key, _ in ready):
                    data = os.read(self.fileno, _READ_BYTES)
                    if not data:
                        return  # the terminal is gone
                    self._process(terminal.feed(data))
                self._process(terminal.tick())

    def _process(self, messages: list[Message]) -> None:
        for message in messages:
            self.process_message(message)

    def start_application_mode(self) -> None:
        loop = asyncio.get_running_loop()
        signals.install(self._give_back)
        signals.wake(loop)
        signals.on_end(lambda code: _leave(loop, self._app, code))
        taken = launcher.take_over()
        self._is_screen_on = taken.is_painted
        self._typed = self._show_typed(taken.text) + taken.rest
        super().start_application_mode()  # type: ignore[no-untyped-call]
        self._is_screen_on = False
        self._is_running = True
        original = launcher.attributes()
        if original is not None:
            self.attrs_before = original

    def _show_typed(self, text: str) -> bytes:
        """Gives the app the text that shows already, for its first frame; what it does not take are keys."""
        take_text = getattr(self._app, "take_typed_text", None)
        if take_text is None:
            return text.encode()
        take_text(text)
        return b""

    def stop_application_mode(self) -> None:
        self.write(_MOUSE_PIXELS_OFF)  # which Textual leaves on
        super().stop_application_mode()
        self._is_running = False
        if not self._app._exit:
            signals.pause()  # another program has the terminal: Ctrl-C is meant for it
        launcher.left()

    def _give_back(self) -> None:
        self._output.close()  # else the writer thread might still switch something on
        launcher.restore()

    def _sigtstp_application(self, *_: object) -> None:
        if self._auto_restart:
            self._from_handler(super()._sigtstp_application)
        else:
            super()._sigtstp_application()

    def _sigcont_application(self, *_: object) -> None:
        if self._auto_restart:
            self._from_handler(self._continue)

    def _from_handler(self, act: Callable[[], None]) -> None:
        """Leaves it to the loop: what the signal has interrupted may hold a lock, as of the writer thread's
        queue, that this needs. Who is leaving neither stops nor goes on."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(lambda: None if self._app._exit else act())

    def _continue(self) -> None:
        """Starts again after a stop. Textual starts in any case; here nothing runs twice: what SIGSTOP has
        stopped without a word is switched off first, and a terminal that hangs up, with which the kernel
        sends this signal too, is left alone."""
        if signals.is_ending():
            return
        if self._is_running:
            self.suspend_application_mode()
        super()._sigcont_application()

    def resume_application_mode(self) -> None:
        super().resume_application_mode()
        # The alternate screen is empty now, and a resize to the same size repaints nothing.
        self._app.call_later(self._app.refresh, layout=True)
        self._app.call_later(self._app.screen.refresh)


def _leave(loop: asyncio.AbstractEventLoop, app: App[object], code: int) -> None:
    loop.call_soon_threadsafe(lambda: app.exit(return_code=code))
