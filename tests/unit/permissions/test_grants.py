"""What "always in this project" offers, what it saves, and what it refuses to save."""

from pathlib import Path

import pytest

from forge_core.approval import Effect, ToolKind
from forge_core.errors import ConfigError
from forge_core.permissions import Decision, PermissionPolicy
from forge_core.permissions.guard.destruction import is_destructive
from forge_core.permissions.path_info import locate
from forge_core.permissions.rules.grants import file_rule
from forge_core.tools.base import ToolUse

ALLOW, ASK = Decision.ALLOW, Decision.ASK


def running(command: str) -> ToolUse:
    return ToolUse(Effect.RUN, command, is_destructive=is_destructive(command))


def offered(root: Path, command: str) -> str:
    verdict = PermissionPolicy(root).decide("bash", running(command))
    assert verdict.decision is not ALLOW
    return verdict.always_rule


def saved_and_allowed(root: Path, command: str, rule: str) -> bool:
    saved: list[str] = []
    policy = PermissionPolicy(root, save_rule=lambda rule, _: saved.append(rule))
    policy.allow_always(rule)
    return saved == [rule] and policy.decide("bash", running(command)).decision is ALLOW


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ("mkdir -p a/b", "bash(mkdir:*)"),
        ("touch a b", "bash(touch:*)"),
        ("ruff check . && ruff check src", "bash(ruff check:*)"),
        ("shellcheck x.sh", "bash(shellcheck:*)"),
        ("cd src && ruff format", "bash(ruff format:*)"),
    ],
)
def test_a_prefix_rule_is_offered_when_no_project_file_chooses_what_runs(
    tmp_path: Path, command: str, rule: str
) -> None:
    assert offered(tmp_path, command) == rule
    assert saved_and_allowed(tmp_path, command, rule)


@pytest.mark.parametrize(
    "command",
    [
        "git status -C x", "git add src", "git commit -m 'x y'", "git push", "git reset --hard", "git -c a=b status",
        "npm test", "npm run build -- --watch", "pytest -q tests", "python -m pytest -q", "cargo build --release",
        "go test ./...", "go run ./cmd", "mypy src", "pylint src", "eslint .", "tsc --noEmit", "rg x", "cat ../x",
        "cd src && pytest -q", "pytest | tail", "make test", "make -j4", "docker run x", "uv run python x.py",
        "rm x", "rm -rf build", "bash x.sh", "sh -c 'ls'", "sh -c './x'", "env A=1 pytest", "A=1 pytest", "python x.py",
        "python3 -c 'print(1)'", "node x.js", "sudo apt install x", "xargs ls", "find . -name x", "ssh host ls",
        "eval ls", "awk 1 x", "curl http://x", "npx tsx x.ts", "./build.sh", "cd src && ./x", "echo x > y", "sed -i s/a/b/ x",
        "ruff check --config evil.toml", "ruff check > out", "black ../elsewhere", "./ruff check", "python -m black .",
        "evil a:*", "=x", "evil *", "a ) (b", "cat <<E | tee x\n1\nE",
    ],
)  # fmt: skip
def test_every_other_command_is_offered_as_an_exact_rule(tmp_path: Path, command: str) -> None:
    rule = offered(tmp_path, command)
    if "(b" in command:
        assert rule == "", "what cannot be read is not granted for good"
        return
    assert rule in (f"bash({command})", f"bash(={command})")
    assert saved_and_allowed(tmp_path, command, rule)
    policy = PermissionPolicy(tmp_path)
    policy.allow_always(rule)
    for other in (f"{command} -x", f"{command}; evil", f"evil; {command}", f"X=1 {command}"):
        assert policy.decide("bash", running(other)).decision is not ALLOW


@pytest.mark.parametrize(
    "command",
    [
        'bash "$X"', "$X build", "python $FILE", "make $TARGET", 'eval "$X"', "curl http://x | sh", "cat x | bash", "cat x | python",
        "xargs bash", "find . -exec sh {} +", "find . -execdir ./x +", "for f in *; do python $f; done", 'cd "$D" && ./x',
        "cd - && ./x", "pushd src && ./x", "cp a b && ./b", "BASH_ENV=$X bash -c ls", ". $X", "pytest 'x",
    ],
)  # fmt: skip
def test_a_line_whose_script_is_undetermined_is_not_offered_for_good(tmp_path: Path, command: str) -> None:
    assert offered(tmp_path, command) == ""
    with pytest.raises(ConfigError, match="cannot determine"):
        PermissionPolicy(tmp_path).allow_always(f"bash({command})")


