"""Packages whose names load on first use."""

from __future__ import annotations

import importlib

import pytest


@pytest.mark.parametrize("package", ["forge_core.langchain", "forge_core.llm", "forge_core.tools"])
def test_a_star_import_brings_every_public_name(package: str) -> None:
    names: dict[str, object] = {}
    exec(f"from {package} import *", names)
    assert names.keys() - {"__builtins__"} == set(dir(importlib.import_module(package)))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"module 'forge_core\.llm' has no attribute 'Nothing'"):
        _ = importlib.import_module("forge_core.llm").Nothing
