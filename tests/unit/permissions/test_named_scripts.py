"""An exact line that was allowed for good asks again when a script that it names has changed."""

import os
from pathlib import Path

import pytest

from forge_core.approval import Answer, ApprovalReply, ApprovalRequest, Effect
from forge_core.config.permission_mode import PermissionMode
from forge_core.config.project_state import Scripts, read_project_state
from forge_core.config.save import forget_project_rule, save_project_rule
from forge_core.permissions import Decision, PermissionPolicy
from forge_core.permissions.rules.named_scripts import named_scripts
from forge_core.tools import BashTool, ExecutionContext, ToolExecutor
from forge_core.tools.base import ToolUse

ALLOW, ASK = Decision.ALLOW, Decision.ASK


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    for name in ("run", "scripts/build.sh", "tools/gen.py", "tools/__main__.py", "tools/pkg/mod.py", "sub/x", "q.sql",
                 "prog.awk", "hook.js", "data.csv", "build.mk", "tests/test_a.py"):  # fmt: skip
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\necho one\n")
        path.chmod(0o755)
    return root


def decision(policy: PermissionPolicy, line: str) -> Decision:
    return policy.decide("bash", ToolUse(Effect.RUN, line)).decision


def granted(root: Path, line: str) -> PermissionPolicy:
    policy = PermissionPolicy(root)
    policy.allow_always(f"bash(={line})")
    assert decision(policy, line) is ALLOW
    return policy


