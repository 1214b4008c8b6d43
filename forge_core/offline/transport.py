"""The offline model as an httpx transport: `…/chat/completions` and `…/models` are answered in process."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import httpx

from forge_core.config.forge_config import OFFLINE_MODEL
from forge_core.llm.tokens import estimate_tokens
from forge_core.offline import protocol
from forge_core.offline.conversation import read_request
from forge_core.offline.intents import compiled
from forge_core.offline.model import respond
from forge_core.offline.steps import ModelReply

_DATA_URL = re.compile(r"data:image/[a-z]+;base64,[A-Za-z0-9+/=]*")
_UNSUPPORTED = 501
"""Not 500: clients retry that, and the same request would fail the same way."""


class OfflineTransport(httpx.AsyncBaseTransport):
    """Answers chat completions (streamed or not) and the model list without a network.

    `working_dir` only shortens absolute paths in answers; the model sees nothing but the request.
    """

    def __init__(self, working_dir: Path | str | None = None) -> None:
        self._root = str(Path(working_dir).absolute()) if working_dir else ""
        self._answered = count(1)
        compiled()  # 0.15 s once in a process, so that the first answer does not wait for it

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        # In a thread: reading a large result takes a while, and the screen must not wait for it.
        return await asyncio.to_thread(self._answer, request)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path.rstrip("/")
        if request.method == "GET" and path.endswith("/models"):
            return _json(request, 200, protocol.models())
        if not (request.method == "POST" and path.endswith("/chat/completions")):
            message = (
                f"The offline model has only chat/completions and models, no {request.method} {path or '/'}."
            )
            return _error(request, 404, message, "not_found")
        try:
            body = json.loads(request.content)
        except (ValueError, RecursionError) as problem:
            return _error(request, 400, f"The request is not JSON: {problem}", "invalid_request")
        if not isinstance(body, dict) or not isinstance(body.get("messages"), list):
            return _error(request, 400, "The request has no list of `messages`.", "invalid_request")
        try:
            reply = respond(read_request(body), self._root)
        except Exception as problem:
            # The border of the model: a bug in it must be reported as a provider's error, not as a hang.
            message = f"The offline model failed on this ({type(problem).__name__}). Word it differently."
            return _error(request, _UNSUPPORTED, message, "server")
        return self._completion(request, body, reply)

    def _completion(
        self, request: httpx.Request, body: Mapping[str, Any], reply: ModelReply
    ) -> httpx.Response:
        # Unique in a transport, so that a conversation that is repeated never repeats the id of a call.
        digest = hashlib.sha256(request.content + str(next(self._answered)).encode()).hexdigest()[:20]
        model = body.get("model")
        name = model if isinstance(model, str) and model else OFFLINE_MODEL
        tokens = estimate_tokens(_DATA_URL.sub("", request.content.decode(errors="replace")))
        encoder = protocol.ReplyEncoder(reply, f"gen-offline-{digest}", name, tokens)
        headers = {"X-Generation-Id": encoder.id}
        if body.get("stream") is not True:
            return httpx.Response(200, headers=headers, json=encoder.document(), request=request)
        headers |= {"Content-Type": "text/event-stream", "Cache-Control": "no-cache"}
        return httpx.Response(200, headers=headers, content=_paced(encoder.events()), request=request)


async def _paced(events: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Yield events one by one, so that the loop can paint between them."""
    for event in events:
        yield event
        await asyncio.sleep(0)


def _error(request: httpx.Request, code: int, message: str, error_type: str) -> httpx.Response:
    return _json(request, code, protocol.error(code, message, error_type))


def _json(request: httpx.Request, code: int, document: Mapping[str, Any]) -> httpx.Response:
    """Return a JSON response in ASCII, so that half a surrogate pair in a file cannot break it."""
    content = json.dumps(document).encode("ascii")
    headers = {"Content-Type": "application/json"}
    return httpx.Response(code, headers=headers, content=content, request=request)
