"""python -m tests.bench.usage [--sessions 1000] [--calls 40] [--rounds 9]

Writes journals of sessions with model calls, tool calls and streamed text, and measures the index of what they
have used: reading all of them, and later with one that has grown, which is what `/usage` does. Bar: 200 ms of CPU
time, for on a busy machine the other times are those of others.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from forge_core.store.usage.usage_index import UsageIndex
from tests.bench.figures import Figure, Spread, header

BAR_MS = 200.0
_DAY_S = 86_400.0
_MODELS = ("acme/large", "acme/small", "other/fast")
_TOOLS = ("bash", "edit", "glob", "grep", "read", "mcp__git__git_log")


def session_id(number: int) -> str:
    return f"20261101-000000-{number:06x}"


def lines_of(number: int, calls: int) -> Iterator[bytes]:
    """Yield the records of a session, a call of the model and two of tools each."""
    choose = random.Random(number)
    began = time.time() - choose.uniform(0, 365) * _DAY_S

    def record(record_type: str, at: float, **data: Any) -> bytes:
        line = {"v": 2, "type": record_type, "timestamp": at, "data": data}
        return json.dumps(line, separators=(",", ":")).encode() + b"\n"

    yield record(
        "session", began, id=session_id(number), working_dir=f"/w/{number % 20}", provider="openrouter"
    )
    for call in range(calls):
        at = began + 60 * call + choose.random()
        for part in range(8):
            yield record("llm_chunk", at + part / 4, text="some words of an answer " * 8, kind="answer")
        for tool in range(2):
            about = {"call_id": f"c{call}-{tool}", "name": choose.choice(_TOOLS)}
            yield record("tool_start", at + 3 + tool, **about, arguments={"path": "a.txt"})
            yield record("tool_end", at + 4 + tool, **about, success=True, duration_s=0.2, result="x" * 3_000)
        usage = {"prompt_tokens": 9_000 + call, "completion_tokens": 300, "cost_usd": "0.0123"}
        yield record("llm_end", at + 6, usage=usage, model=choose.choice(_MODELS))


def usage_figures(state_dir: Path, sessions: int, calls: int, rounds: int) -> Iterator[Figure]:
    folder = state_dir / "sessions"
    folder.mkdir(mode=0o700)
    for number in range(sessions):
        (folder / f"{session_id(number)}.jsonl").write_bytes(b"".join(lines_of(number, calls)))
    size = sum(path.stat().st_size for path in folder.iterdir())
    yield Figure("usage: sessions, calls of each, journals", f"{sessions:,}, {calls}, {size / 1e6:.0f} MB")
    [(first, _)] = _times(state_dir, 1)
    index = (folder / "usage.json").stat().st_size
    yield Figure("usage: all read; the index", f"{first:.2f} s; {index / 1e6:.1f} MB")
    yield _row("usage: nothing is new", _times(state_dir, rounds))
    yield _row("usage: one session has grown", _times(state_dir, rounds, grows=True))


def _times(state_dir: Path, rounds: int, *, grows: bool = False) -> list[tuple[float, float]]:
    """Return the seconds that each of some updates took, and those of its CPU time; with `grows` a session has
    made a call before each."""
    found = []
    for turn in range(rounds):
        if grows:
            with (state_dir / "sessions" / f"{session_id(0)}.jsonl").open("ab") as file:
                file.writelines(lines_of(10_000_000 + turn, 1))
        began, cpu = time.perf_counter(), time.process_time()
        UsageIndex(state_dir).update()
        found.append((time.perf_counter() - began, time.process_time() - cpu))
    return found


def _row(name: str, times: Sequence[tuple[float, float]]) -> Figure:
    """The median and the 95th percentile, and the same of CPU time."""
    passed, cpu = (Spread.of(values) for values in zip(*times, strict=True))
    return Figure(name, f"{passed}, CPU {cpu} ms", f"CPU {BAR_MS:.0f} ms", cpu.p50 <= BAR_MS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--sessions", type=int, default=1000)
    parser.add_argument("--calls", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    print(header())
    with tempfile.TemporaryDirectory() as folder:
        for figure in usage_figures(Path(folder), options.sessions, options.calls, options.rounds):
            print(figure, flush=True)


if __name__ == "__main__":
    main()
