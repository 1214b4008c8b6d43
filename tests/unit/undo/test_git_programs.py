"""What of a git repository makes git run programs, as far as changes show it."""

from __future__ import annotations

from pathlib import Path

import pytest

from forge_core.undo.file_state import ABSENT, EntryKind, FileChange, FileState
from forge_core.undo.git_programs import bare_repositories

FILE = FileState(EntryKind.FILE, 0o644, "1" * 64, 5)
OTHER = FileState(EntryKind.FILE, 0o644, "2" * 64, 5)


def repository(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).mkdir(parents=True)


def test_a_new_folder_that_git_takes_for_a_repository_is_found(tmp_path: Path) -> None:
    repository(tmp_path / "store", "objects", "refs")
    assert bare_repositories(tmp_path, [FileChange("store/HEAD", ABSENT, FILE)]) == {"store"}


def test_a_commit_in_a_repository_that_was_there_makes_none(tmp_path: Path) -> None:
    repository(tmp_path / "store", "objects", "refs")
    assert bare_repositories(tmp_path, [FileChange("store/HEAD", FILE, OTHER)]) == set()


@pytest.mark.parametrize("names", [(), ("objects",), ("refs",)])
def test_a_file_named_head_alone_makes_no_repository(tmp_path: Path, names: tuple[str, ...]) -> None:
    repository(tmp_path / "store", *names)
    assert bare_repositories(tmp_path, [FileChange("store/HEAD", ABSENT, FILE)]) == set()
