"""Cells of notebooks: what is shown of them, and changes that leave every other byte as it is."""

from __future__ import annotations

import json
import random

import pytest

from forge_core.errors import ToolError
from forge_core.tools.editing.notebook import MAX_OUTPUT_LINES, Notebook, parse_notebook

JUPYTER = """{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "intro",
   "metadata": {},
   "source": [
    "# Caf\\u00e9 \\/ title\\n",
    "text"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 3,
   "id": "9f2c",
   "metadata": {"tags": [ ]},
   "outputs": [
    {"name": "stdout", "output_type": "stream", "text": ["\\u001b[31mred\\u001b[0m\\n", "10%\\r100%\\n"]},
    {"data": {"image/png": "iVBORw0KGgo=", "text/plain": ["<Figure>"]}, "output_type": "display_data"},
    {"ename": "ValueError", "evalue": "x", "output_type": "error", "traceback": ["\\u001b[0;31mValueError: x"]}
   ],
   "source": [
    "a = 1\\n",
    "b = 2"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": null,
   "id": "last",
   "metadata": {},
   "outputs": [],
   "source": []
  }
 ],
 "metadata": {"a":   1},
 "nbformat": 4,
 "nbformat_minor": 5
}
"""
SHOWN = """=== cell 1 (markdown, id intro) ===
# Café / title
text

=== cell 2 (code, id 9f2c, run 3) ===
a = 1
b = 2
--- output (stdout) ---
red
100%
--- output ---
[image/png, 12 characters]
<Figure>
--- error ---
ValueError: x

=== cell 3 (code, id last) ===

"""


def notebook(text: str) -> Notebook:
    parsed = parse_notebook(text.encode())
    assert parsed is not None
    return parsed


def test_cells_are_shown_with_number_id_source_and_outputs() -> None:
    assert notebook(JUPYTER).shown() == SHOWN


def test_a_long_output_is_cut_and_says_so() -> None:
    book = json.loads(JUPYTER)
    book["cells"][1]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "x\n" * 500}]
    shown = notebook(json.dumps(book)).shown()
    assert shown.count("\nx") == MAX_OUTPUT_LINES
    assert "[cut: 1,000 characters in 500 lines in all]" in shown


@pytest.mark.parametrize("name", ["2", "9f2c"])
def test_an_edit_changes_only_the_line_that_it_names(name: str) -> None:
    book = notebook(JUPYTER)
    changed = book.edited(book.find(name), "b = 2", 'b = "é"')
    assert changed.data.decode() == JUPYTER.replace('"b = 2"', '"b = \\"\\u00e9\\""')


def test_lines_that_stay_keep_their_escapes() -> None:
    book = notebook(JUPYTER)
    changed = book.edited(book.find("intro"), "text", "text\nmore")
    assert changed.data.decode() == JUPYTER.replace('"text"\n', '"text\\n",\n    "more"\n')


def test_an_empty_cell_is_filled_in_the_style_of_its_neighbours() -> None:
    book = notebook(JUPYTER)
    changed = book.edited(book.find("3"), "", "c = 3\nd = 4\n")
    assert changed.data.decode() == JUPYTER.replace(
        '"source": []', '"source": [\n    "c = 3\\n",\n    "d = 4\\n"\n   ]'
    )


def test_a_source_that_is_one_string_stays_one() -> None:
    book = notebook('{"cells":[{"cell_type":"code","source":"a\\nb"}],"nbformat":4}')
    changed = book.edited(book.find("1"), "b", "c")
    assert changed.data == b'{"cells":[{"cell_type":"code","source":"a\\nc"}],"nbformat":4}'


def test_an_inserted_cell_takes_the_indentation_of_the_file() -> None:
    book = notebook(JUPYTER)
    changed = book.inserted(book.find("1"), "code", "x\ny")
    new = changed.cells[1]
    added = f"""  {{
   "cell_type": "code",
   "execution_count": null,
   "id": "{new.id}",
   "metadata": {{}},
   "outputs": [],
   "source": [
    "x\\n",
    "y"
   ]
  }},
"""
    assert len(new.id) == 8
    before, after = JUPYTER.split('  },\n  {\n   "cell_type": "code",\n   "execution_count": 3', 1)
    assert changed.data.decode() == (
        before + "  },\n" + added + '  {\n   "cell_type": "code",\n   "execution_count": 3' + after
    )


