"""The bytes of images in requests: they take the place of the references that the conversation holds.

So the bytes are in no record and in no message in memory. A request has them as OpenRouter and OpenAI take
them (https://openrouter.ai/docs/features/multimodal/images): a content part with a data URL, after the text.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from forge_core.errors import ImageError
from forge_core.images.image_header import MAX_IMAGES
from forge_core.images.image_reference import ImageReference, part_name, reference_of, references_in
from forge_core.images.image_store import ImageStore
from forge_core.llm.models import CompletionRequest, Message

MAX_REQUEST_BYTES = 15_000_000
"""Of the images of a request: 20 MB in base64, which Gemini takes
(https://ai.google.dev/gemini-api/docs/image-understanding)."""
_TAKES_NONE = "this model takes no images"
_TOO_MANY = "only the newest images are sent"


class ImageLoader:
    """Prepares requests. What cannot be sent becomes a note, so that no image makes a conversation unusable:
    images for a model that takes none, missing files, and the oldest ones beyond what providers accept."""

    def __init__(self, store: ImageStore, takes_images: Callable[[str], bool]) -> None:
        """`takes_images` returns whether a model takes images."""
        self._store = store
        self._takes_images = takes_images

    async def __call__(self, request: CompletionRequest) -> CompletionRequest:
        """Return the request with its images; the same object if it has none."""
        if not any(references_in(message.content) for message in request.messages):
            return request
        return await asyncio.to_thread(self._prepared, request)

    def _prepared(self, request: CompletionRequest) -> CompletionRequest:
        loading = _Loading(self._store, "" if self._takes_images(request.model) else _TAKES_NONE)
        newest_first = [loading.message(message) for message in reversed(request.messages)]
        return replace(request, messages=newest_first[::-1])


@dataclass(slots=True)
class _Loading:
    """The images of one request, the newest first."""

    store: ImageStore
    problem: str
    """Why no image can be sent any more; empty if one can."""
    loaded: dict[str, str] = field(default_factory=dict)
    """Digest → data URL."""
    size_bytes: int = 0
    count: int = 0

    def message(self, message: Message) -> Message:
        if not references_in(message.content):
            return message
        assert isinstance(message.content, list)
        return replace(message, content=[self._part(part) for part in reversed(message.content)][::-1])

    def _part(self, part: dict[str, Any]) -> dict[str, Any]:
        reference = reference_of(part)
        if reference is None:
            return part
        self.count, self.size_bytes = self.count + 1, self.size_bytes + reference.size_bytes
        if self.count > MAX_IMAGES or self.size_bytes > MAX_REQUEST_BYTES:
            self.problem = self.problem or _TOO_MANY
        try:
            if self.problem:
                raise ImageError(self.problem)
            return {"type": "image_url", "image_url": {"url": self._url(reference)}}
        except ImageError as error:
            return {"type": "text", "text": f"[{part_name(part)} is not included: {error}]"}

    def _url(self, reference: ImageReference) -> str:
        if reference.digest not in self.loaded:
            encoded = base64.b64encode(self.store.load(reference)).decode("ascii")
            self.loaded[reference.digest] = f"data:{reference.header.kind.media_type};base64,{encoded}"
        return self.loaded[reference.digest]
