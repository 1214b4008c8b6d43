"""Files that programs and assistants act on without being asked: changes to them ask."""

from pathlib import Path

import pytest

from forge_core.approval import Effect, ToolKind
from forge_core.config.permission_mode import PermissionMode
from forge_core.permissions import Decision, PermissionPolicy, Verdict, path_info
from forge_core.permissions.path_info import locate
from forge_core.permissions.tool_files import TOOL_FILES, acting_program
from forge_core.tools.base import ToolUse
from forge_core.workspace.project_files import INSTRUCTION_FILES

ALLOW, ASK, DENY = Decision.ALLOW, Decision.ASK, Decision.DENY
ACCEPT_EDITS, AUTO, YOLO = PermissionMode.ACCEPT_EDITS, PermissionMode.AUTO, PermissionMode.YOLO

ACTED_ON = [
    ".vscode/tasks.json",
    "packages/a/.vscode/settings.json",
    ".idea/workspace.xml",
    ".zed/tasks.json",
    ".cursor/mcp.json",
    ".cursor/rules/a.mdc",
    ".cursorrules",
    ".claude/settings.json",
    ".claude/hooks/format.sh",
    ".codex/config.toml",
    ".gemini/settings.json",
    ".windsurf/rules/a.md",
    ".aider.conf.yml",
    ".agents/skills/a/SKILL.md",
    ".github/hooks/a.json",
    ".github/skills/a/SKILL.md",
    ".openhands/setup.sh",
    ".factory/commands/a.md",
    ".aiassistant/rules/a.md",
    "WARP.md",
    ".clinerules",
    ".mcp.json",
    ".github/workflows/ci.yml",
    ".github/actions/build/action.yml",
    ".github/copilot-instructions.md",
    ".gitlab-ci.yml",
    ".circleci/config.yml",
    "Jenkinsfile",
    ".gitmodules",
    "docs/.gitattributes",
    ".husky/pre-commit",
    ".pre-commit-config.yaml",
    "lefthook.yml",
    ".lefthook/pre-push/x.sh",
    ".devcontainer/devcontainer.json",
    ".devcontainer.json",
    ".tool-versions",
    ".mise.toml",
    "mise.toml",
    ".yarnrc.yml",
    ".yarn/releases/yarn-4.cjs",
    "AGENTS.md",
    "src/AGENTS.md",
    "CLAUDE.md",
    "CLAUDE.local.md",
    "GEMINI.md",
    ".dir-locals.el",
    ".exrc",
    ".nvim.lua",
    ".Rprofile",
    "project.code-workspace",
]
EVERY_BUILD_EDITS = [
    "Makefile",
    "package.json",
    "conftest.py",
    "pyproject.toml",
    "setup.py",
    "CMakeLists.txt",
    "build.rs",
    "eslint.config.js",
    ".gitignore",
    ".editorconfig",
    ".python-version",
    ".github/FUNDING.yml",
    ".github/ISSUE_TEMPLATE/bug.md",
    "docs/AGENTS.md.txt",
    "docs/agents.rst",
    "vscode/a.ts",
    "src/claude.md.py",
    "src/idea.py",
    "README.md",
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / ".vscode").mkdir()
    return root


def writing(root: Path, *names: str, tool: str = "write") -> ToolUse:
    return ToolUse(Effect.WRITE, names[0], tuple(root / name for name in names), kind=ToolKind.WRITE)


def decided(policy: PermissionPolicy, *names: str) -> Verdict:
    return policy.decide("write", writing(policy.root, *names))


@pytest.mark.parametrize("mode", [ACCEPT_EDITS, AUTO])
def test_an_edit_of_a_file_that_steers_a_tool_asks_and_says_who_acts_on_it(
    root: Path, mode: PermissionMode
) -> None:
    policy = PermissionPolicy(root, mode, sandbox="full")
    for name in ACTED_ON:
        verdict = decided(policy, name)
        assert verdict.decision is ASK, name
        assert f"acts on {root / name} without asking" in verdict.reason
        assert verdict.session_rule and not verdict.always_rule, name
        assert decided(policy, "src/a.py", name).decision is ASK, name


