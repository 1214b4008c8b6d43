"""Where two requests first differ, which is how far the provider's prompt cache helps with the second."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from forge_core.llm.models import Message, MessageRole

LEAST_TOKENS = 1_024
"""Providers cache no shorter prompts, and count in blocks of this order: smaller differences mean nothing."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a request: the system prompt, or a tool's definition."""

    name: str
    text: str
    tokens: int


Counted: TypeAlias = tuple[Message, int]
"""A message and its tokens."""


@dataclass(frozen=True, slots=True)
class CacheBreak:
    """What of a request was sent again uncached, since something before it had changed."""

    segment: str
    """The first difference, for the user: "system prompt", "message 12"."""
    resent: int
    """Tokens that an earlier request held too."""
    total: int
    """Tokens of the whole request."""
    cause: str = ""
    """What has changed it; empty where unknown."""

    def scaled(self, counted: int) -> CacheBreak:
        """Return the same in proportion to the provider's count of the request."""
        if not self.total or not counted:
            return self
        return CacheBreak(self.segment, self.resent * counted // self.total, counted, self.cause)


@dataclass(frozen=True, slots=True)
class SentRequest:
    """The parts of a request, in the order in which they are sent. Messages are compared by identity."""

    model: str
    system: Segment
    tools: Sequence[Segment]
    history: Sequence[Counted]

    @property
    def tokens(self) -> int:
        fixed = self.system.tokens + sum(tool.tokens for tool in self.tools)
        return fixed + sum(tokens for _, tokens in self.history)

    def since(self, earlier: SentRequest, cause: str = "") -> CacheBreak | None:
        """Return where this request first differs from an earlier one; None where nothing of that is sent
        again behind a difference. O(messages), without a look at their text."""
        total, history = self.tokens, sum(tokens for _, tokens in self.history)
        if self.model != earlier.model:
            resent = self._kept(earlier, 0) + total - history
            return CacheBreak("model", resent, total, cause)
        if self.system.text != earlier.system.text:
            return CacheBreak("system prompt", self._kept(earlier, 0) + total - history, total, cause)
        if changed := _changed_tools(earlier.tools, self.tools):
            resent = self._kept(earlier, 0) + total - history - self.system.tokens
            return CacheBreak(f"tools: {changed}", resent, total, cause)
        same = _common(earlier.history, self.history)
        resent = self._kept(earlier, same)
        return CacheBreak(_message_name(self.history, same), resent, total, cause) if resent else None

    def _kept(self, earlier: SentRequest, start: int) -> int:
        """Return the tokens of the messages from an index on that the earlier request had too."""
        known = {id(message) for message, _ in earlier.history[start:]}
        return sum(tokens for message, tokens in self.history[start:] if id(message) in known)


def _common(earlier: Sequence[Counted], later: Sequence[Counted]) -> int:
    """Return the number of messages at the beginning that are the same."""
    pairs = enumerate(zip(earlier, later, strict=False))
    differing = (index for index, ((one, _), (other, _)) in pairs if one is not other)
    return next(differing, min(len(earlier), len(later)))


def _message_name(history: Sequence[Counted], index: int) -> str:
    message = history[index][0]
    if message.role is MessageRole.USER and message.extra.get("compaction"):
        return f"message {index + 1} (a summary)"
    return f"message {index + 1}"


def _changed_tools(earlier: Sequence[Segment], later: Sequence[Segment]) -> str:
    """Return what has happened to the tools; empty if they are the same."""
    if earlier is later:
        return ""
    before, after = ({tool.name: tool.text for tool in tools} for tools in (earlier, later))
    parts = [f"{name} added" for name in after if name not in before]
    parts += [f"{name} removed" for name in before if name not in after]
    parts += [f"{name} changed" for name in after if before.get(name, after[name]) != after[name]]
    if not parts and [*before] != [*after]:
        return "another order"
    more = f" and {len(parts) - 3} more" if len(parts) > 3 else ""
    return ", ".join(parts[:3]) + more
