"""A folder that was judged and then gives way to a link: nothing from where that leads is told."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from forge_core.errors import ToolError
from forge_core.permissions.path_info import real_path
from forge_core.tools import BaseTool, ExecutionContext, GlobTool, GrepTool, LsTool
from forge_core.tools.searching.engine import SearchEngine
from forge_core.tools.searching.query import SearchQuery

SEARCHES: list[tuple[BaseTool, dict[str, Any]]] = [
    (GrepTool(), {"pattern": "secret", "path": "sub"}),
    (GrepTool(), {"pattern": "secret", "path": "sub/a.txt"}),
    (GlobTool(), {"pattern": "*", "path": "sub"}),
    (GlobTool(), {"pattern": "../work/sub/*"}),
    (LsTool(), {"path": "sub"}),
]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    for name in ("work/sub", "outside"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "a.txt").write_text("secret\n")
    return tmp_path / "work"


def swap(work: Path) -> None:
    (work / "sub").rename(work / "was")
    (work / "sub").symlink_to("../outside")


def judged(tool: BaseTool, params: dict[str, Any], work: Path) -> ExecutionContext:
    context = ExecutionContext(work)
    context.agreed = frozenset(real_path(path) for path in tool.describe_use(params, context).paths)
    return context


@pytest.mark.parametrize(("tool", "params"), SEARCHES)
async def test_a_folder_replaced_after_approval_is_not_searched(
    work: Path, tool: BaseTool, params: dict[str, Any]
) -> None:
    context = judged(tool, params, work)
    found = await tool.execute(params, context)
    assert "a.txt" in found.output
    swap(work)
    with pytest.raises(ToolError, match="now leads to another place"):
        await tool.execute(params, context)


class Swapping(SearchEngine):
    """The engine, in a folder that is swapped while it works."""

    def __init__(self, work: Path) -> None:
        super().__init__(None)
        self._work = work

    def count(
        self, query: SearchQuery, admits: Callable[[str], bool], stop: threading.Event
    ) -> dict[str, int]:
        swap(self._work)
        return super().count(query, admits, stop)


@pytest.mark.parametrize("is_judged", [True, False])
async def test_results_behind_a_link_created_during_the_search_are_discarded(
    work: Path, is_judged: bool
) -> None:
    params = {"pattern": "secret", "path": "sub"}
    grep = GrepTool(Swapping(work))
    context = judged(grep, params, work) if is_judged else ExecutionContext(work)
    with pytest.raises(ToolError, match="now leads to another place"):
        await grep.execute(params, context)


async def test_a_listing_of_a_folder_swapped_during_the_call_is_discarded(work: Path) -> None:
    params = {"pattern": "*", "path": "sub"}
    context = judged(GlobTool(), params, work)

    def hides(path: Path) -> bool:
        swap(work)
        return False

    context.hides = hides
    with pytest.raises(ToolError, match="now leads to another place"):
        await GlobTool().execute(params, context)


@pytest.mark.parametrize(("tool", "params"), SEARCHES)
async def test_an_approved_link_is_followed(work: Path, tool: BaseTool, params: dict[str, Any]) -> None:
    swap(work)
    context = judged(tool, params, work)
    assert "a.txt" in (await tool.execute(params, context)).output
