"""Results of servers' tools as the model reads them."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from forge_core.images.image_header import MAX_BYTES
from forge_core.images.image_store import ImageStore
from forge_core.mcp.argument_check import problem_in
from forge_core.mcp.results import KeepFile, ResultReader
from tests.support.images import gif, jpeg, png, webp
from tests.support.mcp_server import PIXEL


@pytest.fixture
def keep(tmp_path: Path) -> KeepFile:
    def keep(data: bytes, ending: str) -> Path | None:
        path = tmp_path / f"file{ending}"
        path.write_bytes(data)
        return path

    return keep


@pytest.fixture
def reader(keep: KeepFile) -> ResultReader:
    return ResultReader(keep)


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def test_texts_are_joined_and_all_else_is_named(reader: ResultReader, tmp_path: Path) -> None:
    result = reader.read(
        {
            "content": [
                text("one"),
                {"type": "image", "data": PIXEL, "mimeType": "image/png"},
                {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
                {"type": "resource_link", "uri": "file:///a\x1b[31m", "name": "A"},
                {"type": "resource", "resource": {"uri": "file:///b", "text": "body"}},
                {"type": "resource", "resource": {"uri": "file:///c", "blob": "!", "mimeType": "x/y"}},
                {"type": "hologram"},
                "junk",
                text("two"),
            ],
            "structuredContent": {"n": 1},
        }
    )
    assert result.success
    assert result.output.split("\n") == [
        "one",
        f"[image, image/png, 70 bytes, saved as {tmp_path}/file.png]",
        f"[audio, audio/wav, 3 bytes, saved as {tmp_path}/file.wav]",
        "[resource file:///a␛[31m: A]",
        "[resource file:///b]",
        "body",
        f"[resource file:///c, x/y, 0 bytes, saved as {tmp_path}/file.bin]",
        "[a block of the type 'hologram', which is not shown]",
        "two",
    ]


def test_structured_output_counts_only_without_text(reader: ResultReader) -> None:
    structured = {"content": [], "structuredContent": {"n": 1}}
    assert reader.read(structured).output == '{\n "n": 1\n}'
    assert reader.read({**structured, "content": [text("one")]}).output == "one"
    assert reader.read({}).output == "(no output)"


def test_a_result_is_no_flood_of_files_or_of_blanks(reader: ResultReader) -> None:
    sound = {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}
    lines = reader.read({"content": [sound] * 30}).output.split("\n")
    assert ["saved as" in line for line in lines] == [True] * 20 + [False] * 10
    assert lines[-1] == "[audio, audio/wav, 3 bytes: left out, after 20 files]"

    deep = json.loads("[" * 150 + ",".join("0" * 5_000) + "]" * 150)
    output = reader.read({"content": [], "structuredContent": {"a": deep}}).output
    assert json.loads(output) == {"a": deep} and len(output) < 20_000


def test_a_failure_has_all_its_texts(reader: ResultReader) -> None:
    result = reader.read({"content": [text("a"), text("b")], "isError": True})
    assert (result.success, result.error) == (False, "a\nb")


def image(data: bytes | str, mime_type: str = "image/png") -> dict[str, Any]:
    encoded = data if isinstance(data, str) else base64.b64encode(data).decode()
    return {"type": "image", "data": encoded, "mimeType": mime_type}


def test_images_that_models_take_follow_the_result(keep: KeepFile, tmp_path: Path) -> None:
    images = ImageStore(tmp_path / "images")
    reader = ResultReader(keep, images.keep)
    small = [png(), jpeg(), gif(), webp()]
    large = png(extra=MAX_BYTES)
    kinds = [*map(image, small), image(b"<svg/>", "image/svg+xml"), image(large), image("!!")]

    result = reader.read({"content": [text("one"), *kinds], "isError": True, "structuredContent": {"n": 1}})

    assert [images.load(one) for one in result.images] == small
    looks = ["3×2 PNG", "5×4 JPEG", "7×6 GIF", "9×8 WebP"]
    assert (result.error or "").split("\n") == [
        "one",
        *(f"[image {at + 1}, {looks[at]} {len(small[at])} B, follows]" for at in range(4)),
        f"[image, image/svg+xml, 6 bytes, saved as {tmp_path}/file.svg]",
        f"[image, image/png, {len(large):,} bytes, saved as {tmp_path}/file.png]",
        f"[image, image/png, 0 bytes, saved as {tmp_path}/file.png]",
    ]


def test_the_messages_of_a_prompt_are_one_text(reader: ResultReader) -> None:
    one = {"role": "user", "content": text("Review this.")}
    two = {"role": "assistant", "content": [text("Yes."), {"type": "resource_link", "uri": "a:b"}]}
    assert reader.messages({"messages": [one]}).text == "Review this."
    assert (
        reader.messages({"messages": [one, two, 7]}).text
        == "user:\nReview this.\n\nassistant:\nYes.\n[resource a:b]"
    )
    assert reader.messages({"messages": [{"content": None}]}).text == reader.messages({}).text == ""


async def test_arguments_are_compared_with_the_schema() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    assert await problem_in({"n": 1}, schema) == ""
    assert await problem_in({"n": "x"}, schema) == "n: 'x' is not of type 'integer'"
    assert await problem_in({}, schema) == "'n' is a required property"
    assert await problem_in({}, {"type": 7}) == ""
    assert await problem_in({}, {"$ref": "https://evil.example/schema"}) == ""
