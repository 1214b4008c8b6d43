"""Which commands the user runs most, for the menu of `/` and the palette."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from forge_tui import workers

if TYPE_CHECKING:
    from forge_core.commands.command_spec import CommandSpec
    from forge_core.commands.saved_command_uses import SavedCommandUses
    from forge_tui.screens.chat.screen import ChatScreen


class CommandUses:
    """Reads the file after the first frame, and writes it in threads; does neither if the user keeps no
    history. A file that cannot be written is no problem worth a message."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self._scores: dict[str, float] = {}
        self._unwritten: list[str] = []
        self._is_writing = False

    def score(self, name: str) -> float:
        """Return how much a command is used; 0 for one that is not."""
        return self._scores.get(name, 0.0)

    async def load(self) -> None:
        """Read the file."""
        if (saved := self._saved()) is not None:
            self._scores = await asyncio.to_thread(saved.read)

    def add(self, spec: CommandSpec) -> None:
        """Count a command that was typed or chosen from a list."""
        if spec.ends_app:
            return
        self._scores[spec.name] = self.score(spec.name) + 1.0
        self._unwritten.append(spec.name)
        if not self._is_writing:
            self._is_writing = True
            workers.start(self._screen, self._write, "command uses")

    async def _write(self) -> None:
        try:
            while self._unwritten:
                name, saved = self._unwritten.pop(0), self._saved()
                if saved is not None:
                    await asyncio.to_thread(saved.add, name)
        except OSError:
            pass
        finally:
            self._is_writing = False

    def _saved(self) -> SavedCommandUses | None:
        config = self._screen.sessions.config
        if not config.history:
            return None
        from forge_core.commands.saved_command_uses import SavedCommandUses  # after the first frame

        return SavedCommandUses(config.state_dir)
