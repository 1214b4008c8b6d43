"""Opening folders so that no link is followed, by either way."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from forge_core.workspace import beneath


@pytest.fixture(params=["openat2", "step by step"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    if request.param == "step by step":
        monkeypatch.setattr(beneath, "openat2", lambda: None)
    elif beneath.openat2() is None:
        pytest.skip("this system has no openat2")
    yield request.param


def test_a_folder_below_is_opened(tmp_path: Path, way: str) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    for folder in (tmp_path, tmp_path / "a", tmp_path / "a/b"):
        with beneath.opened_folder(folder, tmp_path) as descriptor:
            assert os.path.samestat(os.fstat(descriptor), folder.stat())


def test_missing_folders_are_created_only_on_request(tmp_path: Path, way: str) -> None:
    with pytest.raises(FileNotFoundError), beneath.opened_folder(tmp_path / "a/b", tmp_path):
        pass
    with beneath.opened_folder(tmp_path / "a/b", tmp_path, make=True):
        assert (tmp_path / "a/b").is_dir()


@pytest.mark.parametrize("target", ["inside", "/", "..", "loop"])
def test_no_link_on_the_way_is_followed(tmp_path: Path, way: str, target: str) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "loop").symlink_to(target)
    for make in (False, True):
        with pytest.raises(OSError), beneath.opened_folder(tmp_path / "loop/x", tmp_path, make=make):
            pass
        with pytest.raises(OSError), beneath.opened_folder(tmp_path / "loop", tmp_path, make=make):
            pass
    assert list((tmp_path / "inside").iterdir()) == []


def test_a_path_outside_the_root_is_rejected(tmp_path: Path, way: str) -> None:
    with pytest.raises(OSError), beneath.opened_folder(tmp_path / "a/../../b", tmp_path):
        pass
    with pytest.raises(ValueError), beneath.opened_folder(tmp_path.parent, tmp_path):
        pass


def test_opening_folders_leaks_no_descriptor(tmp_path: Path, way: str) -> None:
    if not Path("/proc/self/fd").exists():
        pytest.skip("this system does not list its descriptors in /proc")
    before = len(list(Path("/proc/self/fd").iterdir()))
    (tmp_path / "link").symlink_to("/")
    for _ in range(5):
        with beneath.opened_folder(tmp_path / "a/b/c", tmp_path, make=True):
            pass
        with pytest.raises(OSError), beneath.opened_folder(tmp_path / "link/x", tmp_path):
            pass
    assert len(list(Path("/proc/self/fd").iterdir())) == before
