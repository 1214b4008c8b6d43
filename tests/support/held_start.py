"""`forge chat`, whose import of Textual waits until the pipe named by FORGE_TEST_GATE has been opened and closed.

What shows before that is shown without Textual, whatever the clock says.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from forge_tui.cli import main


class Gate:
    """An import hook that finds nothing and lets Textual through once the gate is open."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Waits, for Textual; then leaves the search to the others."""
        if name == "textual":
            Path(os.environ["FORGE_TEST_GATE"]).read_bytes()
        return None


if __name__ == "__main__":
    sys.meta_path.insert(0, Gate())  # type: ignore[arg-type]
    sys.exit(main())
