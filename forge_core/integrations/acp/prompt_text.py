"""The blocks of a prompt as the text of a message."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from acp import RequestError, schema

from forge_core.errors import ImageError
from forge_core.images.image_store import ImageStore
from forge_core.mention_syntax import written_mention
from forge_core.untrusted import frame_text

MAX_RESOURCE_BYTES = 256 * 1024
"""Of the resources that a prompt embeds, together."""
_LINES = re.compile(r"L(\d{1,9})(?:[:-]L?(\d{1,9}))?")
"""How editors name lines of a file, after the `#` of its URI."""

Block = (
    schema.TextContentBlock
    | schema.ImageContentBlock
    | schema.AudioContentBlock
    | schema.ResourceContentBlock
    | schema.EmbeddedResourceContentBlock
)


def message_text(blocks: Sequence[Block], images: ImageStore, folder: Path) -> str:
    """Return the text of a prompt: links become mentions, and images are stored. Blocks: it writes files.

    Raises:
        RequestError: a block cannot be sent.
    """
    parts: list[str] = []
    embedded: list[str] = []
    room = MAX_RESOURCE_BYTES
    for block in blocks:
        match block:
            case schema.TextContentBlock():
                parts.append(block.text)
            case schema.ResourceContentBlock():
                parts.append(_link(block, folder))
            case schema.ImageContentBlock():
                parts.append(_image(block, images))
            case schema.EmbeddedResourceContentBlock():
                resource = block.resource
                if not isinstance(resource, schema.TextResourceContents):
                    raise _refused(f"The resource {resource.uri!r} is not text.")
                room -= len(resource.text.encode(errors="replace"))
                if room < 0:
                    raise _refused(f"The resources of the prompt are larger than {MAX_RESOURCE_BYTES} bytes.")
                parts.append(resource.uri)
                embedded.append(frame_text("resource", resource.text, uri=resource.uri))
            case _:
                raise _refused("Audio cannot be sent.")
    text = _joined(parts)
    return "\n\n".join([text, *embedded])


def _joined(parts: Sequence[str]) -> str:
    """Return the parts as one text; a mention is parted from the words around it."""
    text = ""
    for part in parts:
        needs_blank = text and part and not text[-1].isspace() and not part[0].isspace()
        is_word = part.startswith(("@", "[Image")) or text.rpartition(" ")[2].startswith("@")
        text += f" {part}" if needs_blank and is_word else part
    return text


def _link(block: schema.ResourceContentBlock, folder: Path) -> str:
    """Return the mention of a file; other resources are named."""
    parts = urlsplit(block.uri)
    if parts.scheme != "file":
        return f"[{block.name}]({block.uri})"
    path = Path(unquote(parts.path))
    name = str(path.relative_to(folder)) if path.is_relative_to(folder) else str(path)
    if '"' in name or "\n" in name:
        return name
    lines = _LINES.fullmatch(parts.fragment)
    return written_mention(name, lines.expand(r":\1-\2").rstrip("-") if lines else "")


def _image(block: schema.ImageContentBlock, images: ImageStore) -> str:
    try:
        data = base64.b64decode(block.data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise _refused("The data of the image is not base64.") from error
    name = Path(unquote(urlsplit(block.uri).path)).name if block.uri else ""
    try:
        return images.keep(data, name).text
    except ImageError as error:
        raise _refused(str(error)) from error


def _refused(reason: str) -> RequestError:
    return RequestError(-32602, reason)
