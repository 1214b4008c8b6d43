from pathlib import Path

import pytest

from forge_core.approval import Effect, ToolKind
from forge_core.config.permission_mode import PermissionMode
from forge_core.errors import ConfigError
from forge_core.permissions import Decision, PermissionPolicy
from forge_core.permissions.rules.rule import Rule
from forge_core.tools.base import ToolUse

ALLOW, ASK, DENY = Decision.ALLOW, Decision.ASK, Decision.DENY


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "src/a.py").write_text("x")
    return root


def reading(*paths: Path) -> ToolUse:
    return ToolUse(Effect.READ, str(paths[0]), paths, kind=ToolKind.LOOK)


def writing(*paths: Path) -> ToolUse:
    return ToolUse(Effect.WRITE, str(paths[0]), paths, kind=ToolKind.WRITE)


def running(command: str) -> ToolUse:
    return ToolUse(Effect.RUN, command)


def test_reading_inside_the_workspace_runs_unasked_and_other_calls_ask(root: Path) -> None:
    policy = PermissionPolicy(root)
    assert policy.decide("read", reading(root / "src/a.py")).decision is ALLOW
    assert policy.decide("edit", writing(root / "src/a.py")).decision is ASK
    assert policy.decide("bash", running("make")).decision is ASK
    assert policy.decide("web_fetch", ToolUse(Effect.NETWORK, "https://example.org")).decision is ASK


def test_rules_of_one_turn_allow_in_the_block_only_and_beat_no_other(root: Path) -> None:
    policy = PermissionPolicy(root, deny=["bash(make clean)"], ask=["bash(make deploy)"])
    with policy.allowing([Rule("bash", "make:*"), Rule("edit")]):
        assert policy.decide("bash", running("make all")).decision is ALLOW
        assert policy.decide("edit", writing(root / "src/a.py")).decision is ALLOW
        assert policy.decide("bash", running("make clean")).decision is DENY
        assert policy.decide("bash", running("make deploy")).decision is ASK
        assert policy.decide("edit", writing(root / ".git/config")).decision is ASK
        policy.mode = PermissionMode.PLAN
        assert policy.decide("bash", running("make all")).decision is DENY
        policy.mode = PermissionMode.ASK
    assert policy.decide("bash", running("make all")).decision is ASK
    assert "make:*" not in str(policy.rules())


def test_a_reading_tool_that_names_no_path_asks(root: Path) -> None:
    use = ToolUse(Effect.READ, "x", kind=ToolKind.LOOK)
    assert PermissionPolicy(root).decide("look", use).decision is ASK


def test_a_foreign_tool_that_claims_to_read_asks(root: Path) -> None:
    assert PermissionPolicy(root).decide("search_wiki", ToolUse(Effect.READ, "x")).decision is ASK


@pytest.mark.parametrize(
    ("mode", "write", "run"),
    [
        (PermissionMode.ASK, ASK, ASK),
        (PermissionMode.ACCEPT_EDITS, ALLOW, ASK),
        (PermissionMode.PLAN, DENY, DENY),
        (PermissionMode.AUTO, ALLOW, ASK),
        (PermissionMode.YOLO, ALLOW, ALLOW),
    ],
)
def test_the_mode_decides_when_no_rule_matches(
    root: Path, mode: PermissionMode, write: Decision, run: Decision
) -> None:
    policy = PermissionPolicy(root, mode)
    assert policy.decide("edit", writing(root / "src/a.py")).decision is write
    assert policy.decide("bash", running("make")).decision is run
    assert policy.decide("read", reading(root / "src/a.py")).decision is ALLOW


@pytest.mark.parametrize("mode", list(PermissionMode))
def test_a_catastrophic_command_is_denied_in_every_mode_despite_any_rule(
    root: Path, mode: PermissionMode
) -> None:
    verdict = PermissionPolicy(root, mode, allow=["bash", "bash(rm -rf /)"]).decide(
        "bash", running("rm -rf /")
    )
    assert verdict.decision is DENY
    assert "never" in verdict.reason


def test_deny_beats_allow_and_every_mode(root: Path) -> None:
    policy = PermissionPolicy(
        root, PermissionMode.YOLO, allow=["bash"], deny=["bash(git push:*)", "*(secret/**)"]
    )
    verdict = policy.decide("bash", running("cd src && git push"))
    assert (verdict.decision, verdict.rule, verdict.by) == (DENY, "bash(git push:*)", "rule")
    assert policy.decide("read", reading(root / "secret/x")).decision is DENY
    assert policy.decide("bash", running("git pull")).decision is ALLOW


