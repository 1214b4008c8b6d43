"""Archives that would bring files which other programs act on."""

from __future__ import annotations

import tarfile
import zipfile
from pathlib import Path

import pytest

from forge_core.approval import Effect
from forge_core.config.permission_mode import PermissionMode
from forge_core.permissions import Decision, PermissionPolicy
from forge_core.permissions.programs import archive_members
from forge_core.permissions.programs.archive_members import unpacked_files
from forge_core.tools.base import ToolUse


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "src").mkdir(parents=True)
    (root / "src/a.py").write_text("x\n" * 1_000)
    (root / "src/x").write_text("x\n")
    for name, kind in (("a.tar", ""), ("a.tgz", "gz"), ("a.tar.bz2", "bz2"), ("a.tar.xz", "xz")):
        for prefix, member in (("", "project/.vscode/tasks.json"), ("plain-", "project/src/b.py")):
            with tarfile.open(root / f"{prefix}{name}", f"w:{kind}") as archive:
                archive.add(root / "src/a.py", "project/a.py")
                archive.add(root / "src/x", member)
    for prefix, member in (("", "AGENTS.md"), ("plain-", "README.md")):
        with zipfile.ZipFile(root / f"{prefix}a.zip", "w") as file:
            file.writestr(member, "x")
    return root


BRINGS = [
    "tar xf a.tar", "tar -xzf a.tgz", "tar --extract --file=a.tar.bz2", "tar -x -f a.tar.xz -C src", "tar xvf a.tgz",
    "unzip a.zip", "unzip -o -q a.zip", "unzip a.zip -d src", "cd src && tar xf ../a.tar", "bsdtar -xf a.tar",
]  # fmt: skip
BRINGS_NOTHING = [
    "tar tf a.tar", "tar -tzf a.tgz", "unzip -l a.zip", "tar cf b.tar src", "tar xf missing.tar", "unzip src/a.py",
    *(line.replace("a.t", "plain-a.t").replace("a.zip", "plain-a.zip") for line in BRINGS),
]  # fmt: skip


def decision(root: Path, line: str) -> tuple[Decision, str]:
    found = PermissionPolicy(root, PermissionMode.AUTO, sandbox="full").decide(
        "bash", ToolUse(Effect.RUN, line)
    )
    return found.decision, found.reason


@pytest.mark.parametrize("line", BRINGS)
def test_unpacking_a_file_that_programs_act_on_asks(root: Path, line: str) -> None:
    found, reason = decision(root, line)
    assert found is Decision.ASK
    assert "without asking" in reason


@pytest.mark.parametrize("line", BRINGS_NOTHING)
def test_unpacking_other_files_does_not(root: Path, line: str) -> None:
    assert "without asking" not in decision(root, line)[1]


def test_a_large_archive_is_read_as_far_as_that_is_cheap(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "src/large").write_bytes(bytes(100_000))
    with tarfile.open(root / "large.tgz", "w:gz") as archive:
        for name in ("a.py", "large", "x"):
            archive.add(root / "src" / name, name)
    words = ("xf", "large.tgz")
    assert list(unpacked_files("tar", words, [root])) == ["a.py", "large", "x"]
    archive_members._listed.cache_clear()
    monkeypatch.setattr(archive_members, "_MAX_BYTES", 50_000)
    assert list(unpacked_files("tar", words, [root])) == ["a.py", "large"]


def test_what_is_no_archive_has_no_members(root: Path) -> None:
    for name, content in (("b.tgz", b"\x1f\x8b broken"), ("c.zip", b"PK\x03\x04"), ("d.tar", b"x" * 2_000)):
        (root / name).write_bytes(content)
        assert list(unpacked_files("tar", ("xf", name), [root])) == []
        assert list(unpacked_files("unzip", (name,), [root])) == []


def test_a_zip_of_an_unknown_version_asks_like_any_other(root: Path) -> None:
    data = bytearray((root / "a.zip").read_bytes())
    data[data.index(b"PK\1\2") + 6] = 99  # needs version 9.9, which no program has
    (root / "a.zip").write_bytes(data)
    assert decision(root, "unzip a.zip")[0] is Decision.ASK


def test_a_program_without_operands_is_decided_on(root: Path) -> None:
    for line in ("rsync --inplace", "sqlite3 -readonly", "unzip", "tar xf"):
        assert decision(root, line)[0] is Decision.ALLOW
