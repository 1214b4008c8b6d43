"""The output of a job, piece by piece, and all of it in a file."""

import os
from pathlib import Path
from typing import BinaryIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forge_core.redact import Redactor
from forge_core.tools.output import OutputStore
from forge_core.tools.shell.capture import MAX_LIVE_PIECE, RECENT_BYTES, OutputCapture

LETTERS = (
    st.lists(st.integers(0x20, 0xFF).filter(lambda byte: byte != 0x7F), max_size=60)
    .map(bytes)
    .filter(lambda data: b"\xc2" not in data)
)
"""Also such as are no UTF-8; without controls."""
WORDS = st.text(st.sampled_from("ab\n\t\u00e9\u4e2d\U0001f600"), max_size=30)


def filled(text: bytes, limit: int = 100) -> OutputCapture:
    capture = OutputCapture(limit, OutputStore(), "x")
    capture.feed(text)
    return capture


class FullDisk(OutputStore):
    """A store on a device that has no room."""

    def create(self, stem: str) -> tuple[Path, BinaryIO]:
        return Path("/dev/full"), os.fdopen(os.open("/dev/full", os.O_WRONLY), "wb", buffering=0)


def test_taken_output_is_not_returned_again() -> None:
    capture = filled(b"one\n")
    assert (capture.take(), capture.take()) == ("one\n", "")
    assert not capture.has_news
    capture.feed(b"two\n")
    assert capture.has_news
    assert capture.take() == "two\n"


@settings(deadline=None, derandomize=True, database=None)
@given(WORDS, st.lists(st.integers(1, 5), min_size=1, max_size=40))
def test_pieces_taken_anywhere_make_the_whole(text: str, sizes: list[int]) -> None:
    data = text.encode()
    capture = OutputCapture(1_000, OutputStore(), "x")
    taken, at = [], 0
    for size in sizes:
        capture.feed(data[at : at + size])
        at += size
        taken.append(capture.take())
    capture.feed(data[at:])
    assert "".join([*taken, capture.take()]) == text


@settings(deadline=None, derandomize=True, database=None)
@given(LETTERS, st.lists(st.integers(1, 7), min_size=1, max_size=20))
def test_bytes_that_are_no_text_are_replaced_alike_however_they_are_cut(
    data: bytes, sizes: list[int]
) -> None:
    capture = OutputCapture(1_000, OutputStore(), "x")
    taken, at = [], 0
    for size in sizes:
        capture.feed(data[at : at + size])
        at += size
        taken.append(capture.take())
    capture.feed(data[at:])
    joined = "".join([*taken, capture.take()])
    assert joined.replace("\ufffd", "") == data.decode("utf-8", "replace").replace("\ufffd", "")


def test_every_piece_respects_the_limit_and_the_file_is_complete() -> None:
    capture = OutputCapture(100, OutputStore(), "x")
    capture.feed(b"early\n")
    capture.keep()
    assert capture.take() == "early\n"
    capture.feed(b"a" * 5_000)
    capture.feed(b"b" * 5_000)
    text = capture.take()
    assert text.startswith("a" * 50 + "\n[... 9,900 characters left out; the whole output is in ")
    assert text.endswith("\n" + "b" * 50)
    capture.feed(b"late")
    capture.close()
    assert capture.take() == "late"
    assert capture.kept_in is not None
    assert capture.kept_in.read_bytes() == b"early\n" + b"a" * 5_000 + b"b" * 5_000 + b"late"


def test_the_recent_output_is_available_even_after_it_was_taken() -> None:
    capture = filled(b"x" * 3 * RECENT_BYTES + b"end", limit=10)
    capture.take()
    assert capture.recent(5) == "xxend"
    assert len(capture.recent()) == RECENT_BYTES
    capture.close()


def test_a_full_disk_loses_only_the_output_file() -> None:
    capture = OutputCapture(100, FullDisk(), "x")
    capture.feed(b"a" * 1_000)
    capture.feed(b"b" * 1_000)
    assert capture.kept_in is None
    text = capture.take()
    assert text.startswith("a" * 50)
    assert text.endswith("b" * 50)
    assert "left out ...]" in text
    capture.close()


def shown_live(pieces: list[str]) -> str:
    """What a reader of the live pieces has on the screen."""
    screen = ""
    for piece in pieces:
        if piece.startswith("\r"):
            screen = screen[: screen.rfind("\n") + 1]
        screen += piece.removeprefix("\r")
    return screen


