"""The parts of command lines that show what a command may write."""

from __future__ import annotations

from pathlib import Path

import pytest

from forge_core.tools.effect_analysis.command_lines import expected_effects
from forge_core.tools.effect_analysis.command_words import without_bodies
from forge_core.undo.expected_effects import FileEffect


@pytest.mark.parametrize(
    ("line", "plain", "bodies"),
    [
        ("cat > a <<EOF\none\ntwo\nEOF\nls", "cat > a <__here_0__ \nls", ("one\ntwo\n",)),
        ("cat <<'E' > a\n$x\nE", "cat <__here_0__  > a\n", ("$x\n",)),
        ("cat <<-E\n\tone\n\tE\n", "cat <__here_0__ \n", ("\tone\n",)),
        ("a <<E\nE\nb <<E\n1\nE\n", "a <__here_0__ \nb <__here_1__ \n", ("", "1\n")),
        ("cat <<AB\nA\nAB\n", "cat <__here_0__ \n", ("A\n",)),
        ("cat <<E\nnever ends\n E\n", "cat <<E\nnever ends\n E\n", ()),
        ("echo $((1 << n))", "echo $((1 << n))", ()),
    ],
)
def test_here_documents_are_removed_from_a_line(line: str, plain: str, bodies: tuple[str, ...]) -> None:
    assert without_bodies(line) == (plain, bodies)


def test_many_unterminated_here_documents_are_parsed_in_one_pass() -> None:
    line = "".join(f"echo $((1<<{number})) << END{number}\n" for number in range(50_000))
    assert without_bodies(line) == (line, ())


@pytest.mark.parametrize(
    ("word", "paths"),
    [("part-$i.txt", ["part-*.txt"]), ("out/a${n}", ["out/a*"]), ("$i.txt", []), ("a$i/b.txt", [])],
)
def test_a_name_that_contains_a_variable_is_a_pattern(tmp_path: Path, word: str, paths: list[str]) -> None:
    found = expected_effects(f"echo x > {word}", tmp_path)
    assert [claim.path for claim in found.claims if claim.effect is FileEffect.WRITE] == paths


def test_a_long_word_of_variables_is_parsed_in_one_pass(tmp_path: Path) -> None:
    assert expected_effects(f"rm 'a{'$b' * 6_000}/'", tmp_path).claims == ()
