import asyncio
import os
import stat
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from forge_core.errors import ToolError
from forge_core.tools import EditTool, ExecutionContext, ReadTool, ToolExecutor, ToolResult, WriteTool
from forge_core.tools.base import INTERRUPT_GRACE_S
from forge_core.tools.editing import file_changes
from forge_core.tools.editing.atomic_write import WriteTarget, write_file
from forge_core.tools.editing.file_changes import current_file
from forge_core.tools.editing.text import sha256
from forge_core.undo import CommandEffects


@pytest.fixture
def context(tmp_path: Path) -> ExecutionContext:
    return ExecutionContext(tmp_path)


async def edit(context: ExecutionContext, path: str, old: str, new: str, **more: Any) -> ToolResult:
    params = {"file_path": path, "old_string": old, "new_string": new, **more}
    return await ToolExecutor().execute(EditTool(), params, context)


async def write(context: ExecutionContext, path: str, content: str) -> ToolResult:
    return await ToolExecutor().execute(WriteTool(), {"file_path": path, "content": content}, context)


async def read(context: ExecutionContext, path: str) -> ToolResult:
    return await ToolExecutor().execute(ReadTool(), {"file_path": path}, context)


async def test_the_edit_result_shows_the_change(tmp_path: Path, context: ExecutionContext) -> None:
    (tmp_path / "a.py").write_text("x = 1\ny = 2\n")
    result = await edit(context, "a.py", "x = 1", "x = 10\nz = 3")
    assert result.summary == "+2 \u22121"
    assert result.diffs[0].path == "a.py"
    assert "+x = 10\n+z = 3" in result.output


async def test_crlf_files_accept_edits_with_lf(tmp_path: Path, context: ExecutionContext) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    result = await edit(context, "a.txt", "one\ntwo", "one\n1.5\ntwo")
    assert result.success
    assert (tmp_path / "a.txt").read_bytes() == b"one\r\n1.5\r\ntwo\r\nthree\r\n"


async def test_an_edit_without_a_read_is_allowed_but_a_stale_one_is_rejected(
    tmp_path: Path, context: ExecutionContext
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one\n")
    assert (await edit(context, "a.txt", "one", "two")).success
    assert (await edit(context, "a.txt", "two", "three")).success
    path.write_text("three\nby somebody else\n")
    result = await edit(context, "a.txt", "three", "four")
    assert "has changed since you read it" in (result.error or "")
    assert path.read_text() == "three\nby somebody else\n"
    await read(context, "a.txt")
    assert (await edit(context, "a.txt", "three", "four")).success


async def test_the_stale_check_follows_links(tmp_path: Path, context: ExecutionContext) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    (tmp_path / "link.txt").symlink_to("a.txt")
    await read(context, "link.txt")
    (tmp_path / "a.txt").write_text("one\nmore\n")
    assert not (await edit(context, "a.txt", "one", "two")).success


async def test_overwriting_an_existing_file_requires_a_read(
    tmp_path: Path, context: ExecutionContext
) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    result = await write(context, "a.txt", "two\n")
    assert "you have not read it" in (result.error or "")
    await read(context, "a.txt")
    assert (await write(context, "a.txt", "two\n")).success
    assert (await write(context, "a.txt", "three\n")).success
    assert (tmp_path / "a.txt").read_text() == "three\n"


async def test_writing_a_new_file_creates_its_folders(tmp_path: Path, context: ExecutionContext) -> None:
    result = await write(context, "a/b/c.txt", "x\n")
    assert result.success
    assert (tmp_path / "a/b/c.txt").read_bytes() == b"x\n"
    assert sorted(one.name for one in (tmp_path / "a/b").iterdir()) == ["c.txt"]


async def test_a_new_file_obeys_the_umask(tmp_path: Path, context: ExecutionContext) -> None:
    before = os.umask(0o027)
    try:
        await write(context, "a.txt", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == 0o640


async def test_rewriting_keeps_line_ends_bom_and_encoding(tmp_path: Path, context: ExecutionContext) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    (tmp_path / "b.txt").write_bytes("caf\u00e9\n".encode("cp1252"))
    await read(context, "a.txt")
    await read(context, "b.txt")
    await write(context, "a.txt", "1\n2\n")
    await write(context, "b.txt", "th\u00e9\n")
    assert (tmp_path / "a.txt").read_bytes() == b"\xef\xbb\xbf1\r\n2\r\n"
    assert (tmp_path / "b.txt").read_bytes() == b"th\xe9\n"


@pytest.mark.parametrize(
    "line",
    [
        "# ... rest of the file unchanged ...",
        "    // ... existing code ...",
        "/* ... remaining methods ... */",
        "<!-- rest of the page stays the same -->",
        "... (rest unchanged)",
        "# \u2026 existing imports \u2026",
        "// the rest of the class remains unchanged",
    ],
)
async def test_elision_placeholders_are_rejected(
    tmp_path: Path, context: ExecutionContext, line: str
) -> None:
    (tmp_path / "a.py").write_text("x = 1\ny = 2\n")
    assert "placeholder" in ((await write(context, "new.py", f"x = 1\n{line}\n")).error or "")
    assert "placeholder" in ((await edit(context, "a.py", "x = 1", f"x = 2\n{line}")).error or "")
    assert not (tmp_path / "new.py").exists()
    assert (tmp_path / "a.py").read_text() == "x = 1\ny = 2\n"


@pytest.mark.parametrize(
    "line", ["print('...')", "def f(): ...", "    ...", "# rest in peace", "// see the rest of it"]
)
async def test_ordinary_dots_are_not_elision_placeholders(
    tmp_path: Path, context: ExecutionContext, line: str
) -> None:
    assert (await write(context, "new.py", f"{line}\n")).success


async def test_an_existing_elision_placeholder_is_allowed(tmp_path: Path, context: ExecutionContext) -> None:
    (tmp_path / "a.md").write_text("# ... rest unchanged ...\nx\n")
    assert (await edit(context, "a.md", "# ... rest unchanged ...\nx", "# ... rest unchanged ...\ny")).success


async def test_breaking_a_file_that_parsed_gives_a_warning(tmp_path: Path, context: ExecutionContext) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "b.json").write_text('{"a": 1}')
    (tmp_path / "c.py").write_text("def (:\nx = 1\n")
    assert "no longer parses" in (await edit(context, "a.py", "x = 1", "x = (")).output
    assert "no longer parses" in (await edit(context, "b.json", "1}", "1,}")).output
    assert "no longer parses" not in (await edit(context, "c.py", "x = 1", "x = 2")).output


async def test_file_mode_and_extended_attributes_are_preserved(
    tmp_path: Path, context: ExecutionContext
) -> None:
    path = tmp_path / "run.sh"
    path.write_text("echo one\n")
    path.chmod(0o751)
    attributes = True
    try:
        os.setxattr(path, "user.note", b"kept")
    except OSError:
        attributes = False
    assert (await edit(context, "run.sh", "one", "two")).success
    assert stat.S_IMODE(path.stat().st_mode) == 0o751
    assert not attributes or os.getxattr(path, "user.note") == b"kept"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
async def test_the_file_owner_is_preserved(tmp_path: Path, context: ExecutionContext) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one\n")
    os.chown(path, 1234, 2345)
    assert (await edit(context, "a.txt", "one", "two")).success
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 2345)


