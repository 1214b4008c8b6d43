"""The examples in the documentation: found in the pages, and run against a provider on loopback.

A block of Python is an example. Two comments before it, which a rendered page does not show, say more:

- `<!-- replies: [...] -->` scripts the provider: a JSON list with an entry for each model call, a text or
  `{"tool": name, "arguments": {...}}`. Without it the offline model answers.
- `<!-- needs: NAME -->` names packages or files without which the example is not run by `tests/test_docs.py`, but
  by a test that has them.

A block marked `<!-- output -->` after an example holds what the example prints.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from forge_core.offline.conversation import read_request
from forge_core.offline.model import respond
from tests.conformance.model_server import as_asked
from tests.support.sse_server import Reply, Seen, SseServer

_EXAMPLE = re.compile(
    r"(?P<comments>(?:<!-- (?:replies|needs):[^\n]*-->\n+)*)```python\n(?P<code>.*?)^```$"
    r"(?:\n+<!-- output -->\n+```text\n(?P<output>.*?)^```$)?",
    re.DOTALL | re.MULTILINE,
)
_COMMENT = re.compile(r"<!-- (replies|needs): *(.*?) *-->")
_NAME = "documented_example"
SAMPLE = '"""Greets people."""\n\n\ndef greet(name: str) -> str:\n    return f"Hello, {name}!"\n'
"""The text of greeting.py, which is in the folder where examples run."""


@dataclass(frozen=True, slots=True)
class Example:
    """One block of Python on a page."""

    page: str
    line: int
    code: str
    replies: tuple[Any, ...] | None = None
    needs: tuple[str, ...] = ()
    output: str | None = None

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def examples(page: Path) -> Iterator[Example]:
    """The examples of a page, in order."""
    text = page.read_text(encoding="utf-8")
    for found in _EXAMPLE.finditer(text):
        comments = dict(_COMMENT.findall(found["comments"]))
        yield Example(
            page=page.name,
            line=text.count("\n", 0, found.start("code")) + 1,
            code=found["code"],
            replies=tuple(json.loads(comments["replies"])) if "replies" in comments else None,
            needs=tuple(comments.get("needs", "").split()),
            output=found["output"],
        )


def run_example(example: Example, folder: Path) -> str:
    """Run the example in `folder` and return what it prints.

    Models that name no endpoint talk to the loopback provider: it is what the environment names.
    """
    script = iter(example.replies) if example.replies is not None else None

    def answer(seen: Seen) -> Reply:
        message = _scripted(next(script)) if script is not None else _offline(seen.json, folder)
        return as_asked(seen.json, message, "tool_calls" if message.get("tool_calls") else "stop")

    module = ModuleType(_NAME)
    printed = io.StringIO()
    program = compile("\n" * (example.line - 1) + example.code, example.page, "exec")
    with SseServer(routes={"POST /chat/completions": answer}) as server, contextlib.ExitStack() as undone:
        undone.enter_context(
            _environment(OPENROUTER_API_KEY="sk-or-example", OPENROUTER_BASE_URL=server.base_url)
        )
        undone.enter_context(contextlib.chdir(folder))
        undone.enter_context(contextlib.redirect_stdout(printed))
        sys.modules[_NAME] = module  # dataclasses and annotations look their module up there
        undone.callback(sys.modules.pop, _NAME)
        exec(program, vars(module))
    return printed.getvalue()


def _scripted(reply: Any) -> dict[str, Any]:
    if isinstance(reply, str):
        return {"role": "assistant", "content": reply}
    function = {"name": reply["tool"], "arguments": json.dumps(reply["arguments"])}
    call = {"id": "call_1", "index": 0, "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _offline(body: dict[str, Any], folder: Path) -> dict[str, Any]:
    reply = respond(read_request(body), str(folder))
    calls = [
        {
            "id": f"call_{len(body['messages'])}_{index}",
            "index": index,
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(dict(call.arguments))},
        }
        for index, call in enumerate(reply.calls)
    ]
    return {"role": "assistant", "content": reply.text or None, **({"tool_calls": calls} if calls else {})}


@contextlib.contextmanager
def _environment(**variables: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
