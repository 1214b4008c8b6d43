"""Approvals of programs hold for exactly what the user has seen."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from forge_core.extensions.approvals import ApprovalState, ApprovalStore, DeclaredProgram, ProgramKind
from forge_core.extensions.program_files import (
    UncheckableError,
    missing_script,
    named_files,
    words_of_arguments,
    words_of_line,
)

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


@pytest.mark.parametrize("key", ["entry", "files", "texts", "digest", "approved", "at"])
@pytest.mark.parametrize("value", [None, 1, "x", [], {"hooks/check.sh": 1}, {"hooks/check.sh": [[]]}])
def test_a_damaged_record_of_a_program_approves_nothing_that_has_changed(
    folder: Path, tmp_path: Path, key: str, value: object
) -> None:
    store, one = ApprovalStore(tmp_path), program(folder)
    approve(store, one)
    [path] = (tmp_path / "approvals").glob("*.json")
    content = json.loads(path.read_text())
    content["programs"]["hook check"][key] = value
    path.write_text(json.dumps(content))
    (folder / "hooks/check.sh").write_text("exit 1\n")
    assert store.judge(one).state is CHANGED


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
        # Each would run a file that a later commit may change.
        ("bin/touch x", ["bin/touch"]),
        ("tee copy < data.json | sh", ["data.json"]),
        ("touch() { sh $1; }; touch data.json", ["data.json"]),
        ("link/../run", ["bin/run"]),
        ("cd bin && cd deep && sh run", ["bin/deep/run", "bin/run"]),
        ("sh bin/*", ["bin/__main__.py", "bin/check.js", "bin/mod.py", "bin/run", "bin/touch"]),
        ("for one in bin/r*; do sh $one; done", ["bin/run"]),
        ("ls bin/*; case $x in *.json) ;; esac", []),
        ("PATH=bin:$PATH run", ["bin/run"]),
        ('"$(git rev-parse --show-toplevel)"/bin/run', ["bin/run"]),
        ('"$(git rev-parse --show-toplevel)/bin/run"', ["bin/run"]),
        ("python3 -c 'exec(open(\"bin/run\").read())'", ["bin/run"]),
        ("python3 -m bin.mod", ["bin/mod.py"]),
        ("python3 bin", ["bin/__main__.py"]),
        ("node bin/check", ["bin/check.js"]),
        ("make lint", ["Makefile"]),
        ("npm run lint", ["package.json"]),
        ("run-parts bin", ["bin/__main__.py", "bin/check.js", "bin/mod.py", "bin/run", "bin/touch"]),
        ("jq '.a[0]/.b[1]/.c[2]/.d[3]' < data.json", ["data.json"]),
        (f"python3 -c '{'x = 1;' * 100}'", []),
        ("cat /\ud800/x", []),
        ("cat ../outside.txt", []),
    ],
)
def test_the_files_that_a_line_names(folder: Path, line: str, files: list[str]) -> None:
    (folder.parent / "outside.txt").write_text("x")
    (folder / "bin/deep").mkdir(parents=True)
    (folder / "link").symlink_to("bin/deep")
    more = ("run", "touch", "deep/run", "mod.py", "check.js", "__main__.py", "../Makefile", "../package.json")
    for name in more:
        (folder / "bin" / name).write_text("exit 0\n")
    words = words_of_line(line, {"CLAUDE_PROJECT_DIR": str(folder)})
    assert [os.path.relpath(path, folder) for path in named_files(words, folder)] == files


def test_an_argument_list_names_what_its_words_and_the_code_in_them_name(folder: Path) -> None:
    def named(*argv: str) -> list[str]:
        words = words_of_arguments(argv, {"CLAUDE_PROJECT_DIR": str(folder)})
        return [os.path.relpath(path, folder) for path in named_files(words, folder)]

    (folder / "check.sh -v").write_text("exit 0\n")
    assert named("sh", "-c", "cd hooks && ./check.sh") == ["hooks/check.sh"]
    assert named("sh", "-c", '"$CLAUDE_PROJECT_DIR"/hooks/check.sh') == ["hooks/check.sh"]
    assert named("./check.sh -v") == ["check.sh -v"]


@pytest.mark.parametrize(
    ("line", "problem"),
    [("sh many/*", "more than 200 files"), ("sh */*/*/*", "too many folders"), ("ls {dirs}", "32 folders")],
)
def test_what_names_too_much_to_check_is_refused(folder: Path, line: str, problem: str) -> None:
    names = [f"d{number}" for number in range(40)]
    for name in ("many", *names):
        (folder / name).mkdir()
    for number in range(201):
        (folder / f"many/{number}").touch()
    with pytest.raises(UncheckableError, match=problem):
        named_files(words_of_line(line.format(dirs=" ".join(names)), {}), folder)


def test_a_large_file_is_known_by_what_changes_with_each_write(folder: Path, tmp_path: Path) -> None:
    store, one = ApprovalStore(tmp_path / "state"), program(folder, "sh hooks/large")
    with (folder / "hooks/large").open("wb") as file:
        file.truncate(1_000_000_000_000)
    approve(store, one)
    assert store.judge(one).state is APPROVED
    with (folder / "hooks/large").open("r+b") as file:
        file.write(b"x")
    assert store.judge(one).differences == ("hooks/large has changed",)


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