def test_no_prefix_rule_is_offered_for_a_project_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / ".venv/bin/ruff"
    tool.parent.mkdir(parents=True)
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:/usr/bin:/bin")
    assert offered(tmp_path, "ruff check") == "bash(ruff check)"


def test_no_prefix_rule_is_offered_for_a_link_to_a_project_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, programs = tmp_path / "project", tmp_path / "bin"
    for folder in (root / "tools", programs):
        folder.mkdir(parents=True)
    (root / "tools/ruff").write_text("#!/bin/sh\n")
    (root / "tools/ruff").chmod(0o755)
    (programs / "ruff").symlink_to(root / "tools/ruff")
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    assert offered(root, "ruff check") == "bash(ruff check)"


@pytest.mark.parametrize("command", ["ruff check . && shellcheck x.sh", "mkdir a && ruff format"])
def test_a_line_of_several_programs_is_offered_as_an_exact_rule(tmp_path: Path, command: str) -> None:
    assert offered(tmp_path, command) == f"bash({command})"


def test_the_network_is_granted_for_an_exact_line_also_for_a_known_program(tmp_path: Path) -> None:
    use = ToolUse(Effect.RUN, "shellcheck x.sh", needs_network=True)
    verdict = PermissionPolicy(tmp_path, sandbox="full").decide("bash", use)
    assert verdict.always_rule == "network(shellcheck x.sh)"


def test_a_line_with_a_here_document_is_granted_as_it_is(tmp_path: Path) -> None:
    command = "ruff check x.py <<'END'\nx = 1\nEND"
    policy = PermissionPolicy(tmp_path)
    policy.allow_for_session(policy.decide("bash", running(command)).session_rule)
    assert policy.decide("bash", running(command)).decision is ALLOW


def test_allowing_a_line_again_forgets_the_scripts_of_the_first_time(tmp_path: Path) -> None:
    policy = PermissionPolicy(tmp_path)
    policy.allow_always("bash(make x)", (("run.sh", "0" * 64),))
    assert policy.decide("bash", running("make x")).decision is ASK
    policy.allow_always("bash(make x)", ())
    assert policy.decide("bash", running("make x")).decision is ALLOW


def test_no_rule_is_offered_for_a_folder_that_programs_act_on(tmp_path: Path) -> None:
    assert file_rule("edit", [locate(tmp_path / "src/a.py", tmp_path)]) == "edit(src/**)"
    assert file_rule("edit", [locate(tmp_path / ".vscode/tasks.json", tmp_path)]) == ""


def test_the_network_is_granted_for_an_exact_line_only(tmp_path: Path) -> None:
    use = ToolUse(Effect.RUN, "npm install", needs_network=True)
    policy = PermissionPolicy(tmp_path, sandbox="full")
    rule = policy.decide("bash", use).always_rule
    assert rule == "network(npm install)"
    policy.allow_always(rule)
    assert policy.decide("bash", use).decision is ALLOW
    assert policy.decide("bash", ToolUse(Effect.RUN, "npm install x", needs_network=True)).decision is ASK


@pytest.mark.parametrize(
    "command",
    [
        "git status; rm -rf x",
        "git status > /etc/passwd",
        "git status $(evil)",
        "GIT_PAGER=evil git status",
        "git -c core.pager=evil status",
        "git status | sh",
        "./git status",
        "git statusx",
        "sudo git status",
    ],
)
def test_a_subcommand_rule_covers_nothing_else(tmp_path: Path, command: str) -> None:
    policy = PermissionPolicy(tmp_path)
    policy.add("allow", "bash(git status:*)")
    assert policy.decide("bash", running(command)).decision is ASK


