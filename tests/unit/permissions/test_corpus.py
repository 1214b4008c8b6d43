"""Hard lines, denied spellings and plain reading: no unsafe yes, no deny that a spelling evades, few questions."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from forge_core.approval import Effect
from forge_core.config.permission_mode import PermissionMode
from forge_core.permissions import Decision, PermissionPolicy, Verdict
from forge_core.tools.base import ToolUse
from tests.unit.permissions.hard_lines import DENIED, HARD, NOT_PLAIN, OUTSIDE, READ_ONLY

pytestmark = pytest.mark.slow

IS_FULL = bool(os.environ.get("FORGE_FULL"))
ALLOWED = [
    f"bash({one}:*)"
    for one in (
        "git status", "git log", "git diff", "git show", "npm test", "ls", "cat", "rg", "find", "pytest", "echo",
        "grep", "sort", "head", "cd",
    )
]  # fmt: skip


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("corpus") / "project"
    (root / "src").mkdir(parents=True)
    for name in ("src/a.py", "src/b.py", "README.md", "server.pem", ".env"):
        (root / name).write_text("x")
    (root / "plain.txt").symlink_to(".env")
    (root / "away").symlink_to("/etc")
    (root / "src/away").symlink_to("/etc")
    return root


@pytest.fixture(scope="module")
def hard_verdicts(root: Path) -> list[tuple[str, Verdict]]:
    """Each difficult line with what a full sandbox without rules decides."""
    policy = PermissionPolicy(root, sandbox="full")
    return [(line, policy.decide("bash", ToolUse(Effect.RUN, line))) for line in lines(HARD)]


def lines(text: str) -> list[str]:
    return [
        line.replace("⏎", "\n") for line in text.strip().splitlines() if line and not line.startswith("## ")
    ]


def denied() -> Iterator[tuple[str, str]]:
    rule = ""
    for line in DENIED.strip().splitlines():
        if line.startswith("## "):
            rule = line.removeprefix("## ")
        else:
            yield rule, line.replace("⏎", "\n")


def decide(policy: PermissionPolicy, command: str) -> Decision:
    return policy.decide("bash", ToolUse(Effect.RUN, command)).decision


def test_no_difficult_command_line_runs_unasked(hard_verdicts: list[tuple[str, Verdict]]) -> None:
    assert [line for line, verdict in hard_verdicts if verdict.decision is Decision.ALLOW] == []
    assert len(hard_verdicts) >= 300


@pytest.mark.parametrize("sandbox", ["full", "off"])
def test_no_difficult_command_line_runs_unasked_under_rules(root: Path, sandbox: str) -> None:
    policy = PermissionPolicy(root, allow=ALLOWED, sandbox=sandbox)  # type: ignore[arg-type]
    assert [line for line in lines(HARD) if decide(policy, line) is Decision.ALLOW] == []


def test_commands_not_exactly_on_the_list_are_not_read_only(root: Path) -> None:
    policy = PermissionPolicy(root, sandbox="full")
    verdicts = [(line, policy.decide("bash", ToolUse(Effect.RUN, line))) for line in lines(NOT_PLAIN)]
    assert [line for line, one in verdicts if one.decision is Decision.ALLOW or one.is_read_only] == []
    assert len(verdicts) >= 300


def test_paths_outside_ask(root: Path) -> None:
    policy = PermissionPolicy(root, sandbox="full")
    assert [line for line in lines(OUTSIDE) if decide(policy, line) is not Decision.ASK] == []


@pytest.mark.parametrize(
    "blank", ["\u00a0", "\u2003", "\u2028", "\u200b", "\u3000", "\r", "\v", "\f", "\0", "\x85"]
)
def test_characters_bash_does_not_treat_as_blanks_are_not_word_separators(root: Path, blank: str) -> None:
    policy = PermissionPolicy(root, allow=ALLOWED, sandbox="full")
    for line in (f"git{blank}status", f"git status{blank}", f"git status{blank}evil", f"ls{blank}&& ls"):
        assert decide(policy, line) is Decision.ASK


def test_a_permanent_rule_offered_for_a_difficult_line_can_always_be_saved(
    root: Path, hard_verdicts: list[tuple[str, Verdict]]
) -> None:
    offered = [verdict.always_rule for _, verdict in hard_verdicts if verdict.always_rule]
    saved: list[str] = []
    for rule in offered:
        PermissionPolicy(root, sandbox="full", save_rule=lambda rule, _: saved.append(rule)).allow_always(
            rule
        )
    assert offered and saved == offered


@pytest.mark.parametrize("mode", [PermissionMode.ASK, PermissionMode.AUTO, PermissionMode.YOLO])
def test_a_deny_rule_matches_every_spelling(root: Path, mode: PermissionMode) -> None:
    evaded = []
    # YOLO allows the most; in the other modes the gate tries some.
    for rule, line in list(denied())[:: 1 if IS_FULL or mode is PermissionMode.YOLO else 4]:
        policy = PermissionPolicy(root, mode, allow=["bash"], deny=[f"bash({rule})"], sandbox="full")
        if decide(policy, line) is not Decision.DENY:
            evaded.append((rule, line, decide(policy, line)))
    assert evaded == []
    assert len(list(denied())) >= 180


UNKNOWABLE = r"""
$X x
"$X" x
$(echo r)m x
`echo rm` x
${X}m x
echo cm0geA== | base64 -d | sh
base64 -d x | bash
eval "$X"
eval "$(cat x)"
bash -c "$X"
. <(echo x)
source /dev/stdin
"$@"
set -- rm x; "$@"
git $X
r$Xm x
${X:0:2} x
${X//a/} x
${!X} x
xxd -r -p x | sh
python -c "exec(__import__('base64').b64decode('x'))"
python -c 'import os; os.system(chr(114)+chr(109)+" x")'
perl -e 'system(reverse "x mr")'
echo push | xargs git
printf '\x72m x' | sh
echo rm | xargs -I% % x
git --config-env=alias.x=V x
printf -v X rm; $X x
read X <<< rm; $X x
X=mr; $(rev <<< $X) x
$(printf '\162\155') x
$(printf %s rm) x
r${Y}m x
r$()m x
r``m x
r$@m x
r"$@"m x
{r,}m x
r[m] x
rm`echo` x
find . -name n | xargs -i sh {}
nl n | xargs -I% sh -c %
cat n | xargs bash
IFS=,; a=rm,x; $a
declare -n q=c; c=rm; $q x
local -n q=c; c=rm; $q x
ln -s /bin/rm z; ./z x
cp /bin/rm z && ./z x
cp /bin/rm z; ./z
ln -s /bin/rm z; PATH=.:$PATH; z x
ln -s /bin/rm d/z; cd d; ./z x
git config alias.p push && git p
git -c alias.p=push p
git send-pack origin
git subtree push --prefix=x origin main
git http-push x
"""


@pytest.mark.parametrize("mode", list(PermissionMode))
def test_an_undetermined_command_asks_where_a_deny_rule_might_cover_it(
    root: Path, mode: PermissionMode
) -> None:
    policy = PermissionPolicy(
        root, mode, allow=["bash"], deny=["bash(rm:*)", "bash(git push:*)"], sandbox="full"
    )
    passed = [line for line in lines(UNKNOWABLE) if decide(policy, line) is Decision.ALLOW]
    assert passed == []


@pytest.mark.parametrize("mode", [PermissionMode.AUTO, PermissionMode.YOLO])
def test_a_denied_file_is_recognised_behind_an_unknown_folder(root: Path, mode: PermissionMode) -> None:
    policy = PermissionPolicy(root, mode, deny=["read(.env)"], sandbox="full")
    for line in ("cat $PWD/.env", 'cat "${PWD}/.env"', "cat `pwd`/.env", "cat ../$(basename $PWD)/.env"):
        assert decide(policy, line) is Decision.DENY


@pytest.mark.parametrize("mode", [PermissionMode.AUTO, PermissionMode.YOLO])
def test_a_denied_file_cannot_be_read_through_a_pattern(root: Path, mode: PermissionMode) -> None:
    policy = PermissionPolicy(root, mode, allow=["bash"], deny=["read(.env)"], sandbox="full")
    for line in (
        "cat .en*",
        "cat .e?v",
        "cat .[e]nv",
        "cat .*",
        "cat *",  # a link leads there
        "cat */*/*/*/zzz",
        "cd src && cat ../.en*",
        "X='.en*'; cat $X",
        'X=".e?v"; cat $X',
        "X='.[e]nv'; Y=$X; cat $Y",
        "X=\\.en\\*; cat ${X}",
        "for f in '.en*'; do cat $f; done",
        "cat ${X:-'.en*'}",
        "tar cf - .",
        "tar -C . -cf x.tar .",
        "cp -r . ../x",
        "zip -r x.zip .",
        "rsync -a . x",
        "grep -r S .",
        "grep -rn S",
        "rg --hidden S",
        "find . -name '.e*' -exec cat {} +",
    ):
        assert decide(policy, line) is not Decision.ALLOW, line
    for line in (
        "cat src/*.py",
        "ls -a",
        "grep -r S src",
        "tar cf - src",
        "find . -name '*.py'",
        "cp -r src x",
    ):
        assert decide(policy, line) is Decision.ALLOW, line


def test_a_link_to_a_denied_program_is_denied(root: Path) -> None:
    (root / "del").symlink_to("/bin/rm")
    policy = PermissionPolicy(root, PermissionMode.YOLO, deny=["bash(rm:*)", "bash(git push:*)"])
    for line in ("./del x", "src/../del x", f"{root}/del x", "git-push", "/usr/lib/git-core/git-push x"):
        assert decide(policy, line) is Decision.DENY, line


MENTIONED = r"""
cp a.py b.py && ./run.sh
ln -s a b
git config alias.p
find . -name '*.py' | xargs cat
IFS=, read -r a b
while IFS= read -r f; do echo "$f"; done < a.txt
echo rm
echo 'rm -rf x'
grep -rn rm src
git commit -m 'rm the old curl'
git log --grep=push
git log push
git stash push
cat rm.txt
npm run rm
ls rm
# rm x
git pull && pushd x
printf '%s' "curl"
docker rm x
git add curl
rg 'git push' README.md
"""


def test_a_deny_rule_does_not_match_a_program_that_is_only_mentioned(root: Path) -> None:
    policy = PermissionPolicy(
        root, PermissionMode.YOLO, deny=["bash(rm:*)", "bash(curl:*)", "bash(git push:*)"]
    )
    assert [line for line in lines(MENTIONED) if decide(policy, line) is not Decision.ALLOW] == []


def test_read_only_commands_rarely_ask(root: Path, record_property: Callable[[str, object], None]) -> None:
    policy = PermissionPolicy(root, sandbox="full")
    plain = lines(READ_ONLY)
    asked = [line for line in plain if decide(policy, line) is not Decision.ALLOW]
    rate = len(asked) / len(plain)
    record_property("needless questions", f"{len(asked)} of {len(plain)}")
    print(f"needless questions: {len(asked)} of {len(plain)} ({rate:.1%}): {asked}")
    assert len(plain) >= 150
    assert rate <= 0.10, asked


def test_without_a_full_sandbox_only_read_only_commands_run_unasked(root: Path) -> None:
    # AUTO allows the most. The other modes, and all lines in a weak sandbox, are tried with FORGE_FULL.
    modes = (PermissionMode.AUTO, PermissionMode.ACCEPT_EDITS, PermissionMode.ASK)
    full = PermissionPolicy(root, sandbox="full")
    refused = {line for line in lines(READ_ONLY) if decide(full, line) is not Decision.ALLOW}
    for sandbox in ("off", "weak"):
        step = 1 if IS_FULL or sandbox == "off" else 4
        for mode in modes if IS_FULL else modes[:1]:
            policy = PermissionPolicy(root, mode, sandbox=sandbox)  # type: ignore[arg-type]
            for corpus in (HARD, NOT_PLAIN, OUTSIDE):
                assert [
                    line for line in lines(corpus)[::step] if decide(policy, line) is Decision.ALLOW
                ] == []
            more = [line for line in sorted(refused) if decide(policy, line) is Decision.ALLOW]
            assert more == [], "it never runs more unasked than a full sandbox does"
