"""Every case the edit engine has to pass, by name and byte for byte, through the tools as a model calls them."""

import asyncio
import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from forge_core.tools import EditTool, ExecutionContext, ReadTool, ToolExecutor, ToolResult, WriteTool
from forge_core.tools.builtin.apply_patch import ApplyPatchTool
from forge_core.tools.builtin.multi_edit import MultiEditTool

NAMES = r"""
LF; CRLF; mixed (untouched lines byte-identical); lone CR; no final newline both ways;
BOM; UTF-16; Latin-1; invalid bytes; NFC/NFD; curly quotes; NBSP; zero-width; RTL marks;
tabs vs spaces; trailing spaces; other indent depth; blank lines with spaces; Makefiles;
duplicates exact; duplicates only after relaxing; overlapping; replace_all with its count;
$&; \1; form feed; NEL; U+2028; a 1 MB line; line-number prefixes; ... elisions;
empty old; old == new; whole-file old;
changed since read; deleted since read; created since read; symlink in; symlink out; dangling; hard link;
exec bit; xattr; read-only; directory; FIFO; ..; > 50 MB; full disk in mid-write; two edits at once;
kill -9 in mid-write; a later hunk that matches an earlier hunk's text
"""

COVERED: set[str] = set()
"""The names that have a function of their own, because they need more than bytes and a call."""

TOOLS = {"edit": EditTool, "write": WriteTool, "multi_edit": MultiEditTool, "apply_patch": ApplyPatchTool}


@dataclass(frozen=True, slots=True)
class Case:
    """A file, a call, and the bytes after it: other ones, or with `words` the same and a refusal."""

    name: str
    before: bytes
    call: Mapping[str, Any]
    after: bytes | None = None
    words: str = ""
    tool: str = "edit"


def ok(
    name: str, before: bytes | str, old: str, new: str, after: bytes | str, words: str = "", **more: Any
) -> Case:
    """An edit that is made."""
    return Case(name, _bytes(before), {"old_string": old, "new_string": new, **more}, _bytes(after), words)


def no(name: str, before: bytes | str, old: str, new: str, words: str, **more: Any) -> Case:
    """An edit that is refused with these words."""
    return Case(name, _bytes(before), {"old_string": old, "new_string": new, **more}, None, words)


def whole(name: str, before: bytes | str, content: str, after: bytes | str) -> Case:
    """A file that is read and then written anew."""
    return Case(name, _bytes(before), {"content": content}, _bytes(after), tool="write")


def several(name: str, before: str, *edits: tuple[str, str], after: str | None, words: str = "") -> Case:
    call = {"edits": [{"file_path": "a.txt", "old_string": old, "new_string": new} for old, new in edits]}
    return Case(name, before.encode(), call, None if after is None else after.encode(), words, "multi_edit")


def patch(name: str, before: str, *lines: str, after: str | None, words: str = "") -> Case:
    text = "\n".join(["*** Begin Patch", "*** Update File: a.txt", *lines, "*** End Patch"])
    return Case(
        name,
        before.encode(),
        {"patch": text},
        None if after is None else after.encode(),
        words,
        "apply_patch",
    )


def _bytes(text: bytes | str) -> bytes:
    return text if isinstance(text, bytes) else text.encode()


CLASS = "class A:\n    def f(self):\n        x = 1\n        return x\n"
LONG = "x" * 500_000 + " needle " + "y" * 500_000

