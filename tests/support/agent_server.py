"""A provider on loopback for sessions with sub-agents: it answers each conversation by its own script.

A conversation is recognised by its first user message: "go …" is the session's own, and the prompt of a `task`
call that of a sub-agent. Each conversation has its replies in order; `served` adds up what they cost.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace as replaced
from decimal import Decimal
from pathlib import Path
from typing import Any

from forge_core.approval import QuestionReply, QuestionRequest, deny_all
from forge_core.config.forge_config import Endpoint, ForgeConfig
from forge_core.runtime import build_session, load_session_config
from forge_core.session import ForgeSession
from tests.support.sse_server import (
    USAGE,
    Reply,
    Seen,
    SseServer,
    Stall,
    answer,
    chunk,
    error_reply,
    event,
    tool_answer,
)

Call = tuple[str, str, Mapping[str, Any]]


def task_call(call_id: str, prompt: str, **arguments: Any) -> Call:
    return (call_id, "task", {"description": f"do {prompt}", "prompt": prompt, **arguments})


def costing(usd: str, reply: Reply) -> Reply:
    """Return the reply with this cost in its usage."""
    old, new = json.dumps(USAGE["cost"]).encode(), usd.encode()
    steps = [step.replace(old, new) if isinstance(step, bytes) else step for step in reply.steps]
    return replaced(reply, steps=steps)


def calling(usd: str, *calls: Call) -> Reply:
    return costing(usd, tool_answer(*calls))


def saying(usd: str, *texts: str) -> Reply:
    return costing(usd, answer(*texts))


class AgentServer(SseServer):
    """A server that plays one script a conversation; `scripts` has their first words as keys."""

    def __init__(self, scripts: Mapping[str, Sequence[Reply]], **options: Any) -> None:
        super().__init__(*[self._reply] * 500, **options)
        self._scripts = {name: list(replies) for name, replies in scripts.items()}
        self.asked: list[str] = []
        """The conversation of each request, in order."""

    def _reply(self, seen: Seen) -> Reply:
        name = first_word(seen)
        self.asked.append(name)
        script = self._scripts.get(name)
        if not script:
            return error_reply(500, f"nothing is scripted for {name!r} any more")
        return script.pop(0)

    def bodies(self, name: str) -> list[dict[str, Any]]:
        """Return the requests of one conversation."""
        return [one.json for one in self.requests if one.method == "POST" and first_word(one) == name]

    @property
    def charged(self) -> Decimal:
        """What the answers cost that were sent to their end."""
        ends = (one for one in self.requests if one.finished.is_set())
        return sum((self.costs[id(one)] for one in ends if id(one) in self.costs), Decimal(0))

    costs: dict[int, Decimal]

    def _choose(self, seen: Seen) -> Reply:
        reply = super()._choose(seen)
        self.costs = {**getattr(self, "costs", {}), id(seen): cost_of(reply)}
        return reply


def cost_of(reply: Reply) -> Decimal:
    """Return the cost that a reply reports; 0 for none."""
    text = b"".join(step for step in reply.steps if isinstance(step, bytes))
    _, found, rest = text.partition(b'"cost": ')
    return Decimal(rest.partition(b",")[0].decode()) if found else Decimal(0)


def first_word(seen: Seen) -> str:
    """Return the first word of the first user message."""
    message = next(one for one in seen.json["messages"] if one["role"] == "user")
    content = message["content"]
    text = content if isinstance(content, str) else content[0]["text"]
    return str(text.split()[0])


def config_for(root: Path, server: SseServer, **changes: object) -> ForgeConfig:
    """Return settings for the server as OpenRouter, in a folder with a file `a.txt`."""
    (root / "work").mkdir(parents=True, exist_ok=True)
    (root / "work" / "a.txt").write_text("hello\n")
    config = load_session_config(root / "work", flags={"model": "offline"})
    changed: dict[str, object] = {
        "endpoint": Endpoint("openrouter", server.base_url, "sk-or-v1-0"),
        "model": "test/model",
        "state_dir": root / "state",
        "max_retries": 0,
        "origins": {},
        **changes,
    }
    return replaced(config, **changed)  # type: ignore[arg-type]


async def no_answer(request: QuestionRequest) -> QuestionReply:
    """Answer no question, as a user who is there."""
    return QuestionReply(declined=True)


async def session_with_agents(root: Path, server: AgentServer) -> ForgeSession:
    """Return a session of `two_agents` in which agent 1 has ended, and agent 2 runs in the background."""
    folder = root / "work/.forge/agents"
    folder.mkdir(parents=True)
    (folder / "tester.md").write_text(
        "---\ndescription: Tests it\ncolor: cyan\nhooks: {Stop: []}\n---\nTest."
    )
    session = build_session(config_for(root, server, is_trusted=True), deny_all, no_answer)
    async for _ in session.send("go"):
        pass
    async with asyncio.timeout(10):
        while "wait" not in server.asked:
            await asyncio.sleep(0.01)
    return session


def two_agents() -> AgentServer:
    """Return a server for a session that starts two agents; the second one is never answered."""
    calls = task_call("t1", "look", agent="tester"), task_call("t2", "wait", background=True)
    return AgentServer(
        {
            "go": [calling("0.01", *calls), saying("0.01", "Done.")],
            "look": [
                calling("0.01", ("c1", "read", {"file_path": "a.txt"})),
                saying("0.01", "It says hello."),
            ],
            "wait": [Reply([event(chunk("half")), Stall()])],
        }
    )
