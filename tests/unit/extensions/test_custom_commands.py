"""Commands of files: what their front matter says, and the messages that they become."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forge_core.errors import ConfigError
from forge_core.extensions.custom_commands import (
    CustomCommand,
    MessageText,
    ShellPart,
    argument_hint,
    message_text,
    written_text,
)
from forge_core.extensions.definitions import Definition
from forge_core.extensions.front_matter import parse_markdown_file
from forge_core.extensions.locations import ExtensionKind, ExtensionScope, SearchedFolder

FIXTURES = Path(__file__).parents[2] / "fixtures"


def command(body: str, scope: ExtensionScope = ExtensionScope.USER, **fields: str) -> CustomCommand:
    head = "".join(f"{name.replace('_', '-')}: {value}\n" for name, value in fields.items())
    file = parse_markdown_file(f"---\n{head}---\n{body}".encode())
    return CustomCommand.of(Definition(ExtensionKind.COMMAND, "x", scope, Path("x.md"), file, ""))


def expanded(body: str, arguments: str) -> str:
    """The message, with each command in angle brackets."""
    parts = command(body).expand(arguments)
    return message_text(parts, [f"<{part.command}>" for part in parts if isinstance(part, ShellPart)])


def test_nothing_in_a_body_is_hidden_from_the_user() -> None:
    hidden = "".join(chr(0xE0000 + ord(letter)) for letter in "rm")
    assert expanded(f"Review{hidden}\x1b[8m $1\u202e.", "a\u202e") == (
        "Review\\U000e0072\\U000e006d␛[8m a\u202e\\u202e."
    )
    assert expanded(f"!`echo{hidden} $1`", "a") == "<echo\\U000e0072\\U000e006d a>"


def test_published_command_files_mean_what_the_table_says(tmp_path: Path) -> None:
    _, *files = (FIXTURES / "claude_commands.txt").read_text("utf-8").split("\n%%% ")
    found = {}
    for file in files:
        name, _, text = file.partition("\n")
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")
        one = CustomCommand.of(
            Definition.read(path, ExtensionKind.COMMAND, SearchedFolder(tmp_path, ExtensionScope.USER, None))
        )
        rules, refused = one.grants()
        fields = {
            "name": one.name,
            "description": one.definition.description,
            "argument_hint": argument_hint(one.definition),
            "grants": [*map(str, rules)],
            "refused": [*refused],
            "model": one.model,
            "agent": one.agent,
            "is_for_model": one.definition.is_for_model,
            "problems": [*one.definition.problems],
            "with_a_b": [
                part.text if isinstance(part, MessageText) else {"run": part.command}
                for part in one.expand("'a b' c")
            ],
        }
        found[name] = {key: value for key, value in fields.items() if value not in ("", [], True)}

    assert len(found) >= 40
    assert found == json.loads((FIXTURES / "claude_commands.json").read_text("utf-8"))


@pytest.mark.parametrize(
    ("body", "arguments", "message"),
    [
        ("Fix $ARGUMENTS now.", "the bug", "Fix the bug now."),
        ("$1, $2 and $3.", "'two words' b", "two words, b and $3."),
        ("$1 and $2", "don't stop", "don't and stop"),
        ("$10, $0, $ARGUMENTSX and $A.", "a", "$10, $0, $ARGUMENTSX and $A.\n\na"),
        (r"\$1 costs \$ARGUMENTS, $1", "a", "$1 costs $ARGUMENTS, a"),
        ("Review it.", "  src  ", "Review it.\n\nsrc"),
        ("Review it.", "   ", "Review it."),
        ("Only $ARGUMENTS", "", "Only "),
        ("", "a", "a"),
        ("In !`git diff $1`.", "main", "In <git diff main>."),
        ("Wow!`code` and !``", "", "Wow!`code` and !``"),
        # What an argument holds is never expanded.
        ("$1|$2|$ARGUMENTS", "'$2' '$ARGUMENTS'", "$2|$ARGUMENTS|'$2' '$ARGUMENTS'"),
        ("Do $ARGUMENTS", "!`rm -rf /` $1 \\$", "Do !`rm -rf /` $1 \\$"),
        ("Do it", "!`rm -rf /` $1", "Do it\n\n!`rm -rf /` $1"),
        ("!$1", "`id`", "!`id`"),
        ("See @$1", "src/a.py", "See @src/a.py"),
    ],
)
def test_a_message_is_expanded_in_one_pass(body: str, arguments: str, message: str) -> None:
    assert expanded(body, arguments) == message


@pytest.mark.parametrize(
    ("shell", "arguments", "run"),
    [
        ("gh pr view $ARGUMENTS", "12 --comments", "gh pr view 12 --comments"),
        ("gh pr view $ARGUMENTS", "12; id", "gh pr view '12;' id"),
        ("grep $1 src", "'a b'", "grep 'a b' src"),
        ('grep "$1" src', "'$(id) `id` \"'", 'grep "\\$(id) \\`id\\` \\"" src'),
        ("grep '$1' src", '"it\'s; id"', "grep 'it'\\''s; id' src"),
        ("git log $1 \\$HOME", "", "git log $1 $HOME"),
        ('echo "$(git log $1)"', "main..HEAD", 'echo "$(git log main..HEAD)"'),
    ],
)
def test_an_argument_in_a_command_is_one_word_of_it(shell: str, arguments: str, run: str) -> None:
    assert command(f"!`{shell}`").expand(arguments) == (ShellPart(run),)


@pytest.mark.parametrize("shell", ['echo "$(git log $1)"', "cat <<X\t$1", "git log # $1", "echo ${A:-$1}"])
def test_an_argument_that_cannot_be_quoted_safely_is_refused(shell: str) -> None:
    with pytest.raises(ConfigError, match="cannot be quoted safely"):
        command(f"!`{shell}`").expand("'a; id'")


def test_mentions_are_looked_for_in_what_was_written_only() -> None:
    parts = command("See @a.py and !`cat @b.py`").expand("@c.py")

    assert written_text(parts) == "See @a.py and  \n\n@c.py"


def test_the_tools_of_a_project_are_not_granted() -> None:
    rules = {
        scope: command("Do it", scope, allowed_tools="Bash(git log:*), Bash(a * b)").grants()
        for scope in ExtensionScope
    }

    assert rules[ExtensionScope.PROJECT] == ((), ())
    granted, refused = rules[ExtensionScope.USER]
    assert [*map(str, granted)] == ["bash(git log:*)"]
    assert "Bash(a * b)" in refused[0]
