"""What goes over the wire, seen by an httpx client as by any other."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from forge_core.config.forge_config import OFFLINE_MODEL
from forge_core.offline.protocol import MAX_CHUNKS, pieces
from forge_core.offline.transport import OfflineTransport

URL = "http://offline.invalid/api/v1"
TOOLS = [
    {
        "type": "function",
        "function": {"name": name, "parameters": {"type": "object", "properties": {key: {} for key in keys}}},
    }
    for name, keys in {
        "grep": ("pattern", "path", "glob", "output_mode", "ignore_case"),
        "ls": ("path", "depth"),
        "read": ("file_path", "offset", "limit"),
    }.items()
]


def body(text: str, **more: Any) -> dict[str, Any]:
    return {"model": OFFLINE_MODEL, "messages": [{"role": "user", "content": text}], **more}


async def stream(request: dict[str, Any]) -> tuple[httpx.Response, list[bytes]]:
    """The response and its pieces as they arrive."""
    async with (
        httpx.AsyncClient(transport=OfflineTransport()) as client,
        client.stream("POST", f"{URL}/chat/completions", json={**request, "stream": True}) as response,
    ):
        return response, [piece async for piece in response.aiter_raw()]


def documents(parts: list[bytes]) -> list[dict[str, Any]]:
    events = b"".join(parts).decode("ascii").split("\n\n")
    assert events.pop() == ""
    assert events.pop() == "data: [DONE]"
    return [json.loads(event.removeprefix("data: ")) for event in events if not event.startswith(":")]


async def test_text_is_streamed_in_the_provider_format() -> None:
    response, parts = await stream(body("who are you?"))
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/event-stream"
    assert len(parts) > 20
    assert parts[0].startswith(b":")
    chunks = documents(parts)
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    assert {chunk["provider"] for chunk in chunks} == {"Forge offline"}
    assert {chunk["model"] for chunk in chunks} == {OFFLINE_MODEL}
    assert {chunk["id"] for chunk in chunks} == {response.headers["x-generation-id"]}
    deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
    assert deltas[0] == {"role": "assistant", "content": ""}
    assert "offline model" in "".join(delta.get("content", "") for delta in deltas)


async def test_the_stream_ends_with_one_finish_reason_and_then_the_usage() -> None:
    _, parts = await stream(body("thanks"))
    *_, finish, usage = documents(parts)
    assert finish["choices"][0]["finish_reason"] == finish["choices"][0]["native_finish_reason"] == "stop"
    assert sum("usage" in chunk for chunk in documents(parts)) == 1
    assert usage["usage"]["cost"] == 0
    assert usage["usage"]["prompt_tokens"] > 10
    assert (
        usage["usage"]["total_tokens"]
        == usage["usage"]["prompt_tokens"] + usage["usage"]["completion_tokens"]
    )


async def test_a_tool_call_is_streamed_in_fragments() -> None:
    _, parts = await stream(body("find the function warm", tools=TOOLS))
    calls = [
        call
        for chunk in documents(parts)
        for choice in chunk["choices"]
        for call in choice["delta"].get("tool_calls", ())
    ]
    assert calls[0]["function"] == {"name": "grep", "arguments": ""}
    assert calls[0]["id"]
    assert len(calls) > 3
    assert not any("id" in call or "name" in call["function"] for call in calls[1:])
    arguments = json.loads("".join(call["function"]["arguments"] for call in calls))
    assert arguments["output_mode"] == "content"
    assert arguments["pattern"].endswith(r"warm\b")
    assert documents(parts)[-2]["choices"][0]["finish_reason"] == "tool_calls"


async def test_independent_calls_are_sent_together_unless_parallel_calls_are_disabled() -> None:
    listing = "./\n  README.md\n  pyproject.toml"
    history = [
        {"role": "user", "content": "explain this project"},
        {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "ls", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "1", "content": listing},
    ]
    request = {"messages": history, "tools": TOOLS}
    async with httpx.AsyncClient(transport=OfflineTransport()) as client:
        both = (await client.post(f"{URL}/chat/completions", json=request)).json()
        one = (
            await client.post(f"{URL}/chat/completions", json={**request, "parallel_tool_calls": False})
        ).json()
    calls = both["choices"][0]["message"]["tool_calls"]
    assert [json.loads(call["function"]["arguments"])["file_path"] for call in calls] == [
        "README.md",
        "pyproject.toml",
    ]
    assert len({call["id"] for call in calls}) == 2
    assert len(one["choices"][0]["message"]["tool_calls"]) == 1


async def test_a_request_without_streaming_gets_one_document() -> None:
    async with httpx.AsyncClient(transport=OfflineTransport()) as client:
        answer = (await client.post(f"{URL}/chat/completions", json=body("help"))).json()
    assert answer["object"] == "chat.completion"
    choice = answer["choices"][0]
    assert choice["finish_reason"] == "stop"
    assert "find the function" in choice["message"]["content"]
    assert answer["usage"]["cost"] == 0


async def test_the_same_request_gets_the_same_text_but_new_ids() -> None:
    async with httpx.AsyncClient(transport=OfflineTransport()) as client:
        request = body("list the files", tools=TOOLS)
        answers = [await client.post(f"{URL}/chat/completions", json=request) for _ in range(2)]
    first, second = (answer.json() for answer in answers)
    assert first["id"] != second["id"]
    calls = [answer["choices"][0]["message"]["tool_calls"][0] for answer in (first, second)]
    assert calls[0]["function"] == calls[1]["function"]
    assert calls[0]["id"] != calls[1]["id"]


async def test_the_catalogue_has_one_free_model() -> None:
    async with httpx.AsyncClient(transport=OfflineTransport()) as client:
        (model,) = (await client.get(f"{URL}/models")).json()["data"]
    assert model["id"] == OFFLINE_MODEL
    assert float(model["pricing"]["prompt"]) == 0
    assert "tools" in model["supported_parameters"]


@pytest.mark.parametrize(
    ("method", "path", "content", "code"),
    [
        ("GET", "/nothing", b"", 404),
        ("GET", "/chat/completions", b"", 404),
        ("POST", "/chat/completions", b"{not json", 400),
        ("POST", "/chat/completions", b"\xff\xfe", 400),
        ("POST", "/chat/completions", b"[]", 400),
        ("POST", "/chat/completions", b'{"messages": "hi"}', 400),
        ("POST", "/chat/completions", b"[" * 100_000, 400),
    ],
)
async def test_a_bad_request_gets_an_error_body(method: str, path: str, content: bytes, code: int) -> None:
    async with httpx.AsyncClient(transport=OfflineTransport()) as client:
        response = await client.request(method, URL + path, content=content)
    assert response.status_code == code
    error = response.json()["error"]
    assert error["code"] == code
    assert error["message"]


@pytest.mark.parametrize(
    "text", ["", "one", " lead", "a  b\n\n```\ncode\n```\n", "x" * 5_000, "word " * 20_000]
)
def test_text_is_split_into_few_chunks_that_join_to_it(text: str) -> None:
    found = list(pieces(text))
    assert "".join(found) == text
    assert len(found) <= MAX_CHUNKS + 1


async def test_a_lone_surrogate_in_a_file_is_harmless(tmp_path: Path) -> None:
    messages = [
        {"role": "user", "content": "read a.txt"},
        {
            "role": "assistant",
            "tool_calls": [
                {
                    "id": "1",
                    "function": {"name": "read", "arguments": '{"file_path": "a.txt", "limit": 80}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "1", "content": "     1\tbad \ud800 pair"},
    ]
    content = json.dumps({"messages": messages, "tools": TOOLS})
    async with httpx.AsyncClient(transport=OfflineTransport(tmp_path)) as client:
        answer = (await client.post(f"{URL}/chat/completions", content=content)).json()
    assert "bad � pair" in answer["choices"][0]["message"]["content"]


def test_the_offline_model_name_needs_no_heavy_import() -> None:
    code = "import sys, forge_core.config.forge_config as m; m.OFFLINE_MODEL; print('httpx' in sys.modules, m.OFFLINE_MODEL)"
    done = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "forge/offline"]


async def test_a_stream_can_be_closed_early() -> None:
    async with (
        httpx.AsyncClient(transport=OfflineTransport()) as client,
        client.stream("POST", f"{URL}/chat/completions", json=body("help", stream=True)) as response,
    ):
        async for piece in response.aiter_raw():
            assert piece
            break