CASES = [
    ok("LF", b"a\nb\nc\n", "b\n", "B\nC\n", b"a\nB\nC\nc\n"),
    ok("LF", b"a\nb\nc\n", "a\r\nb", "a\r\nB", b"a\nB\nc\n", "different line endings"),
    ok("CRLF", b"a\r\nb\r\nc\r\n", "a\nb", "a\nx\nb", b"a\r\nx\r\nb\r\nc\r\n"),
    ok("CRLF", b"a\r\nb\r\nc\r\n", "a\r\nb", "a\r\nx", b"a\r\nx\r\nc\r\n"),
    ok("mixed (untouched lines byte-identical)", b"a\r\nb\nc\rd\n", "b", "B", b"a\r\nB\nc\rd\n"),
    ok("mixed (untouched lines byte-identical)", b"a\r\nb\nc\r\nd\n", "a\nb\nc", "a\nnew\nb\nc", b"a\r\nnew\r\nb\nc\r\nd\n"),
    ok("mixed (untouched lines byte-identical)", b"a\r\nb\nc\rd\ne", "c\nd\n", "c\nD\n", b"a\r\nb\nc\rD\ne"),
    ok("lone CR", b"a\rb\rc\r", "a\nb", "a\nx\nb", b"a\rx\rb\rc\r"),
    ok("no final newline both ways", b"a\nb", "b", "c", b"a\nc"),
    ok("no final newline both ways", b"a\nb", "a\nb\n", "a\nc\n", b"a\nc", "different line endings"),
    ok("no final newline both ways", b"a\r\nb", "b\n", "b\nc\n", b"a\r\nb\r\nc"),
    ok("no final newline both ways", b"a\nb\n", "a\nb", "a\nc", b"a\nc\n"),
    ok("no final newline both ways", b"a\r\nb\r\n", "b", "b\nc", b"a\r\nb\r\nc\r\n"),
    ok("BOM", b"\xef\xbb\xbfa\r\nb\r\n", "a\nb", "x\nb", b"\xef\xbb\xbfx\r\nb\r\n"),
    ok("UTF-16", "\ufeffa\nb\n".encode("utf-16-le"), "b", "\u00e9\u4e2d\U0001f600", "\ufeffa\n\u00e9\u4e2d\U0001f600\n".encode("utf-16-le")),
    ok("UTF-16", "\ufeffa\r\nb\r\n".encode("utf-16-be"), "a\nb", "a\nc", "\ufeffa\r\nc\r\n".encode("utf-16-be")),
    ok("Latin-1", b"caf\xe9\nb\n", "caf\u00e9", "th\u00e9", b"th\xe9\nb\n"),
    no("Latin-1", b"caf\xe9\nb\n", "b", "\u4e2d", "cannot represent \u4e2d (U+4E2D)"),
    ok("invalid bytes", "\u4e2d\u6587\n".encode() + b"\xff\xfe!\nend\n", "end", "END", "\u4e2d\u6587\n".encode() + b"\xff\xfe!\nEND\n"),
    ok("invalid bytes", "\u4e2d\u6587\n".encode() + b"\xff\nend\n", "\ufffd\nend", "\ufffd\nEND", "\u4e2d\u6587\n".encode() + b"\xff\nEND\n"),
    ok("NFC/NFD", "cafe\u0301\nb\n", "caf\u00e9\nb", "caf\u00e9\nc", "cafe\u0301\nc\n", "look-alike characters"),
    ok("NFC/NFD", "caf\u00e9\nb\n", "cafe\u0301\nb", "cafe\u0301\nc", "caf\u00e9\nc\n", "look-alike characters"),
    ok("curly quotes", "say \u201chi\u201d\nit\u2019s\n", "say \"hi\"\nit's\n", "say \"hi\"\nit is\n", "say \u201chi\u201d\nit is\n", "look-alike characters"),
    ok("curly quotes", "a = 'x'\nb\n", "a = \u2018x\u2019\nb", "a = \u2018x\u2019\nc", "a = 'x'\nc\n", "look-alike characters"),
    ok("NBSP", "a\u00a0=\u00a01\nb\n", "a = 1\nb", "a = 1\nc", "a\u00a0=\u00a01\nc\n", "look-alike characters"),
    ok("zero-width", "x\u200by\nz\n", "xy\nz", "xy\nq", "x\u200by\nq\n", "look-alike characters"),
    ok("RTL marks", "\u202bx\u202c\nz\n", "x\nz", "x\nq", "\u202bx\u202c\nq\n", "look-alike characters"),
    ok("tabs vs spaces", CLASS, "\tdef f(self):\n\t\tx = 1\n", "\tdef f(self):\n\t\tx = 2\n", CLASS.replace("x = 1", "x = 2"), "indentation"),
    ok("tabs vs spaces", CLASS.replace("    ", "\t"), "    def f(self):\n        x = 1\n", "    def f(self):\n        x = 2\n        y = 3\n", CLASS.replace("    ", "\t").replace("x = 1\n", "x = 2\n\t\ty = 3\n"), "indentation"),
    ok("trailing spaces", b"a  \nb\nc\n", "a\nb\n", "a\nB\n", b"a  \nB\nc\n", "except for trailing blanks"),
    ok("trailing spaces", b"a\nb\nc\n", "a  \nb \t\n", "a  \nB\n", b"a\nB\nc\n", "except for trailing blanks"),
    ok("other indent depth", CLASS, "def f(self):\n    x = 1\n    return x\n", "def f(self):\n    x = 2\n    if x:\n        return 0\n    return x\n", CLASS.replace("x = 1\n", "x = 2\n        if x:\n            return 0\n"), "indentation"),
    no("other indent depth", b"  f()\n  g()\n", "f()\ng()", "if x:\n  f()\n  g()", "indentation meant for new_string"),
    ok("blank lines with spaces", b"a\n   \nb\n", "a\n\nb", "a\n\nB", b"a\n   \nB\n", "except for trailing blanks"),
    ok("blank lines with spaces", b"a\n\nb\n", "a\n    \nb", "a\n    \nB", b"a\n\nB\n", "except for trailing blanks"),
    ok("Makefiles", b"all:\n\tcc a.c\n\tcc b.c\n", "    cc a.c\n    cc b.c\n", "    cc a.c\n    cc -O2 b.c\n", b"all:\n\tcc a.c\n\tcc -O2 b.c\n", "indentation", file_path="Makefile"),
    no("duplicates exact", b"a\nb\na\nb\n", "a\n", "x\n", "2 times, at lines 1, 3"),
    no("duplicates only after relaxing", b"a\nb \na\nb  \n", "a\nb\t", "x", "at lines 1, 3"),
    no("duplicates only after relaxing", b"  a\n  b\n    a\n    b\n", "\ta\n\tb", "\tx", "at lines 1, 3"),
    ok("duplicates only after relaxing", b"a\nb \na\nb\n", "a\nb\n", "a\nx\n", b"a\nb \na\nx\n"),
    no("overlapping", b"aaa\n", "aa", "b", "2 times"),
    no("overlapping", b"x\na\na\na\n", "a\na", "b", "2 times"),
    ok("replace_all with its count", b"a a\r\nba\r\n", "a", "aa", b"aa aa\r\nbaa\r\n", "3 places", replace_all=True),
    ok("$&", b"price\nb\n", "price", "$& $1 $$ ${x} $`", b"$& $1 $$ ${x} $`\nb\n"),
    ok("$&", b"$&\nb\n", "$&", "x", b"x\nb\n"),
    ok("\\1", b"a\nb\n", "a", "\\1 \\g<0> \\n \\\\ \\U", b"\\1 \\g<0> \\n \\\\ \\U\nb\n"),
    ok("\\1", b"(a)\\1+\nb\n", "(a)\\1+", "x", b"x\nb\n"),
    ok("form feed", b"a\n\x0cb\n\x0b\x1c\nc\n", "c", "d", b"a\n\x0cb\n\x0b\x1c\nd\n"),
    ok("form feed", b"a\n\x0cb\nc\n", "\x0cb\nc", "\x0cb\nx\x0cy", b"a\n\x0cb\nx\x0cy\n"),
    ok("NEL", "a\u0085b\nc\n", "b\nc", "b\nd", "a\u0085b\nd\n"),
    no("NEL", "a\u0085b\nc\n", "a\nb", "x", "not found"),
    ok("U+2028", "a\u2028b\u2029\nc\n", "c", "d\u2028e", "a\u2028b\u2029\nd\u2028e\n"),
    no("U+2028", "a\u2028b\nc\n", "a\nb", "x", "not found"),
    ok("a 1 MB line", f"{LONG}\nend\n", "needle", "pin", f"{LONG.replace('needle', 'pin')}\nend\n"),
    ok("line-number prefixes", b"one\ntwo\nthree\n", "     2\ttwo\n     3\tthree", "     2\tTWO\n     3\tthree", b"one\nTWO\nthree\n", "line numbers"),
    no("line-number prefixes", b"one\ntwo\n", "     1\tone\n     2\ttwo", "     1\tone\ntwo!", "line numbers"),
    no("... elisions", b"a\nb\nc\nd\n", "a\n...\nd", "x", "not found"),
    no("... elisions", b"x = 1\ny = 2\n", "x = 1", "x = 2\n# ... rest unchanged ...", "placeholder"),
    ok("... elisions", b"def f(): ...\n", "def f(): ...", "def g(): ...", b"def g(): ...\n"),
    no("empty old", b"a\n", "", "x", "old_string is empty, but the file is not"),
    ok("empty old", b"", "", "x\n", b"x\n"),
    no("old == new", b"a\nb\n", "a", "a", "are the same"),
    no("old == new", b"a\r\nb\r\n", "a\nb", "a\r\nb", "are the same"),
    ok("whole-file old", b"a\r\nb\r\n", "a\nb\n", "x\n", b"x\r\n"),
    ok("whole-file old", b"a\nb", "a\nb", "", b""),
    whole("LF", b"a\nb\n", "x\ny\n", b"x\ny\n"),
    whole("CRLF", b"a\r\nb\r\n", "x\ny\nz", b"x\r\ny\r\nz"),
    whole("lone CR", b"a\rb\r", "x\ny\n", b"x\ry\r"),
    whole("BOM", b"\xef\xbb\xbfa\n", "x\n", b"\xef\xbb\xbfx\n"),
    whole("UTF-16", "\ufeffa\r\n".encode("utf-16-le"), "\u4e2d\n", "\ufeff\u4e2d\r\n".encode("utf-16-le")),
    whole("Latin-1", b"caf\xe9\n", "th\u00e9\n", b"th\xe9\n"),
    several("a later hunk that matches an earlier hunk's text", "a\nb\n", ("a", "a2\nnew"), ("new", "newer"), after="a2\nnewer\nb\n"),
    several("a later hunk that matches an earlier hunk's text", "a\nb\n", ("a\nb", "b\nc"), ("b", "z"), after=None, words="an earlier edit"),
    patch("a later hunk that matches an earlier hunk's text", "a\nx\nb\n", "@@", "-a", "+b", "@@", "-b", "+c", after="b\nx\nc\n"),
    patch("a later hunk that matches an earlier hunk's text", "a\nx\n", "@@", "-a", "+b", "@@", "-b", "+c", after=None, words="does not fit: its text was not found"),
]  # fmt: skip


