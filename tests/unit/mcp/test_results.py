"""Results of servers' tools as the model reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from forge_core.mcp.argument_check import problem_in
from forge_core.mcp.results import ResultReader
from tests.support.mcp_server import PIXEL


@pytest.fixture
def reader(tmp_path: Path) -> ResultReader:
    def keep(data: bytes, ending: str) -> Path | None:
        path = tmp_path / f"file{ending}"
        path.write_bytes(data)
        return path

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


def test_a_failure_has_all_its_texts(reader: ResultReader) -> None:
    result = reader.read({"content": [text("a"), text("b")], "isError": True})
    assert (result.success, result.error) == (False, "a\nb")


async def test_arguments_are_compared_with_the_schema() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    assert await problem_in({"n": 1}, schema) == ""
    assert await problem_in({"n": "x"}, schema) == "n: 'x' is not of type 'integer'"
    assert await problem_in({}, schema) == "'n' is a required property"
    assert await problem_in({}, {"type": 7}) == ""
    assert await problem_in({}, {"$ref": "https://evil.example/schema"}) == ""
