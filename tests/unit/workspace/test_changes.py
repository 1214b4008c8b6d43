"""The working tree against HEAD, in real repositories with odd names, odd files and hostile settings."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from forge_core.workspace import git as git_calls
from forge_core.workspace import work_tree
from forge_core.workspace.change_source import (
    ChangedFile,
    ChangeList,
    ChangeStatus,
    Counts,
    FilePatch,
    header,
    quoted,
)
from forge_core.workspace.work_tree import WorkTreeChanges
from tests.unit.workspace.test_git import git
from tests.unit.workspace.test_git_hostile import HOSTILE, Trap, trap

pytestmark = pytest.mark.slow


__all__ = ["trap"]

Everything = tuple[ChangeList, Mapping[str, Counts], Mapping[str, FilePatch]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    return root


def commit(folder: Path) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", "x")


async def everything(folder: Path) -> Everything:
    """All that a viewer would read."""
    changes = WorkTreeChanges(folder)
    found = await changes.read()
    counts: dict[str, Counts] = {}
    async for batch in changes.counts(found.files):
        counts |= batch
    return found, counts, {file.path: await changes.patch(file) for file in found.files}


def by_path(found: ChangeList) -> dict[str, ChangedFile]:
    return {file.path: file for file in found.files}


async def test_staged_unstaged_and_untracked_changes_are_one_list(folder: Path) -> None:
    for name in ("staged", "unstaged", "gone", "same"):
        (folder / name).write_text("one\ntwo\n")
    commit(folder)
    (folder / "staged").write_text("one\n2\n")
    git(folder, "add", "staged")
    (folder / "unstaged").write_text("one\ntwo\nthree\n")
    (folder / "gone").unlink()
    (folder / "sub").mkdir()
    (folder / "sub/new").write_text("a\nb")
    os.utime(folder / "same", (1, 1))
    found, counts, patches = await everything(folder / "sub")
    assert [(file.path, file.status) for file in found.files] == [
        ("gone", ChangeStatus.DELETED),
        ("staged", ChangeStatus.CHANGED),
        ("sub/new", ChangeStatus.UNTRACKED),
        ("unstaged", ChangeStatus.CHANGED),
    ]
    assert counts == {
        "gone": Counts(0, 2),
        "staged": Counts(1, 1),
        "sub/new": Counts(2, 0),
        "unstaged": Counts(1, 0),
    }
    assert "-two\n+2" in patches["staged"].text
    assert patches["sub/new"].text.endswith("@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n")
    assert not any(patch.remark for patch in patches.values())


async def test_the_whole_file_is_available_on_demand(folder: Path) -> None:
    lines = [f"line {number}" for number in range(300)]
    (folder / "a").write_text("\n".join(lines) + "\n")
    commit(folder)
    (folder / "a").write_text("\n".join([*lines[:150], "new", *lines[150:]]) + "\n")
    changes = WorkTreeChanges(folder)
    (file,) = (await changes.read()).files
    assert len((await changes.patch(file)).text.split("\n@@")[1].splitlines()) == 8
    whole = (await changes.patch(file, is_whole=True)).text
    assert [line[1:] for line in whole.split("\n@@")[1].splitlines()[1:] if line[0] == " "] == lines


ODD_NAMES = [
    b" a b ",
    b"new\nline",
    b"\xff\xfe",
    b"-dash",
    b"--output=x",
    b"\x1b[31mred",
    b":(glob)*",
    b":!x",
    b"*",
    b'q"uo\\te',
    b"tab\there",
    "ü日本".encode(),
    b"a -> b",
    b"x\n@@ -1 +1 @@\n+forged",
]


@pytest.mark.parametrize("is_tracked", [True, False])
async def test_changed_files_in_git_can_have_any_name(folder: Path, is_tracked: bool) -> None:
    root = os.fsencode(folder)
    commit(folder)
    for number, name in enumerate(ODD_NAMES):
        Path(os.fsdecode(root + b"/" + name)).write_text(f"old {number}\n")
    if is_tracked:
        commit(folder)
        for number, name in enumerate(ODD_NAMES):
            Path(os.fsdecode(root + b"/" + name)).write_text(f"new {number}\n")
    found, counts, patches = await everything(folder)
    names = {os.fsdecode(name): number for number, name in enumerate(ODD_NAMES)}
    assert {file.path for file in found.files} == set(names)
    for path, number in names.items():
        word = "new" if is_tracked else "old"
        assert counts[path] == Counts(1, int(is_tracked))
        assert f"+{word} {number}\n" in patches[path].text
        assert patches[path].text.count("\n@@ ") == 1
        assert (
            sum(
                line.startswith("+") and not line.startswith("+++") for line in patches[path].text.split("\n")
            )
            == 1
        )


def test_names_in_headers_are_quoted_as_git_quotes_them(folder: Path) -> None:
    for name in (b"new\nline", b'q"uo\\te', b"\xff", b"\x1b[m"):
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_text("x")
    git(folder, "add", "-A")
    listed = git(folder, "ls-files").splitlines()
    mine = {quoted(os.fsdecode(name)) for name in (b"new\nline", b'q"uo\\te', b"\xff")}
    assert mine <= set(listed)
    assert "\x1b" not in quoted("\x1b[m")


def test_a_lone_surrogate_in_a_name_is_quoted() -> None:
    assert quoted("a\ud800\udcff") == '"a\\355\\240\\200\\377"'
    assert header("\udfff", "\ud800").isascii()


async def test_a_change_without_lines_is_explained(folder: Path) -> None:
    (folder / "binary").write_bytes(b"a\0b" * 50)
    (folder / "moved").write_text("x\n" * 40)
    (folder / "script").write_text("#!/bin/sh\n")
    (folder / "text").write_text("text\n")
    (folder / "emptied").write_text("")
    commit(folder)
    (folder / "binary").write_bytes(b"a\0c" * 50)
    git(folder, "mv", "moved", "there")
    (folder / "script").chmod(0o755)
    (folder / "text").unlink()
    (folder / "text").symlink_to("/etc/passwd")
    (folder / "emptied").unlink()
    (folder / "empty").touch()
    (folder / "blob").write_bytes(b"\0" * 10)
    (folder / "dangling").symlink_to("no/where")
    os.mkfifo(folder / "fifo")
    found, counts, patches = await everything(folder)
    files = by_path(found)
    assert (files["there"].status, files["there"].old_path) == (ChangeStatus.RENAMED, "moved")
    assert "moved" not in files
    assert files["script"].note == "mode 644 → 755"
    assert files["text"].note == "became a link"
    assert counts["binary"] == counts["blob"] == Counts(None, None)
    assert {name: patch.remark for name, patch in patches.items() if patch.remark} == {
        "binary": "Binary: its lines can't be compared.",
        "blob": "Binary, 10 bytes.",
        "empty": "An empty file.",
        "emptied": "An empty file.",
        "script": "Only its mode changed: 644 → 755.",
        "there": "Renamed from moved; its content is the same.",
    }
    assert "+no/where" in patches["dangling"].text
    assert "root:" not in patches["text"].text
    assert "+/etc/passwd" in patches["text"].text
    assert "fifo" not in files


async def test_a_link_to_a_folder_outside_is_not_entered(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/key").write_text("hush\n")
    (folder / "in").mkdir()
    (folder / "in/key").write_text("mine\n")
    commit(folder)
    (folder / "in/new").write_text("x\n")
    changes = WorkTreeChanges(folder)
    found = await changes.read()
    (folder / "in").rename(tmp_path / "away")
    (folder / "in").symlink_to(tmp_path / "secret")
    (tmp_path / "secret/new").write_text("hush\n")
    patch = await changes.patch(by_path(found)["in/new"])
    assert patch.remark.startswith("It can't be read")
    assert "hush" not in patch.text


async def test_before_the_first_commit_all_files_are_new(folder: Path) -> None:
    (folder / "staged").write_text("a\n")
    git(folder, "add", "staged")
    (folder / "loose").write_text("b\n")
    found, counts, patches = await everything(folder)
    assert [(file.path, file.status) for file in found.files] == [
        ("loose", ChangeStatus.UNTRACKED),
        ("staged", ChangeStatus.ADDED),
    ]
    assert counts == {"loose": Counts(1, 0), "staged": Counts(1, 0)}
    assert "+a" in patches["staged"].text


async def test_a_detached_head_is_compared_too(folder: Path) -> None:
    (folder / "a").write_text("1\n")
    commit(folder)
    git(folder, "checkout", "-q", "--detach")
    (folder / "a").write_text("2\n")
    found, _, patches = await everything(folder)
    assert [file.path for file in found.files] == ["a"]
    assert "-1\n+2\n" in patches["a"].text


async def test_a_merge_conflict_is_reported(folder: Path) -> None:
    (folder / "a").write_text("1\n")
    commit(folder)
    git(folder, "checkout", "-q", "-b", "other")
    (folder / "a").write_text("2\n")
    commit(folder)
    git(folder, "checkout", "-q", "main")
    (folder / "a").write_text("3\n")
    commit(folder)
    with pytest.raises(Exception, match="merge"):
        git(folder, "merge", "other")
    found, _, patches = await everything(folder)
    assert [(file.path, file.status) for file in found.files] == [("a", ChangeStatus.CONFLICT)]
    assert "+<<<<<<< HEAD" in patches["a"].text


async def test_a_submodule_is_shown_by_its_commit(folder: Path) -> None:
    inner = folder / "inner"
    inner.mkdir()
    git(inner, "init", "-q", "-b", "main")
    git(inner, "commit", "-q", "--allow-empty", "-m", "1")
    git(folder, "-c", "protocol.file.allow=always", "submodule", "add", "-q", "./inner", "inner")
    commit(folder)
    git(folder, "config", "diff.submodule", "diff")
    git(inner, "commit", "-q", "--allow-empty", "-m", "2")
    found, _, patches = await everything(folder)
    assert [(file.path, file.note) for file in found.files] == [("inner", "submodule")]
    assert "+Subproject commit " in patches["inner"].text


async def test_a_nested_repository_is_listed_and_not_entered(folder: Path) -> None:
    commit(folder)
    (folder / "own").mkdir()
    git(folder / "own", "init", "-q")
    (folder / "own/file").write_text("x\n")
    found, _, patches = await everything(folder)
    assert [(file.path, file.note) for file in found.files] == [("own/", "a repository of its own")]
    assert "A repository of its own" in patches["own/"].remark


async def test_line_endings_and_a_missing_final_newline_are_preserved(folder: Path) -> None:
    (folder / "dos").write_bytes(b"a\r\nb\r\n")
    (folder / "open").write_bytes(b"a\nb")
    commit(folder)
    (folder / "dos").write_bytes(b"a\r\nc\r\n")
    (folder / "open").write_bytes(b"a\nb\n")
    _, _, patches = await everything(folder)
    assert "-b\r\n+c\r\n" in patches["dos"].text
    assert "-b\n\\ No newline at end of file\n+b\n" in patches["open"].text


async def test_missing_git_and_a_missing_repository_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    found, counts, _ = await everything(plain)
    assert (found.files, counts) == ((), {})
    assert "no git repository" in found.remark
    monkeypatch.setenv("PATH", str(plain))
    assert "git could not be run" in (await WorkTreeChanges(folder).read()).remark


async def test_a_clean_tree_and_a_broken_one_are_reported(folder: Path) -> None:
    commit(folder)
    assert (await WorkTreeChanges(folder).read()).remark == "Nothing differs from the last commit."
    (folder / ".git/index").write_bytes(b"no index at all, this is")
    broken = await WorkTreeChanges(folder).read()
    assert broken.remark.startswith("git could not compare: ")
    assert broken.files == ()


async def test_ignored_files_are_not_listed_as_changes(folder: Path) -> None:
    (folder / ".gitignore").write_text("*.log\n")
    commit(folder)
    (folder / "a.log").write_text("x\n")
    assert (await WorkTreeChanges(folder).read()).files == ()


async def test_repository_settings_do_not_change_the_diff_format(folder: Path) -> None:
    (folder / "a").write_text("one\n\ntwo\n")
    commit(folder)
    (folder / "a").write_text("one\n\n2\n")
    for key, value in {
        "color.ui": "always",
        "color.diff": "always",
        "diff.noprefix": "true",
        "diff.mnemonicPrefix": "true",
        "diff.context": "0",
        "diff.relative": "true",
        "diff.suppressBlankEmpty": "true",
        "diff.orderFile": str(folder / "order"),
        "diff.wordRegex": ".",
        "diff.renames": "false",
        "core.quotePath": "false",
        "diff.algorithm": "patience",
        "core.pager": "false",
    }.items():
        git(folder, "config", key, value)
    os.mkfifo(folder / "order")
    found, counts, patches = await everything(folder)
    assert [file.path for file in found.files] == ["a"]
    assert counts == {"a": Counts(1, 1)}
    assert patches["a"].text.split("\n", 2)[0] == "diff --git a/a b/a"
    assert [line for line in patches["a"].text.split("\n")[5:] if line] == [" one", "-two", "+2"]


async def test_thousands_of_files_are_listed_first_and_read_one_by_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(300):
        (folder / f"f{number:04}").write_text("old\n")
    commit(folder)
    for number in range(300):
        (folder / f"f{number:04}").write_text("new\n")
    for number in range(1_700):
        (folder / f"g{number:04}").write_text("x\n")
    calls: list[str] = []
    real = git_calls.run_git

    async def counted(where: Path, *arguments: str, **options: float) -> git_calls.GitOutput:
        calls.append(arguments[0])
        return await real(where, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(work_tree, "run_git", counted)
    changes = WorkTreeChanges(folder)
    found = await changes.read()
    assert len(found.files) == 2_000
    assert len(calls) == 4
    counts: dict[str, Counts] = {}
    async for batch in changes.counts(found.files):
        counts |= batch
    assert len(calls) == 5
    assert set(counts) == {file.path for file in found.files}


async def test_a_huge_file_is_truncated_with_a_remark(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = "x" * 99 + "\n"
    (folder / "big").write_text(line * 1_000)
    commit(folder)
    (folder / "big").write_text(line.replace("x", "y") * 1_000)
    (folder / "loose").write_text(line * 1_000)
    monkeypatch.setattr(work_tree, "MAX_PATCH_BYTES", 50_000)
    _, _, patches = await everything(folder)
    for name in ("big", "loose"):
        assert len(patches[name].text) < 52_000
        assert patches[name].text.rstrip().endswith("\\ The rest of the change is not shown")


@pytest.mark.parametrize(("arm", "plain"), HOSTILE, ids=lambda one: getattr(one, "__name__", " "))
async def test_reading_changes_runs_no_program_named_by_the_repository(
    trap: Trap,
    arm: Callable[[Trap], None],
    plain: tuple[str, ...],
) -> None:
    arm(trap)
    trap.trace.unlink(missing_ok=True)
    found, _, _ = await everything(trap.folder)
    assert not trap.trace.exists(), trap.trace.read_text()
    assert found.files or found.remark
    trap.sings(*plain)