@pytest.fixture
def context(tmp_path: Path) -> ExecutionContext:
    work = tmp_path / "work"
    work.mkdir()
    return ExecutionContext(work)


async def call(context: ExecutionContext, tool: str, params: Mapping[str, Any]) -> ToolResult:
    return await ToolExecutor().execute(TOOLS[tool](), dict(params), context)


async def edit(context: ExecutionContext, path: str, old: str = "one", new: str = "two") -> ToolResult:
    return await call(context, "edit", {"file_path": path, "old_string": old, "new_string": new})


async def read(context: ExecutionContext, path: str) -> None:
    assert (await ToolExecutor().execute(ReadTool(), {"file_path": path}, context)).success


def left(context: ExecutionContext) -> list[str]:
    return sorted(one.name for one in context.root.iterdir())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_a_call_turns_the_bytes_before_into_the_bytes_after(
    context: ExecutionContext, case: Case
) -> None:
    name = str(case.call.get("file_path", "a.txt"))
    path = context.root / name
    path.write_bytes(case.before)
    params = case.call if case.tool in ("multi_edit", "apply_patch") else {"file_path": name, **case.call}
    if case.tool == "write":
        await read(context, name)
    result = await call(context, case.tool, params)
    told = result.output if result.success else str(result.error)
    assert result.success == (case.after is not None), told
    assert path.read_bytes() == (case.before if case.after is None else case.after)
    assert case.words in told, told
    assert left(context) == [name]


