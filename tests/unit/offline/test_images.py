"""Images in messages for the offline model, which cannot see."""

from __future__ import annotations

import base64
from typing import Any

import httpx

from forge_core.offline.conversation import read_request
from forge_core.offline.model import respond
from forge_core.offline.transport import OfflineTransport
from tests.support.images import jpeg, png


def url(kind: str, data: bytes) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"


def message(text: str, *urls: Any) -> dict[str, Any]:
    parts = [{"type": "image_url", "image_url": {"url": one}} for one in urls]
    return {"role": "user", "content": [{"type": "text", "text": text}, *parts]}


def answer(*messages: dict[str, Any]) -> str:
    return respond(read_request({"messages": [*messages]})).text


def test_it_says_the_kind_and_the_size_of_an_image() -> None:
    text = "[Image shot.png 64×48 PNG 94 B #0123456789abcdef] what is wrong with this picture?"
    for asked in (text, text[:50]):
        reply = answer(message(asked, url("png", png(64, 48))))
        assert reply.startswith("Your message has an image: PNG, 64×48 pixels, ")
        assert "a real model can say what it shows" in reply


def test_it_lists_several_images_also_those_that_it_cannot_read() -> None:
    urls = (url("jpeg", jpeg(640, 480)), "https://example.org/x.png", "data:image/png;base64,????", 5)
    reply = answer(message("compare these", *urls))
    assert "3 images:\n\n- JPEG, 640×480 pixels, " in reply
    assert "- an address that I cannot open\n\n- data that I cannot read" in reply


def test_it_serves_the_request_that_comes_with_an_image() -> None:
    reply = answer(message("hello", url("png", png())))
    assert reply.startswith("Your message has an image")
    assert "I follow rules" in reply and len(reply.split("\n\n")) > 2


def test_an_image_of_an_earlier_message_is_not_named_again() -> None:
    earlier = (message("look", url("png", png())), {"role": "assistant", "content": "Seen."})
    assert "image" not in answer(*earlier, message("thanks"))


async def test_the_data_of_an_image_does_not_count_as_text() -> None:
    body = {"messages": [message("look", url("png", png(9, 9, extra=900_000)))]}
    async with httpx.AsyncClient(transport=OfflineTransport()) as client:
        reply = await client.post("http://offline.invalid/v1/chat/completions", json=body)
    assert reply.json()["usage"]["prompt_tokens"] < 200