def test_writing_outside_the_workspace_asks_with_no_preselected(root: Path) -> None:
    verdict = PermissionPolicy(root, PermissionMode.ACCEPT_EDITS).decide("write", writing(root.parent / "x"))
    assert (verdict.decision, verdict.is_destructive) == (ASK, True)
    assert str(root) in verdict.reason


def test_a_secret_outside_the_workspace_asks_with_no_preselected(root: Path) -> None:
    policy = PermissionPolicy(root)
    outside = policy.decide("read", reading(root.parent / ".env"))
    assert (outside.decision, outside.is_destructive, outside.is_private) == (ASK, True, True)
    assert "may contain keys" in outside.reason
    assert str(root) in outside.reason
    assert not policy.decide("read", reading(root / ".env")).is_destructive


def test_a_sibling_with_the_same_name_prefix_is_outside(root: Path) -> None:
    neighbour = root.parent / "project-2"
    neighbour.mkdir()
    assert PermissionPolicy(root).decide("read", reading(neighbour / "x")).decision is ASK


@pytest.mark.parametrize("spelling", ["../x", "src/../../x", "src/./.././../x"])
def test_parent_segments_that_leave_the_workspace_ask(root: Path, spelling: str) -> None:
    assert PermissionPolicy(root).decide("read", reading(root / spelling)).decision is ASK


def test_a_link_out_of_the_workspace_is_outside_and_its_target_is_named(root: Path) -> None:
    (root / "link").symlink_to("/etc")
    verdict = PermissionPolicy(root).decide("read", reading(root / "link/hosts"))
    assert verdict.decision is ASK
    assert "/etc/hosts" in verdict.reason


def test_a_dangling_link_is_judged_by_its_target(root: Path) -> None:
    (root / "dangling").symlink_to(root.parent / "new")
    policy = PermissionPolicy(root, PermissionMode.ACCEPT_EDITS)
    assert policy.decide("write", writing(root / "dangling")).decision is ASK


def test_a_link_into_the_workspace_is_inside(root: Path) -> None:
    (root.parent / "in").symlink_to(root / "src")
    assert PermissionPolicy(root).decide("read", reading(root.parent / "in/a.py")).decision is ALLOW


def test_a_workspace_root_that_is_a_link_is_resolved(root: Path) -> None:
    (root.parent / "alias").symlink_to(root)
    alias = root.parent / "alias"
    assert PermissionPolicy(alias).decide("read", reading(alias / "src/a.py")).decision is ALLOW


def test_a_link_to_itself_raises_no_error(root: Path) -> None:
    (root / "loop").symlink_to("loop")
    assert PermissionPolicy(root).decide("read", reading(root / "loop")).decision in (ALLOW, ASK)


@pytest.mark.parametrize(
    "name",
    [
        ".env",
        ".env.local",
        "deep/.ENV",
        "id_rsa",
        ".ray/auth_token",
        "server.pem",
        ".netrc",
        ".aws/credentials",
        "x.key",
        ".ssh/config2",
        ".git-credentials",
        "proc/self/environ",
        "old.env",
        "deploy/prod.env",
        ".env~",
        "id_ed25519.bak",
        "server.key.old",
        ".ssh/id_work.orig",
        "service-account.json",
        "service_account_prod.json",
        "terraform.tfstate",
        "terraform.tfstate.backup",
        "kubeconfig",
        ".my.cnf",
    ],
)
def test_secret_files_ask_even_for_reading(root: Path, name: str) -> None:
    policy = PermissionPolicy(root, PermissionMode.AUTO, allow=["read", "read(**)"])
    assert policy.decide("read", reading(root / name)).decision is ASK


@pytest.mark.parametrize(
    "name",
    [
        "environment.py",
        "id_rsa.pub",
        "keys.py",
        "src/env.ts",
        "monkey",
        ".github/x.yml",
        "a.py.bak",
        "environments",
        "tfstate.py",
        "account.json",
        "keys.old",
    ],
)
def test_ordinary_file_names_are_not_secret(root: Path, name: str) -> None:
    assert PermissionPolicy(root).decide("read", reading(root / name)).decision is ALLOW


