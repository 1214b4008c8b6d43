"""What is sent with a message of the user: the files that it mentions, its images, and what has happened."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from forge_core.events import Notice
from forge_core.images.image_header import MAX_IMAGES
from forge_core.images.image_reference import ImageReference, WrittenImage, written_images
from forge_core.images.image_store import ImageStore
from forge_core.langchain.agent import ForgeAgent
from forge_core.llm.models import UserContent
from forge_core.result import StoppedReason
from forge_core.session.mention_reader import MentionReader
from forge_core.session.model_selection import ModelSelection
from forge_core.session.saved_state import PendingNews
from forge_core.session.server_offers import ServerOffers
from forge_core.session.tool_environment import ToolEnvironment
from forge_core.store.journal import Journal, images_beside
from forge_core.untrusted import without_frames


class Attachments:
    """Attaches them when a message is sent."""

    def __init__(
        self,
        agent: ForgeAgent,
        environment: ToolEnvironment,
        models: ModelSelection,
        journal: Journal,
        news: PendingNews,
        notify: Callable[[Notice], None],
        stop: asyncio.Event,
        offers: ServerOffers,
    ) -> None:
        """`stop` is set when the turn that has begun is to end."""
        self.images = ImageStore(images_beside(journal.path), journal.path.parent)
        """The images that messages of the session name."""
        self._mentions = MentionReader(agent, environment, notify, stop.is_set, self.images, offers)
        self._models = models
        self._news = news
        self.notify, self.is_interrupted = notify, stop.is_set

    def interrupt(self) -> None:
        """Read no more for the message that is being sent."""
        self._mentions.interrupt()

    def problem(self, text: str) -> str:
        """Return why the images of a message cannot be sent, and what to do; empty if they can."""
        text = without_frames(text)
        written = written_images(text)
        if len(written) > MAX_IMAGES:
            return f"The message has {len(written)} images, at most {MAX_IMAGES} can be sent. Remove some."
        if lost := [image for image in written if not self.images.has_written(image)]:
            return f"The image {lost[0].label} is not stored any more. Remove it, or paste it again."
        if self._models.takes_images or not (written or self._mentions.names_image(text)):
            return ""
        model = self._models.current
        return f"{model} takes no images. Choose a model that does with /model, or remove the image."

    async def attached(
        self, text: str, mentioning: str | None = None, more: Sequence[ImageReference] = ()
    ) -> UserContent:
        """Return the message of a turn with what it mentions, its images and `more` of them, and the news.

        Mentions and images are looked for in `mentioning`, by default the whole text but for what is framed
        in it. What was read, and what
        could not be, becomes a notice. If this is cancelled, the message enters the history without anything.
        """
        try:
            return await self.attached_within_turn(text, mentioning, more)
        except asyncio.CancelledError:
            self.keep_unanswered(text, "cancelled")
            raise

    def keep_unanswered(self, text: str, reason: StoppedReason) -> None:
        """Add a message to the history for which the agent will not run."""
        self._mentions.keep_unanswered(text, reason)

    async def attached_within_turn(
        self, text: str, mentioning: str | None = None, more: Sequence[ImageReference] = ()
    ) -> UserContent:
        """Return a message for a running turn with the same. If this is cancelled, nothing has happened."""
        mentioning = without_frames(text) if mentioning is None else mentioning
        with self._mentions.nothing_read_if_cancelled():
            message = await self._mentions.attached(text, mentioning)
            images = [*more, *self._mentions.images]
            if written := written_images(mentioning):
                images = [*await asyncio.to_thread(self._find, written), *images]
        message = self._news.attached(message)
        images = [*{image.digest: image for image in images}.values()]
        if not images:
            return message
        if not self._models.takes_images:
            self._say("warning", f"{self._models.current} takes no images: it is sent the message without.")
        return [{"type": "text", "text": message}, *(image.part for image in images[:MAX_IMAGES])]

    def _find(self, written: Iterable[WrittenImage]) -> Iterable[ImageReference]:
        """Return the images that a text names and that are stored."""
        found = []
        for image in written:
            if (reference := self.images.find(image)) is None:
                self._say("warning", f"The image {image.label} is not stored any more: sent as text")
            else:
                found.append(reference)
                self._say("info", f"Attached image: {image.label}")
        return found

    def _say(self, level: Literal["info", "warning"], text: str) -> None:
        self.notify(Notice(level=level, text=text))
