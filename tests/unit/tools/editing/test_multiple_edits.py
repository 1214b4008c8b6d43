"""Several edits, and patches: all of them, or nothing."""

from pathlib import Path
from typing import Any

import pytest

from forge_core.errors import ToolError
from forge_core.tools import ExecutionContext, ToolExecutor, ToolResult
from forge_core.tools.builtin.apply_patch import ApplyPatchTool
from forge_core.tools.builtin.multi_edit import MultiEditTool
from forge_core.tools.editing.patch import parse_patch


@pytest.fixture
def context(tmp_path: Path) -> ExecutionContext:
    return ExecutionContext(tmp_path)


async def edits(context: ExecutionContext, *given: tuple[str, str, str], **more: Any) -> ToolResult:
    several = [{"file_path": path, "old_string": old, "new_string": new, **more} for path, old, new in given]
    return await ToolExecutor().execute(MultiEditTool(), {"edits": several}, context)


async def patched(context: ExecutionContext, *lines: str) -> ToolResult:
    text = "\n".join(["*** Begin Patch", *lines, "*** End Patch"])
    return await ToolExecutor().execute(ApplyPatchTool(), {"patch": text}, context)


async def test_edits_of_several_files_are_made_together(tmp_path: Path, context: ExecutionContext) -> None:
    (tmp_path / "a").write_bytes(b"one\r\ntwo\r\n")
    (tmp_path / "b").write_bytes(b"three")
    result = await edits(context, ("a", "one", "1"), ("b", "three\n", "3\n"), ("./a", "two", "2"))
    assert result.summary == "+3 \u22123 in 2 files"
    assert ((tmp_path / "a").read_bytes(), (tmp_path / "b").read_bytes()) == (b"1\r\n2\r\n", b"3")
    assert "b: +1 \u22121 (matched with different line endings)" in result.output


async def test_nothing_is_written_unless_every_edit_applies(
    tmp_path: Path, context: ExecutionContext
) -> None:
    (tmp_path / "a").write_text("one\n")
    for bad in (("a", "nope", "x"), ("missing", "a", "b"), ("a", "1", "1"), ("", "a", "b")):
        result = await edits(context, ("a", "one", "1"), bad)
        assert not result.success
        assert (tmp_path / "a").read_text() == "one\n"
    assert not (await edits(context)).success
    assert not (await edits(context, ("a", "one", "1"), ("a", "1", "one"))).success


@pytest.mark.parametrize(
    ("before", "first", "second", "after"),
    [
        ("a\nb\n", ("a", "x"), ("b", "y"), "x\ny\n"),
        ("a\nb\n", ("a", "a2\nnew"), ("new", "newer"), "a2\nnewer\nb\n"),
        ("a\nX\nb\n", ("X\n", ""), ("a\nb", "c"), "c\n"),
        ("f(a)\n", ("f(a", "f(a, b"), ("f(", "g("), "g(a, b)\n"),
        ("a b\n", ("a", "b"), ("b", "c"), None),
        ("a\nb\n", ("a\nb", "b\nc"), ("b", "z"), None),
        ("old\nkeep old2\n", ("keep old2", "keep"), ("old", "new"), "new\nkeep\n"),
        ("a\n", ("a", "x "), ("x\t", "y"), None),
    ],
)
async def test_a_later_edit_matches_text_of_an_earlier_one_only_when_unambiguous(
    tmp_path: Path,
    context: ExecutionContext,
    before: str,
    first: tuple[str, str],
    second: tuple[str, str],
    after: str | None,
) -> None:
    (tmp_path / "a").write_text(before)
    result = await edits(context, ("a", *first), ("a", *second))
    assert result.success == (after is not None), result.for_model()
    assert (tmp_path / "a").read_text() == (after or before)


async def test_swapping_two_names_with_replace_all_is_rejected(
    tmp_path: Path, context: ExecutionContext
) -> None:
    (tmp_path / "a").write_text("foo bar foo\n")
    result = await edits(context, ("a", "foo", "bar"), ("a", "bar", "foo"), replace_all=True)
    assert "whether the text before or after" in (result.error or "")
    assert (tmp_path / "a").read_text() == "foo bar foo\n"


