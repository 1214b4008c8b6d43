"""What runs unasked where no sandbox hides files with keys, and what of plain reading still asks."""

import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import cast

import pytest

from forge_core.approval import Effect
from forge_core.config.permission_mode import PermissionMode
from forge_core.permissions import Decision, PermissionPolicy, Verdict
from forge_core.permissions.sandbox.sandbox_state import SandboxStrength
from forge_core.tools import BashTool, ExecutionContext, ToolExecutor
from forge_core.tools.base import ToolUse

ALLOW, ASK = Decision.ALLOW, Decision.ASK
AUTO = PermissionMode.AUTO

Git = Callable[..., None]
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"


def make_project(root: Path) -> Path:
    (root / "src").mkdir(parents=True)
    for name in ("src/a.py", "src/b.py", "README.md", ".env", "server.pem"):
        (root / name).write_text("x\n")
    for folder in ("one", "two"):
        (root / folder).mkdir()
        (root / folder / ".env").write_text(f"KEY={folder}\n")
    (root / "plain.txt").symlink_to(".env")
    (root / "away").symlink_to("/etc")
    return root


def run_git(root: Path, *words: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", *identity, *words], cwd=root, check=True, capture_output=True)


@pytest.fixture(autouse=True)
def _system_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", SYSTEM_PATH)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_project(tmp_path / "project")


@pytest.fixture
def git(root: Path) -> Git:
    run_git(root, "init", "-q", "-b", "main")
    return partial(run_git, root)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository without a commit, for tests that change nothing in it."""
    root = make_project(tmp_path_factory.mktemp("repository") / "project")
    run_git(root, "init", "-q", "-b", "main")
    return root


def verdict(
    root: Path, line: str, sandbox: SandboxStrength = "off", mode: PermissionMode = PermissionMode.ASK
) -> Verdict:
    return PermissionPolicy(root, mode, sandbox=sandbox).decide("bash", ToolUse(Effect.RUN, line))


RUNS = [
    "ls", "ls -la src", "ls *.md", "pwd", "whoami", "date", "echo hello", "cat src/a.py", "cat src/*.py | head -5",
    "head -20 src/a.py", "tail -n 5 README.md", "wc -l src/*.py", "stat README.md", "sort src/a.py | uniq -c",
    "cut -d: -f1 src/a.py", "diff src/a.py src/b.py", "md5sum src/a.py", "grep -n foo src/a.py", "grep foo src/*.py",
    "cat src/a.py | grep -c x", "rg foo src/a.py", "cat src/a.py | rg foo", "rg -e foo src/a.py", "sed -n 1,5p src/a.py",
    "jq . README.md", "git status", "git status -s", "git diff", "git diff --stat HEAD", "git diff HEAD src", "git diff README.md", "git log --oneline -5", "git log -p -1",
    "git show HEAD", "git branch -a", "git rev-parse HEAD", "git ls-files", "git blame src/a.py", "git stash list",
    "cd src && cat a.py", "cd src && git log -1", "test -f README.md && echo yes", "[ -f src/a.py ] && cat src/a.py",
    "wc -l < src/a.py", "timeout 5 ls", "which python", "nproc", "cat src/a.py 2>/dev/null",
]  # fmt: skip

STILL_ASKS = [
    # It goes through folders by itself.
    "grep -r foo .", "grep -rn foo src", "grep -R foo src", "grep --recursive foo", "grep -rn --include='*.py' foo .",
    "cd src && grep -rn foo", "rg foo", "rg foo src", "rg -n foo src tests", "rg --files", "rg -l foo README.md src",
    "rg -e foo -e bar", "rg foo missing", "find . -name '*.py'", "find src -type f | head", "fd foo", "tree", "tree -L 2",
    "ls -R", "ls -lR src", "ls --recursive", "du -sh .", "git grep foo", "git grep -n foo -- src", "grep -ilr x src | head",
    # It compares folders, or its pipe is taken away and it searches the folder.
    "git diff one two", "git diff -- one/ two/", "git --no-pager diff one two", "git diff {root}/one {root}/two",
    "git diff one README.md", "git diff o*", "diff -N o* two", "diff -N one tw?", "diff one* src/a.py", "diff -N on?",
    "cat src/a.py | (rg foo </dev/null)", "cat src/a.py | rg foo <&-", "cat src/a.py | { rg foo; } </dev/null",
    # Its paths cannot all be listed, or lie elsewhere, or hold keys.
    "cat .env", "cat .e*", "cat plain.txt", "cat *", "cat src/../.env", "cat server.pem", "head *.pem", "cat away/passwd",
    "cat /etc/hosts", "cat ../x", "cat ~/.ssh/id_rsa", "cat $F", "cat $(ls)", "cat < .env", "cat `pwd`/.env", "xargs cat",
    "ls | xargs cat", "git diff --no-index .env README.md", "git show HEAD:.env", "git -C .. status", "cd .. && ls",
    "cat .[e]nv", "cat src/*/*/*/a", "grep -f .env README.md", "grep x -r", "grep -d recurse x .",
    # It shows what other programs do, or the program is not the system's own.
    "ps aux", "ps -ef", "ps", "go version", "go env", "pip list", "pip show requests", "./ls", "src/cat README.md",
    # It does more than read.
    "touch x", "echo x > y", "cat src/a.py > y", "sed -i s/a/b/ src/a.py", "make", "python x.py", "git add .", "git push",
    "git log --output=x", "git diff --ext-diff", "git config user.name x", "LS_COLORS=x ls", "ls; make", "ls && ./x", "ls | sh",
]  # fmt: skip


@pytest.mark.parametrize("sandbox", ["off", "weak"])
def test_read_only_commands_on_listed_files_run_unasked(repository: Path, sandbox: SandboxStrength) -> None:
    for line in RUNS:
        found = verdict(repository, line, sandbox)
        assert found.decision is ALLOW, (line, found.reason)
        assert found.is_read_only, line


@pytest.mark.parametrize("sandbox", ["off", "weak"])
@pytest.mark.parametrize("mode", [PermissionMode.ASK, PermissionMode.ACCEPT_EDITS, AUTO])
def test_other_commands_ask_in_every_asking_mode(
    repository: Path, mode: PermissionMode, sandbox: SandboxStrength
) -> None:
    lines = [line.replace("{root}", str(repository)) for line in STILL_ASKS]
    assert [line for line in lines if verdict(repository, line, sandbox, mode).decision is not ASK] == []


def test_what_runs_unasked_without_a_sandbox_does_in_a_full_one(repository: Path) -> None:
    # STILL_ASKS asks without a sandbox, see above.
    assert [line for line in RUNS if verdict(repository, line, "full").decision is not ALLOW] == []


def test_the_prompt_explains_why_reading_asks(root: Path) -> None:
    found = verdict(root, "grep -r foo src", mode=AUTO)
    assert "whole folders" in found.reason
    assert not found.is_usual
    assert "even in mode auto" in verdict(root, "make", mode=AUTO).reason


@pytest.mark.parametrize("entry", ["{root}/bin", "bin", "", "."])
def test_a_project_program_on_the_path_asks(root: Path, monkeypatch: pytest.MonkeyPatch, entry: str) -> None:
    folder = root if entry in ("", ".") else root / "bin"
    folder.mkdir(exist_ok=True)
    monkeypatch.setenv("PATH", f"{entry.format(root=root)}:/usr/bin:/bin")
    assert verdict(root, "cat README.md").decision is ALLOW
    (folder / "cat").write_text("#!/bin/sh\ntouch evil\n")
    (folder / "cat").chmod(0o755)
    assert verdict(root, "cat README.md").decision is ASK
    assert verdict(root, "head README.md").decision is ALLOW


def test_version_queries_run_unasked_only_for_system_programs(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shim = tmp_path / "shims/node"
    shim.parent.mkdir()
    shim.write_text("#!/bin/sh\n")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", f"{shim.parent}:/usr/bin:/bin")
    assert verdict(root, "node --version").decision is ASK
    assert verdict(root, "git --version").decision is ALLOW


def test_git_cannot_show_changes_of_a_tracked_secret_file_unasked(root: Path, git: Git) -> None:
    git("add", "-f", ".env", "src")
    git("commit", "-q", "-m", "first")
    assert verdict(root, "git diff").decision is ALLOW, "nothing has changed"
    (root / ".env").write_text("KEY=new\n")
    for line in ("git diff", "git status -v", "git diff HEAD --stat", "cd src && git diff"):
        found = verdict(root, line)
        assert found.decision is ASK, line
        assert ".env" in found.reason
    assert verdict(root, "git log -p").decision is ASK, "the history holds it"
    assert verdict(root, "git diff", "full").decision is ALLOW
    (root / ".git/index").write_bytes(b"DIRC\0\0\0\4 .env")
    assert verdict(root, "git diff").decision is ASK, "an index that cannot be read"


def test_a_prefix_compressed_index_does_not_hide_a_changed_secret_file(root: Path, git: Git) -> None:
    (root / ".eaaa").write_text("x")
    git("add", "-f", ".eaaa", ".env")
    git("update-index", "--index-version", "4")
    git("commit", "-q", "-m", "first")
    assert b".env" not in (root / ".git/index").read_bytes()
    assert verdict(root, "git diff").decision is ALLOW
    (root / ".env").write_text("KEY=new\n")
    assert verdict(root, "git diff").decision is ASK


def test_a_repository_whose_config_runs_programs_asks(root: Path, git: Git) -> None:
    git("config", "core.fsmonitor", "./evil")
    assert verdict(root, "git status").decision is ASK


async def test_git_runs_no_program_from_a_config_changed_after_the_decision(root: Path, git: Git) -> None:
    git("add", "src")
    git("commit", "-q", "-m", "first")
    (root / "src/a.py").write_text("changed\n")
    evil = root.parent / "evil.sh"
    evil.write_text(f"#!/bin/sh\ntouch {root}/ran\n")
    evil.chmod(0o755)
    plain = (root / ".git/config").read_text()

    class Outrun(PermissionPolicy):
        def decide(self, tool_name: str, use: ToolUse) -> Verdict:
            (root / ".git/config").write_text(plain)
            found = super().decide(tool_name, use)
            for name in ("core.fsmonitor", "diff.external", "core.pager"):
                git("config", name, str(evil))
            return found

    executor = ToolExecutor(Outrun(root))
    for line in ("git status", "git diff", "git log -p -1"):
        result = await executor.execute(BashTool(), {"command": line}, ExecutionContext(working_dir=root))
        assert "not allowed" not in result.output + (result.error or "")
        assert not (root / "ran").exists(), line


@pytest.mark.parametrize(
    "line",
    [
        "grep -r KEY .",
        "grep -rn KEY",
        "grep --recursive KEY one",
        "rg --hidden KEY",
        "rg -. KEY",
        "rg -uu KEY",
        "rg --hidden KEY -g '!*.md'",
        "cd one && grep -rn KEY",
    ],
)
def test_a_rule_for_searching_does_not_cover_hidden_keys_without_a_sandbox(root: Path, line: str) -> None:
    rules = ["bash(grep:*)", "bash(rg:*)", "bash(cd:*)"]
    for sandbox, expected in (("off", ASK), ("weak", ASK), ("full", ALLOW)):
        policy = PermissionPolicy(root, allow=rules, sandbox=cast("SandboxStrength", sandbox))
        assert policy.decide("bash", ToolUse(Effect.RUN, line)).decision is expected
    exact = PermissionPolicy(root, allow=[f"bash({line})"])
    assert exact.decide("bash", ToolUse(Effect.RUN, line)).decision is ALLOW
    inside = "grep -r KEY src"
    assert PermissionPolicy(root, allow=rules).decide("bash", ToolUse(Effect.RUN, inside)).decision is ALLOW
