import os
import threading
from pathlib import Path
from typing import Any

import pytest

from forge_core.permissions import PermissionPolicy
from forge_core.tools import ExecutionContext, ReadTool, ToolExecutor, ToolResult
from forge_core.tools.builtin.read import CONTINUED, MAX_BYTES, MAX_LINE_CHARS, MAX_LINES
from forge_core.tools.editing.text import sha256


@pytest.fixture
def context(tmp_path: Path) -> ExecutionContext:
    return ExecutionContext(tmp_path)


async def read(context: ExecutionContext, path: str | Path, **more: Any) -> ToolResult:
    return await ToolExecutor().execute(ReadTool(), {"file_path": str(path), **more}, context)


async def test_lines_are_numbered_and_their_total_is_given(tmp_path: Path, context: ExecutionContext) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    result = await read(context, "a.txt")
    assert result.output == "     1\tone\n     2\ttwo\n[2 lines; end of file]"
    assert result.summary == "2 lines"


async def test_the_hash_of_the_read_bytes_is_stored(tmp_path: Path, context: ExecutionContext) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\r\n")
    await read(context, "a.txt")
    assert context.files == {str((tmp_path / "a.txt").resolve()): sha256(b"one\r\n")}


@pytest.mark.parametrize(
    ("window", "first", "last"),
    [
        ({}, 1, 30),
        ({"offset": 5, "limit": 3}, 5, 7),
        ({"offset": -4}, 27, 30),
        ({"offset": -400}, 1, 30),
        ({"offset": 0}, 1, 30),
        ({"offset": "29"}, 29, 30),
        ({"offset": -4, "limit": 2}, 27, 28),
    ],
)
async def test_a_range_of_lines_can_be_read(
    tmp_path: Path, context: ExecutionContext, window: dict[str, Any], first: int, last: int
) -> None:
    (tmp_path / "a.txt").write_text("".join(f"line {number}\n" for number in range(1, 31)))
    result = await read(context, "a.txt", **window)
    rows = result.output.splitlines()[:-1]
    assert [row.split("\t")[0].strip() for row in rows] == [str(number) for number in range(first, last + 1)]
    assert "30" in result.output.splitlines()[-1]
    assert (f"offset={last + 1}" in result.output) is (last < 30)


async def test_an_offset_after_the_end_reports_the_length(tmp_path: Path, context: ExecutionContext) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    assert "has 1 lines" in ((await read(context, "a.txt", offset=2)).error or "")


async def test_many_lines_are_truncated_with_a_hint_how_to_read_the_rest(
    tmp_path: Path, context: ExecutionContext
) -> None:
    (tmp_path / "a.txt").write_text("x\n" * 5_000)
    result = await read(context, "a.txt")
    assert result.output.count("\n") == MAX_LINES
    assert result.output.endswith(f"[lines 1-{MAX_LINES} of 5000; continue with offset={MAX_LINES + 1}]")


async def test_no_row_of_a_page_is_left_out(tmp_path: Path, context: ExecutionContext) -> None:
    """The limit on the output of other tools is lower than a page."""
    (tmp_path / "a.txt").write_text("".join(f"{n:04} {'y' * 58}\n" for n in range(700)))
    result = await ToolExecutor().execute(ReadTool(), {"file_path": "a.txt"}, context)
    assert result.omission is None
    numbers = [row.partition("\t")[2][:4] for row in result.output.splitlines()]
    assert numbers[:700] == [f"{n:04}" for n in range(700)]


async def test_many_bytes_are_truncated(tmp_path: Path, context: ExecutionContext) -> None:
    (tmp_path / "a.txt").write_text(("y" * 999 + "\n") * 100)
    result = await read(context, "a.txt")
    assert len(result.output) < MAX_BYTES + 500
    assert "of 100; continue with offset=" in result.output


async def test_a_long_line_is_split_with_a_mark(tmp_path: Path, context: ExecutionContext) -> None:
    (tmp_path / "a.txt").write_text("a" * (MAX_LINE_CHARS + 5) + "\nnext\n")
    rows = (await read(context, "a.txt")).output.splitlines()
    assert rows[0] == "     1\t" + "a" * MAX_LINE_CHARS
    assert rows[1] == f"     {CONTINUED}\taaaaa"
    assert rows[2] == "     2\tnext"


