"""Decisions about a folder: found by its real path, shared by several writers, never lost."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from forge_core.config.project_state import (
    ProjectState,
    change_project_state,
    read_project_state,
    state_file,
)
from forge_core.config.save import forget_project_rule, save_project_rule
from forge_core.errors import ConfigError
from forge_core.runtime import load_session_config


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def kept(state: Path, root: Path) -> ProjectState:
    found, problem = read_project_state(state, root)
    assert problem is None
    return found


def test_initial_state_is_undecided_and_reading_creates_no_file(state: Path, root: Path) -> None:
    assert kept(state, root) == ProjectState(None, ())
    assert not state.exists()


def test_saved_rules_are_unique_and_can_be_removed(state: Path, root: Path) -> None:
    for rule in ("bash(make:*)", "bash(pytest:*)", "bash(make:*)"):
        save_project_rule(state, root, rule)
    assert kept(state, root).allow == ("bash(make:*)", "bash(pytest:*)")
    forget_project_rule(state, root, "bash(make:*)")
    forget_project_rule(state, root, "bash(never:*)")
    assert kept(state, root).allow == ("bash(pytest:*)",)
    save_project_rule(state, root, "bash(git push:*)", "ask")
    save_project_rule(state, root, "read(secrets/**)", "deny")
    assert kept(state, root) == ProjectState(
        None, ("bash(pytest:*)",), ("bash(git push:*)",), ("read(secrets/**)",)
    )
    forget_project_rule(state, root, "bash(git push:*)")
    assert kept(state, root).ask == ()
    with pytest.raises(ConfigError, match=r"'bash\('"):
        save_project_rule(state, root, "bash(")


def test_rules_that_the_user_wrote_differ_from_those_granted_in_a_prompt(state: Path, root: Path) -> None:
    save_project_rule(state, root, "bash(make:*)", is_written=True)
    save_project_rule(state, root, "bash(ruff check:*)")
    save_project_rule(state, root, "bash(make:*)")
    assert kept(state, root).allow == ("bash(make:*)", "bash(ruff check:*)")
    assert kept(state, root).written == ("bash(make:*)",)
    forget_project_rule(state, root, "bash(make:*)")
    assert kept(state, root).written == ()


def test_saved_rules_apply_whether_the_folder_is_trusted_or_not(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = load_session_config(root)
    save_project_rule(config.state_dir, root, "bash(make:*)")
    again = load_session_config(root)
    assert (again.saved_allow, again.allow, again.is_trusted) == (("bash(make:*)",), (), False)


def test_a_link_to_the_folder_shares_its_state_and_a_sibling_does_not(
    state: Path, root: Path, tmp_path: Path
) -> None:
    save_project_rule(state, root, "bash(make:*)")
    link = tmp_path / "link"
    link.symlink_to(root)
    other = tmp_path / "project2"
    other.mkdir()
    assert kept(state, link).allow == ("bash(make:*)",)
    assert kept(state, other) == ProjectState()
    assert kept(state, root / "sub") == ProjectState()


def test_state_files_are_readable_only_by_the_user(state: Path, root: Path) -> None:
    save_project_rule(state, root, "bash(make:*)")
    path = state_file(state, root)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert [one.name for one in path.parent.iterdir() if one.name != "lock"] == [path.name]


def test_unknown_fields_of_a_newer_version_are_kept(state: Path, root: Path) -> None:
    save_project_rule(state, root, "bash(make:*)")
    path = state_file(state, root)
    path.write_text(json.dumps({**json.loads(path.read_text()), "v": 9, "later": [1]}))
    change_project_state(state, root, lambda now: replace(now, trusted=False))
    assert json.loads(path.read_text())["later"] == [1]
    assert kept(state, root) == ProjectState(False, ("bash(make:*)",))


BROKEN = [
    b"",
    b"{",
    b"[]",
    b"null",
    b"\xff\xfe\x00",
    b'{"path": "/elsewhere", "trusted": true}',
    b'{"trusted": true, "allow": ["bash"]}',
    b'{"path": "@", "trusted": "yes"}',
    b'{"path": "@", "trusted": 2}',
    b'{"path": "@", "trusted": true, "allow": "bash"}',
    b'{"path": "@", "trusted": true, "allow": [1]}',
    b'{"path": "@", "trusted": true, "allow": {"bash": 1}}',
    b"[" * 200_000,
    b" " * (1024 * 1024 + 1),
]


@pytest.mark.parametrize("broken", BROKEN, ids=range(len(BROKEN)))
def test_an_unreadable_state_file_grants_no_trust_blocks_nothing_and_is_preserved(
    state: Path, root: Path, broken: bytes
) -> None:
    path = state_file(state, root)
    path.parent.mkdir(parents=True)
    content = broken.replace(b'"@"', json.dumps(str(root)).encode())
    path.write_bytes(content)
    found, problem = read_project_state(state, root)
    assert found == ProjectState()
    assert problem is not None and str(path) in problem
    assert path.read_bytes() == content
    save_project_rule(state, root, "bash(make:*)")
    assert kept(state, root).allow == ("bash(make:*)",)
    assert path.with_name(path.name + ".unreadable-1").read_bytes() == content


def test_a_second_unreadable_file_does_not_take_the_place_of_the_first(state: Path, root: Path) -> None:
    path = state_file(state, root)
    for number, content in enumerate(("one", "two"), 1):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        save_project_rule(state, root, "bash(make:*)")
        assert path.with_name(f"{path.name}.unreadable-{number}").read_text() == content


def test_startup_continues_with_a_notice_about_an_unreadable_state_file(root: Path) -> None:
    path = state_file(load_session_config(root).state_dir, root)
    path.parent.mkdir(parents=True)
    path.write_text("{")
    config = load_session_config(root)
    assert not config.is_trusted
    assert len(config.notices) == 1 and str(path) in config.notices[0]


def test_an_invalid_saved_rule_does_not_remove_others(root: Path) -> None:
    state = load_session_config(root).state_dir
    change_project_state(state, root, lambda now: replace(now, allow=("bash(make:*)", "bash((")))
    config = load_session_config(root)
    assert config.saved_allow == ("bash(make:*)",)
    assert len(config.notices) == 1 and "'bash(('" in config.notices[0]


def test_an_unwritable_state_folder_raises_a_clear_error(tmp_path: Path, root: Path) -> None:
    (tmp_path / "state").write_text("a file in the way")
    with pytest.raises(ConfigError, match="was not saved"):
        save_project_rule(tmp_path / "state", root, "bash(make:*)")


def test_concurrent_processes_lose_no_rule(state: Path, root: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from forge_core.config.save import save_project_rule\n"
        "state, root, name = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]\n"
        "print('ready', flush=True); sys.stdin.readline()\n"
        "for number in range(20): save_project_rule(state, root, f'bash({name}{number})')\n"
    )
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(state), str(root), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in ("a", "b")
    ]
    for writer in writers:
        assert writer.stdout is not None and writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate(timeout=180)
        assert writer.returncode == 0
    assert len(kept(state, root).allow) == 40
