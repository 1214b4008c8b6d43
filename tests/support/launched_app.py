"""A program that starts as Forge does: the launcher paints, then an app takes over.

`python -m tests.support.launched_app [MODE]`:

- `wait` stays in the launcher's frame
- `import` signals itself there, in the middle of making a class
- `crash` fails after the launcher has painted
- `patient` has much to write when a signal has asked it to end, and is never cut short
- `endless` never ends by itself once a signal has asked it to
- in `deaf` other threads than the main one take signals
- `late` signals itself once the app has ended
- `left` and `left-by-crash` end the app at once and print how many descriptors it has left on the terminal
- `following` follows the terminal's background, and shows each that it is told
- `locked NUMBER` sends itself that signal while its main thread holds locks that cannot be taken twice
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
import threading
import time
from typing import Any

from forge_tui.terminal import internals, signals
from forge_tui.terminal.first_paint import launcher
from forge_tui.terminal.first_paint.skeleton import Line, Skeleton


def skeleton(width: int, height: int) -> Skeleton:
    """A title, and a line at the bottom."""
    rows = ("Forge is starting"[:width].ljust(width), *[" " * width] * (height - 1))
    return Skeleton(rows, Line(height - 1, 0, width, "Say something", "\x1b[0m", "\x1b[0m", "\x1b[0;7m"))


class Signals:
    """Python 3.11 wraps whatever is raised here in an exception of its own."""

    def __set_name__(self, owner: type, name: str) -> None:
        signal.raise_signal(signal.SIGTERM)
        time.sleep(60)


def main() -> int:
    """Runs the app behind the launcher's frame; returns the exit code."""
    launcher.paint(skeleton)
    mode = sys.argv[1] if len(sys.argv) > 1 else ""
    try:
        if mode == "crash":
            raise RuntimeError("failed on purpose")
        if mode == "wait":
            signal.pause()
        if mode == "import":
            type("Imported", (), {"attribute": Signals()})
        if mode in ("patient", "endless"):
            signals.GRACE_S = 3600.0
        from forge_tui.terminal.input import BackgroundFound
        from tests.support.output_app import OutputApp
        from tests.support.terminal import descriptors_on

        class Deaf(OutputApp):
            def on_ready(self) -> None:
                signal.pthread_sigmask(signal.SIG_BLOCK, signals.ENDING)

        class Wordy(OutputApp):
            def on_unmount(self) -> None:
                for _ in range(200):
                    internals.write(self, "\x1b[0m")

        class Endless(OutputApp):
            async def on_unmount(self) -> None:
                await asyncio.Event().wait()

        class Left(OutputApp):
            def on_ready(self) -> None:
                if mode == "left-by-crash":
                    raise RuntimeError("failed on purpose")
                self.exit()

        class Following(OutputApp):
            follows_background = True

            def on_background_found(self, event: BackgroundFound) -> None:
                self.transcript.add_notice(f"it is {event.background}", "info")

        class Locked(OutputApp):
            def on_ready(self) -> None:
                self.call_later(self._signal_itself)

            def _signal_itself(self) -> None:
                driver: Any = self._driver
                # Python 3.13 and later have no lock of that name.
                starting = getattr(threading, "_shutdown_locks_lock", contextlib.nullcontext())
                with driver._writer_thread._queue.mutex, driver._hold_lock, starting:
                    signal.raise_signal(int(sys.argv[2]))

        apps = {"deaf": Deaf, "patient": Wordy, "endless": Endless, "locked": Locked, "following": Following}
        apps |= {"left": Left, "left-by-crash": Left}
        before = descriptors_on(0)
        app = apps.get(mode, OutputApp)()
        app.run()
        if app.__class__ is Left:
            print(f"left {descriptors_on(0) - before}")
        if mode == "late":
            signal.raise_signal(signal.SIGTERM)
            time.sleep(60)
        return app.return_code or 0
    except RuntimeError:
        launcher.restore()
        print("told after the terminal was restored")
        return 70
    finally:
        launcher.restore()


if __name__ == "__main__":
    sys.exit(main())
