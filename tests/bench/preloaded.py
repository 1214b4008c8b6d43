"""`forge chat` in its fifth hour: the same program, with many blocks in the transcript from the start.

python -m tests.bench.preloaded 10000 chat [the arguments of forge chat]
"""

from __future__ import annotations

import sys

from forge_tui import app
from forge_tui.app import ForgeApp
from forge_tui.cli import main
from tests.bench import script

LOADED = "the history is loaded"


class PreloadedApp(ForgeApp):
    """Fills the transcript when the session is ready."""

    blocks = 0

    async def _warm_up(self) -> None:
        await super()._warm_up()
        transcript = self.chat.transcript
        self.chat.welcome.display = False
        for number in range(self.blocks):
            script.add_history(transcript, number)
        transcript.add_notice(LOADED)


if __name__ == "__main__":
    PreloadedApp.blocks = int(sys.argv[1])
    app.ForgeApp = PreloadedApp  # type: ignore[misc]
    sys.exit(main(sys.argv[2:]))
