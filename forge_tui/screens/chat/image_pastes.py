"""Images for the message that is being written: from the clipboard, and from files that were dropped."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from forge_core.errors import ImageError
from forge_tui import workers
from forge_tui.pastes.dropped_files import image_files

if TYPE_CHECKING:
    from forge_tui.screens.chat.screen import ChatScreen
    from forge_tui.submitted_line import UserText

_EARLY = "Forge is starting: paste the image again in a moment"
_NONE = "There is no image in the clipboard"


class ImagePastes:
    """Puts images into the composer, each as a chip, and checks that a message with images can be sent."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen

    async def paste(self, *, only_image: bool) -> None:
        """Paste the image or the copied image files of the clipboard; text in it comes first, unless
        `only_image`. Else paste what was copied last in Forge: as any other paste, it may be the model's."""
        from forge_core.workspace.program_lookup import find_program  # after the first frame
        from forge_tui.terminal.clipboard_image import read_clipboard

        composer, copied = self._screen.composer, self._screen.app.clipboard
        if self._screen.focused is not composer:
            return
        folder = self._screen.sessions.folder
        found = await read_clipboard(os.environ, lambda name: find_program(name, folder))
        if files := image_files(found.files):
            await self._attach(files)
        elif found.image and (only_image or not found.has_text):
            await self._insert(lambda: found.image)
        elif copied and not only_image:
            composer.paste(copied)
        elif found.problem:
            self._screen.complain(found.problem)
        else:
            self._screen.activity.note(_NONE)

    def take_paste(self, text: str) -> bool:
        """Begin to attach the image files that a paste consists of; return False if it is another text.

        An empty paste is how some terminals paste an image."""
        if not text:
            workers.start(self._screen, partial(self.paste, only_image=True), "image")
        elif files := image_files(text):
            workers.start(self._screen, partial(self._attach, files, text), "image")
        else:
            return False
        return True

    def may_send(self, line: UserText, typed: str) -> bool:
        """Return whether the images of a message can be sent; if not, say why, and put the message back."""
        session = self._screen.session
        if session is None or not ("[Image " in line.text or "@" in line.text):
            return True
        problem = session.attachments.problem(line.text)
        if problem:
            self._screen.complain(problem)
            self._screen.composer.replace_edited(typed)
        return not problem

    async def _attach(self, files: Sequence[Path], text: str = "") -> None:
        """Attach files; those that cannot be are pasted as `text`."""
        for path in files:
            if not await self._insert(partial(_read, path), path.name) and text:
                self._screen.composer.paste(text)
                return

    async def _insert(self, read: Callable[[], bytes], name: str = "") -> bool:
        """Store an image in a thread, and insert its chip; return whether that was possible."""
        session, composer = self._screen.session, self._screen.composer
        if session is None:
            self._screen.activity.note(_EARLY)
            return False
        try:
            images = session.attachments.images
            reference = await asyncio.to_thread(lambda: images.keep(read(), name))
        except ImageError as error:
            self._screen.complain(str(error))
            return False
        composer.insert_folded(reference.text)
        return True


def _read(path: Path) -> bytes:
    from forge_core.images.image_store import read_image

    return read_image(path)
