"""Jupyter notebooks: their cells as text, and changes to one cell that leave every other byte as it is.

The format: https://nbformat.readthedocs.io/en/latest/format_description.html, version 4.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from forge_core.errors import ToolError
from forge_core.tools.editing.diff import line_opcodes
from forge_core.tools.editing.replace import TextEdit, replace, splice
from forge_core.tools.editing.text import FileText, decode, dominant_terminator, split_lines
from forge_core.tools.shell.terminal_text import TerminalText

MAX_OUTPUT_LINES = 40
MAX_OUTPUT_CHARS = 2_000
"""Of one output of a cell; what is longer is cut in the text of the notebook."""
MAX_LISTED = 20
"""Cells that an error message names."""

_DECODER = json.JSONDecoder()
_BLANK = re.compile(r"[ \t\r\n]*")
_ESCAPED = re.compile(r"\\u(?!00[0-7])")


class CellAction(StrEnum):
    """What a call changes."""

    EDIT = "edit"
    INSERT_CODE = "insert_code"
    INSERT_MARKDOWN = "insert_markdown"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell, and where it is in the text of the file."""

    number: int
    """From 1."""
    value: dict[str, Any]
    span: tuple[int, int]
    source_span: tuple[int, int] | None
    """Of the JSON value of its source; None if it has none."""

    @property
    def id(self) -> str:
        """Empty in notebooks before version 4.5."""
        return str(self.value.get("id") or "")

    @property
    def kind(self) -> str:
        return str(self.value.get("cell_type") or "unknown")

    @property
    def source(self) -> str:
        return _joined(self.value.get("source"))

    @property
    def heading(self) -> str:
        """The line above the cell in the text of the notebook."""
        count = self.value.get("execution_count")
        about = [self.kind, f"id {self.id}" if self.id else "", f"run {count}" if count else ""]
        return f"=== cell {self.number} ({', '.join(filter(None, about))}) ==="