@pytest.mark.parametrize(
    ("line", "script"),
    [
        ("./run", "run"),
        ("run=1 ./run --fast", "run"),
        ("scripts/build.sh", "scripts/build.sh"),
        ("bash scripts/build.sh", "scripts/build.sh"),
        ("bash -x ./scripts/build.sh a b", "scripts/build.sh"),
        ("sh 'scripts/build.sh'", "scripts/build.sh"),
        (". scripts/build.sh && make", "scripts/build.sh"),
        ("source scripts/build.sh", "scripts/build.sh"),
        ("sh -c './run'", "run"),
        ("sh -c 'cd sub && ./x'", "sub/x"),
        ("bash < scripts/build.sh", "scripts/build.sh"),
        ("cd sub && ./x", "sub/x"),
        ("cd sub; cd ..; ./run", "run"),
        ("cd sub && bash ../scripts/build.sh", "scripts/build.sh"),
        ("python tools/gen.py", "tools/gen.py"),
        ("python3.11 -u tools/gen.py data.csv", "tools/gen.py"),
        ("python -W ignore tools/gen.py", "tools/gen.py"),
        ("python tools", "tools/__main__.py"),
        ("python -m tools.pkg.mod", "tools/pkg/mod.py"),
        ("uv run tools/gen.py", "tools/gen.py"),
        ("uv run python -m tools.pkg.mod", "tools/pkg/mod.py"),
        ("python -mtools.pkg.mod", "tools/pkg/mod.py"),
        ("PYTHONPATH=tools python -m pkg.mod", "tools/pkg/mod.py"),
        ("PYTHONPATH=sub:tools python3 -m pkg.mod", "tools/pkg/mod.py"),
        ("eslint -c hook.js .", "hook.js"),
        ("eslint -f ./hook.js .", "hook.js"),
        ("rubocop -r ./hook.js", "hook.js"),
        ("gcc -wrapper ./run a.c", "run"),
        ("rustc -C linker=./run a.rs", "run"),
        ("rustc -Clinker=./run a.rs", "run"),
        ("wget --use-askpass=./run a.example", "run"),
        ("sed -n '1e ./run' data.csv", "run"),
        ("sed '1e./run' data.csv", "run"),
        ("sed -e 's/a/b/' -e '2e sh scripts/build.sh' data.csv", "scripts/build.sh"),
        ("make -fbuild.mk", "build.mk"),
        ("env A=1 ./run", "run"),
        ("env -C sub ./x", "sub/x"),
        ("timeout 60 ./run", "run"),
        ("nohup ./run &", "run"),
        ("(cd sub && ./x)", "sub/x"),
        ("make && ./run | tee log", "run"),
        ("echo $(./run)", "run"),
        ("find . -name '*.py' -exec ./run {} +", "run"),
        ("ls | xargs ./run", "run"),
        ("BASH_ENV=scripts/build.sh bash -c 'make'", "scripts/build.sh"),
        ("export BASH_ENV=./scripts/build.sh; make", "scripts/build.sh"),
        ("NODE_OPTIONS='--require ./hook.js' npm test", "hook.js"),
        ("node -r ./hook app.js", "hook.js"),
        ("LD_PRELOAD=./run make", "run"),
        ("PATH=scripts:$PATH build.sh", "scripts/build.sh"),
        ("make -f build.mk", "build.mk"),
        ("psql -f q.sql", "q.sql"),
        ("psql db < q.sql", "q.sql"),
        ("awk -f prog.awk data.csv", "prog.awk"),
        ("eslint --config hook.js src", "hook.js"),
        ("pytest tests/test_a.py::test_one", "tests/test_a.py"),
        ("git bisect run ./run", "run"),
        ("bash scripts/*.sh", "scripts/build.sh"),
        ("rg --pre ./run x", "run"),
        ("./sub/../run", "run"),
        ("env PYTHONSTARTUP=./tools/gen.py python -i", "tools/gen.py"),
        ("deno run -A tools/gen.py", "tools/gen.py"),
        ("bun run hook.js", "hook.js"),
        ("make -C tools -f gen.py", "tools/gen.py"),
        ("make SHELL=./run", "run"),
        ("git -c core.pager=./run log -p", "run"),
        ("tar --to-command=./run -xf a.tar", "run"),
        ("python -c 'exec(open(\"tools/gen.py\").read())'", "tools/gen.py"),
        ("node -e 'require(\"./hook.js\")'", "hook.js"),
        ("awk 'BEGIN { system(\"./run\") }'", "run"),
        ("watch 'bash scripts/build.sh'", "scripts/build.sh"),
        ("f() { ./run; }; f", "run"),
        ("exec ./run", "run"),
    ],
)
def test_it_asks_again_with_a_reason_when_the_script_has_changed(root: Path, line: str, script: str) -> None:
    policy = granted(root, line)
    path = root / script
    before = path.stat()
    path.write_text("#!/bin/sh\necho two\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    verdict = policy.decide("bash", ToolUse(Effect.RUN, line))
    assert verdict.decision is ASK
    assert script in verdict.reason
    assert "has changed" in verdict.reason
    assert not verdict.is_usual, "the prompt shows the reason"
    path.write_text("#!/bin/sh\necho one\n")
    assert decision(policy, line) is ALLOW
    path.unlink()
    assert decision(policy, line) is ASK


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("python tools/gen.py data.csv", "data.csv"),
        ("gcc -O2 tools/gen.py", "tools/gen.py"),
        ("mypy tools/gen.py", "tools/gen.py"),
        ("cat data.csv | python -c 'import sys'", "data.csv"),
        ("sed -i s/a/b/ data.csv", "data.csv"),
        ("cp data.csv copy", "data.csv"),
        ("git add tools/gen.py", "tools/gen.py"),
        ("make test", "scripts/build.sh"),
        ("pytest", "tests/test_a.py"),
    ],
)
def test_data_files_and_files_not_named_by_the_line_can_change(root: Path, line: str, name: str) -> None:
    policy = granted(root, line)
    (root / name).write_text("something else")
    assert decision(policy, line) is ALLOW


@pytest.mark.parametrize(
    ("line", "later"),
    [
        ("bash later.sh", "later.sh"),
        ("./later", "later"),
        ("cd sub && ./run", "sub/run"),
        ("python -m pytest", "pytest.py"),
        ("python -m pytest", "pytest/__main__.py"),
        ("bash scripts/*.sh", "scripts/another.sh"),
    ],
)
def test_a_script_created_later_asks(root: Path, line: str, later: str) -> None:
    policy = granted(root, line)
    (root / later).parent.mkdir(exist_ok=True)
    (root / later).write_text("echo evil")
    assert decision(policy, line) is ASK


