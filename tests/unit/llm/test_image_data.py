"""Images in requests: references are replaced by data, or by a note on what cannot be sent."""

from __future__ import annotations

import base64
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from forge_core.images.image_header import MAX_IMAGES
from forge_core.images.image_reference import ImageReference
from forge_core.images.image_store import ImageStore
from forge_core.llm.account.call_estimate import planned_call
from forge_core.llm.client import OpenRouterClient
from forge_core.llm.image_data import MAX_REQUEST_BYTES, ImageLoader
from forge_core.llm.models import CompletionRequest, Message
from tests.support.images import gif, jpeg, png, webp
from tests.support.sse_server import Reply, SseServer, answer


@pytest.fixture
def store(tmp_path: Path) -> ImageStore:
    return ImageStore(tmp_path / "images")


def loader(store: ImageStore) -> ImageLoader:
    return ImageLoader(store, lambda model: model != "blind")


def request(*references: ImageReference, model: str = "seeing") -> CompletionRequest:
    parts = [{"type": "text", "text": "What is this?"}, *(one.part for one in references)]
    return CompletionRequest(model, [Message.user("Hello"), Message.user(parts)])


async def sent(store: ImageStore, asked: CompletionRequest) -> list[dict[str, Any]]:
    content = (await loader(store)(asked)).messages[-1].content
    assert isinstance(content, list)
    return content[1:]


async def test_every_kind_of_image_is_sent_with_its_bytes(store: ImageStore) -> None:
    images = {"png": png(), "jpeg": jpeg(), "gif": gif(), "webp": webp()}
    asked = request(*(store.keep(data) for data in images.values()))
    parts = await sent(store, asked)
    urls = [part["image_url"]["url"] for part in parts]
    for url, (kind, data) in zip(urls, images.items(), strict=True):
        head, _, encoded = url.partition(",")
        assert (head, base64.b64decode(encoded)) == (f"data:image/{kind};base64", data)
    assert "forge-image:" in str(asked.messages)  # the conversation keeps its references


async def test_a_request_without_images_is_sent_as_it_is(store: ImageStore) -> None:
    asked = CompletionRequest("blind", [Message.user([{"type": "file", "file": {"file_id": "1"}}])])
    assert await loader(store)(asked) is asked


async def test_a_model_that_takes_no_images_is_told_what_is_missing(store: ImageStore) -> None:
    [part] = await sent(store, request(store.keep(png(30, 20), "shot.png"), model="blind"))
    assert part == {
        "type": "text",
        "text": "[the image shot.png (30×20 PNG 113 B) is not included: this model takes no images]",
    }


async def test_a_missing_or_damaged_file_becomes_a_note(store: ImageStore) -> None:
    missing, damaged = store.keep(png()), store.keep(jpeg(), "photo.jpg")
    store.path(missing).unlink()
    store.path(damaged).write_bytes(b"?")
    texts = [part["text"] for part in await sent(store, request(missing, damaged))]
    assert [text.rpartition(": ")[2] for text in texts] == ["its file is missing]", "its file is damaged]"]


async def test_only_as_many_images_are_sent_as_providers_accept_the_newest_ones(store: ImageStore) -> None:
    references = [store.keep(png(width)) for width in range(1, MAX_IMAGES + 3)]
    parts = await sent(store, request(*references))
    assert [part["type"] for part in parts] == ["text"] * 2 + ["image_url"] * MAX_IMAGES
    large = [replace(one, size_bytes=MAX_REQUEST_BYTES // 2) for one in references[:3]]
    parts = await sent(store, request(*large))
    assert [part["type"] for part in parts] == ["text", "image_url", "image_url"]
    assert "only the newest images are sent" in parts[0]["text"]


@pytest.mark.parametrize("is_stream", [False, True])
async def test_the_bytes_are_in_the_request_on_the_wire(store: ImageStore, is_stream: bool) -> None:
    data = png(64, 48)
    whole = Reply([b'{"choices": [{"message": {"content": "A picture."}}]}'])
    with SseServer(answer("A picture.") if is_stream else whole) as server:
        client = OpenRouterClient("key", server.base_url, prepare=loader(store))
        asked = request(store.keep(data))
        if is_stream:
            text = "".join([chunk.text async for chunk in client.stream(asked)])
        else:
            text = (await client.complete(asked)).message.text
        await client.aclose()
    content = server.requests[0].json["messages"][-1]["content"]
    assert (text, content[0]) == ("A picture.", {"type": "text", "text": "What is this?"})
    url = content[1]["image_url"]["url"]
    assert base64.b64decode(url.removeprefix("data:image/png;base64,")) == data


def test_the_limits_of_cost_count_an_image_by_its_pixels(store: ImageStore) -> None:
    def chars(asked: CompletionRequest) -> int:
        return planned_call(asked, lambda model, usage: None).chars

    small, large = store.keep(png(75, 10)), store.keep(png(1500, 1000))
    assert chars(request(large)) - chars(request(small)) == 4 * (1_600 - 1)