PYTHON = "class A:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 1\n\n\nclass B:\n    def f(self):\n        return 1\n"


@pytest.mark.parametrize(
    ("lines", "after"),
    [
        (["@@ class A:", "@@     def g(self):", "-        return 1", "+        return 2"], (6, "        return 2")),
        (["@@ class B:", "-        return 1", "+        return 2"], (11, "        return 2")),
        (["@@ class B:", "@@ def f(self):", "-        return 1", "+        return 2"], (11, "        return 2")),
        (["@@", "     def g(self):", "-        return 1", "+        return 2"], (6, "        return 2")),
        (["     def g(self):  ", "-        return 1", "+        return 2"], (6, "        return 2")),
        (["@@ -5,2 +5,2 @@ class A:", "     def g(self):", "-        return 1", "+        return 2"], (6, "        return 2")),
        (["@@", "-        return 1", "+        return 2", "*** End of File"], (11, "        return 2")),
        (["@@ def g(self):", "-        return 1", "+        return 2"], (6, "        return 2")),
        (["@@", "-        return 1", "+        return 2"], "fits 3 places, at lines 3, 6, 11"),
        (["@@ class A:", "-        return 1", "+        return 2"], "fits 2 places, at lines 3, 6"),
        (["@@ def f(self):", "-        return 1", "+        return 2"], "occurs at lines 2, 10"),
        (["@@ class C:", "-        return 1", "+        return 2"], "is missing in the file"),
        (["@@", "-    return 1", "+    return 2"], "fits"),
        (["@@", "+# new"], "only '+' lines"),
        (["@@", "-class A", "+class C"], "does not fit"),
    ],
)  # fmt: skip
async def test_a_hunk_matches_one_place_or_none(
    tmp_path: Path, context: ExecutionContext, lines: list[str], after: tuple[int, str] | str
) -> None:
    (tmp_path / "a.py").write_text(PYTHON)
    result = await patched(context, "*** Update File: a.py", *lines)
    if isinstance(after, str):
        assert after in (result.error or ""), result.for_model()
        assert (tmp_path / "a.py").read_text() == PYTHON
        return
    wanted = PYTHON.split("\n")
    wanted[after[0] - 1] = after[1]
    assert (tmp_path / "a.py").read_text() == "\n".join(wanted), result.for_model()


async def test_sections_of_a_flat_file_are_distinguished(tmp_path: Path, context: ExecutionContext) -> None:
    (tmp_path / "a.ini").write_text("[a]\nx = 1\n\n[b]\nx = 1\n")
    assert (await patched(context, "*** Update File: a.ini", "@@ [a]", "-x = 1", "+x = 2")).success
    assert (tmp_path / "a.ini").read_text() == "[a]\nx = 2\n\n[b]\nx = 1\n"


async def test_a_patch_creates_moves_and_deletes_files(tmp_path: Path, context: ExecutionContext) -> None:
    (tmp_path / "run.sh").write_bytes(b"one\r\ntwo")
    (tmp_path / "run.sh").chmod(0o751)
    (tmp_path / "gone").write_text("x\n")
    lines = [
        "*** Update File: run.sh",
        "*** Move to: bin/go.sh",
        "@@",
        " one",
        "-two",
        "+2",
        "",
        "*** Add File: n/new",
        "+a",
        "+",
        "*** Delete File: gone",
    ]
    text = "\n".join(["*** Begin Patch", *lines, "*** End Patch"])
    use = ApplyPatchTool().describe_use({"patch": text}, context)
    assert use.is_destructive
    assert {path.relative_to(tmp_path).as_posix() for path in use.paths} == {
        "run.sh",
        "bin/go.sh",
        "n/new",
        "gone",
    }
    shown = await ApplyPatchTool().preview({"patch": text}, context)
    assert [one.path for one in shown] == ["run.sh \u2192 bin/go.sh", "n/new", "gone"]
    result = await patched(context, *lines)
    assert result.diffs == shown
    assert (tmp_path / "bin/go.sh").read_bytes() == b"one\r\n2"
    assert (tmp_path / "bin/go.sh").stat().st_mode & 0o777 == 0o751
    assert (tmp_path / "n/new").read_text() == "a\n\n"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["bin", "n"]


