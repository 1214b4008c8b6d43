"""The read and edit tools on Jupyter notebooks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from forge_core.tools import EditTool, ExecutionContext, ReadTool, ToolExecutor, ToolResult
from tests.unit.tools.editing.test_notebook import JUPYTER


@pytest.fixture
def context(tmp_path: Path) -> ExecutionContext:
    (tmp_path / "a.ipynb").write_text(JUPYTER)
    return ExecutionContext(tmp_path)


async def edit(context: ExecutionContext, **params: Any) -> ToolResult:
    params = {"file_path": "a.ipynb", "old_string": "", "new_string": "", **params}
    return await ToolExecutor().execute(EditTool(), params, context)


async def test_read_shows_the_cells(context: ExecutionContext) -> None:
    result = await ToolExecutor().execute(ReadTool(), {"file_path": "a.ipynb"}, context)
    assert "     1\t=== cell 1 (markdown, id intro) ===\n" in result.output
    assert result.summary == "3 cells, 18 lines"


async def test_the_diff_of_an_edit_compares_the_cells(context: ExecutionContext) -> None:
    result = await edit(context, cell=2, old_string="a = 1", new_string="a = 5")
    assert (context.root / "a.ipynb").read_text() == JUPYTER.replace("a = 1", "a = 5")
    assert (result.diffs[0].added, result.diffs[0].removed) == (1, 1)
    assert " === cell 2 (code, id 9f2c, run 3) ===\n-a = 1\n+a = 5\n b = 2\n" in result.output


async def test_the_preview_shows_what_is_written(context: ExecutionContext) -> None:
    call = {"cell": "intro", "cell_action": "insert_code", "new_string": "import x"}
    params = {"file_path": "a.ipynb", "old_string": "", **call}
    preview = await EditTool().preview(params, context)
    assert "+import x" in preview[0].diff
    assert (await edit(context, **call)).diffs == preview


async def test_a_cell_is_deleted(context: ExecutionContext) -> None:
    assert (await edit(context, cell="9f2c", cell_action="delete")).success
    assert "9f2c" not in (context.root / "a.ipynb").read_text()


async def test_without_a_cell_a_notebook_is_edited_as_text(context: ExecutionContext) -> None:
    result = await edit(context, old_string='"nbformat_minor": 5', new_string='"nbformat_minor": 4')
    assert result.success, result.error
    assert '"nbformat_minor": 4' in (context.root / "a.ipynb").read_text()


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"cell": "7", "old_string": "a", "new_string": "b"}, "a.ipynb: There is no cell '7'"),
        ({"cell": "2", "old_string": "missing", "new_string": "b"}, "was not found"),
        ({"cell": "2", "old_string": "a = 1", "cell_action": "delete"}, "old_string must be empty"),
        ({"cell": "1", "cell_action": "move"}, "cell_action"),
        ({"cell": "1", "file_path": "b.py", "old_string": "x", "new_string": "y"}, "not a Jupyter notebook"),
    ],
)
async def test_what_is_refused_leaves_the_file_alone(
    context: ExecutionContext, params: dict[str, Any], words: str
) -> None:
    (context.root / "b.py").write_text("x\n")
    assert words in ((await edit(context, **params)).error or "")
    assert (context.root / "a.ipynb").read_text() == JUPYTER
    assert (context.root / "b.py").read_text() == "x\n"


async def test_a_notebook_that_has_changed_since_it_was_read_is_not_edited(context: ExecutionContext) -> None:
    await ToolExecutor().execute(ReadTool(), {"file_path": "a.ipynb"}, context)
    (context.root / "a.ipynb").write_text(JUPYTER.replace("b = 2", "b = 3"))
    result = await edit(context, cell="2", old_string="a = 1", new_string="a = 2")
    assert "has changed since you read it" in (result.error or "")
