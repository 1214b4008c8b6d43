import os
import subprocess
from pathlib import Path

import pytest

from forge_core.workspace.ignore import IgnoreRules, PatternFile, walk

RULES = """
# a comment
*.pyc
!keep.pyc
/build/
doc/**/x
foo/
**/logs
x/**
!x/keep
*.tar.gz
a[0-9]b
q*r?t
sub/*.o
\\#hash
\\!bang
trailing   
space\\ 
*.[oa]
lit.eral
mid/dle
[unclosed
[z-a]est
[!z-a]akefile.am
**/deep/**/leaf
!important.log
*.log
vendor/*
!vendor/ours
"""  # noqa: W291

FILE_NAMES = """
a.pyc keep.pyc build/z sub/build/z doc/x doc/a/b/x doc/a/bx foo/1 bar/foo deep/logs/1 logs x/keep x/no k.tar.gz
a3b aab qqqrrt
sub/a.o sub/deep/a.o #hash !bang trailing b.a lit.eral sub/lit.eral mid/dle sub/mid/dle
deep/q/leaf deep/leaf important.log other.log vendor/theirs/1 vendor/ours/1 sub/local sub/again.pyc nested/z.tmp
nested/keep/z.tmp Makefile src/main.py zest makefile.am
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text(RULES)
    for name in FILE_NAMES.split():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    (tmp_path / "space ").write_text("x")
    (tmp_path / "sub/.gitignore").write_text("local\n!again.pyc\n!a.o\n")
    (tmp_path / "nested/.gitignore").write_bytes(b"\xef\xbb\xbf*.tmp\r\n!/keep/*.tmp\r\n")
    (tmp_path / ".git/info/exclude").write_text("Makefile\n")
    return tmp_path


def all_files(root: Path) -> list[str]:
    found = (Path(folder, name) for folder, _, names in os.walk(root) for name in names)
    return sorted(path.relative_to(root).as_posix() for path in found if ".git" not in path.parts)


def test_ignore_rules_agree_with_git_for_every_file(repository: Path) -> None:
    rules = IgnoreRules(repository)
    files = all_files(repository)
    check = subprocess.run(
        ["git", "check-ignore", "--stdin", "-z"],
        cwd=repository,
        input="\0".join(files),
        capture_output=True,
        text=True,
    )
    ignored_by_git = set(check.stdout.split("\0")) - {""}
    assert {name for name in files if rules.is_ignored(name, False)} == ignored_by_git
    assert 10 < len(ignored_by_git) < len(files) - 10


def test_the_walk_lists_the_same_files_as_git(repository: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "--others", "--exclude-standard", "-z"],
        cwd=repository,
        capture_output=True,
        text=True,
    ).stdout.split("\0")
    assert sorted(found.path for found in walk(repository) if found.is_file) == sorted(set(listed) - {""})


def test_ignore_rules_of_parent_folders_apply_to_a_subfolder(repository: Path) -> None:
    assert IgnoreRules(repository / "sub").is_ignored("x.pyc", False)
    assert not IgnoreRules(repository / "sub").is_ignored("again.pyc", False)


def test_git_folders_are_ignored_even_without_a_repository(tmp_path: Path) -> None:
    (tmp_path / "a/.git").mkdir(parents=True)
    (tmp_path / "a/.git/config").write_text("x")
    assert [found.path for found in walk(tmp_path)] == ["a"]


def test_the_walk_is_sorted_and_does_not_follow_links(tmp_path: Path) -> None:
    for name in ("b/z", "b/a", "a", "c"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
    (tmp_path / "b/loop").symlink_to(tmp_path)
    (tmp_path / "d").symlink_to("/etc")
    assert [found.path for found in walk(tmp_path)] == ["a", "b", "b/a", "b/loop", "b/z", "c", "d"]
    assert [found.path for found in walk(tmp_path, start="b")] == ["b/a", "b/loop", "b/z"]


def test_the_walk_stops_on_request(tmp_path: Path) -> None:
    for number in range(10):
        (tmp_path / str(number)).write_text("x")
    left = iter([False] * 4)
    assert len(list(walk(tmp_path, stop=lambda: next(left, True)))) == 4


def test_ignored_folders_are_never_opened(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("node_modules/\n")
    (tmp_path / "node_modules/p").mkdir(parents=True)
    (tmp_path / "node_modules/.gitignore").write_text("!*\n")
    assert [found.path for found in walk(tmp_path)] == [".gitignore"]


def test_a_fifo_or_link_named_gitignore_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "rules").write_text("a\n")
    (tmp_path / "a").write_text("x")
    os.mkfifo(tmp_path / ".gitignore")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/a").write_text("x")
    (tmp_path / "sub/.gitignore").symlink_to("../rules")
    assert [found.path for found in walk(tmp_path) if found.is_file] == ["a", "rules", "sub/a"]


def test_a_non_utf8_name_is_preserved(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9.txt")).write_text("x")
    assert [os.fsencode(found.path) for found in walk(tmp_path)] == [b"caf\xe9.txt"]


def test_the_last_matching_ignore_line_decides() -> None:
    patterns = PatternFile.parse("*.log\n!a.log\na.log/\n")
    assert patterns.verdict("a.log", "a.log", False) is False
    assert patterns.verdict("a.log", "a.log", True) is True
    assert patterns.verdict("b.txt", "b.txt", False) is None
