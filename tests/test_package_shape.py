"""The figures of tests/package_shape.py and tests/base_classes.py, on small packages made for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.base_classes import single_subclasses
from tests.package_shape import Source, cycles, depth, load, size


def source_of(root: Path, **files: str) -> Source:
    """The source of a package `pkg`; a `__` in a name separates folders, `init` is `__init__`."""
    for name, text in {"init": "", **files}.items():
        *folders, last = name.split("__")
        path = root.joinpath("pkg", *folders, f"{'__init__' if last == 'init' else last}.py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return load("pkg", root=root)


def test_depth_counts_the_units_of_the_longest_chain(tmp_path: Path) -> None:
    source = source_of(
        tmp_path,
        a="from pkg import b\n",
        b="def f():\n    import pkg.c.inner\n",
        c__init="",
        c__inner="from . import other\n",
        c__other="from pkg.d import X\n",
        d="X = 1\n",
    )
    assert source.units("pkg") == ["pkg.a", "pkg.b", "pkg.c", "pkg.d"]
    assert depth(source.unit_graph("pkg")) == 4
    assert depth(source.unit_graph("pkg.c")) == 2
    assert cycles(source.imports) == []


def test_a_cycle_counts_as_many_units_as_it_has_members(tmp_path: Path) -> None:
    source = source_of(tmp_path, a="import pkg.b\n", b="import pkg.c\n", c="import pkg.b\n")
    assert cycles(source.imports) == [["pkg.b", "pkg.c"]]
    assert depth(source.unit_graph("pkg")) == 3


@pytest.mark.parametrize("guard", ["TYPE_CHECKING", "typing.TYPE_CHECKING"])
def test_type_checking_imports_are_not_dependencies(tmp_path: Path, guard: str) -> None:
    source = source_of(
        tmp_path,
        a=f"if {guard}:\n    import pkg.b\nelse:\n    import pkg.c\n",
        b="import pkg.a\n",
        c="",
    )
    assert source.imports["pkg.a"] == {"pkg.c"}
    assert source.mentions["pkg.a"] == {"pkg.b", "pkg.c"}
    assert cycles(source.imports) == []


def test_a_re_exported_name_is_traced_to_its_module(tmp_path: Path) -> None:
    source = source_of(
        tmp_path,
        a="from pkg.sub import Thing\n",
        sub__init="if TYPE_CHECKING:\n    from pkg.sub.thing import Thing\n",
        sub__thing="class Thing: ...\n",
    )
    assert source.imports["pkg.a"] == {"pkg.sub", "pkg.sub.thing"}
    assert source.importers("pkg.sub.thing") == {"pkg.a", "pkg.sub"}


def test_blank_lines_comments_and_docstrings_are_not_counted_as_code(tmp_path: Path) -> None:
    text = '"""Summary.\n\nMore.\n"""\n\n# a comment\nX = """\n# text\n\n"""\nY = 1  # beside code\n"""A field."""\n'
    source = source_of(tmp_path, a=text)
    figures = size(source.modules["pkg.a"])
    assert (figures.code, figures.comments, figures.comments_per_1000) == (5, 1, 200.0)


def test_a_base_class_of_one_subclass_is_found_through_aliases(tmp_path: Path) -> None:
    source = source_of(
        tmp_path,
        bases="class Part: ...\nclass Shared: ...\nclass Whole: ...\nclass Caught(Exception): ...\n",
        a="from pkg import bases as b\n"
        "class One(b.Part, b.Shared, b.Whole): ...\n"
        "def f(part: b.Part) -> b.Part:\n    assert isinstance(part, b.Part)\n",
        c="from pkg.bases import Caught, Shared, Whole\n"
        "class Two(Shared): ...\n"
        "class Three(Caught): ...\n"
        "try:\n    whole = Whole()\nexcept Caught:\n    raise\n",
    )
    assert single_subclasses(source) == {"pkg.bases.Part": "pkg.a.One"}