@pytest.mark.parametrize("mode", [ACCEPT_EDITS, AUTO])
def test_an_edit_of_a_file_that_every_build_edits_does_not_ask(root: Path, mode: PermissionMode) -> None:
    policy = PermissionPolicy(root, mode, sandbox="full")
    assert [name for name in EVERY_BUILD_EDITS if decided(policy, name).decision is not ALLOW] == []


def test_the_files_of_instructions_that_forge_reads_are_on_the_list() -> None:
    assert [name for name in INSTRUCTION_FILES if not acting_program(name)] == []


def test_every_name_of_the_list_is_found_by_it() -> None:
    for entry in TOOL_FILES:
        for name in entry.names.split():
            assert acting_program(f"a/{name.replace('*', 'x')}") == entry.program, name


def test_a_link_to_a_file_that_steers_a_tool_asks(root: Path) -> None:
    (root / "src/plain").symlink_to(root / ".vscode")
    (root / ".vscode/away.json").symlink_to(root / "src/a.json")
    policy = PermissionPolicy(root, ACCEPT_EDITS)
    for name in ("src/plain/tasks.json", ".vscode/away.json", "src/../.vscode/x"):
        assert decided(policy, name).decision is ASK, name


def test_a_wide_rule_does_not_cover_a_file_that_steers_a_tool_but_one_that_names_it_does(root: Path) -> None:
    for rule in ("edit", "edit(**)", "edit(*.md)", "edit(.github/**)", "edit({**,AGENTS.md})", "*"):
        policy = PermissionPolicy(root, allow=[rule])
        assert decided(policy, ".github/workflows/ci.yml").decision is ASK, rule
        assert decided(policy, "src/a.py", ".vscode/x").decision is ASK, rule
    named = PermissionPolicy(root, allow=["edit(.vscode/**)", "edit(**/AGENTS.md)", "edit(src/**)"])
    for names in ([".vscode/x"], ["AGENTS.md"], ["src/AGENTS.md"]):
        assert decided(named, *names).decision is ALLOW, names
    assert decided(named, ".idea/x").decision is ASK
    line = "echo x > .vscode/x"
    rules = ["edit(.vscode/**)", f"bash({line})"]
    project = PermissionPolicy(root, project_allow=rules, sandbox="full")
    assert decided(project, ".vscode/x").decision is ASK
    assert project.decide("bash", ToolUse(Effect.RUN, line)).decision is ASK


@pytest.mark.parametrize("names", [["AGENTS.md"], [".vscode/a.json"], ["src/a.py", "CLAUDE.md"]])
def test_a_session_rule_for_the_file_is_followed(root: Path, names: list[str]) -> None:
    policy = PermissionPolicy(root, ACCEPT_EDITS)
    policy.allow_for_session(decided(policy, *names).session_rule)
    assert decided(policy, *names).decision is ALLOW
    assert decided(policy, ".vscode/other.json").decision is ASK


def test_git_and_forge_ask_each_time_and_yolo_does_not_ask(root: Path) -> None:
    for name in (".git/config", ".GIT/hooks/x", ".forge/config.toml"):
        policy = PermissionPolicy(root, ACCEPT_EDITS, allow=[f"edit({name})"])
        verdict = decided(policy, name)
        assert (verdict.decision, verdict.session_rule, verdict.is_destructive) == (ASK, "", True)
    assert decided(PermissionPolicy(root, YOLO), ".vscode/x").decision is ALLOW
    assert decided(PermissionPolicy(root, PermissionMode.PLAN), ".vscode/x").decision is DENY


def test_a_file_with_keys_that_steers_a_tool_stays_private(root: Path) -> None:
    for name in (".envrc", ".npmrc"):
        verdict = decided(PermissionPolicy(root, ACCEPT_EDITS, allow=["edit(**)"]), name)
        assert (verdict.decision, verdict.is_private) == (ASK, True)
        assert "without asking" in verdict.reason and "keys" in verdict.reason


