"""What Forge keeps is for its user only, whatever the umask."""

from __future__ import annotations

import ast
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from forge_core.approval import deny_all
from forge_core.config.save import save_project_rule, save_user_setting
from forge_core.private_folders import make_private_folder
from forge_core.runtime import build_session, load_session_config

ROOT = Path(__file__).parents[2]
PUBLIC = {"forge_core/batch/task_folder.py", "forge_core/headless/output_folder.py"}
"""The user names the folder for the results."""
SHOWN_INSTEAD = {"empty", "note", "unreadable"}
"""What a sandboxed command sees of hidden files; none of the modes lets anyone write."""


@pytest.fixture(params=[0o000, 0o022, 0o077])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_every_missing_folder_is_private(tmp_path: Path, umask: int) -> None:
    top = tmp_path / "top"
    top.mkdir()
    top.chmod(0o755)
    for _ in range(2):
        make_private_folder(top / "a/b/c")
    assert [mode(top / name) for name in ("a", "a/b", "a/b/c")] == [0o700] * 3
    assert mode(top) == 0o755, "one that existed keeps its mode"


def test_a_file_in_the_way_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file/below"):
        with pytest.raises(OSError, match="file"):
            make_private_folder(path)


def test_no_other_function_creates_folders_above_the_last() -> None:
    found = set()
    for package in ("forge_core", "forge_tui"):
        for path in (ROOT / package).rglob("*.py"):
            text = path.read_text()
            if "parents=" not in text and "makedirs" not in text:
                continue
            for node in ast.walk(ast.parse(text)):
                is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
                if is_call and (
                    node.func.attr == "makedirs" or any(one.arg == "parents" for one in node.keywords)
                ):
                    found.add(str(path.relative_to(ROOT)))
    assert found == PUBLIC


async def test_all_that_a_session_keeps_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = tmp_path / "kept"
    monkeypatch.delenv("FORGE_HOME")
    for name in ("STATE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(kept / name / "x"))
    work = tmp_path / "work"
    work.mkdir()
    before = os.umask(0)
    try:
        config = load_session_config(work, flags={"model": "offline", "permission_mode": "yolo"})
        session = build_session(config, deny_all)
        async for _ in session.send("run `seq 1 20000; echo x > made`"):
            pass
        await session.aclose()
        save_project_rule(config.state_dir, work, "bash(make)")
        save_user_setting(config.config_dir, "theme", "dark")
    finally:
        os.umask(before)
    assert (work / "made").exists()
    files = [path for path in kept.rglob("*") if path.name not in SHOWN_INSTEAD]
    assert {one.name for one in files} >= {"sessions", "blobs", "outputs", "config.toml"}
    assert [(str(one), oct(mode(one))) for one in files if mode(one) not in (0o700, 0o600)] == []
