"""Clones of repositories at URLs, by real git."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest

from forge_core.errors import WorkspaceError
from forge_core.workspace.clones import clone_of, fetch_clone, has_password, is_url
from forge_core.workspace.worktrees import Worktrees

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
def origin(tmp_path: Path) -> Path:
    folder = tmp_path / "my shop.git"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "trunk")
    commit(folder, "first.txt")
    return folder


def test_a_clone_follows_its_origin_while_worktrees_of_it_are_in_use(origin: Path, tmp_path: Path) -> None:
    url, state = origin.as_uri(), tmp_path / "state"
    worktrees = Worktrees(state)
    planned = worktrees.path_of(clone_of(url, state), "one")
    first = git(origin, "rev-parse", "HEAD")
    folder = asyncio.run(fetch_clone(url, state))
    one = asyncio.run(worktrees.create(folder, "one"))
    assert (one.base, one.path) == (first, planned)
    assert folder.name.startswith("my-20shop-")

    git(one.path, "checkout", "-q", "trunk", "--ignore-other-worktrees")
    git(origin, "tag", "v1")
    git(origin, "checkout", "-q", "-b", "next")
    second = commit(origin, "second.txt")

    async def twice() -> None:
        await asyncio.gather(fetch_clone(url, state), fetch_clone(url, state))

    asyncio.run(twice())
    refs = {name: asyncio.run(worktrees.create(folder, name, name)).base for name in ("next", "trunk", "v1")}
    assert refs == {"next": second, "trunk": first, "v1": first}
    assert asyncio.run(worktrees.create(folder, "head")).base == second
    assert (one.path / "first.txt").exists()


def test_a_repository_that_cannot_be_fetched_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="git fetch failed: "):
        asyncio.run(fetch_clone((tmp_path / "none").as_uri(), tmp_path / "state"))


@pytest.mark.parametrize(
    "text",
    ["https://example.org/a.git", "ssh://git@example.org/a", "git@example.org:a/b.git", "file:///srv/a"],
)
def test_urls(text: str) -> None:
    assert is_url(text) and not has_password(text)


@pytest.mark.parametrize(
    "text",
    ["../shop", "/srv/shop", "shop", "C:shop", "ext::sh -c x", "http://example.org/a", "ssh://-oProxyCommand=x/a",
     "-u@example.org:a", "me@example.org:-a", "https://a b"],
)  # fmt: skip
def test_what_is_no_url_of_a_repository(text: str) -> None:
    assert not is_url(text)


def test_a_password_in_a_url_is_found() -> None:
    assert has_password("https://me:secret@example.org/a.git") and has_password("https://:x@example.org/a")
