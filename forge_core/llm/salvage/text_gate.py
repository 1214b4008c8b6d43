"""Holding back streamed text that may be a printed call, so that the raw markup is not shown.

Ordinary text passes immediately. An answer that begins like a call, and a line that begins like the markup of
one, is held until it is clear that it is no call, otherwise until the end of the answer.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from forge_core.llm.salvage.json_calls import (
    ARGUMENT_KEYS,
    FENCE_LANGUAGES,
    NAME_KEYS,
    OTHER_KEYS,
    call_starts,
)
from forge_core.llm.salvage.markup import START, TAGS

_DECIDED_CHARS = 400
"""An answer that still looks like a call after this many is held without another look until its end."""
_KEYS = ("tool_calls", *NAME_KEYS, *ARGUMENT_KEYS, *OTHER_KEYS)
_FIRST_KEY = re.compile(r'[\[\s]*\{\s*"(\w*)("?)')
_FENCE = re.compile(r"```[ \t]*(\w*)[ \t]*(\n\s*)?(.*)", re.DOTALL)


class TextGate:
    """The gate of one streamed answer: `feed` returns the text to show, `held` is the text held back."""

    def __init__(self, tool_names: Collection[str]) -> None:
        self._call_starts = call_starts(tool_names)
        self._is_beginning = True
        self._holds_to_the_end = False
        self._fences = 0
        self._ticks = ""
        """Backticks at the end of the last piece, which may begin a fence."""
        self._is_mid_line = False
        self._waiting: list[str] = []
        self.shown_chars = 0

    def feed(self, text: str) -> str:
        """Add `text`, and return the text to show now."""
        if self._holds_to_the_end:
            self._waiting.append(text)
            return ""
        # The common case, decided without a pattern: no call begins in the middle of a line.
        if not self._waiting and "\n" not in text and self._is_mid_line:
            return self._show(text)
        text = self.held + text
        self._waiting.clear()
        if self._is_beginning:
            if self._may_begin_a_call(text.lstrip()):
                self._waiting.append(text)
                self._holds_to_the_end = len(text) > _DECIDED_CHARS
                return ""
            self._is_beginning = False
        return self._flow(text)

    def open(self) -> str:
        """Stop holding back for good, and return the text that was held."""
        held = self.held
        self._waiting.clear()
        self._is_beginning = self._holds_to_the_end = False
        return self._show(held)

    @property
    def held(self) -> str:
        """The text held back."""
        return "".join(self._waiting)

    def _flow(self, text: str) -> str:
        start = text.find("\n") + 1 if self._is_mid_line else 0
        if self._is_mid_line and not start:
            return self._show(text)
        for match in START.finditer(text, start):
            # Outside code fences only; inside one, markup is quoted.
            if (self._fences + (self._ticks + text[: match.start()]).count("```")) % 2 == 0:
                self._waiting.append(text[match.start() :])
                self._holds_to_the_end = True
                return self._show(text[: match.start()])
        line = max(text.rfind("\n") + 1, start)
        tail = text[line:].lstrip(" \t")
        if not tail or _may_begin_with(tail, TAGS):
            self._waiting.append(text[line:])
            return self._show(text[:line])
        return self._show(text)

    def _show(self, text: str) -> str:
        if text:
            self._is_mid_line = text[-1] != "\n"
            joined = self._ticks + text
            self._fences += joined.count("```")
            # The backticks of one fence may be split over two pieces.
            self._ticks = "`" * ((len(joined) - len(joined.rstrip("`"))) % 3)
            self.shown_chars += len(text)
        return text

    def _may_begin_a_call(self, text: str) -> bool:
        if not text:
            return True
        if text.startswith("`"):
            return self._may_begin_a_fence(text)
        if text.startswith("<"):
            return _may_begin_with(text, TAGS)
        if text.startswith(("{", "[")):
            return self._may_begin_json(text) or _may_begin_with(text[1:].lstrip(), self._call_starts)
        return _may_begin_with(text, self._call_starts)

    def _may_begin_a_fence(self, text: str) -> bool:
        match = _FENCE.match(text)
        if match is None:
            return "```".startswith(text)
        language, line_end, content = match.groups()
        if line_end is None:
            return not content and any(known.startswith(language.lower()) for known in FENCE_LANGUAGES)
        is_known = language.lower() in FENCE_LANGUAGES
        return is_known and (not content or self._may_begin_json(content) or language.lower() == "tool_code")

    def _may_begin_json(self, text: str) -> bool:
        if not text.strip("[{ \t\r\n"):
            return True
        if text.startswith("[") and "[TOOL_CALLS]".startswith(text[:12]):
            return True
        match = _FIRST_KEY.match(text)
        if match is None:
            return text.rstrip().endswith('{"')
        key, quote = match.groups()
        return key in _KEYS if quote else any(known.startswith(key) for known in _KEYS)


def _may_begin_with(text: str, starts: Collection[str]) -> bool:
    """Return whether `text`, or more of it, begins with one of these."""
    return any(start.startswith(text) or text.startswith(start) for start in starts)
