"""The rows of the blocks that were looked at last; those looked at longest ago go first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from forge_tui.widgets.blockview.blocks import Block
from forge_tui.widgets.blockview.rows import Rendered, keep_rows
from forge_tui.widgets.blockview.styles import TranscriptStyles

_KEPT_ROWS = 3_000

Key: TypeAlias = tuple[int, int, int, TranscriptStyles]
"""What rows depend on: the block's revision and gap, the width, the styles."""


@dataclass(slots=True)
class _Entry:
    key: Key
    rendered: Rendered


class RowCache:
    """Bounded by rows, not by blocks."""

    def __init__(self) -> None:
        self._entries: OrderedDict[Block, _Entry] = OrderedDict()
        self._rows = 0

    def __len__(self) -> int:
        """Blocks that are kept."""
        return len(self._entries)

    def find(self, block: Block, key: Key) -> Rendered | None:
        """Its rows, where they are known and still the same."""
        entry = self._entries.get(block)
        if entry is None or entry.key != key:
            return None
        self._entries.move_to_end(block)
        return entry.rendered

    def put(self, block: Block, key: Key, new: Rendered, least: int) -> None:
        """Keeps new rows, with the old ones in them wherever they show the same: those are not painted again.

        So many blocks are kept at least, however long they are.
        """
        entry = self._entries.get(block)
        if entry is not None:
            self._rows -= len(entry.rendered.rows)
            if entry.key[2:] == key[2:]:
                keep_rows(entry.rendered.rows, new.rows)
        self._entries[block] = _Entry(key, new)
        self._entries.move_to_end(block)
        self._rows += len(new.rows)
        while self._rows > _KEPT_ROWS and len(self._entries) > least:
            _, dropped = self._entries.popitem(last=False)
            self._rows -= len(dropped.rendered.rows)

    def hand_on(self, old: Block, blocks: Sequence[Block]) -> None:
        """`blocks` stand in the place of `old`: its rows go on as far as the first of them shows the same."""
        entry = self._entries.pop(old, None)
        if entry is not None and blocks:
            revision = entry.key[0] if blocks[0] is old else -1  # its own revision is not theirs
            self._entries[blocks[0]] = _Entry((revision, *entry.key[1:]), entry.rendered)
        elif entry is not None:
            self._rows -= len(entry.rendered.rows)

    def height(self, block: Block) -> int | None:
        """How many rows it had when it was looked at last; None where that is not known."""
        entry = self._entries.get(block)
        return None if entry is None else len(entry.rendered.rows)

    def clear(self) -> None:
        self._entries.clear()
        self._rows = 0
