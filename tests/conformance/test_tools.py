"""LangChain's standard suites for tools, over a Forge tool in its adapter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip(
    "langchain_tests",
    reason="langchain-tests is not installed: it needs an environment of its own (extra 'conformance')",
)

from langchain_core.tools import BaseTool as LangChainTool
from langchain_core.tools import tool
from langchain_tests.integration_tests import ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests

from forge_core.langchain import ForgeToolAdapter, LangChainToolAdapter
from forge_core.tools.builtin.read import ReadTool


class ReadAdapter(LangChainToolAdapter):
    """Built without arguments, as the suites build a tool."""

    def __init__(self, **fields: Any) -> None:
        super().__init__(**{"forge_tool": ReadTool(), **fields})


class ReadsThisFile:
    @property
    def tool_constructor(self) -> type[LangChainTool]:
        return ReadAdapter

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"file_path": str(Path(__file__).absolute()), "limit": 3}


class TestReadUnit(ReadsThisFile, ToolsUnitTests): ...


class TestReadIntegration(ReadsThisFile, ToolsIntegrationTests): ...


@tool
def add(a: int, b: int = 1) -> str:
    """Adds."""
    return str(a + b)


class AdaptsTwice:
    """A LangChain tool that went through Forge's kind and back."""

    @property
    def tool_constructor(self) -> LangChainTool:
        return LangChainToolAdapter(forge_tool=ForgeToolAdapter(langchain_tool=add))

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"a": 2, "b": 3}


class TestTwiceUnit(AdaptsTwice, ToolsUnitTests): ...


class TestTwiceIntegration(AdaptsTwice, ToolsIntegrationTests): ...
