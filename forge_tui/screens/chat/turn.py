"""Reads one turn of the session onto the screen."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from typing import TYPE_CHECKING

from forge_core.events import AgentEnd, LLMChunk, LLMEnd, LLMStart, ToolEnd

if TYPE_CHECKING:
    from forge_core.session.session import ForgeSession
    from forge_tui.screens.chat.live_figures import LiveFigures
    from forge_tui.widgets.transcript import Transcript


async def read_turn(
    session: ForgeSession,
    text: str | None,
    transcript: Transcript,
    figures: LiveFigures,
    on_figures: Callable[[], None],
    on_todos: Callable[[], None],
) -> str:
    """Send `text` and hand each event on; gives the reason why the turn stopped.

    Without a text the turn that failed goes on. Raises ForgeError when the session refuses the turn.
    """
    stopped = "error"
    todos = session.todos.items
    if text is None:
        figures.forget_count()
    else:
        figures.begin_turn()
    async with aclosing(session.retry() if text is None else session.send(text)) as stream:
        async for event in stream:
            transcript.apply(event)
            match event:
                case LLMChunk(kind="tool_args"):
                    figures.count_arguments(len(event.text))
                case LLMChunk():
                    figures.count(len(event.text))
                case LLMStart():
                    figures.forget_count()
                    on_figures()
                case LLMEnd():
                    figures.answered(event.usage)
                    on_figures()
                case ToolEnd() if session.todos.items is not todos:  # each update makes a new tuple
                    todos = session.todos.items
                    on_todos()
                case AgentEnd():
                    stopped = event.result.stopped_reason
                case _:
                    pass
    return stopped
