"""The scan for files with keys: complete, and cheap when little has changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from forge_core.permissions.sandbox import survey
from forge_core.permissions.sandbox.survey import Survey


def test_a_key_is_found_at_any_depth_and_in_build_folders(tmp_path: Path) -> None:
    wanted = [tmp_path / "a/b/c/d/e/f/g/h/.env", tmp_path / "dist/.env", tmp_path / "vendor/x/id_rsa"]
    for path in [*wanted, tmp_path / "node_modules/x/.env"]:
        path.parent.mkdir(parents=True)
        path.write_text("K=v\n")
    assert sorted(Survey(tmp_path.resolve()).scan().secrets) == sorted(path.resolve() for path in wanted)


def test_a_second_scan_reads_only_the_folders_that_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / "a/b/c/d/e/f/g"
    deep.mkdir(parents=True)
    for folder in (deep, *deep.parents):
        if folder.is_relative_to(tmp_path):
            os.utime(folder, (1_000, 1_000))
    read: list[str] = []
    scandir = os.scandir

    def counted(path: str) -> object:
        read.append(path)
        return scandir(path)

    monkeypatch.setattr(survey.os, "scandir", counted)
    scanning = Survey(tmp_path)
    assert scanning.scan().secrets == []
    first = len(read)
    read.clear()
    assert scanning.scan().secrets == []
    assert (first, read) == (8, [])
    (deep / ".env").write_text("K=v\n")
    assert scanning.scan().secrets == [deep / ".env"]
    assert read == [str(deep)]


def test_a_workspace_that_is_a_virtual_environment_is_scanned(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "inner"):
        folder.mkdir(exist_ok=True)
        (folder / "pyvenv.cfg").write_text("")
        (folder / ".env").write_text("K=v\n")
    assert Survey(tmp_path).scan().secrets == [tmp_path / ".env"]


def test_a_key_created_in_the_same_tick_of_the_clock_is_found(tmp_path: Path) -> None:
    scanning = Survey(tmp_path)
    assert scanning.scan().secrets == []
    modified_ns = tmp_path.stat().st_mtime_ns
    (tmp_path / ".env").write_text("K=v\n")
    os.utime(tmp_path, ns=(modified_ns, modified_ns))
    assert scanning.scan().secrets == [tmp_path / ".env"]


def test_so_many_keys_are_hidden_the_nearest_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survey, "MAX_SECRETS", 2)
    for folder in (tmp_path, tmp_path / "a", tmp_path / "a/b"):
        folder.mkdir(exist_ok=True)
        (folder / ".env").write_text("K=v\n")
    assert Survey(tmp_path).scan().secrets == [tmp_path / ".env", tmp_path / "a/.env"]


def test_only_regular_files_are_hidden(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".env")
    assert Survey(tmp_path).scan().secrets == []
