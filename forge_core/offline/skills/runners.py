"""Test runners: the command for a project, by the names of its files, and the report in the output. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_PYTHON = "pytest.ini pyproject.toml setup.py setup.cfg tox.ini conftest.py requirements.txt"
_BY_FILE: tuple[tuple[tuple[str, ...], str], ...] = (
    (tuple(_PYTHON.split()), "PYTHON"),
    (("package.json",), "npm test"), (("go.mod",), "go test ./..."), (("Cargo.toml",), "cargo test"),
    (("mix.exs",), "mix test"), (("pom.xml",), "mvn -q test"), (("composer.json",), "composer test"),
    (("Gemfile", "Rakefile"), "bundle exec rake test"), (("deno.json", "deno.jsonc"), "deno test"),
    (("build.gradle", "build.gradle.kts"), "./gradlew test"), (("Package.swift",), "swift test"),
    (("Makefile", "makefile", "GNUmakefile"), "make test"),
)  # fmt: skip


def python_of(names: Sequence[str]) -> str:
    """Return the interpreter for a project with these top-level names: its own environment's where there is
    one."""
    folders = {name.rstrip("/") for name in names}
    for environment in (".venv", "venv", "env"):
        if environment in folders:
            return f"{environment}/bin/python"
    return "python3"


def install_command(names: Sequence[str]) -> str:
    """Return a command line that gives a Python project an environment of its own with what its tests
    need."""
    lists = [name for name in names if name.startswith("requirements") and name.endswith((".txt", ".in"))]
    wanted = [name for name in lists if "dev" in name or "test" in name] or lists[:1]
    needs = "".join(f" -r {name}" for name in wanted[:2])
    if not needs and {"pyproject.toml", "setup.py"} & set(names):
        needs = " -e ."
    has_environment = python_of(names) != "python3"
    # The folder ignores itself, as it does from Python 3.13 on: git and searches then leave it out.
    make = "" if has_environment else "python3 -m venv .venv && echo '*' > .venv/.gitignore && "
    python = python_of(names) if has_environment else ".venv/bin/python"
    return f"{make}{python} -m pip install pytest{needs}"


def command_for_tests(names: Sequence[str], path: str = "", only: str = "") -> str:
    """Return the command line that runs the tests (only those in `path`, or whose names hold the word `only`,
    where the runner can), "" when unknown."""
    bare = {name.rstrip("/") for name in names}
    chosen = f" -k {only}" if only else ""
    python = f"{python_of(names)} -m pytest -q{chosen}"
    if path.endswith(".py") or "::" in path:
        return f"{python} {path}"
    for files, command in _BY_FILE:
        if bare & set(files):
            return _with_path(python if command == "PYTHON" else command, path)
    is_python = any(name.endswith(".py") and "test" in name for name in bare)
    return _with_path(python, path) if is_python or bare & {"tests", "test"} else ""


def _with_path(command: str, path: str) -> str:
    if not path:
        return command
    if command == "go test ./...":
        return f"go test ./{path.strip('./')}/..."
    return f"{command} {path}" if "pytest" in command else command


_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_PYTEST = re.compile(
    r"^=*\s*((?:\d+ [a-z]+(?:, )?)+) in [\d.:]+s?\b.*$|^=*\s*(no tests ran) in .*$", re.MULTILINE
)
_PYTEST_COUNT = re.compile(r"(\d+) (passed|failed|errors?|skipped|xfailed|xpassed|deselected|warnings?)")
_PYTEST_FAILING = re.compile(r"^(?:FAILED|ERROR) (\S+?\[.*\]|\S+)(?: - .*)?$", re.MULTILINE)
_UNITTEST = re.compile(
    r"^Ran (\d+) tests? in [\d.]+s\s+^(OK|FAILED|NO TESTS RAN)(?: \(([^)]*)\))?", re.MULTILINE
)
_UNITTEST_FAILING = re.compile(r"^(?:FAIL|ERROR): (\S+ \([^)]+\)|\S+)", re.MULTILINE)
_CARGO = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", re.MULTILINE)
_CARGO_FAILING = re.compile(r"^test (\S+) \.\.\. FAILED$", re.MULTILINE)
_GO = re.compile(r"^\s*--- (PASS|FAIL|SKIP): (\S+)", re.MULTILINE)
_GO_PACKAGE = re.compile(r"^(ok|FAIL)\s+(\S+)\s", re.MULTILINE)
_JEST = re.compile(r"^\s*Tests:?\s+((?:\d+ (?:failed|passed|skipped|todo|total)(?:, | \| )?)+)", re.MULTILINE)
_JEST_FAILING = re.compile(r"^\s*(?:●|×|✕|FAIL)\s+(.+?)(?: \(\d+ ?ms\)| \d+ms)?$", re.MULTILINE)
_MOCHA = re.compile(r"^\s*(\d+) (passing|failing|pending)\b", re.MULTILINE)
_TAP = re.compile(r"^[#ℹ] (pass|fail|skipped|cancelled) (\d+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class RunnerReport:
    """The counts a runner printed."""

    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0
    failing: tuple[str, ...] = ()
    unit: str = "test"
    """What is counted."""

    @property
    def is_green(self) -> bool:
        return not self.failed and not self.errors

    @property
    def total(self) -> int:
        return self.passed + self.failed + self.errors + self.skipped


def read_report(output: str) -> RunnerReport | None:
    """Return the report in a command's output; None when no runner that we know has printed one."""
    text = _ANSI.sub("", output)
    for reader in (_pytest, _unittest, _cargo, _jest, _tap, _mocha, _go):
        report = reader(text)
        if report is not None:
            return report
    return None


