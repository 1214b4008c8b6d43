"""A small slice of the fuzz run against a real bash: what it executed and wrote, and what was read in the line."""

import shutil
from pathlib import Path

import pytest

from tests.bench import shell_fuzz_options as with_options
from tests.bench.shell_canaries import Run, run_lines
from tests.bench.shell_fuzz import compare, fuzz

pytestmark = pytest.mark.property


needs_walls = pytest.mark.skipif(
    shutil.which("bwrap") is None or not Path("/bin/bash").exists(),
    reason="random lines are run only in bubblewrap, by /bin/bash; one of them is not installed",
)


@needs_walls
def test_fuzzed_lines_run_unasked_only_as_parsed_and_never_bypass_deny_rules(
    tmp_path: Path,
) -> None:
    tally = fuzz(150, 20, tmp_path)
    assert tally.unsafe == []
    assert tally.evaded == []
    assert tally.missed == []
    assert tally.executed > 100
    assert tally.allowed > 5


@needs_walls
def test_the_canary_programs_record_what_bash_executed(tmp_path: Path) -> None:
    (run,) = run_lines(["git 'a b' | evil; echo x > src/w; $(rm \"\")"], tmp_path)
    assert sorted(run.executed) == [("evil",), ("git", "a b"), ("rm", "")]
    assert run.written == ("src/w",)


def test_the_fuzz_comparison_detects_differences(tmp_path: Path) -> None:
    tally = compare(
        [
            Run("git status", (("evil",),), ("w",)),
            Run("foo", (("rm", "x"),), ()),
            Run("foo x", (("bar",),), ()),
        ],
        tmp_path,
    )
    assert tally.unsafe == [("git status", "executed ('evil',)"), ("git status", "wrote w")]
    assert tally.evaded == [("git status", "evil"), ("foo", "rm")]
    assert len(tally.missed) == 2


@needs_walls
def test_options_and_file_names_cannot_make_read_only_commands_do_more(tmp_path: Path) -> None:
    tally = with_options.fuzz(400, 5, tmp_path)
    assert tally.changed == []
    assert tally.told == []
    assert tally.allowed > 15
    assert len(tally.programs) > 10


@needs_walls
def test_the_fixture_with_hostile_names_is_effective(tmp_path: Path) -> None:
    root = with_options.scene(tmp_path)
    harmful = ["sort -?pwned README", "sed -n '1e touch pwned2' README"]
    changed, told = with_options.run([*harmful, "cat sub/up/../secret", "cat README"], tmp_path, root)
    assert [one for one, _ in changed] == harmful
    assert told == ["cat sub/up/../secret"]