@dataclass(frozen=True, slots=True)
class Notebook:
    """A notebook whose bytes can be changed cell by cell."""

    data: bytes
    file: FileText
    cells: tuple[Cell, ...]
    list_span: tuple[int, int]
    """Of the JSON list of the cells."""
    has_ids: bool
    """Whether its version has ids of cells."""

    def shown(self) -> str:
        """Return the cells with their outputs, as the read tool shows them."""
        return "".join(f"{line}\n" for cell in self.cells for line in _cell_lines(cell))

    def find(self, name: str) -> Cell:
        """Return the cell of an id or a number. Raise ToolError if there is none."""
        name = name.strip()
        for cell in self.cells:
            if cell.id and cell.id == name:
                return cell
        if name.isascii() and name.isdecimal() and 1 <= int(name) <= len(self.cells):
            return self.cells[int(name) - 1]
        ids = ", ".join(cell.id for cell in self.cells[:MAX_LISTED] if cell.id)
        raise ToolError(
            f"There is no cell {name!r}: the notebook has {_counted(len(self.cells))}"
            f"{f' (ids: {ids})' if ids else ''}. Read it again for their numbers."
        )

    def edited(self, cell: Cell, old: str, new: str, *, replace_all: bool = False) -> Notebook:
        """Return the notebook with text of a cell's source replaced. Raise ToolError as `replace` does."""
        if cell.source_span is None:
            raise ToolError(f"Cell {cell.number} has no source. Nothing was written.")
        try:
            source = cell.source.encode()
        except UnicodeEncodeError as error:
            raise ToolError(
                f"The source of cell {cell.number} contains half of a surrogate pair, which cannot be "
                "edited. Nothing was written."
            ) from error
        after = replace(source, old, new, replace_all=replace_all).after
        return self._with(TextEdit(*cell.source_span, self._encoded_source(cell, after)))

    def inserted(self, after: Cell | None, kind: str, source: str) -> Notebook:
        """Return the notebook with a new cell after another; None: at the top."""
        position = 0 if after is None else after.number
        cell: dict[str, Any] = {"cell_type": kind}
        if kind == "code":
            cell["execution_count"] = None
        if self.has_ids:
            cell["id"] = self._new_id(position, source)
        cell["metadata"] = {}
        if kind == "code":
            cell["outputs"] = []
        cell["source"] = source.splitlines(keepends=True)
        start, end = self.list_span
        text = self.file.text
        if not self.cells:
            base = "" if "\n" not in text else "\n" + self._indent(start) + self._unit
            tail = base.removesuffix(self._unit) if base else ""
            return self._with(TextEdit(start + 1, end - 1, base + self._encoded(cell, base) + tail))
        first = self.cells[0].span
        lead = text[start + 1 : first[0]]
        between = text[first[1] : self.cells[1].span[0]] if len(self.cells) > 1 else f",{lead}"
        encoded = self._encoded(cell, lead)
        if after is None:
            return self._with(TextEdit(first[0], first[0], encoded + between))
        return self._with(TextEdit(after.span[1], after.span[1], between + encoded))

    def deleted(self, cell: Cell) -> Notebook:
        """Return the notebook without a cell."""
        if len(self.cells) == 1:
            span = self.list_span[0] + 1, self.list_span[1] - 1
        elif cell.number == 1:
            span = cell.span[0], self.cells[1].span[0]
        else:
            span = self.cells[cell.number - 2].span[1], cell.span[1]
        return self._with(TextEdit(*span, ""))

    def _with(self, edit: TextEdit) -> Notebook:
        changed = parse_notebook(splice(self.data, self.file, [edit], "exact").data)
        if changed is None:
            raise ToolError("The notebook would no longer be valid JSON. Nothing was written.")
        return changed

    def _encoded_source(self, cell: Cell, source: str) -> str:
        """Return the JSON of a changed source in the style of the old one; unchanged lines keep theirs."""
        assert cell.source_span is not None
        raw = self.file.text[slice(*cell.source_span)]
        if not raw.startswith("["):
            return self._dumps(source)
        old = [(value, raw[start:end]) for value, start, end in _items(raw, 0)]
        new = source.splitlines(keepends=True)
        if not new:
            return "[]"
        lead, between, tail = self._list_style(cell)
        rows: list[str] = []
        for tag, i, j, k, m in line_opcodes([str(value) for value, _ in old], new):
            rows += [token for _, token in old[i:j]] if tag == "equal" else map(self._dumps, new[k:m])
        return f"[{lead}{between.join(rows)}{tail}]"

    def _list_style(self, cell: Cell) -> tuple[str, str, str]:
        """Return what stands before, between and after the lines of a source, from the cell's own or those of
        the nearest other cell that has lines."""
        others = sorted(self.cells, key=lambda one: abs(one.number - cell.number))
        for one in others:
            if one.source_span is None:
                continue
            raw = self.file.text[slice(*one.source_span)]
            spans = [(start, end) for _, start, end in _items(raw, 0)] if raw.startswith("[") else []
            if spans:
                lead, tail = raw[1 : spans[0][0]], raw[spans[-1][1] : -1]
                between = raw[spans[0][1] : spans[1][0]] if len(spans) > 1 else f",{lead or ' '}"
                return lead, between, tail
        return "", ", ", ""

    def _encoded(self, cell: dict[str, Any], lead: str) -> str:
        if "\n" not in lead and "\r" not in lead:
            is_dense = '": ' not in self.file.text
            return json.dumps(
                cell, ensure_ascii=self._is_escaped, separators=(",", ":") if is_dense else None
            )
        base = lead.rpartition("\n")[2]
        lines = json.dumps(cell, ensure_ascii=self._is_escaped, indent=self._unit).split("\n")
        return (dominant_terminator(self.file.text) + base).join(lines)

    def _dumps(self, text: str) -> str:
        return json.dumps(text, ensure_ascii=self._is_escaped)

    @property
    def _is_escaped(self) -> bool:
        return self.file.text.isascii() and _ESCAPED.search(self.file.text) is not None

    @property
    def _unit(self) -> str:
        """The indentation of the members of the notebook."""
        found = re.match(r"\s*\{[ \t]*\r?\n([ \t]+)", self.file.text)
        return found[1] if found else " "

    def _indent(self, at: int) -> str:
        line = self.file.text[self.file.text.rfind("\n", 0, at) + 1 : at]
        return line[: len(line) - len(line.lstrip())]

    def _new_id(self, position: int, source: str) -> str:
        """Return an id that is not taken, and the same for the same call."""
        taken, number = {cell.id for cell in self.cells}, 0
        while True:
            seed = f"{position} {number} {source}".encode("utf-8", "replace") + self.data
            new = hashlib.sha256(seed).hexdigest()[:8]
            if new not in taken:
                return new
            number += 1


