"""How a line and each of its commands are decided."""

from pathlib import Path

from forge_core.permissions import Decision, PermissionPolicy
from forge_core.permissions.explain import as_text


def test_each_command_is_listed_with_its_own_decision_and_the_one_that_decides(tmp_path: Path) -> None:
    policy = PermissionPolicy(tmp_path, allow=["bash(git status:*)"], deny=["bash(rm:*)"], sandbox="full")
    found = policy.explain("git status && echo \"$(sudo 'rm' -f x)\" | tee log")
    assert (found.decision, found.rule, found.problem) == (Decision.DENY, "bash(rm:*)", "")
    listed = [(part.text, part.decision, part.rule) for part in found.parts]
    assert listed == [
        ("git status", Decision.ALLOW, "bash(git status:*)"),
        ("echo \"$(sudo 'rm' -f x)\"", Decision.ALLOW, ""),
        ("sudo 'rm' -f x", Decision.DENY, "bash(rm:*)"),
        ("tee log", Decision.ASK, ""),
    ]
    assert found.deciding is found.parts[2]
    assert found.parts[2].words == ("rm", "-f", "x")
    assert found.parts[2].notes == ("run by sudo", "in a substitution")


def test_a_line_that_cannot_be_parsed_is_explained(tmp_path: Path) -> None:
    found = PermissionPolicy(tmp_path, sandbox="full").explain("git status 'x")
    assert found.decision is Decision.ASK
    assert found.problem
    assert "could not be parsed" in found.reason
    assert found.problem in as_text(found)


def test_the_explanation_escapes_untrusted_text(tmp_path: Path) -> None:
    text = as_text(PermissionPolicy(tmp_path).explain("echo '\u0435' > 'a\nb'; rm x"))
    assert text.startswith("ASK: ")
    assert text.isascii()
    assert "\\u0435" in text
    assert "a\\nb" in text
    assert "rm x" in text
    for hidden in ("\x1b]52;c;x\x07", "\u202e"):
        assert hidden not in as_text(PermissionPolicy(tmp_path).explain(f"echo '{hidden}'"))


def test_the_explanation_shows_parse_rule_and_deciding_part(tmp_path: Path) -> None:
    policy = PermissionPolicy(tmp_path, ask=["bash(npm publish:*)"], sandbox="full")
    assert as_text(policy.explain("cd src; X=1 npm pub'lish'")) == (
        "ASK: the ask rule bash(npm publish:*) covers it\n"
        "rule: bash(npm publish:*)\n"
        " 1. allow cd src\n"
        "      it only reads, inside the folder\n"
        " 2. ask   X=1 npm pub'lish'  <- decides\n"
        "      the ask rule bash(npm publish:*) covers it\n"
        "      runs npm publish\n"
        "      sets X"
    )
