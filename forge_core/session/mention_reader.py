"""Files (`@path`) and resources of MCP servers (`@server:uri`) that the user mentions in a message. Files are
read as the read tool would.

The permission rules are those of the model's own calls: a key file asks, and what is denied is not sent.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from forge_core.errors import ForgeError
from forge_core.events import Notice
from forge_core.images.image_header import HEAD_BYTES, SUFFIXES, kind_of
from forge_core.images.image_reference import ImageReference, references_in, written_images
from forge_core.images.image_store import ImageStore
from forge_core.langchain.agent import ForgeAgent
from forge_core.llm.models import Message, MessageRole, TokenUsage
from forge_core.mention_syntax import MentionedPath, mentions_in
from forge_core.permissions.path_info import real_path
from forge_core.private_keys import hide_private_keys
from forge_core.result import AgentResult, StoppedReason
from forge_core.sanitize import safe_line, safe_text
from forge_core.session.server_offers import ServerOffers
from forge_core.session.tool_environment import ToolEnvironment
from forge_core.tools.base import BaseTool, ExecutionContext, ToolResult
from forge_core.tools.builtin.ls import LsTool
from forge_core.tools.builtin.read import MAX_LINES, ReadTool
from forge_core.tools.executor import cancel_and_wait, wait_for_first
from forge_core.tools.paths import locate
from forge_core.untrusted import OUTPUT, frame_text

if TYPE_CHECKING:
    from forge_core.mcp.resources import ResourceMention

MOST_MENTIONS = 20
"""Further ones in a message are not read."""
MOST_LOOKED_UP = 200
"""Further ones are text: a pasted log may hold thousands of words that begin with `@`."""
_SHOWN_MISSING = 3
MAX_CHARS = 200_000
"""Of the attached text of a message."""

_INTRODUCTION = "The message mentions what follows; Forge has read it for you."


@dataclass(frozen=True, slots=True)
class Mention:
    """A mention of something that exists."""

    kind: Literal["file", "folder", "image"]
    name: str
    """Its path as it was written."""
    first: int | None = None
    last: int | None = None

    @property
    def place(self) -> str:
        """The path with the lines, for the user and the model."""
        if self.first is None:
            return self.name
        end = "" if self.last in (None, self.first) else f"-{self.last}"
        return f"{self.name}:{self.first}{end}"


class MentionReader:
    """Attaches what messages mention. A file that has not changed since is not sent again."""

    def __init__(
        self,
        agent: ForgeAgent,
        environment: ToolEnvironment,
        notify: Callable[[Notice], None],
        is_interrupted: Callable[[], bool],
        images: ImageStore,
        offers: ServerOffers,
    ) -> None:
        """`is_interrupted` returns whether the turn that has begun is to end."""
        self.images: list[ImageReference] = []
        """The images that the last message mentions, and that are to be sent with it."""
        self._store = images
        self._offers = offers
        self._agent = agent
        self._environment = environment
        self._notify = notify
        self._is_interrupted = is_interrupted
        self._sent: dict[str, str] = {}
        """Place → the output that was attached last."""
        self._resources: dict[str, tuple[str, str]] = {}
        """The same of resources: the whole text, and what was attached of it."""
        self._interrupted = asyncio.Event()

    def interrupt(self) -> None:
        """Read no more for the message that is being sent."""
        self._interrupted.set()

    async def attached(self, text: str, mentioning: str) -> str:
        """Return a message with what it mentions; what was read, and what could not be, becomes a notice.

        Mentions are looked for in `mentioning`. One of nothing that exists is left as it is, with a notice if
        it looks like a path.
        """
        written = mentions_in(mentioning)[:MOST_LOOKED_UP] if "@" in mentioning else []
        self._interrupted.clear()
        self.images = []
        if self._is_interrupted():
            self._interrupted.set()
        return await self._attached(text, written)

    @contextmanager
    def nothing_read_if_cancelled(self) -> Iterator[None]:
        """Count nothing as read that the block has read, if it is cancelled: the model never sees it."""
        reads = dict(self._environment.files)
        try:
            yield
        except asyncio.CancelledError:
            self._environment.files.clear()
            self._environment.files.update(reads)
            if self._environment.folder_instructions is not None:  # some may have been for this message
                self._environment.folder_instructions.forget()
            raise

    def keep_unanswered(self, text: str, reason: StoppedReason) -> None:
        """Add a message to the history, as the run of the agent would have that cannot begin any more."""
        message = Message.user(text)
        self._agent.memory.add_message(message)
        if self._agent.on_message is not None:
            self._agent.on_message(message)
        self._agent.last_result = AgentResult("", [message], [], TokenUsage(), 0, stopped_reason=reason)

    async def _attached(self, text: str, written: Sequence[MentionedPath]) -> str:
        parts: list[str] = []
        missing: list[str] = []
        room = MAX_CHARS
        for one in written:
            mention: Mention | ResourceMention | None = self._offers.mentioned(one.written)
            if mention is None:
                mention = await asyncio.to_thread(self._find, one)
            if mention is None:
                if _looks_like_path(one.path):
                    missing.append(one.path)
                continue
            if len(parts) >= MOST_MENTIONS or room <= 0 or self._interrupted.is_set():
                self._say("warning", f"Not attached: {mention.place}. The model can read it itself.")
                parts.append(f"{safe_line(mention.place)}: not attached; use read if you need it.")
                continue
            if isinstance(mention, Mention):
                part = await self._read(mention, f"mention-{len(parts) + 1}")
            else:
                part = await self._read_resource(mention)
            room -= len(part)
            parts.append(part)
        if missing:
            self._say_missing(missing)
        if not parts:
            return text
        body = "\n\n".join(parts)
        return f"{text}\n\n<forge-note>\n{_INTRODUCTION}\n\n{body}\n</forge-note>"

    def names_image(self, text: str) -> bool:
        """Return whether a message mentions an image. Blocks."""
        written = mentions_in(text)[:MOST_LOOKED_UP] if "@" in text else []
        found = (self._find(one) for one in written if one.path.lower().endswith(SUFFIXES))
        return any(mention is not None and mention.kind == "image" for mention in found)

    def _find(self, written: MentionedPath) -> Mention | None:
        context = self._environment.context()
        for name in filter(None, (written.path, written.shorter)):
            try:
                path = locate(name, context)
                if path.is_dir():
                    return Mention("folder", name)
                if written.first is None and _is_image(path):
                    return Mention("image", name)
                if os.path.lexists(path):
                    return Mention("file", name, written.first, written.last)
            except (OSError, ValueError, RuntimeError):  # too long, a null character, no home folder
                continue
        return None

    async def _read(self, mention: Mention, call_id: str) -> str:
        """Return the text for the model about one mention."""
        context = self._environment.context()
        context.call_id, context.interrupted = call_id, self._interrupted
        tool, arguments = _call(mention, self._store)
        result = await self._agent.executor.execute(tool, arguments, context)
        if not result.success:
            reason = result.error or "it could not be read"
            # What follows is advice for the model.
            said = reason.partition(" Nothing was done.")[0].partition(" Do not ")[0]
            self._say("warning", f"Not attached: {mention.place}: {said}")
            return f"{safe_line(mention.place)}: not attached: {reason}"
        verb = "Listed" if mention.kind == "folder" else "Read"
        if self._is_in_history(mention, result):
            self._say("info", f"{verb} {mention.place}: unchanged, not sent again")
            return f"{safe_line(mention.place)}: unchanged since it was attached above."
        if mention.kind == "image":
            return self._image(mention, result)
        self._sent[self._key(mention, context)] = result.output
        self._say("info", f"{verb} {mention.place}: {result.summary}")
        framed = frame_text(OUTPUT, result.output, tool=tool.name, of=mention.place)
        return f"{framed}\n\n{context.instructions}" if context.instructions else framed

    async def _read_resource(self, mention: ResourceMention) -> str:
        """Return the text for the model about a resource of a server."""
        place = safe_line(mention.place)
        reading = asyncio.ensure_future(self._offers.read(mention))
        try:
            if await wait_for_first(reading, self._interrupted) != "done":
                return f"{place}: not attached: interrupted."
            got = reading.result()
        except ForgeError as error:
            reason = safe_line(str(error))
            self._say("warning", f"Not attached: {place}: {reason}")
            return f"{place}: not attached: {reason}"
        finally:
            await cancel_and_wait(reading)
        whole = hide_private_keys(safe_text(got.text))
        before, text = self._resources.get(mention.place, ("", ""))
        if not got.images and before == whole and self._is_sent(text):
            self._say("info", f"Read {place}: unchanged, not sent again")
            return f"{place}: unchanged since it was attached above."
        text, _ = self._agent.executor.outputs.limit(whole, mention.server)
        self._resources[mention.place] = whole, text
        self.images += got.images
        lines = text.count("\n") + 1
        self._say("info", f"Read {place}: {lines:,} line{'s'[: lines != 1]}")
        return frame_text(OUTPUT, text, server=mention.server, of=mention.uri)

    def _image(self, mention: Mention, result: ToolResult) -> str:
        """Send an image with the message; return the text for the model."""
        found = (self._store.find(image) for image in written_images(result.output))
        self.images += (reference for reference in found if reference is not None)
        self._say("info", f"Read {mention.place}: {result.summary}")
        return f"{safe_line(mention.place)}: {result.output}"

    def _is_in_history(self, mention: Mention, result: ToolResult) -> bool:
        """Return whether the same output is still in the conversation, not compacted or rewound."""
        history = self._agent.memory.get_history()
        if mention.kind == "image":  # its text may be there without it
            digests = {image.digest for image in written_images(result.output)}
            sent = (one.digest for message in history for one in references_in(message.content))
            return not digests.isdisjoint(sent)
        key = self._key(mention, self._environment.context())
        return self._sent.get(key) == result.output and self._is_sent(result.output)

    def _is_sent(self, output: str) -> bool:
        """Return whether an output was attached to a message that is in the conversation."""
        history = self._agent.memory.get_history()
        users = (message for message in history if message.role is MessageRole.USER)
        return bool(output) and any(output in str(message.content) for message in users)

    @staticmethod
    def _key(mention: Mention, context: ExecutionContext) -> str:
        return f"{real_path(locate(mention.name, context))}:{mention.first}-{mention.last}"

    def _say_missing(self, paths: Sequence[str]) -> None:
        shown = ", ".join(map(repr, paths[:_SHOWN_MISSING]))
        more = f" and {len(paths) - _SHOWN_MISSING} more" if len(paths) > _SHOWN_MISSING else ""
        verbs = "is mentioned but does" if len(paths) == 1 else "are mentioned but do"
        self._say("warning", f"{shown}{more} {verbs} not exist: sent as text")

    def _say(self, level: Literal["info", "warning"], text: str) -> None:
        self._notify(Notice(level=level, text=text))


def _is_image(path: Path) -> bool:
    """Return whether a file begins as an image does."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return kind_of(file.read(HEAD_BYTES)) is not None
    except OSError:
        return False


def _call(mention: Mention, images: ImageStore) -> tuple[BaseTool, dict[str, object]]:
    """Return the tool that reads a mention, and its arguments."""
    if mention.kind == "folder":
        return LsTool(), {"path": mention.name}
    arguments: dict[str, object] = {"file_path": mention.name}
    if mention.kind == "image":
        return ReadTool(images.keep), arguments
    if mention.first is not None:
        last = mention.first if mention.last is None else mention.last
        arguments |= {"offset": mention.first, "limit": min(last - mention.first + 1, MAX_LINES)}
    return ReadTool(), arguments


def _looks_like_path(name: str) -> bool:
    """Return whether a name that does not exist was probably meant as a path, unlike `@property`."""
    return name.startswith((".", "/", "~")) or "/" in name.rstrip("/") or "." in name.strip(".")