def case(*names: str) -> Callable[[Any], Any]:
    """Says which names of the list a test function stands for."""
    COVERED.update(names)
    return lambda function: function


@pytest.mark.parametrize("tool", ["edit", "write", "multi_edit", "apply_patch"])
@case("changed since read")
async def test_editing_a_file_changed_since_it_was_read_is_rejected(
    context: ExecutionContext, tool: str
) -> None:
    path = context.root / "a.txt"
    path.write_bytes(b"one\n")
    await read(context, "a.txt")
    path.write_bytes(b"one\r\ntheirs\n")
    params = {
        "edit": {"file_path": "a.txt", "old_string": "one", "new_string": "two"},
        "write": {"file_path": "a.txt", "content": "two\n"},
        "multi_edit": {"edits": [{"file_path": "a.txt", "old_string": "one", "new_string": "two"}]},
        "apply_patch": {"patch": "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+two\n*** End Patch"},
    }
    result = await call(context, tool, params[tool])
    assert "has changed since you read it" in (result.error or "")
    assert path.read_bytes() == b"one\r\ntheirs\n"
    await read(context, "a.txt")
    assert (await call(context, tool, params[tool])).success


@case("deleted since read")
async def test_a_file_deleted_since_it_was_read_is_named_and_may_be_created_again(
    context: ExecutionContext,
) -> None:
    path = context.root / "a.txt"
    path.write_bytes(b"one\n")
    await read(context, "a.txt")
    path.unlink()
    assert "does not exist" in ((await edit(context, "a.txt")).error or "")
    assert left(context) == []
    assert (await call(context, "write", {"file_path": "a.txt", "content": "x\n"})).success
    assert path.read_bytes() == b"x\n"


