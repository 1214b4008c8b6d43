"""Textual's Linux driver: takes over from the launcher without flicker, and restores the terminal."""

from __future__ import annotations

import asyncio
import contextlib
import os
import selectors
import signal
import sys
import termios
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from textual import events
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from forge_tui.terminal import signals
from forge_tui.terminal.background import BackgroundWatch, answers_in_order, can_ask
from forge_tui.terminal.cursor_shape import RESET_SHAPE
from forge_tui.terminal.first_paint import launcher
from forge_tui.terminal.input import BackgroundFound, TerminalInput, TerminalReply
from forge_tui.terminal.key_modes import modified_keys_off, modified_keys_on
from forge_tui.terminal.terminal_file import TerminalFile
from forge_tui.terminal.title import PUSH_TITLE, Activity, WindowTitle

if TYPE_CHECKING:
    from textual.app import App

_ALTERNATE_SCREEN = "\x1b[?1049h"
_MOUSE_PIXELS_OFF = "\x1b[?1016l"
_READ_BYTES = 65536
_LAST_LOOK_S = 0.1
"""How long to read the terminal's last replies after the app has ended."""
_MOST_WAITING = 4
"""Frames that may wait for the terminal: more than a busy machine delays, fewer than a user notices."""
_LONGEST_HOLD_S = 3.0
"""Keys are held no longer than this, even if nothing has the focus."""


