"""Which commands of a line have run for certain, once the exit status of its shell is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from forge_core.tools.effect_analysis.command_lines import expected_effects
from forge_core.tools.effect_analysis.execution import WHOLE_LINE, executions
from forge_core.tools.effect_analysis.loops import unrolled
from forge_core.undo.expected_effects import FileEffect, Proof


@pytest.mark.parametrize(
    ("line", "reached", "succeeded"),
    [
        ("run", Proof.END, Proof.SUCCESS),
        ("run; b", Proof.END, Proof.NONE),
        ("a; run", Proof.END, Proof.SUCCESS),
        ("a && run", Proof.SUCCESS, Proof.SUCCESS),
        ("echo a && run", Proof.END, Proof.SUCCESS),
        ("a && run && b", Proof.SUCCESS, Proof.SUCCESS),
        ("a || run", Proof.NONE, Proof.NONE),
        ("run || b", Proof.END, Proof.NONE),
        ("! run", Proof.END, Proof.NONE),
        ("run | b", Proof.END, Proof.NONE),
        ("b | run", Proof.END, Proof.SUCCESS),
        ("a && b > f | run", Proof.NONE, Proof.NONE),
        ("run &", Proof.NONE, Proof.NONE),
        ("run & b", Proof.NONE, Proof.NONE),
        ("{ a; run; }", Proof.END, Proof.SUCCESS),
        ("(cd x; run) && b", Proof.END, Proof.SUCCESS),
        ("if run; then a; fi", Proof.END, Proof.NONE),
        ("if a; then run; fi", Proof.NONE, Proof.NONE),
        ("for i in *; do run; done", Proof.NONE, Proof.NONE),
        ("case a in a) run;; esac", Proof.NONE, Proof.NONE),
        ("f() { run; }", Proof.NONE, Proof.NONE),
        ("exit; run", Proof.NONE, Proof.NONE),
        ("a || exit 0; run", Proof.NONE, Proof.NONE),
        ("echo ${x:?}; run", Proof.SUCCESS, Proof.SUCCESS),
        ("set -e; run; b", Proof.SUCCESS, Proof.SUCCESS),
        ("set -C; run", Proof.NONE, Proof.NONE),
        ("echo $(run)", Proof.NONE, Proof.NONE),
        ("run 'never ends", Proof.NONE, Proof.NONE),
    ],
)
def test_an_exit_status_proves_that_a_command_ran(
    tmp_path: Path, line: str, reached: Proof, succeeded: Proof
) -> None:
    found = executions(line, WHOLE_LINE, tmp_path).of((line.index("run"), line.index("run") + 3))
    assert (found.reached, found.succeeded) == (reached, succeeded)


def test_a_proof_requires_a_shell_that_exited_normally() -> None:
    assert [one.holds(0) for one in Proof] == [False, True, True]
    assert [one.holds(1) for one in Proof] == [False, False, True]
    assert [one.holds(137) for one in Proof] == [one.holds(None) for one in Proof] == [False] * 3


@pytest.mark.parametrize(
    ("line", "written_out"),
    [
        ("for i in a b; do echo $i; done", "{ echo a\necho b\n}"),
        ("for i in {1..3}; do x${i}y; done", "{ x1y\nx2y\nx3y\n}"),
        ("for i in $(seq 2); do a; done; b", "{ a\na\n}; b"),
        ("for i in a; do for j in b; do $i $j; done; done", "{ { a b\n}\n}"),
        ("for i in *.c; do echo $i; done", None),
        ("for i in a b; do test $i || break; done", None),
        ("for i in a b; do awk '{print $i}'; done", None),
        ("for i in a b; do i=$i$i; done", None),
        ("for i in $(seq 1 9999); do a; done", None),
    ],
)
def test_loops_over_known_words_are_unrolled(line: str, written_out: str | None) -> None:
    assert unrolled(line) == (written_out or line)


@pytest.mark.parametrize(
    ("line", "times", "proof"),
    [
        ("for i in 1 2 3; do echo $i >> f; done", 3, Proof.END),
        ("while read x; do echo $x >> f; done", 0, Proof.NONE),
        ("sh -c 'a && b > f'", 1, Proof.SUCCESS),
        ("X=a; Y=b; Y=c; $Y > f", 1, Proof.END),
        ("a ${x:?} > f", 1, Proof.SUCCESS),
        ("cd nope; cd ..; echo > f", 1, Proof.NONE),
        ("sort a -o f", 1, Proof.SUCCESS),
        ("sort a -o f; b", 1, Proof.NONE),
        ("cp() { :; }; cp a f", 1, Proof.NONE),
        ("python -c \"open('f', 'w')\" && b", 1, Proof.SUCCESS),
        ("python -c \"if x: open('f', 'w')\" && b", 1, Proof.NONE),
        ("python - <<'E'\nopen('f', 'w')\nE\n", 1, Proof.SUCCESS),
        ("node -e \"require('fs').writeFileSync('f', '')\"", 1, Proof.SUCCESS),
        ("node -e \"x(() => { require('fs').writeFileSync('f', '') })\"", 1, Proof.NONE),
    ],
)
def test_a_claim_states_how_often_a_file_is_written_and_what_proves_it(
    tmp_path: Path, line: str, times: int, proof: Proof
) -> None:
    (tmp_path / "sub").mkdir()
    claims = [
        one
        for one in expected_effects(line, tmp_path).claims
        if one.path == "f" and one.effect in (FileEffect.WRITE, FileEffect.COPY) and one.covers == "exact"
    ]
    strongest = max(claims, key=lambda one: one.proof)
    assert (strongest.times, strongest.proof) == (times, proof)