async def test_a_line_of_a_megabyte_is_truncated_with_a_note(
    tmp_path: Path, context: ExecutionContext
) -> None:
    (tmp_path / "a.txt").write_text("z" * 1_000_000 + "\nlast\n")
    result = await read(context, "a.txt")
    assert "line 1 is cut here" in result.output
    assert "offset=2" in result.output
    assert "last" in (await read(context, "a.txt", offset=2)).output


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"\xef\xbb\xbfcaf\xc3\xa9\n", "caf\u00e9"),
        (b"\xff\xfec\x00\xe9\x00", "c\u00e9"),
        (b"caf\xe9\n", "caf\u00e9"),
        (b"\xe4\xb8\xad\xe6\x96\x87 \xff x\n", "\u4e2d\u6587 \ufffd x"),
        (b"a\x0cb\xe2\x80\xa8c\n", "     1\ta\x0cb\u2028c"),
        (b"a\rb\r\nc\nd", "     4\td"),
        (b"no end", "[1 line; end of file]"),
    ],
)
async def test_encodings_and_line_endings_are_recognised(
    tmp_path: Path, context: ExecutionContext, data: bytes, shown: str
) -> None:
    (tmp_path / "a.txt").write_bytes(data)
    assert shown in (await read(context, "a.txt")).output


async def test_an_empty_file_is_reported_as_empty(tmp_path: Path, context: ExecutionContext) -> None:
    (tmp_path / "a.txt").write_text("")
    assert (await read(context, "a.txt")).output == "(a.txt is empty)"


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("a.png", b"\x89PNG\r\n\x1a\n\0\0", "a PNG picture of 10 bytes"),
        ("a.jpg", b"\xff\xd8\xff\xe0\0", "a JPEG picture"),
        ("a.webp", b"RIFF\0\0\0\0WEBP", "a WebP picture"),
        ("a.pdf", b"%PDF-1.7\nx", "a PDF document"),
        ("a.zip", b"PK\x03\x04\0", "a ZIP archive"),
        ("a.bin", b"a\0b", "a binary file of 3 bytes"),
    ],
)
async def test_non_text_files_are_reported_by_type(
    tmp_path: Path, context: ExecutionContext, name: str, data: bytes, words: str
) -> None:
    (tmp_path / name).write_bytes(data)
    result = await read(context, name)
    assert words in (result.error or "")
    assert context.files == {}


async def test_folders_pipes_devices_and_links_are_reported_by_type(
    tmp_path: Path, context: ExecutionContext
) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "loop").symlink_to("loop")
    for path, words in (
        ("folder", "a directory"),
        (".", "a directory"),
        ("pipe", "a FIFO"),
        ("/dev/zero", "a character device"),
        ("dangling", "a link to 'nowhere'"),
        ("loop", "leads to itself"),
        ("a\nb", "does not exist"),
        ("x" * 400, "cannot be opened"),
    ):
        assert words in ((await read(context, path)).error or ""), path


async def test_a_missing_file_gets_the_nearest_names_suggested(
    tmp_path: Path, context: ExecutionContext
) -> None:
    (tmp_path / "src/deep").mkdir(parents=True)
    (tmp_path / "src/server.py").write_text("")
    (tmp_path / "src/deep/client.py").write_text("")
    assert "'src/server.py'" in ((await read(context, "src/sever.py")).error or "")
    assert "'src/deep/client.py'" in ((await read(context, "client.py")).error or "")
    assert "glob or ls" in ((await read(context, "zzzzzz.q")).error or "")


async def test_names_outside_the_workspace_are_not_revealed(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "secret-plan.txt").write_text("x")
    result = await read(ExecutionContext(tmp_path / "work"), "../secret-plam.txt")
    assert "secret-plan" not in (result.error or "")


async def test_absolute_paths_and_the_home_folder_are_resolved(
    tmp_path: Path, context: ExecutionContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    assert (await read(context, tmp_path / "a.txt")).success
    monkeypatch.setenv("HOME", str(tmp_path))
    assert (await read(ExecutionContext("/"), "~/a.txt")).success


async def test_a_file_over_50_mb_is_rejected_with_a_hint(tmp_path: Path, context: ExecutionContext) -> None:
    with (tmp_path / "big").open("wb") as file:
        file.truncate(51 * 1024 * 1024)
    assert "grep" in ((await read(context, "big")).error or "")


async def test_a_link_changed_during_the_read_never_leads_out(tmp_path: Path) -> None:
    """Somebody swaps a folder for a link to the outside and back, as fast as it goes."""
    root, outside = tmp_path / "work", tmp_path / "outside"
    for folder, text in ((root / "real", "mine"), (outside, "SECRET")):
        folder.mkdir(parents=True)
        (folder / "a.txt").write_text(text)
    turning, done = root / "turning", threading.Event()

    def turn() -> None:
        spare = root / "spare"
        while not done.is_set():
            for target in ("real", str(outside)):
                spare.symlink_to(target)
                spare.rename(turning)

    turning.symlink_to("real")
    thread = threading.Thread(target=turn)
    thread.start()
    try:
        executor = ToolExecutor(PermissionPolicy(root))
        results = [
            await executor.execute(ReadTool(), {"file_path": "turning/a.txt"}, ExecutionContext(root))
            for _ in range(300)
        ]
    finally:
        done.set()
        thread.join()
    assert not any("SECRET" in result.output + (result.error or "") for result in results)
    assert any("mine" in result.output for result in results)
