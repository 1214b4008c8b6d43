"""pyte's screen with the wide and composed characters of today's terminals.

pyte 0.8 drops the rest of a text behind a character without width that is no combining mark (a joiner, a
Devanagari vowel), gives every part of an emoji cells of its own, and leaves half of a wide character standing.
"""

from __future__ import annotations

from functools import lru_cache

import pyte
from pyte.screens import Char
from wcwidth import iter_graphemes, wcswidth, wcwidth


class GraphemeScreen(pyte.Screen):
    """Draws whole grapheme clusters; half of a wide character becomes a blank."""

    def __init__(self, columns: int, lines: int) -> None:
        super().__init__(columns, lines)
        self._styles: dict[tuple[Char, str], Char] = {}

    @property
    def display(self) -> list[str]:
        return ["".join(self.buffer[y][x].data for x in range(self.columns)) for y in range(self.lines)]

    def draw(self, data: str) -> None:
        line, start = self.buffer[self.cursor.y], self.cursor.x
        breaks_wide = 0 < start < self.columns and line[start].data == ""
        if data.isascii() and data.isprintable() and start + len(data) <= self.columns:
            attributes = self.cursor.attrs
            line.update((x, _cell(attributes, one)) for x, one in enumerate(data, start))
            self.cursor.x += len(data)
            self.dirty.add(self.cursor.y)
        elif data.isascii():
            super().draw(data)
        else:
            for cluster in iter_graphemes(data):
                self._draw_cluster(cluster)
        if breaks_wide:
            line[start - 1] = line[start - 1]._replace(data=" ")
        end = self.cursor.x
        if end < self.columns and self.buffer[self.cursor.y][end].data == "":
            row = self.buffer[self.cursor.y]
            row[end] = row[end]._replace(data=" ")

    def choose_style(self, parameters: str) -> None:
        """What "ESC [ parameters m" does, looked up where it was done before."""
        key = self.cursor.attrs, parameters
        if (known := self._styles.get(key)) is None:
            numbers = [int(number or 0) for number in parameters.replace(":", ";").split(";")]
            self.select_graphic_rendition(*numbers)
            self._styles[key] = self.cursor.attrs
        else:
            self.cursor.attrs = known

    def _draw_cluster(self, cluster: str) -> None:
        if wcwidth(cluster[0]) <= 0:
            self._join(cluster)
            return
        super().draw(cluster[0])
        if wcwidth(cluster[0]) == 1 and wcswidth(cluster) == 2 and self.cursor.x < self.columns:
            line = self.buffer[self.cursor.y]
            line[self.cursor.x] = self.cursor.attrs._replace(data="")
            self.cursor.x += 1
        if len(cluster) > 1:
            self._join(cluster[1:])

    def _join(self, rest: str) -> None:
        """Adds characters without width to the cell before the cursor."""
        line, x = self.buffer[self.cursor.y], self.cursor.x - 1
        while x > 0 and line[x].data == "":
            x -= 1
        if x >= 0:
            line[x] = line[x]._replace(data=line[x].data + rest)


@lru_cache(maxsize=16384)
def _cell(attributes: Char, character: str) -> Char:
    return attributes._replace(data=character)
