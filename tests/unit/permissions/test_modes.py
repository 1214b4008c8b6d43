"""Modes, the sandbox, the network, ask rules and a project's rules: what they let run, and what they ask."""

from pathlib import Path

import pytest

from forge_core.approval import Effect, ToolKind
from forge_core.config.permission_mode import PermissionMode
from forge_core.permissions import Decision, PermissionPolicy
from forge_core.tools.base import ToolUse

ALLOW, ASK, DENY = Decision.ALLOW, Decision.ASK, Decision.DENY
AUTO, YOLO, PLAN = PermissionMode.AUTO, PermissionMode.YOLO, PermissionMode.PLAN


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "src/a.py").write_text("x")
    (root / ".env").write_text("KEY=1")
    return root


def running(command: str, *, needs_network: bool = False, is_destructive: bool = False) -> ToolUse:
    return ToolUse(Effect.RUN, command, is_destructive=is_destructive, needs_network=needs_network)


def writing(*paths: Path) -> ToolUse:
    return ToolUse(Effect.WRITE, str(paths[0]), paths, kind=ToolKind.WRITE)


def test_an_ask_rule_beats_every_allow_and_every_mode(root: Path) -> None:
    for mode in (PermissionMode.ASK, PermissionMode.ACCEPT_EDITS, AUTO, YOLO):
        policy = PermissionPolicy(
            root,
            mode,
            allow=["bash", "edit", "bash(=npm test)"],
            ask=["bash(npm test:*)", "edit(src/**)"],
            sandbox="full",
        )
        verdict = policy.decide("bash", running("cd src && npm 'test'"))
        assert (verdict.decision, verdict.rule, verdict.session_rule) == (ASK, "bash(npm test:*)", "")
        assert policy.decide("bash", running("npm test")).decision is ASK
        assert policy.decide("edit", writing(root / "src/a.py")).decision is ASK


@pytest.mark.parametrize("mode", [PermissionMode.ACCEPT_EDITS, AUTO])
def test_modes_that_edit_unasked_ask_before_they_delete_or_move(root: Path, mode: PermissionMode) -> None:
    use = ToolUse(Effect.WRITE, "src/a.py", (root / "src/a.py",), kind=ToolKind.WRITE, is_destructive=True)
    assert PermissionPolicy(root, mode, sandbox="full").decide("apply_patch", use).decision is ASK


def test_git_runs_the_programs_of_the_repository_in_mode_yolo_only(root: Path) -> None:
    for mode in (PermissionMode.ASK, AUTO, YOLO):
        verdict = PermissionPolicy(root, mode, sandbox="full").decide("bash", running("git status"))
        assert (verdict.decision, verdict.switches_git_off) == (ALLOW, mode is not YOLO)


def test_deny_beats_ask(root: Path) -> None:
    policy = PermissionPolicy(
        root, ask=["bash(rm:*)"], deny=["bash(rm:*)"], project_ask=["bash(mv:*)"], project_deny=["bash(mv:*)"]
    )
    assert policy.decide("bash", running("rm x")).decision is DENY
    assert policy.decide("bash", running("mv x y")).decision is DENY


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("make build", ALLOW),
        ("python x.py && rm -rf build", ALLOW),
        ("echo $(git rev-parse HEAD) > src/version", ALLOW),
        ("for f in src/*.py; do python $f; done", ALLOW),
        ("gcc -I/usr/include src/a.c -o /tmp/a", ALLOW),
        ("X=1 ./build.sh", ALLOW),
        ("cat .env", ASK),
        ("cp .env src", ASK),
        ("echo x > ../y", ASK),
        ("cat ../y", ASK),
        ("ls ~/other", ASK),
        ("echo x > .git/config", ASK),
        ('rm -rf "$X"', ASK),
        ("make 'build", ASK),
        ("rm -rf .git", DENY),
    ],
)
def test_mode_auto_runs_sandboxed_commands_that_stay_inside_the_workspace(
    root: Path, command: str, expected: Decision
) -> None:
    assert PermissionPolicy(root, AUTO, sandbox="full").decide("bash", running(command)).decision is expected
    if expected is ALLOW:
        for sandbox in ("off", "weak"):
            assert (
                PermissionPolicy(root, AUTO, sandbox=sandbox).decide("bash", running(command)).decision is ASK
            )  # type: ignore[arg-type]


