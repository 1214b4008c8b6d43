"""A saved conversation as the updates of a session that is loaded, and the list of saved sessions."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from acp import schema

from forge_core.errors import ConfigError
from forge_core.integrations.acp.event_updates import EventUpdates, new_id
from forge_core.sanitize import safe_line, safe_text
from forge_core.session.replay import replayed_turns
from forge_core.session.saved_sessions import SessionSummary
from forge_core.store.saved_session import SavedSession

PAGE = 50
"""Sessions that a page of the list has."""


async def replay(saved: SavedSession, updates: EventUpdates) -> None:
    """Send the conversation as it happened: messages, reasoning and answers, and the calls that have ended.
    Nothing that was only live, such as a terminal, is sent again."""
    for turn in replayed_turns(saved):
        updates.sender.text(schema.UserMessageChunk, new_id(), safe_text(turn.text))
        for event in await asyncio.to_thread(lambda: turn.events):  # noqa: B023  awaited within the iteration
            updates.apply(event)
        await updates.sender.flushed()


def page_of(sessions: Sequence[SessionSummary], cursor: str | None) -> schema.ListSessionsResponse:
    """Return a page of the list of sessions; the cursor is the id of the last one on the page before.

    Raises:
        ConfigError: there is no such session any more.
    """
    ids = [one.id for one in sessions]
    if cursor is not None and cursor not in ids:
        raise ConfigError("The list of sessions has changed. Ask for it again, without a cursor.")
    start = 0 if cursor is None else ids.index(cursor) + 1
    page = sessions[start : start + PAGE]
    return schema.ListSessionsResponse(
        sessions=[_info(one) for one in page if Path(one.working_dir).is_absolute()],
        next_cursor=page[-1].id if len(sessions) > start + PAGE else None,
    )


def _info(session: SessionSummary) -> schema.SessionInfo:
    return schema.SessionInfo(
        session_id=session.id,
        cwd=session.working_dir,
        title=safe_line(session.title) or None,
        updated_at=written_time(session.updated),
    )


def written_time(seconds: float) -> str:
    """Return a time as ISO 8601 has it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