def test_a_program_placed_earlier_on_the_path_asks(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{root}/bin:{os.environ['PATH']}")
    policy = granted(root, "make test")
    (root / "bin/make").write_text("#!/bin/sh\necho evil\n")
    (root / "bin/make").chmod(0o755)
    assert decision(policy, "make test") is ASK


def test_a_link_is_followed_and_a_changed_target_asks(root: Path) -> None:
    (root / "link").symlink_to("run")
    policy = granted(root, "./link")
    (root / "run").write_text("echo two")
    assert decision(policy, "./link") is ASK
    (root / "run").write_text("#!/bin/sh\necho one\n")
    assert decision(policy, "./link") is ALLOW
    (root / "link").unlink()
    (root / "link").symlink_to("scripts/build.sh")  # the same text, but it finds other files beside itself
    assert decision(policy, "./link") is ASK
    (root / "link").unlink()
    os.mkfifo(root / "link")
    assert decision(policy, "./link") is ASK


def test_parent_segments_after_a_script_link_resolve_like_in_the_kernel(root: Path) -> None:
    away = root.parent / "away/deep"
    away.mkdir(parents=True)
    (root / "link").symlink_to(away)
    (root.parent / "away/run").write_text("echo outside")
    policy = granted(root, "bash link/../run")
    (root.parent / "away/run").write_text("echo changed")
    assert decision(policy, "bash link/../run") is ASK


def test_commands_allowed_by_the_mode_or_another_rule_still_run(root: Path) -> None:
    policy = granted(root, "./run")
    (root / "run").write_text("changed")
    policy.sandbox, policy.mode = "full", PermissionMode.AUTO
    assert decision(policy, "./run") is ALLOW
    policy.mode = PermissionMode.ASK
    policy.allow_for_session("bash(./run)")
    assert decision(policy, "./run") is ALLOW


def test_a_manually_added_rule_is_also_bound_to_its_script(root: Path) -> None:
    policy = PermissionPolicy(root)
    scripts = policy.add("allow", "bash(./run)")
    assert [name for name, _ in scripts] == ["run"]
    (root / "run").write_text("changed")
    assert decision(policy, "./run") is ASK
    policy.add("allow", "bash(./run)")
    assert decision(policy, "./run") is ALLOW


def test_script_bindings_are_saved_and_apply_in_the_next_session(root: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"

    def save(rule: str, scripts: Scripts) -> None:
        save_project_rule(state, root, rule, scripts=scripts)

    def again() -> PermissionPolicy:
        kept, problem = read_project_state(state, root)
        assert problem is None
        return PermissionPolicy(root, allow=kept.allow, scripts=kept.scripts, save_rule=save)

    again().allow_always("bash(./run)")
    assert decision(again(), "./run") is ALLOW
    (root / "run").write_text("changed")
    assert decision(again(), "./run") is ASK
    again().allow_always("bash(./run)")
    assert decision(again(), "./run") is ALLOW
    forget_project_rule(state, root, "bash(./run)")
    assert read_project_state(state, root)[0].scripts == {}


async def test_a_script_that_changes_while_the_prompt_is_open_is_not_run(root: Path) -> None:
    asked: list[ApprovalRequest] = []

    async def approver(request: ApprovalRequest) -> ApprovalReply:
        asked.append(request)
        (root / "run").write_text("#!/bin/sh\necho ran > evil\n")
        return ApprovalReply(Answer.ALWAYS)

    policy = PermissionPolicy(root)
    executor = ToolExecutor(policy, approver)
    result = await executor.execute(BashTool(), {"command": "./run"}, ExecutionContext(working_dir=root))
    assert [request.always_rule for request in asked] == ["bash(./run)"]
    assert not result.success
    assert not (root / "evil").exists()
    assert decision(policy, "./run") is ASK


def test_large_files_many_files_and_long_lines_get_no_permanent_rule(root: Path) -> None:
    with (root / "big").open("wb") as file:
        file.truncate(100 * 1024 * 1024)
    for number in range(100):
        (root / f"{number}.sh").write_text("x")
    assert named_scripts("bash big", root) is None
    assert named_scripts("tool *.sh", root) is None
    assert named_scripts("bash run " + "x" * 10_000, root) is None