def test_the_network_asks_unless_a_rule_grants_it(root: Path) -> None:
    use = running("npm install", needs_network=True)
    for mode in (PermissionMode.ASK, PermissionMode.ACCEPT_EDITS, AUTO):
        verdict = PermissionPolicy(
            root, mode, allow=["bash", "bash(npm install:*)", "*"], sandbox="full"
        ).decide("bash", use)
        assert (verdict.decision, verdict.is_destructive, verdict.reason) == (
            ASK,
            True,
            "it uses the network",
        )
        assert verdict.is_usual
        assert (verdict.session_rule, verdict.always_rule) == (
            "network(npm install)",
            "network(npm install)",
        )
        granted = PermissionPolicy(root, mode, allow=["network(npm install:*)"], sandbox="full")
        assert granted.decide("bash", use).decision is ALLOW
        assert granted.decide("bash", running("curl x", needs_network=True)).decision is ASK
    denied = PermissionPolicy(root, YOLO, deny=["network"], sandbox="full")
    assert denied.decide("bash", use).decision is DENY
    assert denied.decide("bash", running("npm install")).decision is ALLOW


def test_plan_mode_allows_only_read_calls(root: Path) -> None:
    policy = PermissionPolicy(root, PLAN, allow=["bash"], sandbox="full")
    assert policy.decide("bash", running("git log | head")).decision is ALLOW
    assert policy.decide("bash", running("make")).decision is DENY
    assert policy.decide("bash", running("git log", needs_network=True)).decision is DENY
    unmasked = PermissionPolicy(root, PLAN)
    assert unmasked.decide("bash", running("git log")).decision is ALLOW
    assert unmasked.decide("bash", running("grep -r x .")).decision is DENY


@pytest.mark.parametrize("mode", list(PermissionMode))
def test_session_tools_run_unasked(root: Path, mode: PermissionMode) -> None:
    policy = PermissionPolicy(root, mode)
    for name in ("todo", "ask_user", "exit_plan_mode", "job_output", "job_stop"):
        for effect in (Effect.READ, Effect.WRITE):
            assert policy.decide(name, ToolUse(effect, "", kind=ToolKind.SESSION)).decision is ALLOW
    use = ToolUse(Effect.READ, "", kind=ToolKind.SESSION)
    assert PermissionPolicy(root, mode, deny=["todo"]).decide("todo", use).decision is DENY


def test_project_rules_can_only_restrict_or_allow_reversible_calls(root: Path) -> None:
    rules = [
        "bash(make:*)",
        "bash(git push:*)",
        "bash(rm:*)",
        "bash(cat:*)",
        "bash",
        "network",
        "network(make:*)",
        "edit(**)",
        "read",
        "web_fetch",
    ]
    policy = PermissionPolicy(root, project_allow=rules, project_deny=["bash(make deploy:*)"], sandbox="full")
    expected = {
        "make test": ALLOW,
        "make deploy": DENY,
        "git push": ASK,
        "rm x": ASK,
        "cat ../x": ASK,
        "cat .env": ASK,
        "npm run x": ASK,
    }
    assert {line: policy.decide("bash", running(line)).decision for line in expected} == expected
    assert policy.decide("bash", running("make test", needs_network=True)).decision is ASK
    assert policy.decide("edit", writing(root / "src/a.py")).decision is ALLOW
    assert policy.decide("edit", writing(root.parent / "x")).decision is ASK
    assert policy.decide("edit", writing(root / ".env")).decision is ASK
    assert policy.decide("web_fetch", ToolUse(Effect.NETWORK, "https://x")).decision is ASK
    without = PermissionPolicy(root, project_allow=rules)
    assert without.decide("bash", running("make test")).decision is ASK