def test_names_are_compared_as_the_file_system_does() -> None:
    for name in (".VSCode/tasks.json", "agents.MD", ".\u200dvscode/x", ".vscode\u200c/x", ".ide\ufeffa/x"):
        assert not acting_program(name)
        assert acting_program(name, folds=True), ascii(name)


def test_a_path_is_compared_as_its_file_system_does(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (".Vscode/x", ".g\u200dit/config", "agents.md"):
        assert not locate(root / name, root).acting_program
    monkeypatch.setattr(path_info, "folds_case", lambda folder: True)
    for name in (".Vscode/x", ".g\u200dit/config", "agents.md"):
        assert locate(root / name, root).acting_program, name
    assert locate(root / ".g\u200dit/config", root).is_protected


LINES = [
    "echo '{}' > .vscode/tasks.json",
    "echo x >> AGENTS.md",
    "cat a | tee .github/workflows/ci.yml",
    "cp src/a.json .vscode/tasks.json",
    "cp -t .vscode src/a.json",
    "cd .vscode && cp ../src/a.json tasks.json",
    "cd .vscode && echo x > tasks.json",
    "cd .vscode && ls || echo x >> tasks.json",
    "cd .vscode && { echo x; } > tasks.json",
    "cd src && cd ../.vscode && cat a | tr a b > tasks.json",
    "mv src/a.json .claude/settings.json",
    "ln -s src/a.json .vscode/tasks.json",
    "install -m 755 src/a.sh .husky/pre-commit",
    "sed -i s/a/b/ CLAUDE.md",
    "sed --in-place s/a/b/ CLAUDE.md",
    "perl -pi -e s/a/b/ .gitlab-ci.yml",
    "touch .husky/pre-push",
    "mkdir .devcontainer",
    "dd if=src/a of=.mise.toml",
    "truncate -s 0 .gitmodules",
    "git mv src/a.json .vscode/tasks.json",
    "sort -o .tool-versions src/a",
    "timeout 5 cp src/a.json $PWD/.vscode/tasks.json",
    "cp src/a.json .vsc?de/tasks.json",
    "patch -p1 < fix.diff",
    "git apply fix.diff",
    "git apply <<'E'\n--- a/AGENTS.md\n+++ b/AGENTS.md\n@@ -1 +1 @@\n-a\n+b\nE",
    "tar -xf a.tar -C .vscode",
    "rsync -a src/ .claude/",
    "f=AGENTS.md; echo x > $f",
    'f=AGENTS.md && echo x > "$f"',
    "for f in AGENTS.md; do echo x > $f; done",
    "d=.vscode; echo x > $d/tasks.json",
    "d=.vsc; echo x > ${d}ode/tasks.json",
    "echo x > .vsc*/tasks.json",
    "echo x > .vscode/task?.json",
    "echo x > $(echo AGENTS.md)",
    "echo AGENTS.md | xargs rm",
    "echo AGENTS.md | xargs -I{} cp src/a.json {}",
    "find . -name AGENTS.md -exec sed -i s/a/b/ {} +",
    "git checkout HEAD~3 AGENTS.md",
    "git checkout HEAD -- .vscode",
    "git restore --source=HEAD~1 .vscode/tasks.json",
    "git rm AGENTS.md",
    "git stash push AGENTS.md",
    "git clean -fd .vscode",
    "git config -f .gitmodules a.b c",
    "git worktree add .vscode",
    "prettier --write .vscode/tasks.json",
    "prettier -w AGENTS.md",
    "cd .vscode && prettier --write .",
    "black .claude/hooks/a.py",
    "ruff format .claude",
    "ruff check --fix .claude",
    "eslint --fix .vscode",
    "clang-format -i .vscode/x",
    "gcc -oAGENTS.md a.c",
    "cc a.c -o .husky/pre-commit",
    "rm .gitattributes",
    "rm -f AGENTS.md CLAUDE.md",
    "cd .vscode; rm *",
    "unlink AGENTS.md",
    "rmdir .vscode",
    "sed -n 'w AGENTS.md' src/a.json",
    "awk '{print > \"AGENTS.md\"}' src/a.json",
    "yq -i .a=1 .gitlab-ci.yml",
    "jq . src/a.json | sponge .vscode/tasks.json",
    "pandoc a.md -oAGENTS.md",
    "strace -o AGENTS.md ls",
    "split -b 1 src/a.json .husky/x",
    "python3 -c \"open('AGENTS.md', 'w')\"",
    "node -e \"fs.writeFileSync('.vscode/tasks.json', x)\"",
    "perl -e 'open F, \">.gitlab-ci.yml\"'",
    "python3 gen.py .vscode/tasks.json",
    "python3 gen.py --out=.vscode/tasks.json",
    "chmod +x .husky/pre-commit",
    "ed AGENTS.md",
    "vim -es -c x AGENTS.md",
    "pushd .vscode; touch x",
    "7z x a.7z -o.vscode",
    "unzip a.zip -d .vscode",
    "find -name tasks.json -exec sed -i s/a/b/ {} +",
    "find . -type f -name '*.json' -exec sed -i s/a/b/ {} \\;",
    "curl -o AGENTS.md http://x",
]


@pytest.fixture
def patched(root: Path) -> Path:
    (root / "fix.diff").write_text("--- a/.vscode/tasks.json\n+++ b/.vscode/tasks.json\n@@ -0,0 +1 @@\n+x\n")
    (root / "src/a.json").write_text("{}")
    (root / ".vscode/tasks.json").write_text("{}")
    return root


@pytest.mark.parametrize("line", LINES)
def test_a_command_that_writes_a_file_that_steers_a_tool_asks(patched: Path, line: str) -> None:
    use = ToolUse(Effect.RUN, line)
    for policy in (
        PermissionPolicy(patched, AUTO, sandbox="full"),
        PermissionPolicy(patched, allow=["bash"]),
        PermissionPolicy(patched),
    ):
        verdict = policy.decide("bash", use)
        assert verdict.decision is ASK
        assert "without asking" in verdict.reason
        if verdict.session_rule:
            policy.allow_for_session(verdict.session_rule)
            assert policy.decide("bash", use).decision is ALLOW
    assert PermissionPolicy(patched, YOLO).decide("bash", use).decision is ALLOW


@pytest.mark.parametrize(
    "line",
    [
        "cp src/a.json src/b.json",
        "git add AGENTS.md .github/workflows/ci.yml",
        "git commit -m 'Edit AGENTS.md'",
        "yamllint .github/workflows/ci.yml",
        "sed -n 1p AGENTS.md > src/out.txt",
        "touch Makefile package.json",
        "python -c 'print(1)' > src/x",
        "echo AGENTS.md > src/x",
        "tar -cf src/a.tar .github",
        "tar czf src/a.tgz .vscode",
        "cat AGENTS.md > src/x",
        "grep -rn x .github > src/x",
        "git checkout main",
        "git stash",
        "git push origin main",
        "prettier --check AGENTS.md",
        "prettier --write .",
        "black .",
        "ruff format src",
        "ruff check .claude",
        "gcc -o src/a src/a.c",
        "bash .husky/pre-commit",
        "pre-commit run --config .pre-commit-config.yaml",
        "python3 -c \"import json; json.load(open('.vscode/tasks.json'))\"",
        'for f in src/*.json; do sed s/a/b/ "$f" > "$f.new"; done',
        'out=$(mktemp); echo x > "$out"',
        "f=src/x; echo x > $f",
        "rsync -a --exclude .git --exclude .vscode src/ dst/",
        "find . -not -path './.git/*' -name '*.py' -exec sed -i s/a/b/ {} +",
        "find . -name tasks.json -exec grep -n x {} +",
        "find src -name '*.json' -exec sed -i s/a/b/ {} +",
        "find . -path ./.git -prune -o -name '*.py' -print | xargs black",
        "git ls-files .github | xargs wc -l",
        "black --exclude .vscode .",
        "echo 'see AGENTS.md' >> README.md",
    ],
)
def test_a_command_that_writes_other_files_does_not_ask_for_them(patched: Path, line: str) -> None:
    policy = PermissionPolicy(patched, AUTO, sandbox="full")
    assert policy.decide("bash", ToolUse(Effect.RUN, line)).decision is ALLOW
