"""Which changes of content each kind of program explains."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from forge_core.tools.effect_analysis.command_lines import expected_effects
from forge_core.undo.attribution.evidence import (
    archive_digests,
    is_fixed,
    is_manifest_update,
    is_merge_result,
    is_patched,
    is_reformatted,
)
from forge_core.undo.attribution.generated_files import is_build_output, is_cache
from tests.unit.workspace.test_zip_directory import huge_zip


def test_of_an_archive_with_too_many_members_not_even_the_names_are_kept(tmp_path: Path) -> None:
    archive = huge_zip(tmp_path / "huge.zip", 50_000)
    tracemalloc.start()
    try:
        assert archive_digests(str(archive)) == frozenset()
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


def test_a_formatter_explains_layout_and_nothing_else() -> None:
    assert is_reformatted(b"f( 'a',b )\n", b'f("a", b)\n')
    assert not is_reformatted(b"a + b\n", b"a - b\n")
    assert not is_reformatted(b"a = 1\n", b"a = 1\nb = 2\n")


def test_a_linter_explains_removed_imports_but_no_added_words() -> None:
    assert is_fixed(b"import os\nimport re\nx = re\n", b"import re\n\nx = re\n")
    assert not is_fixed(b"import os\nx = 1\n", b"import os\nx = 1\nmine = 2\n")
    assert not is_fixed(b"x = 1\ny = compute(x)\n", b"x = 1\n")


def test_a_patch_explains_its_own_lines() -> None:
    patch = b"--- a/f\n+++ b/f\n@@ -1 +1 @@\n-old\n+new\n"
    assert is_patched(b"old\nkept\n", b"new\nkept\n", [patch])
    assert not is_patched(b"old\nkept\n", b"new\nmine\n", [patch])


def test_a_merge_explains_the_lines_of_both_sides() -> None:
    merged = b"<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n"
    assert is_merge_result(merged, [b"a\n", b"b\n"])
    assert not is_merge_result(merged + b"mine\n", [b"a\n", b"b\n"])


def test_a_package_manager_explains_dependencies_in_a_manifest() -> None:
    before = b'{\n  "name": "x"\n}\n'
    after = b'{\n  "name": "x",\n  "dependencies": {\n    "left-pad": "1"\n  }\n}\n'
    assert not is_manifest_update(before, after.replace(b"x", b"mine"), ["left-pad"])
    assert is_manifest_update(b'{\n  "version": "1"\n}\n', b'{\n  "version": "2"\n}\n', [])


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04 broken", b"\x1f\x8b broken", b"\xfd7zXZ\0 broken"])
def test_a_broken_archive_explains_nothing(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a").write_bytes(data)
    assert archive_digests(str(tmp_path / "a")) == frozenset()


def test_caches_and_untracked_build_folders_are_recognised_by_name() -> None:
    assert is_cache("pkg/__pycache__/a.pyc")
    assert not is_cache("notes.log")
    assert is_build_output("build/a.js", was_there=False, tracked=["src/a.ts"])
    assert not is_build_output("build/a.js", was_there=False, tracked=["build/config.js"])
    assert not is_build_output("lib/mine.py", was_there=False, tracked=[])


@pytest.mark.parametrize(
    "line",
    [
        "pytest tests/test_new.py",
        "[ -e new.txt ] && test -f other.txt",
        "cat missing.txt",
        "grep -o word missing.txt",
    ],
)
def test_the_operands_of_a_reading_command_are_no_outputs(tmp_path: Path, line: str) -> None:
    assert expected_effects(line, tmp_path).claims == ()


def test_no_effects_outside_the_workspace_are_claimed(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws" / "out").symlink_to(tmp_path)
    line = "echo x > ../a.txt; echo y > /etc/b.txt; echo z > out/c.txt; echo v > $HOME/d.txt; cd .. && touch e.txt"
    assert expected_effects(line, tmp_path / "ws").claims == ()
