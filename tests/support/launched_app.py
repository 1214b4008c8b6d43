"""A program that starts as Forge does: the launcher paints, then an app takes over.

`python -m tests.support.launched_app [wait|crash]`: `wait` stays in the launcher's frame until a line comes on
standard input's terminal; `crash` fails after the launcher has painted.
"""

from __future__ import annotations

import os
import sys

from forge_tui.terminal import launcher


def main() -> int:
    """Runs the app behind the launcher's frame; returns the exit code."""
    launcher.paint("#101820", "#e0e0e0")
    mode = sys.argv[1] if len(sys.argv) > 1 else ""
    try:
        if mode == "crash":
            raise RuntimeError("failed on purpose")
        if mode == "wait":
            while os.read(0, 1) != b"g":
                pass
        from tests.support.output_app import OutputApp

        app = OutputApp()
        app.run()
        return app.return_code or 0
    except RuntimeError:
        launcher.restore()
        print("told after the terminal was restored")
        return 70
    finally:
        launcher.restore()


if __name__ == "__main__":
    sys.exit(main())
