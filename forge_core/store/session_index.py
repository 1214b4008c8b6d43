"""The list of saved sessions, built from their journals.

What a journal says is cached in `sessions/index.json` under the journal's size and time of change, so a list
reads only the journals that have changed. The cache may be deleted, or damaged, at any time.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from forge_core.errors import JournalError
from forge_core.store.journal import is_session_id, is_time
from forge_core.store.saved_session import SavedSession, load_session

_VERSION = 3
PREVIEW_CHARS = 200
MOST_READ_BYTES = 4_000_000
"""Bytes of journals that `last_session` reads at most: some 50 ms."""


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """One row of a list of sessions. Its texts are untrusted."""

    id: str
    title: str
    working_dir: str
    started: float
    """Seconds since the epoch, like the next one."""
    updated: float
    turns: int
    cost_usd: Decimal | None
    """Of the calls whose price is known; None if that is none of them."""
    model: str
    preview: str
    """The beginning of the user's last message, in one line."""
    parent: str = ""
    """The session that it was forked from, or whose sub-agent it is of."""
    agent: str = ""
    """The name of the sub-agent whose session it is; empty for one of the user's."""
    provider: str = ""
    """The kind of endpoint that it last used: "offline", "openrouter" and the like."""
    size: int = 0
    """Bytes of the journal."""

    def as_dict(self) -> dict[str, Any]:
        """Return the fields JSON-ready; the cost as a string, so that no digit is lost."""
        cost = None if self.cost_usd is None else str(self.cost_usd)
        return {**dataclasses.asdict(self), "cost_usd": cost}


def list_sessions(state_dir: Path) -> list[SessionSummary]:
    """Return the saved sessions, the last used one first. Journals that cannot be read are left out."""
    folder = state_dir / "sessions"
    known, current = _read_cache(folder), dict[str, Any]()
    found: list[SessionSummary] = []
    for path in folder.glob("*.jsonl"):
        if not is_session_id(path.stem):
            continue
        try:
            status = path.stat()
        except OSError:  # deleted meanwhile
            continue
        summary = _cached(known.get(path.stem), status) or _read(path, status)
        if summary is None:
            continue
        current[path.stem] = _entry(summary, status)
        if summary.turns:
            found.append(summary)
    if current != known:
        _write_cache(folder, current)
    return sorted(found, key=lambda one: one.updated, reverse=True)


def last_session(state_dir: Path, working_dir: Path) -> SessionSummary | None:
    """Return the session last used in a folder; None if there is none.

    The work is bounded: what the cache lacks is read from the newest journals, `MOST_READ_BYTES` at most.
    Where that is not enough to be sure, the result is None too.
    """
    folder = state_dir / "sessions"
    known, read = _read_cache(folder), dict[str, Any]()
    last: SessionSummary | None = None
    left = MOST_READ_BYTES
    for path, status in _newest_first(folder):
        if last is not None and status.st_mtime < last.updated:
            break  # a journal changes no earlier than its session is used
        summary = _cached(known.get(path.stem), status)
        if summary is None:
            left -= status.st_size
            if left < 0:
                return None
            summary = _read(path, status)
            if summary is None:
                continue
            read[path.stem] = _entry(summary, status)
        if summary.turns and not summary.agent and summary.working_dir == str(working_dir):
            last = summary if last is None or summary.updated > last.updated else last
    if read:
        _write_cache(folder, {**known, **read})
    return last


def _newest_first(folder: Path) -> list[tuple[Path, os.stat_result]]:
    """Return the journals by the time of their last change."""
    found = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            path = Path(entry.path)
            if path.suffix == ".jsonl" and is_session_id(path.stem):
                with contextlib.suppress(OSError):  # deleted meanwhile
                    found.append((path, entry.stat()))
    return sorted(found, key=lambda one: one[1].st_mtime_ns, reverse=True)


def _read(path: Path, status: os.stat_result) -> SessionSummary | None:
    """Return what a journal says; None if it cannot be read."""
    try:
        return summary_of(load_session(path), status.st_size)
    except JournalError:
        return None


def _entry(summary: SessionSummary, status: os.stat_result) -> dict[str, Any]:
    return {"stamp": _stamp(status), **summary.as_dict()}


def _stamp(status: os.stat_result) -> list[int]:
    return [status.st_size, status.st_mtime_ns]


def summary_of(saved: SavedSession, size: int) -> SessionSummary:
    """Return the row of a session."""
    costs = [call.usage.cost_usd for call in saved.calls if call.usage.cost_usd is not None]
    last = saved.turns[-1].text if saved.turns else saved.last_text
    return SessionSummary(
        id=saved.id,
        title=saved.title,
        working_dir=saved.working_dir,
        started=saved.started,
        updated=saved.updated,
        turns=saved.messages_sent,
        cost_usd=sum(costs, Decimal(0)) if costs else None,
        model=saved.model,
        preview=" ".join(last[: 4 * PREVIEW_CHARS].split())[:PREVIEW_CHARS],
        parent=saved.parent,
        agent=saved.agent,
        provider=saved.provider,
        size=size,
    )


def _cached(entry: object, status: os.stat_result) -> SessionSummary | None:
    """Return what the cache says of a journal; None if it says nothing, or that of another state of it."""
    if not isinstance(entry, dict) or entry.get("stamp") != _stamp(status):
        return None
    values = {field.name: entry.get(field.name) for field in dataclasses.fields(SessionSummary)}
    cost = values.pop("cost_usd")
    texts = ("id", "title", "working_dir", "model", "preview", "parent", "agent", "provider")
    is_valid = (
        all(isinstance(values[name], str) for name in texts)
        and all(is_time(values[name]) for name in ("started", "updated"))
        and all(isinstance(values[name], int) for name in ("turns", "size"))
        and (cost is None or isinstance(cost, str))
    )
    if not is_valid:
        return None
    with contextlib.suppress(ArithmeticError):
        return SessionSummary(**values, cost_usd=None if cost is None else Decimal(cost))  # type: ignore[arg-type]
    return None


def _read_cache(folder: Path) -> dict[str, Any]:
    try:
        found = json.loads((folder / "index.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    is_ours = (
        isinstance(found, dict) and found.get("v") == _VERSION and isinstance(found.get("sessions"), dict)
    )
    return found["sessions"] if is_ours else {}


def _write_cache(folder: Path, sessions: Mapping[str, Any]) -> None:
    """Replace the cache; without it the next list is only slower."""
    with contextlib.suppress(OSError):
        fd, name = tempfile.mkstemp(dir=folder, prefix=".index-")  # 0600
        try:
            with os.fdopen(fd, "w", encoding="utf-8", errors="backslashreplace") as file:
                json.dump({"v": _VERSION, "sessions": sessions}, file, ensure_ascii=False)
            Path(name).replace(folder / "index.json")
        except OSError:
            Path(name).unlink(missing_ok=True)