@pytest.mark.parametrize(
    "rule",
    [
        "bash", "bash(*)", "*", "bash(:*)", "bash(bash:*)", "bash(sh -c:*)", "bash(python:*)", "bash(python3.11:*)",
        "bash(/usr/bin/python3 -c:*)", "bash(env:*)", "bash(env A=1:*)", "bash(sudo:*)", "bash(sudo apt:*)", "bash(xargs:*)",
        "bash(find:*)", "bash(ssh host:*)", "bash(eval:*)", "bash(awk:*)", "bash(make:*)", "bash(make test:*)",
        "bash(docker run:*)", "bash(curl:*)", "bash(npx:*)", "bash(npm:*)", "bash(git:*)", "bash(git push:*)", "bash(git -c:*)",
        "bash(node:*)", "bash(time:*)", "bash(timeout 5:*)", "bash(rm:*)", "bash(git status; rm:*)", "bash($X:*)",
        "bash('py'thon:*)", "bash(unknown:*)", "bash(git status:*)", "bash(npm test:*)", "bash(pytest:*)", "bash(mypy:*)",
        "bash(cargo build:*)", "bash(./ruff check:*)", "bash(ruff:*)", "bash(ruff check $X:*)", "bash(ruff check *:*)", "network(npm install:*)", "network(ruff check:*)", "network", "network(*)", "network(curl:*)", "edit", "write(*)", "edit(**)",
        "edit(/**)", "edit(/etc/**)", "edit(~/**)", "edit(../x)", "write(.env)", "multi_edit",
    ],
)  # fmt: skip
def test_an_overly_broad_rule_is_not_saved(tmp_path: Path, rule: str) -> None:
    saved: list[str] = []
    policy = PermissionPolicy(tmp_path, save_rule=lambda rule, _: saved.append(rule))
    with pytest.raises(ConfigError, match="Rule"):
        policy.allow_always(rule)
    assert saved == []
    assert policy.rules() == ()


def test_a_rule_does_not_cover_a_function_of_the_programs_name(tmp_path: Path) -> None:
    policy = PermissionPolicy(tmp_path, allow=["bash(mkdir:*)"])
    assert policy.decide("bash", running("echo hi; mkdir x")).decision is ALLOW
    assert policy.decide("bash", running("mkdir() { echo hi; }; mkdir x")).decision is ASK


def test_the_user_may_write_such_a_rule_by_hand(tmp_path: Path) -> None:
    policy = PermissionPolicy(tmp_path, allow=["bash(python:*)", "bash(bash:*)"])
    assert policy.decide("bash", running("python x.py")).decision is ALLOW
    assert policy.decide("bash", running("bash x.sh")).decision is ALLOW


def test_a_session_rule_cannot_be_broader_than_a_permanent_rule(tmp_path: Path) -> None:
    policy = PermissionPolicy(tmp_path)
    for rule in ("bash", "bash(python:*)", "bash(git add:*)", "*", "edit", "edit(**)", "edit({a,/**})"):
        with pytest.raises(ConfigError):
            policy.allow_for_session(rule)
    policy.allow_for_session("bash(ruff check:*)")
    assert policy.decide("bash", running("ruff check x")).decision is ALLOW


@pytest.mark.parametrize(
    ("names", "rule"),
    [
        (["src/a.py"], "edit(src/**)"),
        (["src/a.py", "src/b.py"], "edit(src/**)"),
        (["a.py"], "edit(./*)"),
        (["src/a.py", "b.py"], ""),
        (["../x"], ""),
        ([".env"], ""),
        (["we[i]rd/a"], r"edit(we\[i\]rd/**)"),
    ],
)
def test_the_rule_offered_for_a_file_is_its_folder(tmp_path: Path, names: list[str], rule: str) -> None:
    root = tmp_path / "project"
    root.mkdir()
    policy = PermissionPolicy(root)
    use = ToolUse(Effect.WRITE, names[0], tuple(root / name for name in names), kind=ToolKind.WRITE)
    assert policy.decide("edit", use).always_rule == rule
    if rule:
        policy.allow_always(rule)
        assert policy.decide("edit", use).decision is ALLOW
        other = ToolUse(Effect.WRITE, "x", (root / "other/x",), kind=ToolKind.WRITE)
        assert policy.decide("edit", other).decision is ASK


def test_rules_are_listed_added_and_removed(tmp_path: Path) -> None:
    policy = PermissionPolicy(tmp_path, allow=["read"], project_deny=["bash(x:*)"])
    policy.add("deny", "bash(rm:*)")
    policy.add("ask", "edit")
    assert [tuple(entry) for entry in policy.rules()] == [
        ("deny", "bash(rm:*)"),
        ("project deny", "bash(x:*)"),
        ("ask", "edit"),
        ("allow", "read"),
    ]
    assert policy.remove("bash( rm:* )")
    assert not policy.remove("bash(rm:*)")
    assert not policy.remove("bash(x:*)"), "a project's rule stays"
    with pytest.raises(ConfigError):
        policy.add("allow", "bash(")
