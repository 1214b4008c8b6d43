"""Edits that would leave a file with a syntax error."""

from pathlib import Path
from typing import Any

import pytest

from forge_core.tools import BaseTool, EditTool, ExecutionContext, ToolExecutor, ToolResult
from forge_core.tools.builtin.apply_patch import ApplyPatchTool
from forge_core.tools.builtin.multi_edit import MultiEditTool

CODE = """class A:
    def f(self):
        x = 1
        return x

    def g(self):
        for y in self.x:
            y = f(y)
            return y
"""
NESTED_JSON = '{\n    "a": {\n        "b": 1,\n        "c": 2\n    }\n}\n'
NESTED_YAML = "a:\n    b:\n        c: 1\n        d: 2\n"
TABLE = 'a = [\n    "b",\n    "c",\n]\n'


async def run(folder: Path, tool: BaseTool, params: dict[str, Any]) -> ToolResult:
    return await ToolExecutor().execute(tool, params, ExecutionContext(folder))


async def edit(folder: Path, name: str, old: str, new: str) -> ToolResult:
    return await run(folder, EditTool(), {"file_path": name, "old_string": old, "new_string": new})


DEDENTS = [
    ("x = 1\nreturn x\n", "if x:\nx = 1\nreturn x\n", "line 4"),
    ("def f(self):\n    x = 1\n    return x\n", "def f(self):\n    x = 1\nreturn x\n", "line 4"),
    ("for y in self.x:\n    y = f(y)\n    return y\n", "for y in self.x:\ny = f(y)\nreturn y\n", "line 8"),
]


@pytest.mark.parametrize(("old", "new", "place"), DEDENTS)
async def test_a_recovered_edit_that_breaks_the_syntax_is_refused(
    tmp_path: Path, old: str, new: str, place: str
) -> None:
    path = tmp_path / "a.py"
    path.write_text(CODE)
    result = await edit(tmp_path, "a.py", old, new)
    assert not result.success
    assert "would no longer parse" in (result.error or "") and place in (result.error or "")
    assert "indentation" in (result.error or "")
    assert path.read_text() == CODE


@pytest.mark.parametrize(
    ("name", "text", "old", "new"),
    [
        ("a.pyi", CODE, "        x  =  1\n", "        x  =  (\n"),
        ("a.py", CODE, "        x = 1  \n", "        x = )\n"),
        ("a.py", CODE, "     3\t        x = 1\n", "     3\t        x = )\n"),
        ("a.py", CODE.replace("1", '"\u201c"'), 'x = "\'"'.replace("'", '"'), 'x = "'),
        ("a.py", CODE.replace("\n", "\r\n"), *DEDENTS[0][:2]),
        ("a.json", NESTED_JSON, '        "b":  1,\n', '        "b":  1,,\n'),
        ("a.ipynb", NESTED_JSON, '"b": 1,\n"c": 2\n', '"b": 1\n"c": 2\n'),
        ("a.yaml", NESTED_YAML, "c: 1\nd: 2\n", "c: [1\nd: 2\n"),
        ("a.yml", NESTED_YAML, "        c:  1\n", "        c:  {1\n"),
        ("a.toml", TABLE, '"b",\n"c",\n', '"b"\n"c",\n'),
    ],
)
async def test_a_recovered_edit_is_refused_in_every_format_that_is_checked(
    tmp_path: Path, name: str, text: str, old: str, new: str
) -> None:
    path = tmp_path / name
    path.write_bytes(text.encode())
    result = await edit(tmp_path, name, old, new)
    assert "would no longer parse" in (result.error or ""), result
    assert path.read_bytes() == text.encode()


async def test_an_exact_edit_that_breaks_the_syntax_is_made_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    for text in (CODE, CODE.replace("\n", "\r\n")):
        path.write_bytes(text.encode())
        result = await edit(tmp_path, "a.py", "        return x\n", "    return x\n")
        assert result.success and "no longer parses: 'return' outside function (line 4)" in result.output
        assert b"    return x" in path.read_bytes()


async def test_a_recovered_edit_of_a_file_that_does_not_parse_is_made(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text(CODE + "x = (\n")
    assert (await edit(tmp_path, "a.py", *DEDENTS[0][:2])).success
    assert "if x:" in path.read_text()


async def test_a_recovered_edit_of_a_format_that_is_not_checked_is_made(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(CODE)
    assert (await edit(tmp_path, "a.txt", *DEDENTS[0][:2])).success
    assert "if x:" in path.read_text()


async def test_one_recovered_edit_that_breaks_the_syntax_refuses_the_whole_call(tmp_path: Path) -> None:
    path, other = tmp_path / "a.py", tmp_path / "b.txt"
    path.write_text(CODE)
    other.write_text("one\n")
    several = [
        {"file_path": "b.txt", "old_string": "one", "new_string": "two"},
        {"file_path": "a.py", "old_string": "def g", "new_string": "def h"},
        {"file_path": "a.py", "old_string": DEDENTS[0][0], "new_string": DEDENTS[0][1]},
    ]
    result = await run(tmp_path, MultiEditTool(), {"edits": several})
    assert "would no longer parse" in (result.error or "")
    assert (path.read_text(), other.read_text()) == (CODE, "one\n")


async def test_a_syntax_error_that_a_later_edit_of_the_call_corrects_is_none(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text(CODE)
    several = [
        {"file_path": "a.py", "old_string": "        x  =  1\n", "new_string": "        x  =  (1\n"},
        {"file_path": "a.py", "old_string": "return x\n", "new_string": "+ 1)\n        return x\n"},
    ]
    assert (await run(tmp_path, MultiEditTool(), {"edits": several})).success
    assert "        x  =  (1\n        + 1)\n" in path.read_text()


@pytest.mark.parametrize("move", [False, True])
async def test_a_recovered_patch_that_breaks_the_syntax_is_refused(tmp_path: Path, move: bool) -> None:
    path = tmp_path / "a.py"
    path.write_text(CODE)
    lines = ["*** Update File: a.py", *(["*** Move to: b.py"] if move else []), "@@"]
    patch = [*lines, "-x = 1", "+if x:", "+x = 1", " return x"]
    text = "\n".join(["*** Begin Patch", *patch, "*** End Patch"])
    result = await run(tmp_path, ApplyPatchTool(), {"patch": text})
    assert "would no longer parse" in (result.error or ""), result
    assert path.read_text() == CODE and not (tmp_path / "b.py").exists()