def test_every_path_of_a_call_must_be_allowed(root: Path) -> None:
    policy = PermissionPolicy(root, PermissionMode.ACCEPT_EDITS, deny=["edit(src/secret/**)"])
    inside = (root / "a", root / "b")
    for name in ("multi_edit", "apply_patch", "edit", "write"):
        assert policy.decide(name, writing(*inside)).decision is ALLOW
        assert policy.decide(name, writing(*inside, root.parent / "c")).decision is ASK
        assert policy.decide(name, writing(*inside, root / ".git/config")).decision is ASK
        assert policy.decide(name, writing(*inside, root / "src/secret/x")).decision is DENY


def test_a_rule_for_edit_covers_every_tool_that_changes_files(root: Path) -> None:
    policy = PermissionPolicy(root, allow=["edit(src/**)"])
    for name in ("edit", "write", "multi_edit", "apply_patch"):
        assert policy.decide(name, writing(root / "src/a.py")).decision is ALLOW
        assert policy.decide(name, writing(root / "b.py")).decision is ASK


def test_a_command_must_not_name_a_denied_file(root: Path) -> None:
    (root / "alias").symlink_to("src/a.py")
    policy = PermissionPolicy(root, YOLO, deny=["read(src/a.py)", "write(*.lock)"], sandbox="full")
    for line in (
        "cat src/a.py",
        "cat ./src/../src/a.py",
        "cat alias",
        "head -5 'src/a.py' | wc",
        "x --file=src/a.py",
        "echo > x.lock",
    ):
        assert policy.decide("bash", running(line)).decision is DENY, line
    assert policy.decide("bash", running("cat src/b.py")).decision is ALLOW


def test_harmless_builtins_between_allowed_commands_need_no_rule(root: Path) -> None:
    policy = PermissionPolicy(root, allow=["bash(pytest:*)"])
    assert policy.decide("bash", running("cd src && pytest -q; echo $?")).decision is ALLOW
    assert policy.decide("bash", running("timeout 60 pytest -q 2>&1")).decision is ALLOW
    for line in (
        "eval echo hi",
        "cd .. && pytest",
        "pytest | tee x",
        "pytest > x",
        "cd src && pytest && make",
    ):
        assert policy.decide("bash", running(line)).decision is ASK, line


def test_read_only_calls_are_marked(root: Path) -> None:
    policy = PermissionPolicy(root, sandbox="full")
    assert policy.decide("bash", running("git status")).is_read_only
    assert not policy.decide("bash", running("make")).is_read_only
    assert policy.decide(
        "read", ToolUse(Effect.READ, "x", (root / "src/a.py",), kind=ToolKind.LOOK)
    ).is_read_only


def test_decisions_do_not_depend_on_earlier_ones(root: Path) -> None:
    policy = PermissionPolicy(root, deny=["bash(rm:*)"], sandbox="full")
    policy.decide("bash", running("X=rm; alias git=rm; cd /; git() { rm; }"))
    assert policy.decide("bash", running("$X y")).decision is ASK
    assert policy.decide("bash", running("git status")).decision is ALLOW
    assert policy.decide("bash", running("cat src/a.py")).decision is ALLOW


