"""Keys typed before the app runs: the line shows what the composer would, and no byte is lost."""

from __future__ import annotations

import random

import pytest

from forge_tui.terminal.first_paint.type_ahead import TypedLine
from forge_tui.terminal.input import TerminalInput
from tests.support.chat_app import ForgeConfig, make_app, ready, until

ROOM = 40


def typed(data: bytes, cuts: int = 0) -> TypedLine:
    """A line that got these bytes, cut at random where `cuts` is a seed."""
    line = TypedLine(ROOM)
    chance = random.Random(cuts)
    while data:
        size = chance.randint(1, 5) if cuts else len(data)
        line.feed(data[:size])
        data = data[size:]
    return line


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ("hello", "hello"),
        ("helo\x7flo", "hello"),
        ("\x7f\x7fa", "a"),
        ("漢字\x7fな", "漢な"),
        ("東京\u3000大阪", "東京\u3000大阪"),
        ("e\u0301", "e\u0301"),
        ("🎉\x7fok", "ok"),
        ("one two\x17", "one "),
        ("one two  \x17\x17x", "x"),
        ("gone\x15here", "here"),
    ],
)
def test_typed_text_and_corrections_are_shown(keys: str, text: str) -> None:
    for cuts in range(5):
        line = typed(keys.encode(), cuts)
        assert (line.text, line.rest, line.is_open) == (text, b"", True)


@pytest.mark.parametrize(
    "key",
    [
        "\r",
        "\n",
        "\t",
        "\x1b",
        "\x1b[A",
        "\x1b[200~",
        "\x03",
        "\x04",
        "\x00",
        "\x0e",
        "\x9b",
        "\u202e",
        "\u200d",
    ],
)
def test_an_unsupported_key_closes_the_line_and_is_kept(key: str) -> None:
    for cuts in range(5):
        line = typed(f"before{key}after\x7f".encode(), cuts)
        assert (line.text, line.rest, line.is_open) == ("before", f"{key}after\x7f".encode(), False)


def test_bytes_that_are_not_text_are_kept_unchanged() -> None:
    for broken in (b"\xff", b"\x80", b"\xc3(", b"\xe6\xbcx", b"\xf0\x9f\x8e "):
        line = typed(b"ok" + broken + b"go")
        assert line.text.encode() + line.rest == b"ok" + broken + b"go"
        assert line.text == "ok"


def test_an_incomplete_character_waits_and_is_passed_on_if_nothing_follows() -> None:
    line = typed("aé".encode()[:2])
    assert (line.text, line.rest, line.is_open) == ("a", b"\xc3", True)
    line.feed(b"\xa9")
    assert (line.text, line.rest) == ("aé", b"")


def test_a_typed_line_shows_what_fits_and_keeps_the_rest() -> None:
    line = typed(b"x" * 100)
    assert (len(line.text), len(line.rest)) == (ROOM, 100 - ROOM)
    line = typed(("字" * 30).encode())
    assert (line.text, line.rest.decode()) == ("字" * 20, "字" * 10)
    assert not line.is_open


def test_a_terminal_that_becomes_narrower_closes_a_line_that_no_longer_fits() -> None:
    line = typed(b"twenty characters...")
    line.resize(20)
    assert line.is_open
    line.resize(19)
    assert not line.is_open


def test_a_line_without_room_keeps_every_byte() -> None:
    line = TypedLine(0)
    line.feed(b"abc")
    assert (line.text, line.rest) == ("", b"abc")


async def test_the_composer_gets_the_same_text_from_the_same_keys(config: ForgeConfig) -> None:
    """1,000 random keys: text shown by the launcher equals what the app would have made of the bytes."""
    chance = random.Random(7)
    alphabet = [
        *"abc xyz_-.'\"()[]/\\?!",
        "é",
        "\u3000",
        "字",
        "🎉",
        "e\u0301",
        "\x7f",
        "\x7f",
        "\x17",
        "\x15",
    ]
    app = make_app(config)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        for _ in range(20):
            keys = "".join(chance.choices(alphabet, k=50)).lstrip("/")
            line = TypedLine(1000)
            line.feed(keys.encode())
            assert line.is_open
            app.chat.composer.load_text("")
            for message in TerminalInput().feed(keys.encode()):
                app.post_message(message)
            await until(pilot, lambda line=line: app.chat.composer.text == line.text, repr(keys))  # type: ignore[misc]
