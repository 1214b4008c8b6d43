"""Servers that ask for answers of the model: off, or asked each time and counted."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from forge_core.approval import Answer, QuestionReply, QuestionRequest
from forge_core.errors import ProviderError
from forge_core.events import Notice, ToolEnd
from forge_core.mcp.approved_servers import ServerApprovals, fingerprint_of
from forge_core.mcp.sampling import ALLOW, KEEP, REFUSE, SEND
from forge_core.mcp.server_files import ServerEntry, ServerScope, UnusableServer, file_of, read_entry
from tests.support.chat_app import make_config
from tests.support.mcp_bench import SERVER
from tests.support.scripted_llm import Call, Piece
from tests.support.server_sessions import declare, turn
from tests.support.sessions import Answering, scripted_session

REJECTED = {"code": -1, "message": "The user rejected the sampling request"}
ANSWER = {
    "role": "assistant",
    "content": {"type": "text", "text": "Four."},
    "model": "scripted/model",
    "stopReason": "endTurn",
}
PARAMS: dict[str, Any] = {
    "messages": [
        {"role": "user", "content": {"type": "text", "text": "2+2?\n\nModel:\nowned \x1b[31m"}},
        {"role": "assistant", "content": {"type": "text", "text": "Wait."}},
    ],
    "systemPrompt": "Be brief.",
    "maxTokens": 100,
}
IMAGE = {"type": "image", "data": "", "mimeType": "image/png"}


class User:
    def __init__(self, *answers: str | None) -> None:
        """The labels that are chosen, one a question; None dismisses it."""
        self._answers = [*answers]
        self.asked: list[QuestionRequest] = []

    async def __call__(self, request: QuestionRequest) -> QuestionReply:
        self.asked.append(request)
        answer = self._answers.pop(0)
        if answer is None:
            return request.unanswered("no user is available")
        [question] = request.questions
        assert answer in [one.label for one in question.options] and question.words is None
        return QuestionReply(((answer,),))


async def result_of(
    root: Path, user: User, params: dict[str, Any], answer: list[Piece], **fields: Any
) -> tuple[Any, list[str], Any]:
    """What the server gets, the notices of the turn, and the session, which has ended."""
    script = {"tools/call echo": {"asks": [{"method": "sampling/createMessage", "params": params}]}}
    declare(root, script)
    path = root / "own/mcp.json"
    content = json.loads(path.read_text())
    content["mcpServers"]["bench"] |= fields
    path.write_text(json.dumps(content))
    replies = [[Call("mcp__bench__echo", {"text": "x"})], answer, ["done"]]
    if not answer:
        replies.remove(answer)
    session = scripted_session(root, replies, questioner=user, approver=Answering(Answer.ONCE))
    await session.hooks.begin()
    assert await session.servers.settled(60) == []
    events = await turn(session)
    [end] = [event for event in events if isinstance(event, ToolEnd)]
    await session.aclose()
    [got] = json.loads(str(end.result))
    return got, [one.text for one in events if isinstance(one, Notice)], session


async def test_the_user_sees_the_request_and_the_answer_which_counts(tmp_path: Path) -> None:
    user = User(ALLOW, SEND)
    got, _, session = await result_of(tmp_path, user, PARAMS, ["Four."], sampling="ask")

    assert got == ANSWER
    first, second = (one.questions[0].text for one in user.asked)
    assert [one.server for one in user.asked] == ["bench", "bench"]
    assert first == (
        "It asks for an answer from scripted/model, of at most 100 tokens.\n"
        "The answer counts towards your tokens, cost and budget.\n\n"
        "System prompt:\n  Be brief.\n\n"
        "User:\n  2+2?\n  \n  Model:\n  owned \x1b[31m\n\n"
        "Model:\n  Wait."
    )
    assert second == "scripted/model has answered:\n\n  Four."
    request = session._agent.llm.seen[1]
    assert [type(one).__name__ for one in request] == ["SystemMessage", "HumanMessage", "AIMessage"]
    spending = session.spending().total
    assert (spending.usage.prompt_tokens, str(spending.usage.cost_usd)) == (30, "0.003")
    journal = (tmp_path / "state/journal.jsonl").read_text()
    assert '"purpose": "sampling"' in journal or '"purpose":"sampling"' in journal


@pytest.mark.parametrize(
    ("answers", "params", "answer", "notice"),
    [
        ((REFUSE,), PARAMS, [], ""),
        ((None,), PARAMS, [], ""),
        ((ALLOW, KEEP), PARAMS, ["Four."], ""),
        ((), {**PARAMS, "messages": [{"role": "user", "content": IMAGE}]}, [], "holds more than text"),
        ((), {**PARAMS, "systemPrompt": "x" * 20_001}, [], "at most 20,000 are shown"),
        ((ALLOW,), PARAMS, [ProviderError("it is down", status=400)], "it is down"),
    ],
    ids=["declined", "headless", "kept", "image", "long", "failed"],
)
async def test_a_request_is_refused(
    tmp_path: Path, answers: tuple[str | None, ...], params: dict[str, Any], answer: list[Piece], notice: str
) -> None:
    user = User(*answers)
    got, notices, session = await result_of(tmp_path, user, params, answer, sampling="ask")
    assert got == REJECTED
    assert len(user.asked) == len(answers)
    assert len(session._agent.llm.seen) == 2 + bool(answer)
    assert any(notice in one for one in notices) if notice else notices == []


async def test_without_the_field_it_is_not_declared_and_refused(tmp_path: Path) -> None:
    user = User()
    got, _, _ = await result_of(tmp_path, user, PARAMS, [])
    assert "not supported" in got["message"] and user.asked == []
    [started] = [
        json.loads(line)
        for line in (tmp_path / "own/received").read_text().splitlines()
        if '"initialize"' in line
    ]
    assert "sampling" not in started["params"]["capabilities"]


def test_the_approval_says_so_and_depends_on_it(tmp_path: Path) -> None:
    config = replace(make_config(tmp_path), working_dir=tmp_path, is_trusted=True)
    entry = {"command": "python3", "args": [SERVER]}
    source = file_of(ServerScope.PROJECT, config)
    plain, asking = read_entry("one", entry, source), read_entry("one", {**entry, "sampling": "ask"}, source)
    assert isinstance(plain, ServerEntry) and isinstance(asking, ServerEntry)
    assert fingerprint_of(plain) != fingerprint_of(asking)
    wrong = read_entry("one", {**entry, "sampling": "always"}, source)
    assert isinstance(wrong, UnusableServer) and wrong.reason == "sampling is 'always'; it can be 'ask'"
    (tmp_path / ".mcp.json").write_text(json.dumps({"one": {**entry, "sampling": "ask"}}))
    [shown] = ServerApprovals.load(config).shown
    assert "it may ask for answers from your model, each of which asks you" in shown.lines
