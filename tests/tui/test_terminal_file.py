"""Writes to the terminal are complete, or discarded if it has been closed."""

from __future__ import annotations

import os
import select
import threading
import tty

import pytest

from forge_tui.terminal.terminal_file import TerminalFile, write_all
from tests.support.terminal import descriptors_on


def test_all_output_is_written_to_a_non_blocking_terminal() -> None:
    main, side = os.openpty()
    tty.setraw(side)
    os.set_blocking(side, False)
    data = b"0123456789abcdef" * 20_000
    writer = threading.Thread(target=write_all, args=(side, data))
    writer.start()
    got = b""
    while len(got) < len(data):
        got += os.read(main, 65536)
    writer.join()
    assert got == data
    os.close(side)
    os.close(main)


def test_writes_to_a_closed_terminal_are_discarded() -> None:
    main, side = os.openpty()
    file = TerminalFile(side, "utf-8")
    os.close(main)
    assert not write_all(side, b"a word")
    assert [file.write("one"), file.write("more")] == [3, 4]
    file.flush()
    os.close(side)


def test_a_closed_terminal_file_writes_nothing() -> None:
    reader, writer = os.pipe()
    file = TerminalFile(writer, "utf-8")
    assert [file.write("one"), file.close(), file.write("more")] == [3, None, 4]
    assert os.read(reader, 100) == b"one"
    os.close(reader)
    os.close(writer)


def test_close_waits_for_pending_writes_with_a_timeout() -> None:
    reader, writer = os.pipe()
    file = TerminalFile(writer, "utf-8")
    text = "x" * 200_000
    thread = threading.Thread(target=file.write, args=(text,))
    thread.start()
    assert select.select([reader], [], [], 60)[0]
    file.close()
    assert thread.is_alive()
    left = len(text)
    while left:
        left -= len(os.read(reader, 65536))
    thread.join()
    assert file.write("more") == 4
    os.close(reader)
    os.close(writer)


@pytest.mark.parametrize(
    ("encoding", "expected"), [("utf-8", "größer 漢".encode()), ("latin-1", b"gr\xf6\xdfer ?")]
)
def test_characters_missing_from_the_encoding_are_replaced(encoding: str, expected: bytes) -> None:
    reader, writer = os.pipe()
    assert TerminalFile(writer, encoding).write("größer 漢") == 8
    assert os.read(reader, 100) == expected
    os.close(reader)
    os.close(writer)


def test_write_now_writes_what_the_terminal_accepts_and_returns_the_rest() -> None:
    main, side = os.openpty()
    tty.setraw(side)
    file = TerminalFile(side, "utf-8")
    assert file.write_now("ein Wört") == b""
    assert os.read(main, 100) == "ein Wört".encode()
    text = "0123456789äöü" * 50_000
    left = file.write_now(text)
    assert isinstance(left, bytes) and 0 < len(left) < len(text.encode())
    writer = threading.Thread(target=file.write, args=(left,))
    writer.start()
    got = b""
    while len(got) < len(text.encode()):
        got += os.read(main, 65536)
    writer.join()
    assert got.decode() == text
    assert os.get_blocking(side), "the terminal is shared with the shell"
    assert file.written == 1
    os.close(side)
    os.close(main)


def test_write_now_to_a_closed_terminal_is_discarded() -> None:
    main, side = os.openpty()
    file = TerminalFile(side, "utf-8")
    assert file.write_now("one") == b""
    os.close(main)
    assert file.write_now("one") == b""
    assert file.write("more") == 4
    os.close(side)


def test_write_now_leaves_non_terminals_to_the_writer_thread() -> None:
    reader, writer = os.pipe()
    file = TerminalFile(writer, "utf-8")
    assert file.write_now("one") == "one"
    os.close(reader)
    os.close(writer)


def test_the_second_descriptor_is_closed_and_reopened_on_demand() -> None:
    main, side = os.openpty()
    tty.setraw(side)
    file = TerminalFile(side, "utf-8")
    file.release()
    for text in ("one", "two"):
        assert file.write_now(text) == b""
        assert descriptors_on(side) == 2
        assert os.read(main, 100) == text.encode()
        file.release()
        file.release()
        assert descriptors_on(side) == 1
    os.close(side)
    os.close(main)


def test_a_closed_terminal_file_has_no_second_descriptor_and_opens_none() -> None:
    main, side = os.openpty()
    file = TerminalFile(side, "utf-8")
    assert file.write_now("one") == b""
    file.close()
    assert descriptors_on(side) == 1
    assert file.write_now("two") == b""
    assert descriptors_on(side) == 1
    os.close(side)
    os.close(main)


def test_close_waits_for_the_second_descriptor_with_a_timeout() -> None:
    main, side = os.openpty()
    file = TerminalFile(side, "utf-8")
    assert file.write_now("one") == b""
    with file._direct:
        file.close()
        assert descriptors_on(side) == 2
    file.release()
    assert descriptors_on(side) == 1
    os.close(side)
    os.close(main)


def test_a_garbage_collected_terminal_file_closes_its_second_descriptor() -> None:
    main, side = os.openpty()
    file = TerminalFile(side, "utf-8")
    assert file.write_now("one") == b""
    assert descriptors_on(side) == 2
    del file
    assert descriptors_on(side) == 1
    os.close(side)
    os.close(main)