class _ExitEvent(threading.Event):
    """Asks the input thread to end, and wakes it: polling would make exiting slower."""

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
    """Relies on these parts of Textual 8.2.8's `LinuxDriver`: `write`, `process_message` (called by the input
    thread), `run_input_thread`, `exit_event`, `start_application_mode` (writes ?1049h, reads the tty's
    settings into `attrs_before`), `stop_application_mode` (sets them back), `suspend_application_mode`,
    `resume_application_mode`, `_auto_restart` (False while another program has the terminal),
    `_must_signal_resume`, `_key_thread`, `_loop`, `_app`, `_debug`, `_file` (what it writes to),
    `_writer_thread` (which flushes the file when its `_queue` is empty); `_mouse`
    and `_mouse_pixels` with what switches them: `_enable_mouse_support`, `_disable_mouse_support`,
    `_enable_mouse_pixels`; on its constructor setting handlers for SIGTSTP and SIGCONT, which are replaced;
    and on `App._exit`."""

    def __init__(
        self,
        app: App[object],
        *,
        debug: bool = False,
        mouse: bool = True,
        size: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        # Textual writes to standard error, which may be redirected to a file.
        error = sys.__stderr__ if os.isatty(2) else None
        fd, encoding = (2, error.encoding) if error else (1, "utf-8")
        self._output = TerminalFile(fd, encoding, self._all_written)
        self._file = self._output  # type: ignore[assignment]  # as much of a text file as the writer thread uses
        self.exit_event: _ExitEvent = _ExitEvent()
        self._handed_on = 0
        """Writes that were passed to the writer thread."""
        self._is_screen_on = False
        self._has_started = self._is_running = False
        """Whether the terminal modes have been set once, and whether they are set and the threads run now."""
        self._is_to_stop = self._is_to_start = False
        """What SIGTSTP or SIGCONT requires and has not been done yet."""
        self._is_stopping = False
        """Whether the terminal is released to stop the process, and not for another program."""
        self._title = WindowTitle(os.environ)
        self._background = BackgroundWatch(is_ordered=answers_in_order(os.environ))
        self._when_written: Callable[[], None] | None = None
        signals.set_stop_handler(self._stopped_or_continued)
        self._typed = b""
        """What was typed before there was a driver."""
        self._held: list[Message] | None = []
        """Keys that came before anything had the focus; None once they have been released."""
        self._hold_lock = threading.Lock()
        self._hold_until = time.monotonic() + _LONGEST_HOLD_S

    def write(self, data: str) -> None:
        # The launcher has switched to the alternate screen: some terminals clear it if that is repeated.
        if self._is_screen_on and _ALTERNATE_SCREEN in data:
            self._is_screen_on = False
            data = data.replace(_ALTERNATE_SCREEN, "")
        # Write directly only if the writer thread has completed all its writes: otherwise the order is lost.
        left: str | bytes = data
        if self._handed_on == self._output.written:
            left = self._output.write_now(data)
        if left:
            self._handed_on += 1
            super().write(left)  # type: ignore[arg-type]  # the thread passes it to our file unchanged

    def is_behind(self, then: Callable[[], None]) -> bool:
        """Return whether another frame would only wait in the queue, because the terminal is slow.

        If so, `then` is called on the loop once everything is written.
        """
        queue = self._writer_thread._queue if self._writer_thread is not None else None
        if queue is None or queue.qsize() < _MOST_WAITING:
            return False
        self._when_written = then
        if queue.empty():  # the writer may have looked before that
            self._when_written = None
            return False
        return True

    def _all_written(self) -> None:
        """Called by the writer thread when its queue is empty."""
        then, self._when_written = self._when_written, None
        if then is not None:
            with contextlib.suppress(RuntimeError):  # the app has ended
                self._loop.call_soon_threadsafe(then)

    def process_message(self, message: Message) -> None:
        """Hold keys until `release_keys()`: Textual drops those that come while nothing has the focus."""
        if isinstance(message, TerminalReply):
            self._take_reply(message)
            return
        if isinstance(message, events.Key | events.Paste):
            with self._hold_lock:
                if self._held is not None and time.monotonic() < self._hold_until:
                    self._held.append(message)
                    return
            self.release_keys()
        super().process_message(message)

    def _take_reply(self, message: TerminalReply) -> None:
        found = self._background.take(message.reply)
        if found is not None:
            super().process_message(BackgroundFound(found))
        if self._background.is_to_ask:
            with contextlib.suppress(RuntimeError):  # the app has ended
                self._loop.call_soon_threadsafe(self._ask_again)

    def _ask_again(self) -> None:
        if self._is_running and self._background.is_on and self._background.is_to_ask:
            self._write_now(self._background.ask())

    def follow_background(self, *, is_followed: bool) -> None:
        """Send the app a `BackgroundFound` now and whenever the terminal's background changes, or no more.

        From a terminal that cannot be asked none come. At the start `follows_background` of the app decides.
        """
        if is_followed != self._background.is_on and (can_ask(os.environ) or not is_followed):
            self._write_now(self._background.begin() if is_followed else self._background.end())

    def _write_now(self, sequence: str) -> None:
        self.write(sequence)
        self.flush()

    def send_message(self, message: Message) -> None:
        # Textual would create a task for it, and a future that nothing awaits.
        self._loop.call_soon_threadsafe(self._app.post_message, message)

    def release_keys(self) -> None:
        """Deliver held keys, in order. Called when something has the focus."""
        with self._hold_lock:
            held, self._held = self._held, None
            for message in held or ():
                super().process_message(message)

    def release_mouse(self, *, is_released: bool) -> None:
        """Release the mouse, so that the terminal selects text as in a shell, or capture it again.

        A suspension does not change it: Textual switches reporting on and off only while `_mouse` is set.
        """
        if is_released and self._mouse:
            self.write(_MOUSE_PIXELS_OFF)
            self._disable_mouse_support()
            self._mouse = False
        elif not is_released and not self._mouse:
            self._mouse = True
            self._enable_mouse_support()
            if self._mouse_pixels:
                self._enable_mouse_pixels()

    def show_title(self, folder: str, activity: Activity) -> None:
        """Show folder and activity in the window's title, and progress in its tab where it can."""
        if changed := self._title.show(folder, activity):
            self._write_now(changed)

    def run_input_thread(self) -> None:
        """Read the tty until `exit_event` is set, then once more, and until the terminal has answered the
        question for its background: the shell must not get late replies.

        As Textual's own loop, with `TerminalInput` as the parser.
        """
        background = self._background
        terminal = TerminalInput(debug=self._debug, is_reply_due=lambda: background.wait_s > 0)
        typed, self._typed = self._typed, b""
        self._process(terminal.feed(typed))
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            selector.register(self.exit_event.reader, selectors.EVENT_READ)
            is_last = False
            while not is_last or background.wait_s > 0:
                if not is_last and self.exit_event.is_set():
                    is_last = True
                    selector.unregister(self.exit_event.reader)
                last_look_s = max(_LAST_LOOK_S, background.wait_s)
                ready = selector.select(last_look_s if is_last else terminal.wait_s)
                if any(key.fd == self.fileno for key, _ in ready):
                    data = os.read(self.fileno, _READ_BYTES)
                    if not data:
                        return  # the terminal has been closed
                    self._process(terminal.feed(data))
                self._process(terminal.tick())

    def _process(self, messages: list[Message]) -> None:
        for message in messages:
            self.process_message(message)

    def start_application_mode(self) -> None:
        loop = asyncio.get_running_loop()
        signals.install(self._give_back)
        signals.wake_loop(loop)
        signals.set_exit_handler(
            lambda code: loop.call_soon_threadsafe(partial(self._app.exit, return_code=code))
        )
        taken = launcher.take_over()
        self._is_screen_on = taken.is_painted
        self._typed = self._show_typed(taken.text) + taken.rest
        super().start_application_mode()  # type: ignore[no-untyped-call]
        self.write(
            ("" if taken.is_painted else PUSH_TITLE) + self._title.begin() + modified_keys_on(os.environ)
        )
        self.follow_background(is_followed=getattr(self._app, "follows_background", False))
        if self._writer_thread is not None:
            # With a limit Textual would block the loop until there is room, and no key would be handled.
            self._writer_thread._queue.maxsize = 0
        self._is_screen_on = False
        self._has_started = self._is_running = True
        original = launcher.original_attributes()
        if original is not None:
            self.attrs_before = original

    def _show_typed(self, text: str) -> bytes:
        """Pass the app the text that is already shown; return it as keys if the app does not accept text."""
        take_text = getattr(self._app, "take_typed_text", None)
        if take_text is None:
            return text.encode()
        take_text(text)
        return b""

    def stop_application_mode(self) -> None:
        # Textual leaves the mouse's pixels on, and the cursor's shape.
        self.write(
            _MOUSE_PIXELS_OFF
            + modified_keys_off(os.environ)
            + RESET_SHAPE
            + self._title.end()
            + self._background.end()
        )
        super().stop_application_mode()
        self._is_running = False
        if not (self._app._exit or self._is_stopping):
            signals.ignore_interrupts()  # another program has the terminal: Ctrl+C is meant for it
        launcher.modes_were_reset()

    def close(self) -> None:
        """Stop the writer thread. Called at the end, and whenever another program gets the terminal."""
        try:
            super().close()
        finally:
            self._output.release()

    def _give_back(self) -> None:
        self._output.close()  # otherwise the writer thread might still set a mode
        launcher.restore()

    def disable_input(self) -> None:
        """Stop reading input. As in Textual, which would leave SIGWINCH without a handler."""
        if self.exit_event.is_set():
            return
        signal.signal(signal.SIGWINCH, signals.ignore)
        self._disable_mouse_support()
        self.exit_event.set()
        if self._key_thread is not None:
            self._key_thread.join()
        self.exit_event.clear()
        with contextlib.suppress(termios.error):
            termios.tcflush(self.fileno, termios.TCIFLUSH)

    def _stopped_or_continued(self, number: int) -> None:
        """Handle SIGTSTP or SIGCONT; called in any thread.

        Stopping and starting take locks that the main thread may hold, so the loop does both. While another
        program has the terminal, this process only stops.
        """
        self._is_to_stop = number == signal.SIGTSTP
        self._is_to_start = not self._is_to_stop
        if self._auto_restart:
            with contextlib.suppress(RuntimeError):  # the app has ended
                self._loop.call_soon_threadsafe(self._stop_or_start)
        elif self._is_to_stop:
            os.kill(os.getpid(), signal.SIGSTOP)

    def _stop_or_start(self) -> None:
        """Release the terminal and stop the process, or resume after a stop.

        The modes are switched off first also if SIGSTOP has stopped the process without notice. A hang-up,
        with which the kernel sends SIGCONT too, changes nothing.
        """
        if signals.is_ending() or self._app._exit or not (self._is_to_stop or self._is_to_start):
            return
        if self._is_running:
            self._is_stopping = True
            self.suspend_application_mode()
            self._is_stopping = False
            self._must_signal_resume = True
        signals.handle_pending()
        if self._is_to_stop:  # otherwise SIGCONT has come meanwhile
            self._is_to_stop = False
            os.kill(os.getpid(), signal.SIGSTOP)
        if self._is_to_start:
            self._is_to_start = False
            if self._has_started:
                self.resume_application_mode()

    def resume_application_mode(self) -> None:
        super().resume_application_mode()
        # The alternate screen is empty now, and a resize to the same size repaints nothing.
        self._app.call_later(self._app.refresh, layout=True)
        self._app.call_later(self._app.screen.refresh)
