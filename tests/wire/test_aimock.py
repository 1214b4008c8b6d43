"""Forge against a provider that somebody else wrote: aimock, which models OpenRouter on /api/v1.

Needs node and the npm package `@copilotkit/aimock`, which no test installs. In a folder outside this one::

    npm install --prefix /tmp/aimock @copilotkit/aimock@1.43.0
    FORGE_AIMOCK=/tmp/aimock python -m pytest tests/wire/test_aimock.py

Without them every test here is skipped and says what is missing.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import BaseModel

from forge_core.errors import ProviderError, RateLimitError
from forge_core.langchain import ForgeAgent, OpenRouterLLM
from forge_core.llm.client import OpenRouterClient
from forge_core.llm.http.retry import RetryNotice
from forge_core.llm.models import CompletionRequest, Message
from forge_core.tools.builtin.read import ReadTool

KEY = "sk-or-v1-0123456789abcdef"
MODEL = "anthropic/claude-sonnet-4.5"
FALLBACK = "openai/gpt-5-mini"
USAGE = {
    "prompt_tokens": 31,
    "completion_tokens": 7,
    "total_tokens": 38,
    "cost": 0.0021,
    "is_byok": False,
    "prompt_tokens_details": {"cached_tokens": 20},
    "completion_tokens_details": {"reasoning_tokens": 3},
}

FIXTURES: list[dict[str, Any]] = [
    {
        "match": {"userMessage": "say hello"},
        "response": {
            "content": "Hello from somebody else's server.",
            "provider": "Anthropic",
            "nativeFinishReason": "end_turn",
            "usage": USAGE,
        },
        "openRouterProcessing": True,
    },
    {
        "match": {"userMessage": "think first"},
        "response": {"content": "Four.", "reasoning": "Two and two make four."},
    },
    {
        "match": {"userMessage": "the secret word", "hasToolResult": False},
        "response": {
            "toolCalls": [{"id": "call_1", "name": "read", "arguments": {"file_path": "notes.txt"}}],
            "usage": USAGE,
        },
    },
    {
        "match": {"userMessage": "the secret word", "toolResultContains": "heron"},
        "response": {"content": "The word is heron.", "usage": USAGE},
    },
    {
        "match": {"userMessage": "name a city", "responseFormat": "json_schema"},
        "response": {"content": '{"name": "Paris", "people": 2100000}'},
    },
    {
        "match": {"userMessage": "busy at first", "sequenceIndex": 0},
        "response": {"error": {"message": "Rate limit exceeded"}, "status": 429, "retryAfter": 1},
    },
    {"match": {"userMessage": "busy at first"}, "response": {"content": "Now I have time."}},
    {
        "match": {"userMessage": "always busy"},
        "response": {"error": {"message": "Rate limit exceeded: free-models-per-day"}, "status": 429},
    },
    {
        "match": {"userMessage": "cost too much"},
        "response": {"error": {"message": "Insufficient credits for this request"}, "status": 402},
    },
    {
        "match": {"userMessage": "take another", "model": MODEL},
        "response": {"error": {"message": "Provider returned error"}, "status": 503},
    },
    {
        "match": {"userMessage": "take another", "model": FALLBACK},
        "response": {"content": "Served by the fallback.", "provider": "OpenAI"},
    },
    {
        "match": {"userMessage": "break off"},
        "response": {"content": "This sentence is going to be broken off before its end."},
        "truncateAfterChunks": 4,
        "latency": 20,
    },
]


class Aimock:
    """The server's process."""

    def __init__(self, node: str, program: Path, fixtures: Path) -> None:
        self._process = subprocess.Popen(
            [node, str(program), "-p", "0", "-f", str(fixtures), "-c", "5", "--strict"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.url = self._listening()

    def _listening(self) -> str:
        assert self._process.stdout is not None
        said = []
        for line in self._process.stdout:
            if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                return found.group()
            said.append(line)
        raise RuntimeError(f"aimock did not start: {''.join(said)}")

    @property
    def base_url(self) -> str:
        return f"{self.url}/api/v1"

    def last_body(self) -> dict[str, Any]:
        """The latest request's body, as the server understood it."""
        entries = httpx.get(f"{self.url}/__aimock/journal", trust_env=False).json()
        body: dict[str, Any] = entries[-1]["body"]
        return body

    def close(self) -> None:
        self._process.terminate()
        self._process.communicate(timeout=10)


def program() -> tuple[str, Path]:
    """node and aimock's command; skips, with the reason, where one of them is missing."""
    folder = os.environ.get("FORGE_AIMOCK", "")
    if not folder:
        pytest.skip("FORGE_AIMOCK does not name a folder with @copilotkit/aimock installed")
    found = Path(folder) / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"
    if not found.is_file():
        pytest.skip(f"FORGE_AIMOCK is {folder!r}, but there is no {found}")
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node on the PATH")
    return node, found


@pytest.fixture(scope="module")
def aimock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aimock]:
    node, found = program()
    fixtures = tmp_path_factory.mktemp("aimock") / "fixtures.json"
    fixtures.write_text(json.dumps({"fixtures": FIXTURES}))
    server = Aimock(node, found, fixtures)
    yield server
    server.close()


@pytest.fixture
async def client(aimock: Aimock) -> AsyncIterator[OpenRouterClient]:
    async with OpenRouterClient(KEY, aimock.base_url, max_retries=0) as made:
        yield made


def asking(text: str, **options: Any) -> CompletionRequest:
    return CompletionRequest(model=MODEL, messages=[Message.user(text)], **options)


def forge_run(aimock: Aimock, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "forge_tui.cli",
            "run",
            *arguments,
            "--base-url",
            aimock.base_url,
            "-m",
            MODEL,
        ],
        cwd=folder,
        env={**os.environ, "FORGE_API_KEY": KEY},
        capture_output=True,
        text=True,
        timeout=180,
    )