HUGE = [
    "echo {1..30000000}",
    "echo {1..999}{1..999}{1..99}",
    "echo {{1..999},{1..999}}{1..999}",
    "echo a{1..1000}b{1..1000}c",
    "printf '%s' {00000001..30000000}",
    "echo {30000000..1}",
    "echo {-20000000..20000000..2}",
    "for n in {1..30000000}; do :; done",
    "x=({1..30000000})",
    "bash -c 'echo {1..30000000}'",
    "eval echo {1..30000000}",
    'echo "$(echo {1..30000000})"',
    "echo `echo {1..30000000}`",
    "cat <(echo {1..30000000})",
    "echo x{0,1}{0,1}{0,1}{0,1}{0,1}{0,1}{0,1}{0,1}{0,1}{0,1}{0,1}{0,1}{0,1}{0,1}{0,1}{0,1}{0,1}",
    "echo {1..60000} {1..60000}",
    "echo {a..z}{a..z}{a..z}{a..z}",
    "f() { echo {1..30000000}; }; f",
    "x=1 echo {1..30000000} > out",
    "echo {,{1..30000000}}",
    "echo {1..3\\\n0000000}",
    "echo {+1..+30000000}",
]
SMALL = [
    "echo {1..100}",
    "mkdir -p src/{a,b,c}/{x,y}",
    "echo '{1..30000000}'",
    'echo "{1..30000000}"',
    "echo \\{1..30000000}",
    "echo {1..30000000..10000000}",
    "for n in {1..100000}; do :; done",
    "awk '{a[NR]=$0} {1..30000000}' a.txt",
    'python3 -c "print({1: {2: 3}, 4: {5: 6}})"',
    "echo {a,b}{a,b}{a,b}{a,b}",
    "echo {1..2}.{30000000}",
    "cat <<'EOF'\n{1..30000000}\nEOF",
]


@pytest.mark.parametrize("line", HUGE)
def test_braces_that_expand_to_very_many_words_ask_whatever_allows_the_line(root: Path, line: str) -> None:
    for mode in (PermissionMode.ASK, AUTO):
        policy = PermissionPolicy(
            root, mode, allow=["bash", "bash(echo:*)", f"bash(={line})"], sandbox="full"
        )
        verdict = policy.decide("bash", running(line))
        assert verdict.decision is ASK
        assert "words" in verdict.reason
    assert PermissionPolicy(root, YOLO).decide("bash", running(line)).decision is ALLOW


@pytest.mark.parametrize("line", SMALL)
def test_other_braces_are_decided_as_before(root: Path, line: str) -> None:
    policy = PermissionPolicy(root, AUTO, allow=["bash"], sandbox="full")
    assert policy.decide("bash", running(line)).decision is ALLOW


MANY_JOBS = [
    "until false; do sleep 999 & done",
    "for n in {1..100}; do sleep 999 & done",
    "while true; do (sleep 9 &); done",
    "while true; do { ls & }; done",
    "for n in 1 2; do if true; then sleep 9 & fi; done",
    "for n in 1 2; do cat <(sleep 9 &); done",
    "for n in 1 2; do echo $(sleep 9 &); done",
    "for n in 1 2; do echo `sleep 9 &`; done",
    "while sleep 1 & true; do :; done",
    "for n in 1 2; do sleep 1 | cat & done",
    "for n in 1 2; do\nsleep 9 &\ndone",
    "for n in 1 2; do case a in a) sleep 9 & ;; esac; done",
]
FEW_JOBS = [
    "sleep 1 & sleep 2 &",
    "while true; do ls && sleep 1; done &",
    "for n in 1 2; do ls 2>&1; done",
    "for n in 1 2; do ls &> /dev/null; done",
    "for n in 1 2; do ls |& cat; done",
    "for n in 1 2; do echo 'a & b'; done",
    "for n in 1 2; do echo a\\&b; done",
]


@pytest.mark.parametrize("line", MANY_JOBS)
def test_a_loop_that_starts_background_jobs_asks(root: Path, line: str) -> None:
    policy = PermissionPolicy(root, allow=["bash(sleep:*)", "bash(ls:*)"], sandbox="full")
    verdict = policy.decide("bash", running(line))
    assert verdict.decision is ASK
    assert "background jobs" in verdict.reason


@pytest.mark.parametrize("line", FEW_JOBS)
def test_other_background_jobs_and_loops_are_decided_as_before(root: Path, line: str) -> None:
    assert PermissionPolicy(root, sandbox="full").decide("bash", running(line)).decision is ALLOW
