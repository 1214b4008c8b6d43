"""Worktrees by real git: made beside each other, and removed only where nothing is lost."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from forge_core.errors import WorkspaceError
from forge_core.workspace.repository import Repository
from forge_core.workspace.worktrees import Worktree, Worktrees

IDENTITY = ("-c", "user.name=n", "-c", "user.email=e@example.org")


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", *IDENTITY, *arguments], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


def commit(folder: Path, name: str) -> str:
    (folder / name).write_text(name)
    git(folder, "add", name)
    git(folder, "commit", "-q", "-m", name)
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "my shop"
    (folder / "parts").mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    (folder / "parts/a.txt").write_text("one\n")
    git(folder, "add", ".")
    commit(folder, "first.txt")
    return folder


@pytest.fixture
def worktrees(tmp_path: Path) -> Worktrees:
    return Worktrees(tmp_path / "state")


def at(folder: Path) -> Repository:
    return Repository(folder, folder / ".git", folder / ".git")


def make(worktrees: Worktrees, folder: Path, name: str = "task", ref: str = "HEAD") -> Worktree:
    return asyncio.run(worktrees.create(folder, name, ref))


def test_a_worktree_is_made_from_a_commit_on_its_own_branch(repository: Path, worktrees: Worktrees) -> None:
    first = git(repository, "rev-parse", "HEAD")
    commit(repository, "second.txt")
    made = make(worktrees, repository / "parts", ref="HEAD~1")
    assert made.base == git(made.path, "rev-parse", "HEAD") == first
    assert made.branch == git(made.path, "branch", "--show-current") == "forge/task"
    assert made.path == worktrees.path_of(at(repository), "task")
    assert made.folder == made.path / "parts" and (made.folder / "a.txt").read_text() == "one\n"
    assert made.path.parent.name.startswith("my-shop-")
    assert not git(repository, "status", "--porcelain")


def test_a_worktree_of_a_worktree_lies_beside_it(repository: Path, worktrees: Worktrees) -> None:
    made = make(worktrees, repository)
    assert make(worktrees, made.path, "second").path.parent == made.path.parent


def test_worktrees_that_are_made_at_once_all_come_into_being(repository: Path, worktrees: Worktrees) -> None:
    async def run() -> list[Worktree]:
        return await asyncio.gather(*(worktrees.create(repository, f"t{number}") for number in range(6)))

    made = asyncio.run(run())
    assert {git(one.path, "branch", "--show-current") for one in made} == {f"forge/t{n}" for n in range(6)}


def test_a_worktree_that_a_killed_process_was_making_is_found(
    repository: Path, worktrees: Worktrees, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, began, may_end = worktrees.path_of(at(repository), "task"), tmp_path / "began", tmp_path / "may end"
    for fifo in (began, may_end):
        os.mkfifo(fifo)
    (tmp_path / "bin").mkdir()
    slow = tmp_path / "bin/git"
    making = f"echo > '{began}'; read _ < '{may_end}'; mkdir '{path}'; exit 0"
    slow.write_text(
        f'#!/bin/sh\ncase "$*" in *"worktree add"*) {making};; esac\n{shutil.which("git")} "$@"\n'
    )
    slow.chmod(0o700)
    monkeypatch.setenv("PATH", f"{slow.parent}{os.pathsep}{os.environ['PATH']}")
    script = (
        "import asyncio, sys; from pathlib import Path; from forge_core.workspace.worktrees import Worktrees;"
        "asyncio.run(Worktrees(Path(sys.argv[1])).create(Path(sys.argv[2]), 'task'))"
    )
    program = subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "state"), str(repository)])
    began.read_text()
    program.kill()
    program.wait()

    async def look() -> bool:
        looking = asyncio.ensure_future(worktrees.is_left(path))
        await asyncio.to_thread(may_end.write_text, "\n")
        return await looking

    assert asyncio.run(look())
    assert not asyncio.run(worktrees.is_left(path.with_name("other")))
    assert not asyncio.run(worktrees.is_left(tmp_path / "no folder/task"))


@pytest.mark.parametrize(
    "name", ["", "-x", "a b", "a/b", "..", "a..b", "a.lock", "a.", "ä", "a\n", "x" * 101]
)
def test_names_that_git_would_refuse_are_refused(repository: Path, worktrees: Worktrees, name: str) -> None:
    with pytest.raises(WorkspaceError, match="cannot be the name"):
        make(worktrees, repository, name)


def test_what_cannot_be_made_is_explained(repository: Path, worktrees: Worktrees, tmp_path: Path) -> None:
    made = make(worktrees, repository)
    with pytest.raises(WorkspaceError, match="There is a worktree 'task' already"):
        make(worktrees, repository)
    for ref in ("nope", "--all", "HEAD:first.txt"):
        with pytest.raises(WorkspaceError, match="has no commit"):
            make(worktrees, repository, "other", ref)
    assert asyncio.run(worktrees.remove(made)) == ""
    with pytest.raises(WorkspaceError, match=r"'forge/task' already exists"):
        make(worktrees, repository)
    with pytest.raises(WorkspaceError, match="is in no git repository"):
        make(worktrees, tmp_path)


def test_an_unchanged_worktree_is_removed_and_its_branch_stays(
    repository: Path, worktrees: Worktrees
) -> None:
    made = make(worktrees, repository)
    os.utime(made.path, (0, 0))
    assert asyncio.run(worktrees.remove(made)) == ""
    assert not made.path.exists() and git(repository, "branch", "--list", "forge/task")
    assert asyncio.run(worktrees.remove(made)) == ""


def changed(folder: Path) -> None:
    (folder / "first.txt").write_text("other")


def untracked(folder: Path) -> None:
    (folder / "new folder").mkdir()
    (folder / "new folder/file").touch()


def committed(folder: Path) -> None:
    commit(folder, "second.txt")


def detached(folder: Path) -> None:
    git(folder, "checkout", "-q", "--detach")
    commit(folder, "second.txt")
    git(folder, "checkout", "-q", "forge/task")


def nested(folder: Path) -> None:
    git(folder, "init", "-q", "inner")


def not_compared(folder: Path) -> None:
    git(folder, "update-index", "--assume-unchanged", "first.txt")
    changed(folder)


def skipped(folder: Path) -> None:
    git(folder, "update-index", "--skip-worktree", "first.txt")
    changed(folder)


def cut_off(folder: Path) -> None:
    (folder / ".git").unlink()


@pytest.mark.parametrize(
    "change, reason",
    [
        (changed, r"not committed \(first.txt\)"),
        (untracked, r"not committed \(new folder/file\)"),
        (committed, "1 commit is only on forge/task"),
        (detached, "1 commit is only on forge/task, or only in it"),
        (nested, "not committed"),
        (not_compared, r"git does not compare first.txt"),
        (skipped, r"git does not compare first.txt"),
        (cut_off, "no worktree any more"),
    ],
)
def test_a_worktree_with_work_in_it_is_kept(
    repository: Path, worktrees: Worktrees, change: Callable[[Path], None], reason: str
) -> None:
    made = make(worktrees, repository)
    change(made.path)
    before = sorted(made.path.rglob("*"))
    kept = asyncio.run(worktrees.remove(made))
    assert re.search(reason, kept), kept
    assert sorted(made.path.rglob("*")) == before


def test_a_worktree_whose_commits_are_merged_is_removed(repository: Path, worktrees: Worktrees) -> None:
    made = make(worktrees, repository)
    commit(made.path, "second.txt")
    git(made.path, "commit", "-q", "--amend", "-m", "better")  # the log of the branch keeps the first
    git(repository, "merge", "-q", "forge/task")
    assert asyncio.run(worktrees.remove(made)) == ""


def test_ignored_files_that_are_listed_are_copied(repository: Path, worktrees: Worktrees) -> None:
    (repository / ".gitignore").write_text(".env*\nsecret/\nbuild/\nlink\n")
    git(repository, "add", ".gitignore")
    (repository / "secret/deep").mkdir(parents=True)
    for name in (".env", ".env.local", "secret/deep/key", "build", "untracked"):
        (repository / name).mkdir() if name == "build" else (repository / name).write_text(name)
    (repository / ".env").chmod(0o600)
    (repository / "build/big").touch()
    (repository / "link").symlink_to("/etc/passwd")
    (repository / ".worktreeinclude").write_text(".env\nsecret/**\nuntracked\nlink\n")
    git(repository, "add", ".worktreeinclude")
    git(repository, "commit", "-q", "-m", "ignore")
    made = make(worktrees, repository)
    copied = {str(one.relative_to(made.path)) for one in made.path.rglob("*") if one.is_file()} - {".git"}
    tracked = {".gitignore", ".worktreeinclude", "first.txt", "parts/a.txt"}
    assert copied - tracked == {".env", "secret/deep/key"}
    assert (made.path / ".env").stat().st_mode & 0o777 == 0o600
    assert made.notices == () and asyncio.run(worktrees.remove(made)) == ""


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        (".env", "A=1\n", ""),
        (".env", "A=2\n", r"\.env .* \.worktreeinclude"),
        (".env.local", "new\n", r"\.env\.local"),
        ("build", "x\n", ""),
    ],
)
def test_a_copied_file_that_was_changed_keeps_the_worktree(
    repository: Path, worktrees: Worktrees, name: str, text: str, reason: str
) -> None:
    (repository / ".gitignore").write_text(".env*\nbuild\n")
    (repository / ".worktreeinclude").write_text(".env*\n")
    git(repository, "add", ".gitignore", ".worktreeinclude")
    git(repository, "commit", "-q", "-m", "Ignore")
    (repository / ".env").write_text("A=1\n")
    made = make(worktrees, repository)
    (made.path / name).write_text(text)
    kept = asyncio.run(worktrees.remove(made))
    assert re.search(reason, kept) if reason else not kept
    assert made.path.exists() == bool(reason)


def test_a_worktree_that_was_left_half_made_is_not_opened(repository: Path, worktrees: Worktrees) -> None:
    made = make(worktrees, repository)
    (made.path / "first.txt").unlink()  # as after a kill -9 during the checkout
    git(repository, "worktree", "lock", "--reason", "initializing", str(made.path))
    with pytest.raises(WorkspaceError, match="half made"):
        asyncio.run(worktrees.open(repository, "task"))
    git(repository, "worktree", "unlock", str(made.path))
    git(repository, "worktree", "lock", "--reason", "on a USB stick", str(made.path))
    assert asyncio.run(worktrees.open(repository, "task")).path == made.path
    git(made.path, "checkout", "first.txt")
    assert "locked" in asyncio.run(worktrees.remove(made)) and made.path.exists()


def test_a_worktree_whose_removal_was_killed_is_whole_when_it_is_opened_again(
    repository: Path, worktrees: Worktrees, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository / ".gitignore").write_text(".env\n")
    (repository / ".worktreeinclude").write_text(".env\n")
    (repository / ".env").write_text("A=1\n")
    git(repository, "add", ".gitignore")
    git(repository, "commit", "-q", "-m", "Ignore")
    made = make(worktrees, repository)
    (tmp_path / "bin").mkdir()
    dying = tmp_path / "bin/git"
    removing = f"rm -r '{made.path}/parts' '{made.path}/.env'; kill -9 $PPID $$"
    dying.write_text(
        f'#!/bin/sh\ncase "$*" in *"worktree remove"*) {removing};; esac\nexec {shutil.which("git")} "$@"\n'
    )
    dying.chmod(0o700)
    script = (
        "import asyncio, sys; from pathlib import Path; from forge_core.workspace.worktrees import Worktrees;"
        "trees, folder = Worktrees(Path(sys.argv[1])), Path(sys.argv[2]);"
        "asyncio.run(trees.remove(asyncio.run(trees.open(folder, 'task'))))"
    )
    killed = [sys.executable, "-c", script, str(tmp_path / "state"), str(repository)]
    path = f"{dying.parent}{os.pathsep}{os.environ['PATH']}"
    assert subprocess.run(killed, env={**os.environ, "PATH": path}, check=False).returncode == -9
    assert not (made.path / "parts").exists()
    again = asyncio.run(worktrees.open(repository, "task"))
    assert (made.path / "parts/a.txt").read_text() == "one\n" and (made.path / ".env").read_text() == "A=1\n"
    assert not git(made.path, "status", "--porcelain") and again.notices == ()
    (made.path / "parts/a.txt").unlink()  # by the user, later: it stays so
    asyncio.run(worktrees.open(repository, "task"))
    assert not (made.path / "parts/a.txt").exists()


def test_a_copy_never_leaves_the_worktree(repository: Path, worktrees: Worktrees, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (repository / "conf").symlink_to(outside)
    git(repository, "add", "conf")
    git(repository, "commit", "-q", "-m", "a link")
    linked = git(repository, "rev-parse", "HEAD")
    git(repository, "rm", "-q", "conf")
    (repository / ".gitignore").write_text("conf\n")
    git(repository, "add", ".gitignore")
    git(repository, "commit", "-q", "-m", "a folder")
    (repository / "conf").mkdir()
    (repository / "conf/key").write_text("1")
    (repository / ".worktreeinclude").write_text("conf/\n")
    made = make(worktrees, repository, ref=linked)
    assert not list(outside.iterdir())
    assert len(made.notices) == 1 and "'conf/key' was not copied" in made.notices[0]


def test_no_hook_or_filter_of_the_repository_runs(
    repository: Path, worktrees: Worktrees, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    hook = repository / ".git/hooks/post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch '{ran}'\n")
    hook.chmod(0o755)
    (repository / ".gitattributes").write_text("*.txt filter=evil\n")
    git(repository, "add", ".gitattributes")
    git(repository, "commit", "-q", "-m", "attributes")
    git(repository, "config", "filter.evil.smudge", f"touch '{ran}'; cat")
    git(repository, "config", "filter.evil.clean", f"touch '{ran}'; cat")
    made = make(worktrees, repository)
    assert asyncio.run(worktrees.remove(made)) == ""
    assert not ran.exists()


def test_a_worktree_is_opened_again_made_again_on_its_branch_or_made(
    repository: Path, worktrees: Worktrees
) -> None:
    (repository / ".gitignore").write_text(".env\n")
    (repository / ".worktreeinclude").write_text(".env\n")
    (repository / ".env").write_text("A=1\n")
    git(repository, "add", ".gitignore")
    git(repository, "commit", "-q", "-m", "Ignore")
    made = asyncio.run(worktrees.open(repository / "parts", "task"))
    head = commit(made.path, "work.txt")
    again = asyncio.run(worktrees.open(repository / "parts", "task"))
    assert (again.path, again.folder, again.branch) == (made.path, made.path / "parts", "forge/task")
    git(repository, "branch", "kept", "forge/task")  # the commit is elsewhere too
    assert asyncio.run(worktrees.remove(again)) == "" and not made.path.exists()
    anew = asyncio.run(worktrees.open(repository, "task"))
    assert anew.base == head and (anew.path / "work.txt").exists() and (anew.path / ".env").exists()


def test_what_is_no_worktree_of_the_repository_is_not_opened(repository: Path, worktrees: Worktrees) -> None:
    path = worktrees.path_of(at(repository), "task")
    path.mkdir(parents=True)
    with pytest.raises(WorkspaceError, match="is no worktree of this repository"):
        asyncio.run(worktrees.open(repository, "task"))
    git(path, "init", "-q")
    with pytest.raises(WorkspaceError, match="is no worktree of this repository"):
        asyncio.run(worktrees.open(repository, "task"))