@case("created since read")
async def test_a_file_created_after_it_was_reported_missing_is_not_overwritten(
    context: ExecutionContext,
) -> None:
    path = context.root / "a.txt"
    assert "does not exist" in ((await edit(context, "a.txt")).error or "")
    path.write_bytes(b"theirs\n")
    result = await call(context, "write", {"file_path": "a.txt", "content": "x\n"})
    assert "you have not read it" in (result.error or "")
    text = "*** Begin Patch\n*** Add File: a.txt\n+x\n*** End Patch"
    assert "exists already" in ((await call(context, "apply_patch", {"patch": text})).error or "")
    assert path.read_bytes() == b"theirs\n"


@case("symlink in")
async def test_a_link_within_the_workspace_stays_a_link(context: ExecutionContext) -> None:
    (context.root / "dir").mkdir()
    (context.root / "dir" / "real.txt").write_bytes(b"one\r\n")
    (context.root / "link.txt").symlink_to("dir/real.txt")
    (context.root / "folder").symlink_to("dir")
    assert (await edit(context, "link.txt")).success
    assert (await edit(context, "folder/real.txt", "two", "three")).success
    assert (context.root / "link.txt").readlink() == Path("dir/real.txt")
    assert (context.root / "dir" / "real.txt").read_bytes() == b"three\r\n"


