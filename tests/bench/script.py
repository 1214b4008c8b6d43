"""Scripted turns: what the benchmark and the demonstration show. Always the same."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Iterator
from decimal import Decimal

from forge_core.events import (
    AgentEnd,
    AgentEvent,
    Error,
    LLMChunk,
    LLMEnd,
    LLMStart,
    Notice,
    Permission,
    ToolEnd,
    ToolProgress,
)
from forge_core.llm.models import TokenUsage
from forge_core.result import AgentResult, FileDiff
from forge_tui.widgets.transcript import Transcript
from tests.support.tool_events import tool_start

MARKDOWN = """\
## What the function does

`parse_retry_after` turns the **Retry-After** header into seconds. It knows *both* forms of
[RFC 9110](https://www.rfc-editor.org/rfc/rfc9110#field.retry-after):

1. a number of seconds,
2. an HTTP date, of which the past counts as zero:
   - dates are parsed by `email.utils`,
   - a broken one gives `None`.

```python
def parse_retry_after(value: str, now: float) -> float | None:
    \"\"\"Seconds to wait, or None.\"\"\"
    if value.isdigit():
        return min(float(value), 60.0)  # never wait longer
    return max(0.0, parse_date(value) - now)
```

| Form | Example | Result |
|:-----|:-------:|-------:|
| seconds | `120` | 60.0 |
| date | `Wed, 21 Oct 2015 07:28:00 GMT` | 0.0 |
| 日本語 | broken | None |

> A server may send neither; then the client backs off by itself.

- [x] read the header
- [ ] clamp it to the limit

---

Shall I add a test for the date form?
"""

DIFF = """\
@@ -41,7 +41,8 @@ def retry(self):
         attempt += 1
         if attempt > self.max_retries:
             raise
-        wait = min(2 ** attempt, 30)
-        time.sleep(wait)
+        wait = min(2 ** attempt, self.longest_wait)
+        log.info("retry %d in %.1f s", attempt, wait)
+        time.sleep(wait)
\x20
     def close(self):
"""

USAGE = TokenUsage(prompt_tokens=1200, completion_tokens=300, cost_usd=Decimal("0.0042"))


def every_block() -> Iterator[AgentEvent | str]:
    """One of every kind; a string is what the person says."""
    now = time.time()
    yield "Explain parse_retry_after in src/http/retry.py\nand raise the limit."
    yield LLMChunk(
        text="The person wants an explanation, then an edit. " * 8, kind="reasoning", timestamp=now
    )
    yield _end(now + 12)
    yield from _tool("1", "read", {"path": "src/http/retry.py"}, "…", "142 lines", 0.02)
    yield from _tool("2", "grep", {"pattern": "longest_wait"}, "a:1\nb:2", "2 matches in 2 files", 0.31)
    yield LLMChunk(text=MARKDOWN)
    yield _end(now)
    yield from _tool(
        "3",
        "edit",
        {"path": "src/http/a/very/long/path/that/does/not/fit/in/eighty/columns/at/all/really/retry.py"},
        "edited",
        "+3 −2",
        0.004,
        diffs=(FileDiff("src/http/retry.py", DIFF, 3, 2),),
    )
    output = "\n".join(f"tests/test_retry.py::test_{n} PASSED" for n in range(12)) + "\n12 passed in 0.41s"
    yield from _tool(
        "4", "bash", {"command": "python -m pytest tests/test_retry.py -q"}, output, "exit 0", 1.7
    )
    yield from _tool(
        "5", "bash", {"command": "ruff check ."}, "Error: exit 1\nF401 unused import", "", 0.2, ok=False
    )
    yield tool_start("6", "bash", {"command": "rm -rf build"})
    yield Permission(call_id="6", decision="deny", rule="ask", by="person")
    yield ToolEnd(call_id="6", name="bash", result="Error: denied", success=False, duration_s=0.0)
    yield Notice(level="warning", text="Rate limited by the provider; trying again in 4 s.")
    yield Error(
        error="402: this key has no credits left. Add some at openrouter.ai/credits.",
        kind="x",
        recoverable=False,
    )
    yield AgentEnd(result=AgentResult("", [], [], USAGE, 1, stopped_reason="error"))
    yield "and run the tests"
    yield tool_start("7", "bash", {"command": "make test"}, timestamp=now - 3)
    yield ToolProgress(call_id="7", text="collecting …\ntests/test_a.py ....\ntests/test_b.py ..")


def _tool(
    call_id: str,
    name: str,
    arguments: dict[str, object],
    result: str,
    summary: str,
    duration_s: float,
    *,
    ok: bool = True,
    diffs: tuple[FileDiff, ...] = (),
) -> Iterator[AgentEvent]:
    yield tool_start(call_id, name, arguments)
    yield ToolEnd(
        call_id=call_id,
        name=name,
        result=result,
        success=ok,
        duration_s=duration_s,
        summary=summary,
        diffs=diffs,
    )


def _end(now: float) -> LLMEnd:
    return LLMEnd(
        usage=USAGE,
        cost_usd=USAGE.cost_usd,
        finish_reason="stop",
        duration_s=1.0,
        total_usage=USAGE,
        timestamp=now,
    )


def pieces(tokens: int, size: int = 1) -> Iterator[str]:
    """`tokens` fragments of Markdown, about the size of a model's tokens, `size` of them at a time."""
    found = _found()
    for number in range(0, tokens, size):
        yield "".join(found[at % len(found)] for at in range(number, min(tokens, number + size)))


def prose_positions() -> frozenset[int]:
    """The fragments, of one round of `pieces`, before which a mark word changes no structure."""
    positions = set()
    at = 0
    for number, piece in enumerate(_found()):
        line = MARKDOWN[MARKDOWN.rfind("\n", 0, at) + 1 : at]
        is_in_code = MARKDOWN[:at].count("```") % 2 or MARKDOWN[:at].count("`") % 2
        is_text = len(line) > 6 and not line.startswith(("|", "#", "--")) and "](" not in line + piece
        if piece[0] == " " and is_text and not is_in_code:
            positions.add(number)
        at += len(piece)
    return frozenset(positions)


def tokens_per_round() -> int:
    return len(_found())


def _found() -> list[str]:
    return re.findall(r"\s*\w+|\s*[^\w\s]", MARKDOWN + "\n")


async def turn(tokens: int, rate: float) -> AsyncIterator[AgentEvent]:
    """An answer of `tokens` fragments, `rate` a second (0: as fast as they are taken)."""
    yield LLMStart(iteration=1, model="script")
    started = time.monotonic()
    for number, piece in enumerate(pieces(tokens)):
        if rate:
            await asyncio.sleep(max(0.0, started + number / rate - time.monotonic()))
        elif number % 50 == 0:
            await asyncio.sleep(0)
        yield LLMChunk(text=piece)
    yield _end(time.time())
    yield AgentEnd(result=AgentResult("", [], [], USAGE, 1))


def add_history(transcript: Transcript, number: int) -> None:
    """One more block of history, of one kind or another."""
    match number % 4:
        case 0:
            transcript.add_user(f"Question {number}: what does this do, and why is it slow?")
        case 1:
            transcript.add_markdown(
                f"Answer **{number}**: it reads `every` line. " + "More words follow. " * 20
            )
        case 2:
            for event in _tool(str(number), "read", {"path": f"src/file_{number}.py"}, "x", "42 lines", 0.01):
                transcript.apply(event)
        case _:
            transcript.add_markdown(f"```python\ndef f_{number}(x):\n    return x + {number}\n```")