def _pytest(text: str) -> RunnerReport | None:
    lines = list(_PYTEST.finditer(text))
    if not lines:
        return None
    n = _counted(_PYTEST_COUNT.findall(lines[-1][0]))
    if not n and not lines[-1][2]:
        return None
    passed, skipped = n["passed"] + n["xpassed"], n["skipped"] + n["xfailed"]
    failing = _unique(_PYTEST_FAILING.findall(text))
    return RunnerReport(passed, n["failed"], n["error"] + n["errors"], skipped, failing)


def _unittest(text: str) -> RunnerReport | None:
    found = list(_UNITTEST.finditer(text))
    if not found:
        return None
    counts = {key.strip(): int(value) for key, value in re.findall(r"([a-z ]+)=(\d+)", found[-1][3] or "")}
    failed, errors, skipped = counts.get("failures", 0), counts.get("errors", 0), counts.get("skipped", 0)
    passed = max(int(found[-1][1]) - failed - errors - skipped, 0)
    return RunnerReport(passed, failed, errors, skipped, _unique(_UNITTEST_FAILING.findall(text)))


def _cargo(text: str) -> RunnerReport | None:
    found = _CARGO.findall(text)
    if not found:
        return None
    passed, failed, ignored = (sum(int(row[column]) for row in found) for column in range(3))
    return RunnerReport(passed, failed, 0, ignored, _unique(_CARGO_FAILING.findall(text)))


def _jest(text: str) -> RunnerReport | None:
    found = _JEST.findall(text)
    if not found:
        return None
    n = _counted(re.findall(r"(\d+) (\w+)", found[-1]))
    failing = _unique(_JEST_FAILING.findall(text))
    return RunnerReport(n["passed"], n["failed"], 0, n["skipped"] + n["todo"], failing)


def _tap(text: str) -> RunnerReport | None:
    n = _counted((number, word) for word, number in _TAP.findall(text))
    if "pass" not in n:
        return None
    failing = re.findall(r"^not ok \d+ -? ?(.+)$", text, re.MULTILINE)
    return RunnerReport(n["pass"], n["fail"], n["cancelled"], n["skipped"], _unique(failing))


def _mocha(text: str) -> RunnerReport | None:
    n = _counted(_MOCHA.findall(text))
    if "passing" not in n and "failing" not in n:
        return None
    return RunnerReport(n["passing"], n["failing"], 0, n["pending"])


def _go(text: str) -> RunnerReport | None:
    tests = _GO.findall(text)
    packages = [(word, name) for word, name in _GO_PACKAGE.findall(text) if name not in ("|",)]
    if not packages:
        return None
    failing = _unique([name for word, name in tests if word == "FAIL"])
    bad = [name for word, name in packages if word == "FAIL"]
    return RunnerReport(len(packages) - len(bad), len(bad), 0, 0, failing or _unique(bad), "package")


def _counted(pairs: Iterable[tuple[str, str]]) -> Counter[str]:
    """Return the last number before each word."""
    return Counter({word: int(number) for number, word in pairs})


def _unique(names: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for name in names))
