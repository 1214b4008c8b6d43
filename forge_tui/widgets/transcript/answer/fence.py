"""Fenced code while it streams: each complete line is taken once, and goes into pieces of a fixed size."""

from __future__ import annotations

import re
from collections.abc import Callable

from forge_core.sanitize import safe_line
from forge_tui.widgets.transcript.answer.answer_blocks import CodeBlock
from forge_tui.widgets.transcript.markdown.containers import Container, enter

_OPENING = re.compile(r"(?P<indent> {0,3})(?P<marks>`{3,}(?=[^`\n]*\n)|~{3,})[ \t]*(?P<info>[^\n]*)\n")
_PIECE_LINES = 64
"""Lines of a fence per block."""
_PIECE_CHARS = 4_000
"""And characters, beyond which a block takes no more lines."""
_PART_CHARS = 1_000
"""A line longer than this is shown in parts, so that it costs no more the longer it grows."""


class Fence:
    """An open fence: its complete lines go into pieces, the unfinished one is shown with them."""

    def __init__(self, opening: re.Match[str], gap: int, containers: tuple[Container, ...] = ()) -> None:
        marks, info = opening["marks"], safe_line(opening["info"].strip())
        mark = re.escape(marks[0])
        self._closing = re.compile(rf" {{0,3}}{mark}{{{len(marks)},}}[ \t]*\Z")
        self._may_close = re.compile(rf" {{0,3}}{mark}*[ \t]*\Z")
        self._indent = re.compile(rf" {{0,{len(opening['indent'])}}}")
        language = info.split(maxsplit=1)[0] if info else ""
        self._containers = containers
        self._is_mid_line = False
        """Whether a part of the line that comes is taken already."""
        self._piece_chars = 0
        self.piece = CodeBlock(language, language, gap=gap, containers=containers)
        self.is_closed = False

    @property
    def containers(self) -> tuple[Container, ...]:
        """The quotes and list items it stands in."""
        return self._containers

    def take(self, tail: str, is_final: bool, finish: Callable[[CodeBlock, int], None]) -> int:
        """Moves what `tail` holds of the fence into pieces; gives the characters it took.

        `finish` is called with each finished piece and the characters of `tail` taken up to its end.
        """
        at = 0
        while at < len(tail):
            end = tail.find("\n", at)
            is_complete = end >= 0 or is_final
            stop = end if end >= 0 else len(tail)
            if stop - at > 2 * _PART_CHARS:
                stop = after = at + _PART_CHARS
            elif is_complete:
                after = min(stop + 1, len(tail))
            else:
                break
            line = tail[at:stop]
            if not self._is_mid_line:
                depth, line = enter(line, self._containers)
                if depth < len(self._containers):
                    return self._close(at, finish)
                if self._closing.match(line):
                    return self._close(after, finish)
                line = self._indent.sub("", line, count=1)
            self._is_mid_line = after == stop < len(tail)
            self._add(line, at, finish)
            at = after
        self._show_partial(tail[at:])
        return at

    def _show_partial(self, rest: str) -> None:
        if not self._is_mid_line:
            depth, rest = enter(rest, self._containers)
            is_inside = depth == len(self._containers) and not self._may_close.match(rest)
            rest = self._indent.sub("", rest, count=1) if is_inside else ""
        self.piece.set_partial(rest)

    def _add(self, line: str, at: int, finish: Callable[[CodeBlock, int], None]) -> None:
        if len(self.piece.lines) >= _PIECE_LINES or self._piece_chars >= _PIECE_CHARS:
            finish(self.piece, at)
            self.piece = self.piece.following()
            self._piece_chars = 0
        self.piece.add(line)
        self._piece_chars += len(line)

    def _close(self, at: int, finish: Callable[[CodeBlock, int], None]) -> int:
        self.is_closed = True
        self.piece.close()
        finish(self.piece, at)
        return at


def open_fence(text: str, gap: int, containers: tuple[Container, ...] = ()) -> tuple[Fence, int] | None:
    """The fence that begins at the beginning of `text`, and the characters of its first line."""
    opening = _OPENING.match(text)
    return None if opening is None else (Fence(opening, gap, containers), opening.end())