async def test_a_patch_that_fails_in_one_file_changes_none(tmp_path: Path, context: ExecutionContext) -> None:
    (tmp_path / "a").write_text("one\n")
    for bad in (
        ["*** Update File: a", "@@", "-two", "+2"],
        ["*** Add File: a", "+x"],
        ["*** Delete File: missing"],
        ["*** Update File: missing", "-a", "+b"],
    ):
        result = await patched(context, "*** Add File: new", "+x", *bad)
        assert not result.success
        assert sorted(one.name for one in tmp_path.iterdir()) == ["a"]


async def test_hunks_are_matched_against_the_original_file(tmp_path: Path, context: ExecutionContext) -> None:
    """What an earlier hunk writes is never taken for what a later one means."""
    (tmp_path / "a").write_text("a\nb\nc\nd\n")
    assert (
        await patched(context, "*** Update File: a", "-a", "+b", "@@", "-b", "+c", "@@", " c", "-d")
    ).success
    assert (tmp_path / "a").read_text() == "b\nc\nc\n"
    result = await patched(context, "*** Update File: a", "-b", "+x", "@@", "-b", "+y")
    assert "change the same lines" in (result.error or "")


async def test_hunks_can_share_context_lines(tmp_path: Path, context: ExecutionContext) -> None:
    (tmp_path / "a").write_text("a\nb\nc\nd\ne\n")
    lines = ["@@", " a", "-b", "+B", " c", "@@", " c", "-d", "+D", " e"]
    assert (await patched(context, "*** Update File: a", *lines)).success
    assert (tmp_path / "a").read_text() == "a\nB\nc\nD\ne\n"


async def test_lines_are_added_at_the_end_of_a_file(tmp_path: Path, context: ExecutionContext) -> None:
    (tmp_path / "a").write_bytes(b"a\r\n")
    (tmp_path / "b").write_bytes(b"a")
    (tmp_path / "c").write_bytes(b"")
    for name in "abc":
        assert (await patched(context, f"*** Update File: {name}", "+b", "+c", "*** End of File")).success
    assert [(tmp_path / name).read_bytes() for name in "abc"] == [b"a\r\nb\r\nc\r\n", b"a\nb\nc", b"b\nc\n"]


@pytest.mark.parametrize(
    "wrapped",
    [
        "```diff\n{}\n```\n",
        "apply_patch <<'EOF'\n{}\nEOF\n",
        'cat <<"PATCH"\n{}\nPATCH',
        "\n\n{}\n\n",
        "apply_patch\n{}",
    ],
)
def test_wrappers_around_a_patch_are_removed(wrapped: str) -> None:
    patch = "*** Begin Patch\n*** Delete File: a b\n*** End Patch"
    assert parse_patch(wrapped.format(patch))[0].path == "a b"
    assert parse_patch(wrapped.format(patch.replace("\n", "\r\n")))[0].path == "a b"


@pytest.mark.parametrize(
    ("patch", "words"),
    [
        ("", "no line '*** Begin Patch'"),
        ("*** Begin Patch\n*** Add File: a\n+x", "cut short"),
        ("*** Begin Patch\n*** End Patch", "names no file"),
        ("hello\n*** Begin Patch\n*** Delete File: a\n*** End Patch", "Line 1 of the patch, 'hello'"),
        ("*** Begin Patch\n*** Delete File: a\n*** End Patch\nrm -rf x", "Line 4 of the patch"),
        ("*** Begin Patch\n*** Delete File:\n*** End Patch", "names no file"),
        ("*** Begin Patch\n*** Delete File: a\n-x\n*** End Patch", "Line 3"),
        ("*** Begin Patch\n*** Add File: a\nx\n*** End Patch", "each line of a new file begins with '+'"),
        ("*** Begin Patch\n*** Update File: a\n*** End Patch", "changes nothing"),
        ("*** Begin Patch\n*** Update File: a\n context\n*** End Patch", "changes nothing"),
        ("*** Begin Patch\n*** Update File: a\n-x\nfoo\n*** End Patch", "Line 4 of the patch, 'foo'"),
        ("*** Begin Patch\n*** Rename File: a\n*** End Patch", "Line 2"),
        ("*** Begin Patch\n*** Update File: a\n*** Move to:\n*** End Patch", "Line 3"),
    ],
)
def test_an_invalid_patch_is_reported_with_its_line(patch: str, words: str) -> None:
    with pytest.raises(ToolError) as caught:
        parse_patch(patch)
    assert words in str(caught.value)


