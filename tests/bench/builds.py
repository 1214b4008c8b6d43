"""Real builds in the sandbox: `python -m tests.bench.builds` prints how each went, inside and outside.

Small projects without dependencies, one for each toolchain: tests of Python, Node, Rust, Go, C and Java. Maven
takes its plugins from Debian's repository. A toolchain that is not installed is named and left out.
Exit status 1 if a build succeeds outside the sandbox and fails inside it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from forge_core.permissions.sandbox.probing import probe_now
from forge_core.permissions.sandbox.sandbox import Sandbox
from forge_core.permissions.sandbox.sandbox_state import SandboxKind, SandboxState

_TIMEOUT_S = 300
_SHOWN_LINES = 15
_DEBIAN_MAVEN = "/usr/share/maven-repo"


@dataclass(frozen=True)
class Project:
    program: str
    command: str
    files: Mapping[str, str]


PROJECTS = {
    "Python": Project(
        "python3",
        f"{sys.executable} -m pytest -q",
        {
            "pytest.ini": "[pytest]\n",
            "adding.py": "def add(a, b):\n    return a + b\n",
            "test_adding.py": "from adding import add\n\n\ndef test_add(tmp_path):\n"
            "    (tmp_path / 'sum').write_text(str(add(1, 2)))\n    assert (tmp_path / 'sum').read_text() == '3'\n",
        },
    ),
    "Node": Project(
        "npm",
        "npm test",
        {
            "package.json": '{"name": "adding", "version": "1.0.0", "scripts": {"test": "node test.js"}}\n',
            "test.js": "require('assert').strictEqual(require('./adding')(1, 2), 3)\n",
            "adding.js": "module.exports = (a, b) => a + b\n",
        },
    ),
    "Rust": Project(
        "cargo",
        "cargo test --offline",
        {
            "Cargo.toml": '[package]\nname = "adding"\nversion = "0.1.0"\nedition = "2021"\n',
            "src/lib.rs": "pub fn add(a: i32, b: i32) -> i32 { a + b }\n#[test]\n"
            "fn adds() { assert_eq!(add(1, 2), 3) }\n",
        },
    ),
    "Go": Project(
        "go",
        "go vet ./... && go test ./...",
        {
            "go.mod": "module adding\n\ngo 1.19\n",
            "adding.go": "package adding\n\nfunc Add(a, b int) int { return a + b }\n",
            "adding_test.go": 'package adding\n\nimport "testing"\n\n'
            'func TestAdd(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Fatal("sum")\n\t}\n}\n',
        },
    ),
    "C": Project(
        "cmake",
        "cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure",
        {
            "CMakeLists.txt": "cmake_minimum_required(VERSION 3.16)\nproject(adding C)\nenable_testing()\n"
            "add_executable(adding adding.c)\nadd_test(NAME adding COMMAND adding)\n",
            "adding.c": "int main(void) { return 1 + 2 == 3 ? 0 : 1; }\n",
        },
    ),
    "Java": Project(
        "mvn",
        f"mvn -o -q -Dmaven.repo.local={_DEBIAN_MAVEN} compile && java -cp target/classes Adding",
        {
            "pom.xml": "<project><modelVersion>4.0.0</modelVersion><groupId>g</groupId><artifactId>adding</artifactId>"
            "<version>1</version><properties><maven.compiler.source>11</maven.compiler.source>"
            "<maven.compiler.target>11</maven.compiler.target>"
            "<project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties></project>\n",
            "src/main/java/Adding.java": "public class Adding { public static void main(String[] a) "
            '{ if (1 + 2 != 3) System.exit(1); System.out.println("3"); } }\n',
        },
    ),
}


def build(project: Project, state: SandboxState, scratch: Path) -> tuple[int, float, str]:
    """Build a fresh copy of the project; return exit status, seconds and output."""
    folder = scratch / f"project-{state.strength}"
    shutil.rmtree(folder, ignore_errors=True)
    for name, text in project.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    box = Sandbox(state, folder, state_dir=scratch / "state")
    started = time.monotonic()
    with box.launch(["bash", "-c", project.command], folder, dict(os.environ)) as launch:
        done = subprocess.run(
            launch.argv,
            env=dict(launch.environment),
            pass_fds=launch.pass_fds,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_TIMEOUT_S,
            check=False,
        )
    return done.returncode, time.monotonic() - started, done.stdout.decode("utf-8", "replace")


def main() -> int:
    worse = 0
    # Not in /tmp, which is another one in the sandbox.
    with tempfile.TemporaryDirectory(prefix="builds-", dir=Path.home()) as name:
        scratch = Path(name)
        inside = probe_now(root=scratch, environment=os.environ)
        print(inside.label)
        for language, project in PROJECTS.items():
            if shutil.which(project.program) is None:
                print(f"{language:8} {project.program} is not installed")
                continue
            outer = build(project, SandboxState(SandboxKind.OFF), scratch)
            inner = build(project, inside, scratch)
            words = [
                f"{'ok' if status == 0 else f'exit {status}'} {spent:.1f} s"
                for status, spent, _ in (outer, inner)
            ]
            print(f"{language:8} outside {words[0]:12} inside {words[1]:12} {project.command}", flush=True)
            if outer[0] == 0 != inner[0]:
                worse += 1
                print("\n".join(inner[2].splitlines()[-_SHOWN_LINES:]))
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