async def test_a_complete_answer_has_its_usage_figures(client: OpenRouterClient) -> None:
    response = await client.complete(asking("say hello"))
    assert response.message.text == "Hello from somebody else's server."
    assert (response.model, response.provider) == (MODEL, "Anthropic")
    assert (response.finish_reason, response.native_finish_reason) == ("stop", "end_turn")
    assert str(response.id).startswith("gen-")
    usage = response.usage
    assert usage is not None
    assert (usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens) == (31, 7, 20)
    assert (usage.reasoning_tokens, usage.cost_usd) == (3, Decimal("0.0021"))


async def test_a_stream_with_a_keep_alive_comment_is_read(client: OpenRouterClient) -> None:
    chunks = [chunk async for chunk in client.stream(asking("say hello"))]
    assert chunks[0].comment is not None
    texts = [chunk.text for chunk in chunks if chunk.text]
    assert len(texts) > 3
    assert "".join(texts) == "Hello from somebody else's server."
    (usage,) = [chunk.usage for chunk in chunks if chunk.usage is not None]
    assert (usage.total_tokens, usage.cost_usd) == (38, Decimal("0.0021"))


async def test_reasoning_is_distinguished_from_the_answer(client: OpenRouterClient) -> None:
    llm = OpenRouterLLM(client=client, model=MODEL)
    chunks = [chunk async for chunk in llm.astream("think first")]
    total: Any = chunks[0]
    for chunk in chunks[1:]:
        total += chunk
    assert total.content == "Four."
    assert total.additional_kwargs["reasoning_content"] == "Two and two make four."


async def test_an_agent_reads_a_file_and_answers(
    client: OpenRouterClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notes.txt").write_text("the secret word is heron\n")
    monkeypatch.chdir(tmp_path)
    agent = ForgeAgent(llm=OpenRouterLLM(client=client, model=MODEL), tools=[ReadTool()])
    result = await agent.run("What is the secret word?")
    assert (result.output, result.iterations, len(result.tool_calls)) == ("The word is heron.", 2, 1)
    assert result.usage.cost_usd == Decimal("0.0042")


def test_the_program_reads_a_file_and_answers(aimock: Aimock, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("the secret word is heron\n")
    done = forge_run(aimock, tmp_path, "What is the secret word?", "--output", "json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["output"] == "The word is heron."
    assert float(result["usage"]["cost_usd"]) == pytest.approx(0.0042)
    roles = [message["role"] for message in aimock.last_body()["messages"]]
    assert roles == ["system", "user", "assistant", "tool"]


def test_the_program_quotes_a_provider_error_and_exits_with_2(aimock: Aimock, tmp_path: Path) -> None:
    done = forge_run(aimock, tmp_path, "cost too much")
    assert done.returncode == 2
    assert "Insufficient credits for this request" in done.stderr
    assert KEY not in done.stdout + done.stderr


async def test_a_busy_provider_is_retried(aimock: Aimock) -> None:
    notices: list[RetryNotice] = []
    async with OpenRouterClient(KEY, aimock.base_url, on_retry=notices.append) as client:
        response = await client.complete(asking("busy at first"))
    assert response.message.text == "Now I have time."
    assert [notice.attempt for notice in notices] == [1]


async def test_a_provider_that_stays_busy_is_a_rate_limit(client: OpenRouterClient) -> None:
    with pytest.raises(RateLimitError, match="free-models-per-day"):
        await client.complete(asking("always busy"))


async def test_a_fallback_answers_and_is_named(client: OpenRouterClient) -> None:
    llm = OpenRouterLLM(client=client, model=MODEL, models=[FALLBACK])
    message = await llm.ainvoke("take another")
    assert message.content == "Served by the fallback."
    assert message.response_metadata["model_name"] == FALLBACK
    assert message.response_metadata["provider"] == "OpenAI"


async def test_a_broken_stream_keeps_its_text_and_is_an_error(client: OpenRouterClient) -> None:
    texts = []
    with pytest.raises(ProviderError) as caught:
        async for chunk in client.stream(asking("break off")):
            texts.append(chunk.text)
    assert "".join(texts)
    assert "This sentence is going to be broken off before its end.".startswith("".join(texts))
    assert caught.value.partial_text == "".join(texts)


async def test_structured_output_by_schema(client: OpenRouterClient) -> None:
    class City(BaseModel):
        name: str
        people: int

    llm = OpenRouterLLM(client=client, model=MODEL).with_structured_output(City, method="json_schema")
    assert await llm.ainvoke("name a city") == City(name="Paris", people=2_100_000)


async def test_the_catalogue_key_info_and_credits_are_read(client: OpenRouterClient) -> None:
    assert {MODEL, FALLBACK} <= {model.id for model in await client.models()}
    assert (await client.key_info()).label
    credit = await client.credits()
    assert credit is not None
    assert credit.remaining == credit.total - credit.used
