"""The output of a job, piece by piece, and all of it in a file."""

import os
from pathlib import Path
from typing import BinaryIO

from hypothesis import given, settings
from hypothesis import strategies as st

from forge_core.tools.output import OutputStore
from forge_core.tools.shell.capture import RECENT_BYTES, Capture

WORDS = st.text(st.sampled_from("ab\n\u00e9\u4e2d\U0001f600\x00"), max_size=30)


def filled(text: bytes, limit: int = 100) -> Capture:
    capture = Capture(limit, OutputStore(), "x")
    capture.feed(text)
    return capture


class FullDisk(OutputStore):
    """A store on a device that has no room."""

    def create(self, stem: str) -> tuple[Path, BinaryIO]:
        return Path("/dev/full"), os.fdopen(os.open("/dev/full", os.O_WRONLY), "wb", buffering=0)


def test_what_was_taken_does_not_come_again() -> None:
    capture = filled(b"one\n")
    assert (capture.take(), capture.take()) == ("one\n", "")
    assert not capture.has_news
    capture.feed(b"two\n")
    assert capture.has_news
    assert (capture.take(), capture.total_bytes) == ("two\n", 8)


@settings(deadline=None, derandomize=True, database=None)
@given(WORDS, st.lists(st.integers(1, 5), min_size=1, max_size=40))
def test_pieces_taken_anywhere_make_the_whole(text: str, sizes: list[int]) -> None:
    data = text.encode()
    capture = Capture(1_000, OutputStore(), "x")
    taken, at = [], 0
    for size in sizes:
        capture.feed(data[at : at + size])
        at += size
        taken.append(capture.take())
    capture.feed(data[at:])
    assert "".join([*taken, capture.take(is_final=True)]) == text


@settings(deadline=None, derandomize=True, database=None)
@given(st.binary(max_size=60), st.lists(st.integers(1, 7), min_size=1, max_size=20))
def test_bytes_that_are_no_text_are_replaced_alike_however_they_are_cut(
    data: bytes, sizes: list[int]
) -> None:
    capture = Capture(1_000, OutputStore(), "x")
    taken, at = [], 0
    for size in sizes:
        capture.feed(data[at : at + size])
        at += size
        taken.append(capture.take())
    capture.feed(data[at:])
    joined = "".join([*taken, capture.take(is_final=True)])
    assert joined.replace("\ufffd", "") == data.decode("utf-8", "replace").replace("\ufffd", "")


def test_every_piece_keeps_to_the_limit_and_the_file_has_all_of_it() -> None:
    capture = Capture(100, OutputStore(), "x")
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


def test_the_end_can_be_seen_whoever_has_taken_it() -> None:
    capture = filled(b"x" * 3 * RECENT_BYTES + b"end", limit=10)
    capture.take()
    assert capture.recent(5) == "xxend"
    assert len(capture.recent()) == RECENT_BYTES
    capture.close()


def test_a_full_disk_costs_the_file_and_nothing_else() -> None:
    capture = Capture(100, FullDisk(), "x")
    capture.feed(b"a" * 1_000)
    capture.feed(b"b" * 1_000)
    assert capture.kept_in is None
    text = capture.take()
    assert text.startswith("a" * 50)
    assert text.endswith("b" * 50)
    assert "left out ...]" in text
    capture.close()
