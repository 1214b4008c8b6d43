"""Whatever happens to a settings or state file, the start goes on and the file is still there."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from forge_core.config.project_state import change_project_state, read_project_state, state_file
from forge_core.runtime import load_session_config

SETTINGS = b"""\
# mine
theme = "forge-dark"
permission_mode = "accept-edits"
allow = ["bash(make:*)", "edit(src/**)"]
deny = ["bash(rm:*)"]
max_retries = 3
idle_timeout_s = 12.5
sandbox = "auto"
"""
PIECES = (
    b"",
    b"\x00",
    b"\xff\xfe",
    b'"',
    b"[",
    b"]]]",
    b"=",
    b"\n[x]\n",
    b"'''",
    b"1e999",
    b"yolo",
    "é".encode(),
)


def mutated(data: bytes, seed: int) -> bytes:
    """`data` with a few cuts, repeats and insertions, the same for the same seed."""
    chance = random.Random(seed)
    for _ in range(chance.randint(1, 4)):
        at, to = sorted(chance.randrange(len(data) + 1) for _ in range(2))
        match chance.randrange(3):
            case 0:
                data = data[:at] + data[to:]
            case 1:
                data = data[:to] + data[at:]
            case _:
                data = data[:at] + chance.choice(PIECES) + data[at:]
    return data


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("where", ["user", "project"])
def test_a_mutated_settings_file_does_not_block_startup_and_stays_unchanged(
    tmp_path: Path, seed: int, where: str
) -> None:
    root, home = tmp_path / "project", tmp_path / "home"
    (root / ".forge").mkdir(parents=True)
    file = root / ".forge/config.toml" if where == "project" else home / "config/config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    content = mutated(SETTINGS, seed)
    file.write_bytes(content)
    config = load_session_config(root, environ={"HOME": str(home), "FORGE_HOME": str(home)}, trust=True)
    assert config.permission_mode != "yolo"
    assert file.read_bytes() == content


@pytest.mark.parametrize("seed", range(30))
def test_a_mutated_state_file_does_not_block_startup_or_decisions_and_is_preserved(
    tmp_path: Path, seed: int
) -> None:
    root, home = tmp_path / "project", tmp_path / "home"
    root.mkdir()
    config = load_session_config(root, environ={"HOME": str(home), "FORGE_HOME": str(home)})
    state = config.state_dir
    change_project_state(state, root, lambda now: type(now)(True, ("bash(make:*)",)))
    file = state_file(state, root)
    content = mutated(file.read_bytes(), seed)
    file.write_bytes(content)
    again = load_session_config(root, environ={"HOME": str(home), "FORGE_HOME": str(home)})
    is_readable = read_project_state(state, root)[1] is None
    assert is_readable or (not again.is_trusted and again.saved_allow == () and again.notices)
    assert file.read_bytes() == content
    change_project_state(state, root, lambda now: type(now)(False))
    assert read_project_state(state, root) == (type(read_project_state(state, root)[0])(False), None)
    kept = [one.read_bytes() for one in file.parent.glob("*.unreadable-*")]
    assert is_readable or kept == [content]