@case("symlink out")
async def test_a_link_out_of_the_workspace_is_not_followed(context: ExecutionContext, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_bytes(b"one\n")
    (context.root / "link.txt").symlink_to(outside)
    assert "leads out of the workspace" in ((await edit(context, "link.txt")).error or "")
    await read(context, "link.txt")
    result = await call(context, "write", {"file_path": "link.txt", "content": "x\n"})
    assert "leads out of the workspace" in (result.error or "")
    assert outside.read_bytes() == b"one\n"


@case("dangling")
async def test_a_dangling_link_is_neither_edited_nor_written_through(context: ExecutionContext) -> None:
    (context.root / "link.txt").symlink_to("nowhere")
    assert "does not exist" in ((await edit(context, "link.txt")).error or "")
    result = await call(context, "write", {"file_path": "link.txt", "content": "x\n"})
    assert "is a link to 'nowhere', which does not exist" in (result.error or "")
    assert left(context) == ["link.txt"]


@case("hard link")
async def test_both_hard_links_of_a_file_get_the_edit(context: ExecutionContext) -> None:
    path, other = context.root / "a.txt", context.root / "b.txt"
    path.write_bytes(b"one and more\r\nend")
    other.hardlink_to(path)
    assert (await edit(context, "a.txt", "one and more", "two")).success
    assert path.read_bytes() == other.read_bytes() == b"two\r\nend"
    assert path.stat().st_ino == other.stat().st_ino


@case("exec bit")
async def test_the_file_mode_is_preserved(context: ExecutionContext) -> None:
    path = context.root / "run.sh"
    path.write_bytes(b"echo one\n")
    path.chmod(0o2751)
    mode = path.stat().st_mode
    assert (await edit(context, "run.sh")).success
    assert (path.read_bytes(), path.stat().st_mode) == (b"echo two\n", mode)


@case("xattr")
async def test_extended_attributes_are_preserved(context: ExecutionContext) -> None:
    path = context.root / "a.txt"
    path.write_bytes(b"one\n")
    try:
        os.setxattr(path, "user.note", b"kept")
    except (OSError, AttributeError):
        pytest.skip("the file system has no extended attributes for users")
    assert (await edit(context, "a.txt")).success
    assert (path.read_bytes(), os.getxattr(path, "user.note")) == (b"two\n", b"kept")


@case("read-only")
async def test_editing_a_read_only_file_is_rejected(context: ExecutionContext) -> None:
    path = context.root / "a.txt"
    path.write_bytes(b"one\n")
    path.chmod(0o444)
    await read(context, "a.txt")
    assert "read-only" in ((await edit(context, "a.txt")).error or "")
    result = await call(context, "write", {"file_path": "a.txt", "content": "x\n"})
    assert "read-only" in (result.error or "")
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"one\n", 0o444)


@case("directory", "FIFO")
@pytest.mark.parametrize("name", ["directory", "FIFO"])
async def test_editing_a_non_file_names_its_type(context: ExecutionContext, name: str) -> None:
    (context.root / "directory").mkdir()
    os.mkfifo(context.root / "FIFO")
    assert name in ((await edit(context, name)).error or "").partition("is a")[2]
    result = await call(context, "write", {"file_path": name, "content": "x\n"})
    assert name in (result.error or "").partition("is a")[2]
    assert left(context) == ["FIFO", "directory"]
    assert stat.S_ISFIFO((context.root / "FIFO").lstat().st_mode)


@case("..")
async def test_parent_segments_in_edits_resolve_like_in_the_kernel(
    context: ExecutionContext, tmp_path: Path
) -> None:
    """Also behind a link, where going back by name would lead to another file."""
    (context.root / "dir" / "deep").mkdir(parents=True)
    for path in (context.root / "a.txt", context.root / "dir" / "a.txt", tmp_path / "a.txt"):
        path.write_bytes(b"one\n")
    (context.root / "link").symlink_to("dir/deep")
    assert (await edit(context, "dir/../a.txt")).success
    assert (context.root / "a.txt").read_bytes() == b"two\n"
    assert (await edit(context, "link/../a.txt", "one", "three")).success
    assert (context.root / "a.txt").read_bytes() == b"two\n"
    assert (context.root / "dir" / "a.txt").read_bytes() == b"three\n"
    (context.root / "out").symlink_to(tmp_path)
    assert not (await edit(context, "out/a.txt")).success
    assert (tmp_path / "a.txt").read_bytes() == b"one\n"


@case("> 50 MB")
async def test_editing_a_file_over_50_mb_is_rejected(context: ExecutionContext) -> None:
    with (context.root / "large").open("wb") as file:
        file.write(b"one\n")
        file.truncate(50 * 1024 * 1024 + 1)
    assert "50 MB" in ((await edit(context, "large")).error or "")
    result = await call(context, "write", {"file_path": "large", "content": "x\n"})
    assert "50 MB" in (result.error or "")
    assert (context.root / "large").stat().st_size == 50 * 1024 * 1024 + 1


