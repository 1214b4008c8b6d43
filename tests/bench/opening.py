"""python -m tests.bench.opening [EVENTS]

Prints how long `/resume` takes for a session of so many events (10,000 by default), on a terminal: from Enter
to its newest page, and until its first message can be scrolled to; and the memory afterwards.
Exits with 1 if a bar is missed.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from forge_core.events import AgentEnd, LLMChunk, LLMEnd, LLMStart, ToolEnd, ToolStart
from forge_core.llm.models import Message, TokenUsage
from forge_core.redact import Redactor
from forge_core.result import AgentResult
from forge_core.runtime import load_session_config
from forge_core.session.turn_recorder import message_record
from forge_core.store.journal import Journal, journal_path
from tests.bench.chat import Chat, environment, scratch
from tests.bench.figures import Figure, at_most, header
from tests.bench.script import MARKDOWN
from tests.bench.server import Model

_ID = "20261120-100000-00000a"
_FIRST, _LAST = "whereitallbegan", "whereitallended"
_CALLS = 3
_TO_START = "\x1b[1;5H"
_PATIENCE_S = 60.0


def write_session(state_dir: Path, folder: Path, events: int) -> int:
    """Write a journal of at least `events` events; return the number of turns."""
    journal = Journal(journal_path(state_dir, _ID), Redactor())
    journal.record("session", {"id": _ID, "working_dir": str(folder), "provider": "custom"})
    usage = TokenUsage(100, 50)
    turns = max(2, events // (5 * _CALLS + 1))
    for turn in range(turns):
        text = {0: _FIRST, turns - 1: _LAST}.get(turn, f"question {turn}")
        journal.record("user", {"text": text, "model": "bench/model", "mode": "ask"})
        journal.record("message", message_record(Message.user(text)))
        for call in range(_CALLS):
            call_id = f"c{turn}.{call}"
            journal.event(LLMStart(iteration=call + 1, model="bench/model"))
            journal.event(LLMChunk(text=MARKDOWN[:800]))
            journal.event(
                LLMEnd(usage=usage, cost_usd=None, finish_reason="stop", duration_s=1, total_usage=usage)
            )
            journal.event(
                ToolStart(
                    call_id=call_id, name="bash", arguments={"command": "make"}, title="make", target="make"
                )
            )
            journal.event(
                ToolEnd(call_id=call_id, name="bash", result="line\n" * 50, success=True, duration_s=0.1)
            )
        journal.event(LLMChunk(text=text))
        journal.event(AgentEnd(result=AgentResult("", [], [], usage, _CALLS)))
    journal.close(_PATIENCE_S)
    return turns


def main() -> int:
    events = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    model = Model()
    try:
        with scratch() as name:
            folder = Path(name).resolve()
            state_dir = load_session_config(folder, environ=environment(folder)).state_dir
            turns = write_session(state_dir, folder, events)
            print(header())
            print(Figure("session: events, turns", f"{events:,}, {turns:,}"))
            newest = _measure(Chat(model, folder))
    finally:
        model.close()
    return int(newest.is_met is False)


def _measure(chat: Chat) -> Figure:
    """Print the figures, and return the one with a bar."""
    with chat.program as program:
        chat.wait_until_ready()
        before_mb = program.memory_mb()
        program.send(f"/resume {_ID}")
        program.wait_until_quiet(0.5, 10)
        entered = program.send("\r")
        shown = program.recording.wait_for(_LAST, entered, _PATIENCE_S)
        end = time.monotonic() + _PATIENCE_S
        while not (found := program.recording.seen({_FIRST: entered})) and time.monotonic() < end:
            program.send(_TO_START)
            time.sleep(0.05)
        newest = at_most("from Enter to the newest page", shown - entered, 1.0, "s")
        print(newest)
        print(Figure("from Enter to the whole session", f"{found[_FIRST] - entered:.2f} s"))
        program.wait_until_quiet(0.5, 10)
        print(Figure("memory before, after", f"{before_mb:.0f}, {program.memory_mb():.0f} MB"))
        return newest


if __name__ == "__main__":
    sys.exit(main())
