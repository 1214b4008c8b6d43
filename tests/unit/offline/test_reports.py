"""Test runners' outputs are read for what they say, and no more."""

from __future__ import annotations

import pytest

from forge_core.offline.conversation import CallOutcome, CallStatus
from forge_core.offline.skills.runners import RunnerReport, command_for_tests, install_command, read_report
from forge_core.offline.skills.running import report_of_command, report_of_tests

PYTEST = """..F..E
=================================== FAILURES ===================================
E       assert 1 == 2
=========================== short test summary info ============================
FAILED tests/test_a.py::test_one[x - y] - assert 1 == 2
ERROR tests/test_b.py - ImportError: no
1 failed, 4 passed, 2 skipped, 1 error in 12.34s
"""
UNITTEST = """F.s
======================================================================
FAIL: test_it (tests.test_a.Case.test_it)
----------------------------------------------------------------------
Ran 3 tests in 0.001s

FAILED (failures=1, skipped=1)
"""
CARGO = """test a ... ok
test b::c ... FAILED

test result: FAILED. 1 passed; 1 failed; 2 ignored; 0 measured; 0 filtered out
test result: ok. 5 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out
"""
GO = """--- FAIL: TestThing (0.00s)
    thing_test.go:5: no
FAIL
FAIL\texample.org/thing\t0.002s
ok  \texample.org/other\t0.003s
"""
JEST = """ ● adds › one

Test Suites: 1 failed, 1 total
Tests:       1 failed, 5 passed, 6 total
"""
NODE = """# tests 3
# pass 2
# fail 1
# skipped 0
not ok 2 - adds up
"""
MOCHA = """  5 passing (12ms)
  1 failing
"""


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (PYTEST, RunnerReport(4, 1, 1, 2, ("tests/test_a.py::test_one[x - y]", "tests/test_b.py"))),
        ("===== 3 passed, 1 warning in 0.1s =====", RunnerReport(3)),
        ("\x1b[32m\x1b[1m3 passed\x1b[0m\x1b[32m in 0.02s\x1b[0m", RunnerReport(3)),
        ("no tests ran in 0.01s", RunnerReport()),
        (UNITTEST, RunnerReport(1, 1, 0, 1, ("test_it (tests.test_a.Case.test_it)",))),
        ("Ran 2 tests in 0.1s\n\nOK", RunnerReport(2)),
        (CARGO, RunnerReport(6, 1, 0, 2, ("b::c",))),
        (GO, RunnerReport(1, 1, 0, 0, ("TestThing",), "package")),
        (JEST, RunnerReport(5, 1, 0, 0, ("adds › one",))),
        (NODE, RunnerReport(2, 1, 0, 0, ("adds up",))),
        (MOCHA, RunnerReport(5, 1)),
    ],
    ids=("pytest", "green", "coloured", "none", "unittest", "ok", "cargo", "go", "jest", "node", "mocha"),
)
def test_test_runner_counts_are_read(output: str, expected: RunnerReport) -> None:
    assert read_report(output) == expected


@pytest.mark.parametrize(
    "output", ["", "hello", "I passed 3 in 2s maybe", "FAILED", "Traceback: 5 errors", "5 passed"]
)
def test_other_output_is_not_read_as_a_test_report(output: str) -> None:
    assert read_report(output) is None


def test_passing_counts_with_a_nonzero_exit_code_are_not_reported_as_a_pass() -> None:
    outcome = CallOutcome("Error: exit code 2\n3 passed in 0.1s", CallStatus.FAILED)
    told = report_of_tests("pytest", outcome, ())
    assert "ended with exit code 2" in told
    assert "tests pass" not in told


def test_a_non_test_command_is_not_reported_as_a_test() -> None:
    told = report_of_command("cat notes.txt", CallOutcome("3 passed in 0.1s\n[exit code 0, 0.1 s]"))
    assert "`cat notes.txt` succeeded" in told
    assert "exit code" not in told


def test_a_command_without_output_is_reported_as_such() -> None:
    told = report_of_command("true", CallOutcome("(no output)\n[exit code 0, 0.0 s]"))
    assert told == "`true` succeeded and printed nothing."


def test_a_command_that_ran_too_long_is_reported_as_stopped() -> None:
    outcome = CallOutcome(
        "Error: timed out after 120 s; the command was ended. Its output:\n...", CallStatus.FAILED
    )
    assert "took too long" in report_of_command("sleep 999", outcome)


@pytest.mark.parametrize(
    ("names", "path", "expected"),
    [
        (["pyproject.toml"], "", "python3 -m pytest -q"),
        (["pyproject.toml", ".venv/"], "tests/unit", ".venv/bin/python -m pytest -q tests/unit"),
        (["package.json"], "", "npm test"),
        (["go.mod"], "pkg/a", "go test ./pkg/a/..."),
        (["Cargo.toml"], "", "cargo test"),
        (["Makefile"], "", "make test"),
        (["tests/"], "", "python3 -m pytest -q"),
        (["notes.md"], "", ""),
        (["notes.md"], "test_a.py", "python3 -m pytest -q test_a.py"),
    ],
)
def test_the_test_command_is_derived_from_project_files(names: list[str], path: str, expected: str) -> None:
    assert command_for_tests(names, path) == expected


def test_test_requirements_are_installed_from_project_files() -> None:
    assert install_command(["pyproject.toml"]).endswith(".venv/bin/python -m pip install pytest -e .")
    assert "-r requirements-dev.txt" in install_command(["requirements.txt", "requirements-dev.txt"])
    assert install_command([".venv/"]) == ".venv/bin/python -m pip install pytest"