def test_an_inserted_cell_has_the_same_id_in_the_preview_and_in_the_file() -> None:
    book = notebook(JUPYTER)
    assert book.inserted(None, "markdown", "x") == book.inserted(None, "markdown", "x")


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_inserting_and_deleting_gives_the_same_bytes_again(ends: str) -> None:
    book = notebook(JUPYTER.replace("\n", ends))
    for position, after in enumerate([None, *book.cells]):
        changed = book.inserted(after, "markdown", "new")
        assert changed.cells[position].source == "new"
        assert changed.deleted(changed.cells[position]).data == book.data
        assert b"\n" not in changed.data.replace(ends.encode(), b"")


def test_the_first_cell_of_an_empty_notebook() -> None:
    book = notebook('{\n  "cells": [],\n  "nbformat": 4,\n  "nbformat_minor": 4\n}')
    changed = book.inserted(None, "markdown", "hi")
    assert changed.data.decode() == (
        '{\n  "cells": [\n    {\n      "cell_type": "markdown",\n      "metadata": {},\n      "source": [\n'
        '        "hi"\n      ]\n    }\n  ],\n  "nbformat": 4,\n  "nbformat_minor": 4\n}'
    )
    assert changed.deleted(changed.cells[0]).cells == ()


@pytest.mark.parametrize(
    ("name", "words"),
    [("4", "has 3 cells (ids: intro, 9f2c, last)"), ("0", "no cell '0'"), ("x", "no cell 'x'")],
)
def test_an_unknown_cell_is_refused_with_the_ids(name: str, words: str) -> None:
    with pytest.raises(ToolError) as refused:
        notebook(JUPYTER).find(name)
    assert words in str(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"cells": 1}',
        '{"cells": [1]}',
        '{"cells": [',
        "[" * 100_000,
        '{"worksheets": []}',
        "a\0b",
    ],
)
def test_what_is_no_notebook(text: str) -> None:
    assert parse_notebook(text.encode()) is None


@pytest.mark.parametrize("seed", range(40))
def test_changes_of_made_notebooks_leave_the_other_cells_byte_for_byte(seed: int) -> None:
    chance = random.Random(seed)
    lines = ["x = 1", "é ü", '"quoted" \\ back', "\t tab", "", "emoji 🙂", "日本"]
    cells = []
    for number in range(chance.randint(1, 6)):
        source = "\n".join(chance.choices(lines, k=chance.randint(0, 4)))
        split = source.splitlines(keepends=True) if chance.random() < 0.7 else source
        cell = {
            "cell_type": chance.choice(["code", "markdown", "raw"]),
            "metadata": {"cells": ["}"]},
            "source": split,
        }
        cells.append({**cell, "id": f"c{number}"} if chance.random() < 0.7 else cell)
    book = {
        "metadata": {"source": "[{"},
        "cells": cells,
        "nbformat": 4,
        "nbformat_minor": chance.choice([4, 5]),
    }
    text = json.dumps(
        book,
        ensure_ascii=chance.random() < 0.5,
        indent=chance.choice([None, 1, 2, "\t"]),
        sort_keys=chance.random() < 0.5,
    )
    before = parse_notebook(chance.choice([b"", b"\xef\xbb\xbf"]) + text.encode())
    assert before is not None
    chosen = chance.choice(before.cells)
    if chosen.source:
        new = chosen.source + "\nadded = 'ö'"
        after = before.edited(chosen, chosen.source, new)
        assert after.cells[chosen.number - 1].source == new
        start, end = chosen.span
        assert after.data.startswith(
            before.data[: len(before.file.bom) + len(before.file.text[:start].encode())]
        )
        assert after.data.endswith(before.file.text[end:].encode())
    inserted = before.inserted(chosen, "code", "new")
    assert [cell.source for cell in inserted.cells] == [
        *(cell.source for cell in before.cells[: chosen.number]),
        "new",
        *(cell.source for cell in before.cells[chosen.number :]),
    ]
    assert inserted.deleted(inserted.cells[chosen.number]).data == before.data
