"""Which files every successful run of a script writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from forge_core.tools.effect_analysis.makefiles import made_for_certain, recipes
from forge_core.tools.effect_analysis.node_outputs import node_outputs
from forge_core.tools.effect_analysis.python_outputs import python_outputs


@pytest.mark.parametrize(
    ("source", "certain"),
    [
        ("open('f', 'w')", {"f": 1}),
        ("open('f')", {}),
        ("open('f', mode)", {}),
        ("import os\nos.open('f', os.O_RDONLY)", {}),
        ("Path('f').open('a')", {"f": 1}),
        ("Path('f').touch()", {}),
        ("import os\nos.link('a', 'f')", {}),
        ("import os\nos.rename('a', 'f')", {"f": 1}),
        ("with open('f', 'w') as a, open('g', 'a') as b: pass", {"f": 1, "g": 1}),
        ("if x:\n    open('f', 'w')", {}),
        ("x and open('f', 'w')", {}),
        ("[open('f', 'w') for x in y]", {}),
        ("for x in y:\n    open('f', 'a')", {}),
        ("for x in range(3):\n    open('f', 'a')", {"f": 3}),
        ("for x in range(2):\n    open(f'f{x}', 'w')", {"f0": 1, "f1": 1}),
        ("for x in range(2):\n    if x: break\n    open('f', 'w')", {}),
        ("try:\n    open('f', 'w')\nexcept OSError: pass", {}),
        ("try:\n    open('f', 'w')\nfinally: pass", {"f": 1}),
        ("with suppress(OSError):\n    open('f', 'w')", {}),
        ("import sys\nif x: sys.exit()\nopen('f', 'w')", {}),
        ("if x: raise SystemExit\nopen('f', 'w')", {}),
        ("if x: raise ValueError\nopen('f', 'w')", {"f": 1}),
        ("def a():\n    open('f', 'w')", {}),
        ("def a():\n    open('f', 'w')\na()\na()", {"f": 2}),
        ("def a():\n    if x: return\n    open('f', 'w')\na()", {}),
        ("def a():\n    if x: return\na()\nopen('f', 'w')", {"f": 1}),
        ("def a():\n    if x: exit()\na()\nopen('f', 'w')", {}),
        ("def a():\n    yield open('f', 'w')\na()", {}),
        ("def a(p):\n    open(p, 'w')\na('f')\na('g')", {"f": 1, "g": 1}),
        ("p = 'f'\nif x: p = 'g'\nopen(p, 'w')", {}),
        ("if __name__ == '__main__':\n    open('f', 'w')", {"f": 1}),
    ],
)
def test_a_python_script_certainly_writes(source: str, certain: dict[str, int]) -> None:
    assert python_outputs(source, "script.py").certain == certain


@pytest.mark.parametrize(
    ("source", "arguments"),
    [
        ("import sys\nopen(sys.argv[2], 'w')", ["2"]),
        ("args = parse()\nopen(args.out_file, 'w')", ["--out-file"]),
        ("args = parse()\nif x: open(args.out, 'w')", []),
    ],
)
def test_a_python_script_certainly_writes_to_an_argument(source: str, arguments: list[str]) -> None:
    assert python_outputs(source, "script.py").certain_arguments == arguments


@pytest.mark.parametrize(
    ("source", "certain"),
    [
        ("const fs = require('fs'); fs.writeFileSync('f', 'x')", {"f": 1}),
        ("require('fs').appendFileSync('f', 'x'); require('fs').appendFileSync('f', 'y')", {"f": 2}),
        ("if (x) fs.writeFileSync('f', 'x')", {}),
        ("x && fs.writeFileSync('f', 'x')", {}),
        ("function a() { fs.writeFileSync('f', 'x') }", {}),
        ("process.exit(0); fs.writeFileSync('f', 'x')", {}),
        ("fs.writeFile('f', 'x', () => {})", {}),
        ("// fs.x\nfs.writeFileSync('f', '{')", {"f": 1}),
    ],
)
def test_a_node_script_certainly_writes(source: str, certain: dict[str, int]) -> None:
    assert node_outputs(source).certain == certain


def test_make_certainly_runs_the_recipes_of_needed_targets_that_are_missing(tmp_path: Path) -> None:
    (tmp_path / "old").touch()
    text = ".PHONY: all docs\nall: old new docs\nold:\n\techo\nnew:\n\techo\ndocs:\n\techo\nother:\n\techo\n"
    rules = list(recipes(text))
    assert made_for_certain(rules, [], tmp_path) == {"all", "new", "docs"}
    assert made_for_certain(rules, ["other"], tmp_path) == {"other"}


def test_a_recipe_whose_failure_is_ignored_proves_nothing() -> None:
    (rule,) = recipes("a:\n\t-@echo x > f\n")
    assert rule.lines == ("echo x > f || true",)
