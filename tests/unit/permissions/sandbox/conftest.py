"""Real worlds for the sandbox: a home with keys, a repository, Forge's state, and the people who work there."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.permissions.sandbox.people import NOBODY, Person
from tests.unit.permissions.sandbox.world import World, make_world

needs_bwrap = "bubblewrap is not installed, or the kernel forbids user namespaces"


def bwrap_works(uid: int | None = None) -> bool:
    program = shutil.which("bwrap")
    if program is None:
        return False
    identity = {} if uid is None else {"user": uid, "group": uid, "extra_groups": []}
    done = subprocess.run(
        [program, "--ro-bind", "/", "/", "true"], capture_output=True, check=False, **identity
    )
    return done.returncode == 0


def identities() -> list[str]:
    return ["root", "ordinary"] if os.geteuid() == 0 else ["ordinary"]


@pytest.fixture(scope="session", params=identities())
def person(request: pytest.FixtureRequest) -> Iterator[Person]:
    uid = NOBODY if request.param == "ordinary" and os.geteuid() == 0 else None
    somebody = Person(request.param, uid)
    yield somebody
    somebody.close()


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small repository with one commit, to be copied."""
    folder = tmp_path_factory.mktemp("template") / "work"
    folder.mkdir()
    (folder / "README.md").write_text("hello\n")
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *words], cwd=folder, check=True
        )
    return folder


@pytest.fixture(scope="session")
def has_bwrap(person: Person) -> bool:
    return bwrap_works(person.uid if os.geteuid() == 0 else None)


@pytest.fixture
def world(plain_world: World, has_bwrap: bool) -> World:
    """Where commands can be run in bubblewrap."""
    if not has_bwrap:
        pytest.skip(needs_bwrap)
    return plain_world


@pytest.fixture
def plain_world(person: Person, template: Path) -> Iterator[World]:
    """Fresh for every test, owned by the person, outside /tmp where that is possible."""
    parent = next(
        (one for one in ("/srv", "/opt") if os.access(one, os.W_OK | os.X_OK)), tempfile.gettempdir()
    )
    base = Path(tempfile.mkdtemp(prefix="forge test-", dir=parent))
    try:
        yield make_world(base, person, template)
    finally:
        subprocess.run(["chmod", "-R", "u+rwX", str(base)], check=False)
        shutil.rmtree(base)
