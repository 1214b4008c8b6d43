"""Finding a server's tool by its name or by words: exact names first, then prefixes of names, then BM25.

BM25 is that of Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009).
"""

from __future__ import annotations

import difflib
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from forge_core.mcp.mcp_tool import McpTool
from forge_core.tools.registry import squeezed_name

MAX_QUERY_CHARS = 500
_NAME_WEIGHT, _TITLE_WEIGHT = 3, 2
"""How often a word of the name, and one of the title or the server, counts."""
_SATURATION, _LENGTH_SHARE = 1.2, 0.75
"""The parameters k1 and b of BM25."""
_MIN_PREFIX = 2
"""Characters from which on the beginning of a name is a match."""
_NEAREST = 3


@dataclass(frozen=True, slots=True)
class _Names:
    """The names of a tool, in the forms in which they are compared."""

    exact: frozenset[str]
    """As written."""
    words: frozenset[tuple[str, ...]]
    whole: frozenset[str]
    """With the server, as `squeezed_name` returns them."""
    alone: str
    """Without the server."""

    @classmethod
    def of(cls, tool: McpTool) -> _Names:
        server, name = tool.server.name, tool.listed.name
        together = f"{server} {name}"
        return cls(
            frozenset((tool.name, name, together)),
            frozenset((tuple(words(tool.name)[1:]), tuple(words(together)))),
            frozenset((squeezed_name(tool.name), squeezed_name(together))),
            squeezed_name(name),
        )

    def tier(self, query: _Query) -> int | None:
        """Return how exactly a query is the name: 0 is best; None if it is neither that nor its beginning."""
        if query.text in self.exact:
            return 0
        if query.words in self.words:
            return 1
        if query.plain in self.whole:
            return 2
        if query.plain == self.alone:
            return 3
        starts = any(name.startswith(query.plain) for name in (self.alone, *self.whole))
        return 4 if starts and len(query.plain) >= _MIN_PREFIX else None


@dataclass(frozen=True, slots=True)
class _Query:
    text: str
    words: tuple[str, ...]
    plain: str


class ToolIndex:
    """An index over tools. To build it takes time in proportion to their texts: 40 ms for 500 tools."""

    def __init__(self, tools: Sequence[McpTool]) -> None:
        self._tools = tuple(tools)
        self._names = [_Names.of(tool) for tool in tools]
        self._documents = [Counter(_document(tool)) for tool in tools]
        self._lengths = [document.total() for document in self._documents]
        self._mean = sum(self._lengths) / max(len(tools), 1)
        self._holding = Counter(word for document in self._documents for word in document)
        """Word → number of tools whose text holds it."""

    def ranked(self, query: str) -> list[McpTool]:
        """Return the tools that match, the best first; of equals the first one of the list."""
        text = query[:MAX_QUERY_CHARS].strip()
        parts = words(text)
        if not parts:
            return []
        if parts[0] == "mcp" and len(parts) > 1:
            parts = parts[1:]
        asked = _Query(text, tuple(parts), squeezed_name(text))
        found: list[tuple[int, float, int]] = []
        for index, names in enumerate(self._names):
            score, tier = self._score(index, parts), names.tier(asked)
            if tier is not None or score > 0:
                found.append((5 if tier is None else tier, -score, index))
        return [self._tools[index] for _, _, index in sorted(found)]

    def nearest(self, name: str) -> list[McpTool]:
        """Return the tools, at most three, whose names are most similar to one that does not exist."""
        known = {squeezed_name(tool.name): tool for tool in reversed(self._tools)}
        similar = difflib.get_close_matches(squeezed_name(name[:MAX_QUERY_CHARS]), known, _NEAREST, 0.6)
        found = dict.fromkeys([*(known[one] for one in similar), *self.ranked(name)[:_NEAREST]])
        return [*found][:_NEAREST]

    def _score(self, index: int, query: Sequence[str]) -> float:
        """Return the BM25 score of a tool."""
        document, total = self._documents[index], 0.0
        length = 1 - _LENGTH_SHARE + _LENGTH_SHARE * self._lengths[index] / self._mean
        for word in map(_stem, query):
            if times := document[word]:
                holding = self._holding[word]
                rarity = math.log(1 + (len(self._tools) - holding + 0.5) / (holding + 0.5))
                total += rarity * times * (_SATURATION + 1) / (times + _SATURATION * length)
        return total


def words(text: str) -> list[str]:
    """Return the words of a text or a name in small letters; `getUser` has two."""
    return re.findall(r"[^\W_]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text).casefold())


def argument_names(tool: McpTool) -> list[str]:
    """Return the names of a tool's arguments."""
    properties = tool.listed.schema.get("properties")
    return [*map(str, properties)] if isinstance(properties, Mapping) else []


def _document(tool: McpTool) -> Iterator[str]:
    """Yield the words by which a tool is found, as often as they count."""
    yield from _NAME_WEIGHT * _stems(tool.listed.name)
    yield from _TITLE_WEIGHT * _stems(f"{tool.listed.title} {tool.server.name}")
    yield from _stems(tool.description)
    yield from _stems(" ".join(argument_names(tool)))


def _stems(text: str) -> list[str]:
    return [_stem(word) for word in words(text)]


def _stem(word: str) -> str:
    """Return a word without the s of a plural."""
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