async def test_a_link_stays_a_link_and_its_target_is_edited(
    tmp_path: Path, context: ExecutionContext
) -> None:
    (tmp_path / "real.txt").write_text("one\n")
    (tmp_path / "link.txt").symlink_to("real.txt")
    assert (await edit(context, "link.txt", "one", "two")).success
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "two\n"


async def test_a_hard_link_keeps_both_names(tmp_path: Path, context: ExecutionContext) -> None:
    (tmp_path / "a.txt").write_text("one and a longer text\n")
    (tmp_path / "b.txt").hardlink_to(tmp_path / "a.txt")
    assert (await edit(context, "a.txt", "one and a longer text", "two")).success
    assert (tmp_path / "b.txt").read_text() == "two\n"
    assert (tmp_path / "a.txt").stat().st_nlink == 2


async def test_a_read_only_file_is_rejected_even_for_root(tmp_path: Path, context: ExecutionContext) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one\n")
    path.chmod(0o444)
    result = await edit(context, "a.txt", "one", "two")
    assert "read-only" in (result.error or "")
    assert path.read_text() == "one\n"


def test_an_edit_of_a_read_only_file_is_refused_before_the_user_is_asked(
    tmp_path: Path, context: ExecutionContext
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one\n")
    path.chmod(0o444)
    with pytest.raises(ToolError, match=r"'a\.txt' is read-only"):
        current_file(path, context)


async def test_a_non_text_file_is_rejected_with_its_type(tmp_path: Path, context: ExecutionContext) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "file").write_text("x")
    assert "directory" in ((await edit(context, "folder", "a", "b")).error or "")
    assert "directory" in ((await write(context, "folder", "b")).error or "")
    assert "directory" in ((await write(context, "new/", "b")).error or "")
    assert "FIFO" in ((await edit(context, "pipe", "a", "b")).error or "")
    assert "FIFO" in ((await write(context, "pipe", "b")).error or "")
    assert "does not exist" in ((await edit(context, "dangling", "a", "b")).error or "")
    assert "is a file" in ((await write(context, "file/x", "b")).error or "")
    assert "Use write" in ((await edit(context, "new.txt", "", "b")).error or "")
    assert "too long" in ((await write(context, "n" * 300, "b")).error or "")


