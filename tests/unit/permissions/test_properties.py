"""What holds for any line: quoting changes no deny, nothing raises, and no line takes long."""

import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forge_core.approval import Effect
from forge_core.config.permission_mode import PermissionMode
from forge_core.permissions import Decision, PermissionPolicy
from forge_core.permissions.shell.syntax import SimpleCommand, read_line, simple_commands
from forge_core.tools.base import ToolUse

pytestmark = pytest.mark.property


ROOT = Path("/nowhere/project")
DENY = ["bash(rm:*)", "bash(git push:*)", "bash(curl -X POST:*)"]


def spelled(word: str, draw: st.DrawFn) -> str:
    """The same word, quoted some other way."""
    text = ""
    rest = word
    while rest:
        size = draw(st.integers(1, len(rest)))
        piece, rest = rest[:size], rest[size:]
        ansi = "".join(f"\\x{ord(char):02x}" for char in piece)
        text += draw(
            st.sampled_from(
                [
                    piece,
                    f"'{piece}'",
                    f'"{piece}"',
                    f"\\{piece}",
                    f"$'{ansi}'",
                    f"$'{piece}'",
                    f'$"{piece}"',
                    f"''{piece}",
                    f'{piece}""',
                    f"\\\n{piece}",
                ]
            )
        )
    return text


@st.composite
def spellings(draw: st.DrawFn) -> str:
    words = draw(
        st.sampled_from(
            [
                ("rm", "x"),
                ("rm", "-rf", "a b"),
                ("git", "push"),
                ("git", "push", "origin"),
                ("curl", "-X", "POST", "u"),
            ]
        )
    )
    blank = st.sampled_from([" ", "  ", "\t", " \\\n ", "\t "])
    line = spelled(words[0], draw)
    for word in words[1:]:
        line += draw(blank) + (f"'{word}'" if " " in word else spelled(word, draw))
    before = draw(
        st.sampled_from(
            [
                "",
                "true; ",
                "true&&",
                "ls | ",
                "sudo ",
                "env A=1 ",
                "( ",
                "{ ",
                "! ",
                "echo $(",
                "if ",
                "timeout 5 ",
            ]
        )
    )
    after = {"( ": ")", "{ ": "; }", "echo $(": ")", "if ": "; then ls; fi"}.get(
        before, draw(st.sampled_from(["", " ; ls", " > w", " &", " # x"]))
    )
    return before + line + after


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(spellings())
def test_quoting_a_word_otherwise_changes_no_deny(line: str) -> None:
    policy = PermissionPolicy(ROOT, PermissionMode.YOLO, allow=["bash"], deny=DENY, sandbox="full")
    assert policy.decide("bash", ToolUse(Effect.RUN, line)).decision is Decision.DENY


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(alphabet="gitrmls -=\"'\\$(){}[];&|<>#!\n\t*?~`aX1é\u00a0\ud800\0", max_size=60))
def test_no_text_is_a_fault(line: str) -> None:
    for mode in (PermissionMode.ASK, PermissionMode.AUTO, PermissionMode.YOLO):
        policy = PermissionPolicy(ROOT, mode, allow=["bash(git status:*)"], deny=DENY, sandbox="full")
        assert policy.decide("bash", ToolUse(Effect.RUN, line)).decision in Decision
    assert policy.explain(line)


HOSTILE = {
    "pipes": "x | " * 10_000 + "x",
    "100 kB": "a" * 100_000,
    "lists": "x;" * 50_000,
    "open substitutions": "$(" * 30_000,
    "nested substitutions": "$(" * 3_000 + "x" + ")" * 3_000,
    "nested quotes": '"$(' * 2_000,
    "backquotes": "`" * 20_001,
    "quotes": "'" * 20_001,
    "parentheses": "(" * 20_000,
    "braces": "{a,b}" * 3_000,
    "here-documents": "<<A\n" * 20_000,
    "closers": "a) ;; esac fi done }" * 800,
    "functions": "f(){" * 20_000,
    "shells": "sh -c 'sh -c \"sh -c x\"';" * 600,
    "evals": "eval eval eval " * 1_000,
    "unknown deletions": "rm -r $x;" * 10_000,
    "other deletions": "".join(f"rm -rf x{number};" for number in range(9_000)),
    "variables": "X=1;Y=2;Z=3;" * 100 + "$X$Y$Z " * 1_000,
    "words": "echo " * 3_000,
    "interpreters": "python -c \"'a' 'b' 'c'\";" * 700,
    "tests": "[[ a " * 5_000,
    "globs": "cat " + "*/*/*/* " * 2_000,
    "options": "git log " + "--x=/a:/b:/c " * 1_200,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_line_is_decided_quickly_and_never_allowed(name: str) -> None:
    read_line("true")  # the parser is loaded
    policy = PermissionPolicy(ROOT, PermissionMode.AUTO, allow=["bash(git:*)"], deny=DENY, sandbox="full")
    started = time.process_time()
    verdict = policy.decide("bash", ToolUse(Effect.RUN, HOSTILE[name]))
    spent = time.process_time() - started
    assert spent < 1.0, f"{spent:.2f} s of processor time; 0.1 s is meant"
    if name not in ("words", "tests"):
        assert verdict.decision is not Decision.ALLOW


def test_parsed_commands_are_immutable_and_keep_their_attributes() -> None:
    (command,) = simple_commands("env A=1 /usr/bin/vi -es 'a b'")
    assert (command.program, command.words) == ("vi", ("/usr/bin/vi", "-es", "a b"))
    assert isinstance(command, SimpleCommand)
    with pytest.raises(AttributeError):
        command.words = ()  # type: ignore[misc]