FULL = """
import asyncio, resource, signal, sys
from pathlib import Path
from forge_core.tools import EditTool, ExecutionContext, ToolExecutor, WriteTool
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
context = ExecutionContext(Path.cwd())
async def main():
    for tool, params in (
        (EditTool(), {"file_path": "a.txt", "old_string": "one", "new_string": "x" * 300_000}),
        (EditTool(), {"file_path": "hard.txt", "old_string": "one", "new_string": "x" * 300_000}),
        (WriteTool(), {"file_path": "new/deep/b.txt", "content": "x" * 300_000}),
    ):
        print((await ToolExecutor().execute(tool, params, context)).error)
asyncio.run(main())
"""


@case("full disk in mid-write")
def test_a_full_disk_leaves_everything_unchanged(context: ExecutionContext) -> None:
    """A child with a limit on the size of files: its writes fail half-way, as on a full disk."""
    (context.root / "a.txt").write_bytes(b"one\r\n")
    (context.root / "hard.txt").write_bytes(b"one\r\n")
    (context.root / "name.txt").hardlink_to(context.root / "hard.txt")
    told = subprocess.run(
        [sys.executable, "-c", FULL], cwd=context.root, capture_output=True, text=True, check=True
    ).stdout
    assert told.count("the disk is full") == 3, told
    assert left(context) == ["a.txt", "hard.txt", "name.txt"]
    assert all(one.read_bytes() == b"one\r\n" for one in context.root.iterdir())


@case("two edits at once")
async def test_concurrent_edits_are_applied_one_after_the_other(context: ExecutionContext) -> None:
    path = context.root / "a.txt"
    path.write_bytes(b"".join(b"line %02d\r\n" % number for number in range(20)))
    (context.root / "link.txt").symlink_to("a.txt")
    ended = await asyncio.gather(
        *(
            edit(context, ("a.txt", "link.txt")[number % 2], f"line {number:02}", f"done {number:02}")
            for number in range(20)
        )
    )
    assert all(one.success for one in ended)
    assert path.read_bytes() == b"".join(b"done %02d\r\n" % number for number in range(20))


@case("two edits at once")
async def test_only_one_of_two_concurrent_edits_of_the_same_text_succeeds(context: ExecutionContext) -> None:
    (context.root / "a.txt").write_bytes(b"one\n")
    ended = await asyncio.gather(edit(context, "a.txt", new="two"), edit(context, "a.txt", new="three"))
    assert [one.success for one in ended] == [True, False]
    assert "not found" in (ended[1].error or "")
    assert (context.root / "a.txt").read_bytes() == b"two\n"


WRITER = """
import asyncio, sys
from pathlib import Path
from forge_core.tools import EditTool, ExecutionContext, ToolExecutor
context = ExecutionContext(Path.cwd())
async def main():
    print("ready", flush=True)
    old, new = "1" * 300_000, "2" * 300_000
    while True:
        params = {"file_path": "a.txt", "old_string": old, "new_string": new}
        assert (await ToolExecutor().execute(EditTool(), params, context)).success
        old, new = new, old
asyncio.run(main())
"""


@pytest.mark.slow
@case("kill -9 in mid-write")
async def test_a_file_is_whole_whenever_its_writer_is_killed(context: ExecutionContext) -> None:
    path = context.root / "a.txt"
    path.write_bytes(b"1" * 300_000)
    for number in range(5):
        path.write_bytes(b"1" * 300_000)
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER], cwd=context.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert writer.stdout is not None
        writer.stdout.readline()
        threading.Event().wait(number * 0.0041)  # another moment each time
        writer.send_signal(signal.SIGKILL)
        _, trouble = writer.communicate()
        assert (writer.returncode, trouble) == (-signal.SIGKILL, b"")
        assert path.read_bytes() in (b"1" * 300_000, b"2" * 300_000)
    result = await call(context, "write", {"file_path": "b.txt", "content": "x\n"})
    assert result.success
    assert left(context) == ["a.txt", "b.txt"]


def test_every_listed_case_name_has_a_case() -> None:
    names = [name.strip() for name in NAMES.replace("\n", " ").split(";")]
    assert len(names) == len(set(names))
    assert set(names) == {one.name for one in CASES} | COVERED
