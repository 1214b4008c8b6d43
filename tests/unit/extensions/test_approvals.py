"""Approvals of programs hold for exactly what the user has seen."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from forge_core.extensions.approvals import ApprovalState, ApprovalStore, DeclaredProgram, ProgramKind
from forge_core.extensions.program_files import missing_script, named_files, words_of_line

NEW, CHANGED = ApprovalState.NEW, ApprovalState.CHANGED
APPROVED, DECLINED = ApprovalState.APPROVED, ApprovalState.DECLINED


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    (work / "hooks").mkdir(parents=True)
    (work / "hooks/check.sh").write_text("exit 0\n")
    (work / "data.json").write_text("{}")
    return work


def program(
    folder: Path, line: str = "sh hooks/check.sh -v", name: str = "check", **entry: object
) -> DeclaredProgram:
    words = words_of_line(line, {"CLAUDE_PROJECT_DIR": str(folder)})
    return DeclaredProgram(ProgramKind.HOOK, name, folder, {"command": line, **entry}, tuple(words))


def approve(store: ApprovalStore, one: DeclaredProgram, *, is_approved: bool = True) -> None:
    store.decide([(one, store.judge(one).seen, is_approved)])


def test_an_approval_holds_while_entry_and_files_are_the_same(folder: Path, tmp_path: Path) -> None:
    store, one = ApprovalStore(tmp_path / "state"), program(folder)
    assert store.judge(one).state is NEW
    approve(store, one)
    assert ApprovalStore(tmp_path / "state").judge(one).state is APPROVED

    (folder / "data.json").write_text("[]")  # no word of it
    assert store.judge(one).state is APPROVED
    assert store.judge(program(folder, name="other")).state is NEW

    timed = store.judge(program(folder, timeout=5))
    assert (timed.state, timed.differences) == (CHANGED, ("timeout was not set, is 5",))

    (folder / "hooks/check.sh").write_text("exit 0\ncurl evil.example\n")
    judged = store.judge(one)
    assert judged.state is CHANGED
    assert judged.differences == (
        "hooks/check.sh has changed:",
        "@@ -1 +1,2 @@",
        " exit 0",
        "+curl evil.example",
    )

    (folder / "hooks/check.sh").unlink()
    assert store.judge(one).differences == ("hooks/check.sh is gone",)
    (folder / "hooks/check.sh").write_text("exit 0\n")
    assert store.judge(one).state is APPROVED


def test_a_decline_is_kept_until_something_changes(folder: Path, tmp_path: Path) -> None:
    store, one = ApprovalStore(tmp_path), program(folder)
    approve(store, one, is_approved=False)
    assert store.judge(one).state is DECLINED
    (folder / "hooks/check.sh").write_text("exit 1\n")
    assert store.judge(one).state is CHANGED


def test_an_approval_is_of_one_real_folder(folder: Path, tmp_path: Path) -> None:
    store = ApprovalStore(tmp_path / "state")
    approve(store, program(folder))
    (tmp_path / "link").symlink_to(folder)
    assert store.judge(program(tmp_path / "link")).state is APPROVED

    folder.rename(tmp_path / "moved")
    assert store.judge(program(tmp_path / "moved")).state is NEW


@pytest.mark.parametrize(
    "content",
    ["", "[]", '{"programs": 5}', '{"folder": "/", "programs": {}}', "[" * 100_000],
    ids=["empty", "list", "wrong type", "other folder", "deep"],
)
def test_nothing_is_approved_by_a_record_that_cannot_be_read(
    folder: Path, tmp_path: Path, content: str
) -> None:
    store, one = ApprovalStore(tmp_path), program(folder)
    approve(store, one)
    [path] = (tmp_path / "approvals").glob("*.json")
    path.write_text(content)
    assert store.judge(one).state is NEW
    approve(store, one)
    assert store.judge(one).state is APPROVED
    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("line", "files"),
    [
        ("hooks/check.sh", ["hooks/check.sh"]),
        ('"$CLAUDE_PROJECT_DIR"/hooks/check.sh', ["hooks/check.sh"]),
        ("${CLAUDE_PROJECT_DIR}/hooks/check.sh", ["hooks/check.sh"]),
        ("python3 -c 'import os' --config=data.json", ["data.json"]),
        ("cd hooks && ./check.sh", ["hooks/check.sh"]),
        ("bash -c 'sh hooks/check.sh'", ["hooks/check.sh"]),
        ("jq . < data.json", ["data.json"]),
        ("date >> data.json", []),
        ("date | tee data.json", []),
        ("FOO=1 sudo hooks/check.sh", ["hooks/check.sh"]),
        ("sh hooks/check.sh; 'unclosed", ["hooks/check.sh"]),
        ("/bin/true", []),
        ("cat ../outside.txt", []),
    ],
)
def test_the_files_that_a_line_names(folder: Path, line: str, files: list[str]) -> None:
    (folder.parent / "outside.txt").write_text("x")
    words = words_of_line(line, {"CLAUDE_PROJECT_DIR": str(folder)})
    assert [os.path.relpath(path, folder) for path in named_files(words, folder)] == files


@pytest.mark.parametrize(
    ("line", "missing"),
    [
        ("hooks/check.sh", ""),
        ("hooks/gone.sh --fast", "hooks/gone.sh"),
        ('"$CLAUDE_PROJECT_DIR"/hooks/gone.sh', "{folder}/hooks/gone.sh"),
        ("python3 hooks/gone.py", "hooks/gone.py"),
        ("python3 -u gone.py", "gone.py"),
        ("python3 -m gone", ""),
        ("python3 -c 'print(1)'", ""),
        ("bash hooks/check.sh", ""),
        ("node gone.js || true", "gone.js"),
        ("cd hooks && ./check.sh", ""),
        ("$TOOL/x.sh", ""),
        ("make", ""),
        ("echo hooks/gone.sh", ""),
        ("/usr/bin/env python3 gone.py", "gone.py"),
    ],
)
def test_a_script_that_does_not_exist_is_found(folder: Path, line: str, missing: str) -> None:
    variables = {"CLAUDE_PROJECT_DIR": str(folder)}
    assert missing_script(line, variables, folder) == missing.format(folder=folder)