def parse_notebook(data: bytes) -> Notebook | None:
    """Return the notebook, or None if the bytes are none of version 4."""
    try:
        file = decode(data)
        whole = json.loads(file.text)
        if not isinstance(whole, dict) or not isinstance(whole.get("cells"), list):
            return None
        cells_span = next(
            (start, end)
            for key, _, start, end in [*_members(file.text, _skip(file.text, 0))][::-1]
            if key == "cells"
        )
        cells = tuple(
            Cell(number, value, (start, end), _source_span(file.text, start))
            for number, (value, start, end) in enumerate(_items(file.text, cells_span[0]), 1)
            if isinstance(value, dict)
        )
    except (ToolError, ValueError, RecursionError):
        return None
    if len(cells) != len(whole["cells"]):
        return None
    version = (whole.get("nbformat"), whole.get("nbformat_minor"))
    has_ids = any(cell.id for cell in cells) or (isinstance(version[1], int) and version >= (4, 5))
    return Notebook(data, file, cells, cells_span, has_ids)


def _source_span(text: str, at: int) -> tuple[int, int] | None:
    spans = [(start, end) for key, _, start, end in _members(text, at) if key == "source"]
    return spans[-1] if spans else None


def _members(text: str, at: int) -> Iterator[tuple[str, Any, int, int]]:
    """Yield the key, the value and the span of the value of each member of the JSON object at `at`."""
    at = _skip(text, at + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        start = _skip(text, _skip(text, at) + 1)
        value, end = _DECODER.raw_decode(text, start)
        yield key, value, start, end
        at = _next(text, end)


def _items(text: str, at: int) -> Iterator[tuple[Any, int, int]]:
    """Yield each item of the JSON list at `at` with its span."""
    at = _skip(text, at + 1)
    while text[at] != "]":
        value, end = _DECODER.raw_decode(text, at)
        yield value, at, end
        at = _next(text, end)


def _next(text: str, at: int) -> int:
    at = _skip(text, at)
    return _skip(text, at + 1) if text[at] == "," else at


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _joined(lines: Any) -> str:
    """Return a text that may be split into a list of lines."""
    if isinstance(lines, list):
        return "".join(line for line in lines if isinstance(line, str))
    return lines if isinstance(lines, str) else ""


def _cell_lines(cell: Cell) -> Iterator[str]:
    yield cell.heading
    if cell.source:
        yield from split_lines(cell.source)[0]
    outputs = cell.value.get("outputs")
    for output in outputs if isinstance(outputs, list) else ():
        if isinstance(output, dict):
            yield f"--- {_output_name(output)} ---"
            yield from _cut(_output_text(output))
    yield ""


def _output_name(output: dict[str, Any]) -> str:
    match output.get("output_type"):
        case "stream":
            return f"output ({output.get('name')})"
        case "error":
            return "error"
        case _:
            return "output"


def _output_text(output: dict[str, Any]) -> str:
    if output.get("output_type") == "error":
        trace = output.get("traceback")
        lines = [line for line in trace if isinstance(line, str)] if isinstance(trace, list) else []
        return _plain("\n".join(lines) or f"{output.get('ename')}: {output.get('evalue')}")
    if "text" in output:
        return _plain(_joined(output["text"]))
    data = output.get("data")
    if not isinstance(data, dict):
        return ""
    other = [
        f"[{kind}, {len(_joined(value)):,} characters]"
        for kind, value in data.items()
        if kind != "text/plain"
    ]
    return "\n".join([*other, *filter(None, [_plain(_joined(data.get("text/plain")))])])


def _plain(text: str) -> str:
    """Return an output as a terminal shows it: without colours, and with the last state of progress bars."""
    if "\x1b" not in text and "\r" not in text and "\b" not in text:
        return text
    terminal = TerminalText()
    return terminal.feed(text.encode("utf-8", "replace")) + terminal.finish()


def _cut(text: str) -> Sequence[str]:
    lines = text.splitlines()
    shown = text[:MAX_OUTPUT_CHARS].splitlines()[:MAX_OUTPUT_LINES]
    if shown == lines:
        return lines
    return [*shown, f"[cut: {len(text):,} characters in {len(lines):,} lines in all]"]


def _counted(count: int) -> str:
    return f"{count} cell{'' if count == 1 else 's'}"
