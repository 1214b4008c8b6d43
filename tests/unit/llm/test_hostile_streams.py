"""Whatever bytes come: chunks or a typed error, never another exception, and always the same however they are cut."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from forge_core.llm.endpoints import OPENROUTER_URL, identify
from forge_core.llm.http.assembly import AnswerAssembler
from forge_core.llm.http.chunk_reader import ChunkReader
from forge_core.llm.http.error_mapping import ErrorMapper
from forge_core.llm.salvage.recovery import recover_calls
from tests.support.sse_server import DONE, PROCESSING, chunk, event

ERRORS = ErrorMapper(identify(OPENROUTER_URL), OPENROUTER_URL)
CALL = [{"index": 0, "id": "c", "function": {"name": "f", "arguments": '{"a": "ü🦊'}}]
GOOD = b"".join(
    [
        PROCESSING,
        event(
            chunk("grün 🦊 ", reasoning="hm", reasoning_details=[{"type": "reasoning.text", "text": "hm"}])
        ),
        event(chunk(None, tool_calls=CALL)),
        event(chunk("", finish_reason="stop", usage={"prompt_tokens": 3, "cost": 0.1})),
        DONE,
    ]
)


def outcome(data: bytes, sizes: random.Random) -> tuple[str, str, str]:
    """What reading `data` in pieces of random sizes comes to."""
    reader, answer = ChunkReader(ERRORS), AnswerAssembler()
    place = 0
    chunks = []
    while place < len(data):
        size = sizes.choice((1, 2, 7, 64, 4096))
        chunks += reader.feed(data[place : place + size])
        place += size
    for found in [*chunks, *reader.end()]:
        answer.add(found)
    response = answer.response()
    calls = [(call.name, call.arguments) for call in response.message.tool_calls or ()]
    recover_calls(response.message.text, [{"type": "function", "function": {"name": "f", "parameters": {}}}])
    return response.message.text, repr(calls), type(reader.failure).__name__


@pytest.mark.parametrize("seed", range(40))
def test_damaged_streams_never_break_the_reader(seed: int) -> None:
    dice = random.Random(seed)
    data = bytearray(GOOD)
    for _ in range(dice.randint(1, 12)):
        place = dice.randrange(len(data))
        match dice.randrange(4):
            case 0:
                data[place] = dice.randrange(256)
            case 1:
                del data[place : place + dice.randint(1, 30)]
            case 2:
                data[place:place] = dice.randbytes(dice.randint(1, 10))
            case _:
                data[place:place] = dice.choice(
                    (b"\r\n", b"\n\n", b"\r", b"\xef\xbb\xbf", b": x\n", b"\x00", DONE)
                )
    results = {outcome(bytes(data), random.Random(cut)) for cut in range(4)}
    assert len(results) == 1


def any_json(dice: random.Random, depth: int = 0) -> Any:
    kinds: list[Any] = [None, True, 0, -1, 1e308, "", "x", "\ud800", "stop", [], {}]
    if depth < 4 and dice.random() < 0.6:
        if dice.random() < 0.5:
            return [any_json(dice, depth + 1) for _ in range(dice.randint(0, 3))]
        names = ("choices", "delta", "content", "tool_calls", "function", "index", "usage", "error", "code",
                 "message", "reasoning_details", "name", "arguments", "metadata", "text", "id", "model")  # fmt: skip
        return {dice.choice(names): any_json(dice, depth + 1) for _ in range(dice.randint(0, 5))}
    return dice.choice(kinds)


@pytest.mark.parametrize("seed", range(40))
def test_unexpected_json_never_crashes_the_reader(seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(50):
        payloads = [{"choices": [{"delta": any_json(dice)}]}, {"choices": any_json(dice)}, any_json(dice)]
        data = b"".join(b"data: " + json.dumps(payload).encode() + b"\n\n" for payload in payloads)
        assert outcome(data + DONE, random.Random(seed)) == outcome(data + DONE, dice)