def test_colour_sequences_are_removed_for_model_screen_and_file() -> None:
    live: list[str] = []
    capture = OutputCapture(100, OutputStore(), "x", live.append)
    for part in (b"\x1b[3", b"1mred\x1b[", b"0m\nplain\x1b", b"[", b"32m", b"\n\x1b[1mlast\x1b"):
        capture.feed(part)
    capture.keep()
    capture.close()
    assert capture.kept_in is not None
    shown = "red\nplain\nlast\u241b"
    assert (capture.take(), capture.kept_in.read_text(), shown_live(live)) == (shown, shown, shown)


def test_a_progress_bar_is_repeated_after_it_was_rewritten() -> None:
    live: list[str] = []
    capture = OutputCapture(100, OutputStore(), "x", live.append)
    capture.keep()
    assert capture.kept_in is not None
    told, files = [], []
    for part in (b"start\n 10%", b"\r 20%", b" of all", b"\r\x1b[K", b"\r100%\nend"):
        capture.feed(part)
        capture.flush_live()
        told.append(capture.take())
        files.append(capture.kept_in.read_text())
    capture.close()
    assert told == ["start\n 10%", " 20%", " of all", "", "100%\nend"]
    assert files == ["start\n 10%", "start\n 20%", "start\n 20% of all", "start\n", "start\n100%\nend"]
    assert shown_live(live) == capture.kept_in.read_text() == "start\n100%\nend"


@settings(deadline=None, derandomize=True, database=None)
@given(
    st.lists(
        st.sampled_from([b"a", b"bc", b"\r", b"\n", b"\b", b"\x1b[K", b"\x1b[31m", b"\xe4\xb8", b"\xad"]),
        max_size=40,
    )
)
def test_live_pieces_add_up_to_the_final_output(parts: list[bytes]) -> None:
    live: list[str] = []
    feeding = OutputCapture(1_000, OutputStore(), "x", live.append)
    for part in parts:
        feeding.feed(part)
        feeding._live._last = 0  # type: ignore[union-attr]  # as if time had gone by
    feeding.close()
    assert shown_live(live) == feeding.take()


def test_invisible_output_does_not_count_as_new() -> None:
    capture = filled(b"\x1b[?25l\x1b[0m\r")
    assert not capture.has_news
    capture.feed(b".")
    assert capture.has_news
    assert capture.take() == "."
    assert not capture.has_news


@pytest.mark.parametrize("size", [1, 7, 1_000])
def test_the_kept_file_has_no_key_wherever_the_output_is_cut(size: int) -> None:
    key = "Zq7+wV/2mN9xKp4tRb8yLc3d"
    capture = OutputCapture(100, OutputStore(redact=Redactor((key,))), "x")
    capture.keep()
    data = (
        f"first {key}\n{'x' * 500}{key}{'y' * 500}\r\n{key[:9]}\n{key[:12]}\\\n{key[12:]} last {key}".encode()
    )
    seen = b""
    for start in range(0, len(data), size):
        capture.feed(data[start : start + size])
        if capture.kept_in is not None:
            seen = capture.kept_in.read_bytes()
            assert key.encode() not in seen
    capture.close()
    assert capture.kept_in is not None
    text = capture.kept_in.read_text()
    assert (
        text == f"first [redacted]\n{'x' * 500}[redacted]{'y' * 500}\n{key[:9]}\n[redacted] last [redacted]"
    )


KEY = "attkey+ABC/DEFGH12345678zz=="


@pytest.mark.parametrize("shift", range(-2, len(KEY) + 2))
@pytest.mark.parametrize("size", [200, 5_000])
def test_no_part_of_a_key_is_left_where_an_output_is_shortened(shift: int, size: int) -> None:
    redact = Redactor((KEY,))
    store = OutputStore(redact=redact)
    shapes = [("x" * (50 - shift) + KEY).ljust(size, "y"), KEY.rjust(size - 50 + shift, "x").ljust(size, "y")]
    for text in shapes:
        capture = OutputCapture(100, store, "x")
        capture.feed(text.encode())
        capture.close()
        results = (capture.take(), store.limit(text, "x", 100)[0])
        for shown in map(redact, results):
            assert not [n for n in range(len(KEY) - 3) if KEY[n : n + 4] in shown], shown


def test_no_part_of_a_key_is_left_where_live_output_is_skipped() -> None:
    shown: list[str] = []
    redact = Redactor((KEY,))
    for shift in range(1, len(KEY)):
        capture = OutputCapture(100, OutputStore(redact=redact), "x", shown.append)
        capture.feed(b"first\n")
        capture.feed(b"y" * 40_000 + KEY.encode() + b"x" * (MAX_LIVE_PIECE - shift - 1) + b"\n")
        capture.close()
        assert "[...]" in shown[-1]
        assert shown[-1].rstrip("x\n").endswith("]")
