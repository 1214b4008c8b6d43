"""Merges the text of many chunks that came at once: whoever reads them pays for chunks, not for letters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields

from forge_core.llm.models import StreamChunk

FEWEST = 8
"""Chunks of one read from which on they are merged: a reader that keeps up gets each as it came."""
MOST = 16
"""Chunks that become one."""

_OTHERS = [
    field.name for field in fields(StreamChunk) if field.name not in ("text", "id", "model", "provider")
]


def merged(chunks: list[StreamChunk]) -> list[StreamChunk]:
    """The chunks of one read; in a burst, runs of them that carry nothing but text are fewer."""
    if len(chunks) < FEWEST:
        return chunks
    result: list[StreamChunk] = []
    run: list[StreamChunk] = []
    for chunk in chunks:
        is_plain = bool(chunk.text) and not any(getattr(chunk, name) for name in _OTHERS)
        if run and not (is_plain and len(run) < MOST and _are_of_one_answer(run[0], chunk)):
            result.append(_joined(run))
            run = []
        if is_plain:
            run.append(chunk)
        else:
            result.append(chunk)
    if run:
        result.append(_joined(run))
    return result


def _are_of_one_answer(a: StreamChunk, b: StreamChunk) -> bool:
    return (a.id, a.model, a.provider) == (b.id, b.model, b.provider)


def _joined(run: Iterable[StreamChunk]) -> StreamChunk:
    first, *rest = run
    first.text += "".join(chunk.text for chunk in rest)
    return first