def test_a_link_with_a_harmless_name_to_a_secret_file_asks(root: Path) -> None:
    (root / ".env").write_text("K=1")
    (root / "notes.txt").symlink_to(".env")
    assert PermissionPolicy(root).decide("read", reading(root / "notes.txt")).decision is ASK


def test_a_rule_that_names_a_secret_file_allows_reading_it(root: Path) -> None:
    policy = PermissionPolicy(root, allow=["read(.env*)"])
    assert policy.decide("read", reading(root / ".env")).decision is ALLOW
    assert policy.decide("read", reading(root / "server.pem")).decision is ASK


@pytest.mark.parametrize("mode", [PermissionMode.ASK, PermissionMode.ACCEPT_EDITS, PermissionMode.AUTO])
@pytest.mark.parametrize(
    "name", [".git/config", ".git/hooks/pre-commit", ".forge/config.toml", "sub/.git/x", ".GIT/x", ".git"]
)
def test_writing_git_or_forge_configuration_always_asks(root: Path, mode: PermissionMode, name: str) -> None:
    verdict = PermissionPolicy(root, mode, allow=["write", "write(**)"]).decide("write", writing(root / name))
    assert (verdict.decision, verdict.is_destructive, verdict.session_rule) == (ASK, True, "")


def test_nothing_is_revealed_about_git_files_outside_before_the_answer(root: Path) -> None:
    policy = PermissionPolicy(root)
    assert policy.decide("edit", writing(root / ".git/config")).is_private is False
    assert policy.decide("edit", writing(root.parent / "other/.git/config")).is_private is True


def test_a_link_into_the_git_folder_is_resolved(root: Path) -> None:
    (root / ".git").mkdir()
    (root / "innocent").symlink_to(".git/config")
    policy = PermissionPolicy(root, PermissionMode.ACCEPT_EDITS)
    assert policy.decide("write", writing(root / "innocent")).decision is ASK


def test_allow_rules_match_resolved_paths(root: Path) -> None:
    (root / "src/out").symlink_to("/etc")
    policy = PermissionPolicy(root, allow=["edit(src/**)", "write(*.md)", "read(/etc/hosts)"])
    assert policy.decide("edit", writing(root / "src/a.py")).decision is ALLOW
    assert policy.decide("edit", writing(root / "src/out/passwd")).decision is ASK
    assert policy.decide("edit", writing(root / "a.py")).decision is ASK
    assert policy.decide("write", writing(root / "deep/x.md")).decision is ALLOW
    assert policy.decide("read", reading(Path("/etc/hosts"))).decision is ALLOW
    assert policy.decide("read", reading(Path("/etc/passwd"))).decision is ASK


def test_a_rule_without_a_path_does_not_apply_outside_the_workspace(root: Path) -> None:
    policy = PermissionPolicy(root, allow=["write", "edit(**)"])
    assert policy.decide("write", writing(root / "x")).decision is ALLOW
    assert policy.decide("write", writing(root.parent / "x")).decision is ASK
    assert policy.decide("edit", writing(root.parent / "x")).decision is ASK


def test_a_deny_rule_matches_a_file_under_every_name(root: Path) -> None:
    (root / "src/private.txt").write_text("x")
    (root / "alias.txt").symlink_to("src/private.txt")
    policy = PermissionPolicy(root, deny=["read(src/private.txt)"])
    assert policy.decide("read", reading(root / "alias.txt")).decision is DENY
    assert policy.decide("read", reading(root / "src/../src/private.txt")).decision is DENY


def test_a_session_approval_covers_only_the_same_calls(root: Path) -> None:
    policy = PermissionPolicy(root)
    file = root / "src/we[i]rd*.py"
    for name, use, other in (
        ("edit", writing(file), writing(root / "src/weird1.py")),
        ("bash", running("make test"), running("make test; rm x")),
        ("read", reading(Path("/etc/hosts")), reading(Path("/etc/passwd"))),
        ("write", writing(root / "top.txt"), writing(root / "src/top.txt")),
    ):
        policy.allow_for_session(policy.decide(name, use).session_rule)
        assert policy.decide(name, use).decision is ALLOW
        assert policy.decide(name, other).decision is ASK
    assert [kind for kind, _ in policy.rules()] == ["session"] * 4


def test_the_mode_can_be_changed_at_run_time(root: Path) -> None:
    policy = PermissionPolicy(root)
    policy.mode = PermissionMode.PLAN
    assert policy.decide("write", writing(root / "x")).decision is DENY