async def test_two_concurrent_edits_are_both_applied(tmp_path: Path, context: ExecutionContext) -> None:
    (tmp_path / "a.txt").write_text("".join(f"line {number:02}\n" for number in range(20)))
    results = await asyncio.gather(
        *(edit(context, "a.txt", f"line {number:02}", f"done {number:02}") for number in range(20))
    )
    assert all(result.success for result in results)
    assert (tmp_path / "a.txt").read_text() == "".join(f"done {number:02}\n" for number in range(20))


async def test_an_interrupt_never_leaves_a_partial_write(tmp_path: Path) -> None:
    """Whatever the moment, the file holds one whole version, and the result says which."""
    path = tmp_path / "a.txt"
    for turn in range(30):
        old, new = "o" * 200_000 + "\n", "n" * 200_000 + "\n"
        path.write_text(old)
        context = ExecutionContext(tmp_path, interrupted=asyncio.Event())
        assert context.interrupted is not None
        asyncio.get_running_loop().call_later(turn * 0.0005, context.interrupted.set)
        result = await edit(context, "a.txt", old, new)
        assert path.read_text() == (new if result.success else old)


async def test_an_interrupt_after_the_write_still_reports_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To tell what was done takes a while too, on a busy machine or for a large file."""
    (tmp_path / "a.txt").write_text("old\n")
    context = ExecutionContext(tmp_path, interrupted=asyncio.Event())
    loop, result_of = asyncio.get_running_loop(), file_changes._result

    def late(changes: Sequence[file_changes.PlannedChange]) -> ToolResult:
        assert context.interrupted is not None
        loop.call_soon_threadsafe(context.interrupted.set)
        time.sleep(3 * INTERRUPT_GRACE_S)
        return result_of(changes)

    monkeypatch.setattr(file_changes, "_result", late)
    result = await edit(context, "a.txt", "old", "new")
    assert (tmp_path / "a.txt").read_text() == "new\n"
    assert result.success
    assert result.diffs


async def test_the_previous_state_is_captured_before_the_write(tmp_path: Path) -> None:
    captured: list[tuple[Path, str]] = []

    class Images:
        async def capture(self, path: Path) -> None:
            captured.append((path, path.read_text()))

        async def before_command(self) -> object:
            raise AssertionError("no command runs")

        async def after_command(self, watch: object) -> CommandEffects:
            raise AssertionError("no command runs")

        async def settle(self) -> None:
            captured.append((tmp_path, "settled"))

    (tmp_path / "a.txt").write_text("one\n")
    await edit(ExecutionContext(tmp_path, before_images=Images()), "a.txt", "one", "two")
    assert captured == [(tmp_path.resolve() / "a.txt", "one\n"), (tmp_path, "settled")]


def test_a_file_changed_at_the_last_moment_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("theirs")
    with pytest.raises(Exception, match="another program has just changed"):
        write_file(WriteTarget(path), b"ours", sha256(b"what we saw"))
    assert path.read_text() == "theirs"
    assert [one.name for one in tmp_path.iterdir()] == ["a.txt"]


def test_a_file_that_appeared_at_the_last_moment_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("theirs")
    with pytest.raises(Exception, match="has been created in the meantime"):
        write_file(WriteTarget(path), b"ours", None)
    assert path.read_text() == "theirs"
    assert [one.name for one in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a small file system to fill")
async def test_a_full_disk_leaves_the_old_file(tmp_path: Path, context: ExecutionContext) -> None:
    """The process's own size limit stands in for a full disk: the write fails half-way, as there."""
    import resource
    import signal

    path = tmp_path / "a.txt"
    path.write_text("one\n")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        result = await edit(context, "a.txt", "one", "x" * 300_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert not result.success
    assert path.read_text() == "one\n"
    assert [one.name for one in tmp_path.iterdir()] == ["a.txt"]


async def test_the_preview_equals_the_applied_change(tmp_path: Path, context: ExecutionContext) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    params = {"file_path": "a.txt", "old_string": "one", "new_string": "two"}
    shown = await EditTool().preview(params, context)
    assert (tmp_path / "a.txt").read_text() == "one\n"
    assert shown == (await ToolExecutor().execute(EditTool(), params, context)).diffs


async def test_writing_identical_content_changes_nothing(tmp_path: Path, context: ExecutionContext) -> None:
    await write(context, "a.txt", "x\n")
    before = (tmp_path / "a.txt").stat()
    assert (await write(context, "a.txt", "x\n")).summary == "no change"
    assert (tmp_path / "a.txt").stat().st_ino == before.st_ino