async def test_a_patch_that_changes_nothing_writes_nothing(tmp_path: Path, context: ExecutionContext) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    before = (tmp_path / "a.txt").stat().st_ino
    result = await patched(context, "*** Update File: a.txt", "@@", "-one", "+one")
    assert result.success
    assert result.output == "a.txt already has exactly this content. Nothing was written."
    assert (tmp_path / "a.txt").stat().st_ino == before


async def test_a_patch_with_a_placeholder_instead_of_content_is_refused(
    tmp_path: Path, context: ExecutionContext
) -> None:
    path = tmp_path / "a.py"
    path.write_text("x = 1\ny = 2\nz = 3\n")
    lines = ["*** Update File: a.py", "@@", "-x = 1", "-y = 2", "+x = 2", "+# ... rest unchanged ..."]
    assert "placeholder" in ((await patched(context, *lines)).error or "")
    assert path.read_text() == "x = 1\ny = 2\nz = 3\n"


async def test_a_file_made_anew_after_a_patch_deleted_it_can_be_edited(
    tmp_path: Path, context: ExecutionContext
) -> None:
    path = tmp_path / "a.txt"
    assert (await patched(context, "*** Add File: a.txt", "+one")).success
    assert (await patched(context, "*** Delete File: a.txt")).success
    path.write_text("two\n")
    result = await edits(context, ("a.txt", "two", "three"))
    assert result.success, result.error
    assert path.read_text() == "three\n"


async def test_a_file_named_twice_in_a_patch_is_refused(tmp_path: Path, context: ExecutionContext) -> None:
    (tmp_path / "a").write_text("a\n")
    result = await patched(context, "*** Update File: a", "-a", "+b", "*** Delete File: ./a")
    assert "named twice" in (result.error or "")


async def test_a_patch_does_not_move_or_delete_links(tmp_path: Path, context: ExecutionContext) -> None:
    (tmp_path / "a").write_text("a\n")
    (tmp_path / "link").symlink_to("a")
    assert "is a link" in ((await patched(context, "*** Delete File: link")).error or "")
    assert (tmp_path / "a").exists()


@pytest.mark.parametrize(
    ("name", "before", "after", "is_told"),
    [
        ("a.yaml", "a: 1\n", "a: [1\n", True),
        ("a.yml", "a: &x 1\nb: *x\n", "a: 1\nb: *x\n", True),
        ("a.yaml", "a: &x 1\n---\nb: 1\n", "a: &x 1\n---\nb: *x\n", True),
        ("a.yaml", "a: 1\n", "a: !secret x\n---\nb: !Ref {c: 1}\n", False),
        ("a.yaml", "a: [1\n", "a: [2\n", False),
        ("a.yaml", "a: 1\n", "a: {{ value }}\n", False),
        ("a.toml", "a = 1\n", "a = \n", True),
        ("a.json", "[1]\n", "[1,]\n", True),
        ("a.py", "x = 1\n", "x = (\n", True),
    ],
)
async def test_a_file_that_no_longer_parses_is_reported(
    tmp_path: Path, context: ExecutionContext, name: str, before: str, after: str, is_told: bool
) -> None:
    (tmp_path / name).write_text(before)
    result = await edits(context, (name, before, after))
    assert ("no longer parses" in result.output and "revert" in result.output) == is_told
    assert (tmp_path / name).read_text() == after
