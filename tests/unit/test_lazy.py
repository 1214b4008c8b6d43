"""Packages whose names load on first use."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from forge_core.lazy import DeferredPackages


@pytest.mark.parametrize("package", ["forge_core.langchain", "forge_core.llm", "forge_core.tools"])
def test_a_star_import_brings_every_public_name(package: str) -> None:
    names: dict[str, object] = {}
    exec(f"from {package} import *", names)
    assert names.keys() - {"__builtins__"} == set(dir(importlib.import_module(package)))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"module 'forge_core\.llm' has no attribute 'Nothing'"):
        _ = importlib.import_module("forge_core.llm").Nothing


def test_a_deferred_package_runs_once_when_an_attribute_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder := tmp_path / "deferred_here").mkdir()
    (folder / "__init__.py").write_text(
        "import sys\nfrom deferred_here.part import RUNS\n"
        "RUNS.append(hasattr(sys.modules[__name__], 'last'))\nlast = 'set'\n"
    )
    (folder / "part.py").write_text("RUNS = []\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", [DeferredPackages(("deferred_here",)), *sys.meta_path])
    runs = importlib.import_module("deferred_here.part").RUNS
    package = sys.modules["deferred_here"]
    assert runs == [] and package.part.RUNS is runs
    assert (package.last, package.last) == ("set", "set")
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = package.nothing
    assert runs == [False]  # not set yet while it ran
    for name in ("deferred_here", "deferred_here.part"):
        del sys.modules[name]
