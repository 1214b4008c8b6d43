"""The chat models that are measured side by side, and the bare reading below them all."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import httpx
from langchain_core.language_models import BaseChatModel

from forge_core.langchain import OpenRouterLLM
from tests.support.sse_server import MODEL

KEY = "sk-or-v1-0123456789abcdef"


def ours(base_url: str) -> BaseChatModel:
    return OpenRouterLLM(model=MODEL, api_key=KEY, base_url=base_url)  # type: ignore[arg-type]


def chat_openai(base_url: str) -> BaseChatModel:
    made: BaseChatModel = import_module("langchain_openai").ChatOpenAI(
        model=MODEL, api_key=KEY, base_url=base_url, stream_usage=True
    )
    return made


def chat_openrouter(base_url: str) -> BaseChatModel:
    made: BaseChatModel = import_module("langchain_openrouter").ChatOpenRouter(
        model=MODEL, api_key=KEY, base_url=base_url
    )
    return made


OPTIONAL: dict[str, tuple[str, Callable[[str], BaseChatModel]]] = {
    "ChatOpenAI": ("langchain_openai", chat_openai),
    "ChatOpenRouter": ("langchain_openrouter", chat_openrouter),
}


def importable(module: str) -> bool:
    return find_spec(module) is not None


class BareReader:
    """httpx and `json.loads`, nothing else: what no client can do without."""

    def __init__(self, base_url: str) -> None:
        self._url = f"{base_url}/chat/completions"
        self._async = httpx.AsyncClient(timeout=60)
        self._sync = httpx.Client(timeout=60)

    def _body(self, text: str) -> dict[str, Any]:
        return {"model": MODEL, "stream": True, "messages": [{"role": "user", "content": text}]}

    async def aread(self, text: str, on_text: Callable[[str], object] | None = None) -> int:
        """The number of chunks with text."""
        count = 0
        async with self._async.stream("POST", self._url, json=self._body(text)) as response:
            async for line in response.aiter_lines():
                if found := _text_in(line):
                    count += 1
                    if on_text is not None:
                        on_text(found)
        return count

    def read(self, text: str) -> int:
        with self._sync.stream("POST", self._url, json=self._body(text)) as response:
            return sum(bool(_text_in(line)) for line in response.iter_lines())

    async def aclose(self) -> None:
        await self._async.aclose()
        self._sync.close()


def _text_in(line: str) -> str:
    if not line.startswith("data: {"):
        return ""
    choices = json.loads(line[6:])["choices"]
    return (choices[0]["delta"].get("content") or "") if choices else ""