def test_an_internal_folder_can_be_allowed_for_reading_only(root: Path) -> None:
    policy = PermissionPolicy(root)
    folder = root.parent / "outputs"
    folder.mkdir()
    policy.allow_reading(folder)
    assert policy.decide("read", reading(folder / "1.txt")).decision is ALLOW
    assert policy.decide("write", writing(folder / "1.txt")).decision is ASK


def test_an_invalid_rule_is_rejected_immediately(root: Path) -> None:
    with pytest.raises(ConfigError, match="bash"):
        PermissionPolicy(root, allow=["bash("])


def test_an_invalid_path_raises_no_error(root: Path) -> None:
    assert PermissionPolicy(root).decide("read", reading(root / "a\0b")).decision in (ASK, ALLOW)
    assert PermissionPolicy(root).decide("read", reading(root / ("x" * 5_000))).decision in (ASK, ALLOW)


def test_deciding_does_not_touch_the_file_system(root: Path) -> None:
    before = sorted(root.iterdir())
    PermissionPolicy(root).decide("write", writing(root / "new/file"))
    assert sorted(root.iterdir()) == before


def test_an_unreadable_deletion_is_allowed_by_no_rule_and_denied_without_a_user(
    root: Path,
) -> None:
    use = running('rm -rf "$OUT"')
    rules = ["bash", 'bash(rm -rf "$OUT")', "bash(rm:*)"]
    for mode in (PermissionMode.ASK, PermissionMode.ACCEPT_EDITS, PermissionMode.AUTO):
        verdict = PermissionPolicy(root, mode, allow=rules).decide("bash", use)
        assert verdict.decision is ASK
        assert verdict.session_rule == ""
    verdict = PermissionPolicy(root, PermissionMode.YOLO, allow=rules).decide("bash", use)
    assert verdict.decision is DENY
    assert "cannot be determined in advance" in verdict.reason
    assert "Name exactly what to delete" in verdict.reason


@pytest.mark.parametrize("mode", [PermissionMode.ASK, PermissionMode.YOLO])
def test_a_push_with_lease_asks_in_every_mode(root: Path, mode: PermissionMode) -> None:
    policy = PermissionPolicy(root, mode, allow=["bash", "bash(git push:*)"])
    assert policy.decide("bash", running("git push --force-with-lease")).decision is ASK


@pytest.mark.parametrize("command", ["parallel < list", "parallel -a list", "cat list | rust-parallel"])
def test_commands_that_come_from_input_ask_where_a_deny_rule_might_cover_them(
    root: Path, command: str
) -> None:
    def decision(*deny: str) -> Decision:
        policy = PermissionPolicy(root, PermissionMode.AUTO, deny=deny, sandbox="full")
        return policy.decide("bash", running(command)).decision

    assert decision() is ALLOW
    assert decision("bash(git push:*)") is ASK


@pytest.mark.parametrize(
    ("command", "decision"),
    [
        ("cd kept && cp x key.txt", Decision.DENY),
        ("cd kept && echo x > key.txt", Decision.DENY),
        ("cd kept; rm key.txt", Decision.DENY),
        ("cd src/../kept && ls && cat a | tee key.txt", Decision.DENY),
        ("cd kept && cd sub && touch a", Decision.DENY),
        ("(cd kept && touch a)", Decision.DENY),
        ("cd keys; cat < a", Decision.DENY),
        ("cd keys && cat a", Decision.DENY),
        ("(cd kept) && touch a", Decision.ALLOW),
        ("cd src && touch a", Decision.ALLOW),
    ],
)
def test_a_deny_rule_on_files_holds_after_a_change_of_folder(
    root: Path, command: str, decision: Decision
) -> None:
    for mode in (PermissionMode.AUTO, PermissionMode.YOLO):
        policy = PermissionPolicy(root, mode, deny=["edit(kept/**)", "read(keys/**)"], sandbox="full")
        assert policy.decide("bash", ToolUse(Effect.RUN, command)).decision is decision


def test_a_rule_for_a_folder_in_a_home_covers_what_is_in_it(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    policy = PermissionPolicy(root, deny=["read(~/plans/)", "read(~no-such-user/plans/)"])
    assert policy.decide("read", reading(tmp_path / "plans/a.md")).decision is DENY
    assert policy.decide("read", reading(root / "a.md")).decision is ALLOW
