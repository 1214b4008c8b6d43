"""Tools' outputs in several layouts, and the shape of code."""

from __future__ import annotations

import pytest

from forge_core.offline.conversation import CallStatus, outcome_of
from forge_core.offline.source_code import OutlineEntry, block_end, defines, definition_pattern, outline
from forge_core.offline.tool_output import (
    Hit,
    Numbered,
    exit_code,
    grep_hits,
    has_nothing,
    numbered_lines,
    paths,
    stated_total,
    tree_paths,
)


@pytest.mark.parametrize("row", ["     7\tx = 1", "7→x = 1", "7: x = 1", "   7|x = 1", "7 │ x = 1"])
def test_a_numbered_line_is_read_in_several_layouts(row: str) -> None:
    assert numbered_lines(row) == [Numbered(7, "x = 1")]


def test_a_line_starting_with_a_number_is_not_treated_as_numbered() -> None:
    assert numbered_lines("     1\t5: five\n     2\t9\tnine") == [
        Numbered(1, "5: five"),
        Numbered(2, "9\tnine"),
    ]


def test_a_long_line_that_was_split_is_joined_again() -> None:
    assert numbered_lines("     1\tab\n     ↪\tcd\n     2\tef") == [Numbered(1, "abcd"), Numbered(2, "ef")]


def test_an_empty_file_has_no_lines() -> None:
    assert numbered_lines("(a.txt is empty)") == []


def test_without_numbers_lines_are_counted() -> None:
    assert numbered_lines("a\nb\n") == [Numbered(1, "a"), Numbered(2, "b")]


@pytest.mark.parametrize(
    ("output", "total"),
    [
        ("     1\ta\n[lines 1-80 of 200; go on with offset=81]", 200),
        ("     1\ta\n[1 line; end of file]", 1),
        ("a:1:x\n[matches 1-250 of 1,412; go on with offset=250]", 1412),
        ("     1\tof 99 lines", None),
        ("", None),
    ],
)
def test_the_total_is_read_only_from_the_note(output: str, total: int | None) -> None:
    assert stated_total(output) == total


def test_matches_are_read_flat_and_under_headings() -> None:
    assert grep_hits("./a.py:3:x: 1\nb/c d.py:10:  y") == [Hit("a.py", 3, "x: 1"), Hit("b/c d.py", 10, "  y")]
    assert grep_hits("a.py\n3:x\n  9: y") == [Hit("a.py", 3, "x"), Hit("a.py", 9, "y")]
    assert grep_hits("a.py-2-context\na.py:3:hit\n--\n[more]") == [Hit("a.py", 3, "hit")]


def test_paths_are_read_without_notes_and_counts() -> None:
    assert paths("./a.py\nb/c.py:4\n\n[12 more; narrow the pattern]\nNo file matches") == ["a.py", "b/c.py"]


@pytest.mark.parametrize(
    "tree",
    [
        "./\n  src/\n    a.py\n  .venv/ (ignored)\n  link -> src/a.py\n  README.md\n  ... 4 more",
        "./\n├── src/\n│   └── a.py\n├── .venv/\n├── link\n└── README.md",
    ],
    ids=("indented", "drawn"),
)
def test_a_tree_is_read_as_paths(tree: str) -> None:
    assert tree_paths(tree) == ["src/", "src/a.py", ".venv/", "link", "README.md"]


@pytest.mark.parametrize(
    ("output", "code"),
    [
        ("x\n[exit code 0, 0.1 s]", 0),
        ("Error: exit code 137 (SIGKILL)\nx", 137),
        ("out\nExit code: 2", 2),
        ("exited with status 3", 3),
        ("nothing told", None),
    ],
)
def test_the_exit_code_is_read(output: str, code: int | None) -> None:
    assert exit_code(output) == code


@pytest.mark.parametrize("output", ["", "No match for 'x'.", "No files found", "(no results)", "0 matches"])
def test_no_matches_are_recognised(output: str) -> None:
    assert has_nothing(output)
    assert not has_nothing("notes.md")


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("fine", CallStatus.OK),
        ("access denied, says line 3 of the log", CallStatus.OK),
        ("Error: the user did not allow this call of bash. They gave no reason.", CallStatus.DENIED),
        ("Error: bash was not allowed: in plan mode nothing is run.", CallStatus.DENIED),
        ("Permission denied by the user: not now", CallStatus.DENIED),
        ("Error: 'x' may not be read: permission denied.", CallStatus.FAILED),
        ("Error: exit code 1\nrequest was rejected", CallStatus.FAILED),
    ],
)
def test_a_refusal_is_distinguished_from_a_failure(text: str, status: CallStatus) -> None:
    assert outcome_of(text).status is status


@pytest.mark.parametrize(
    "line",
    [
        "def foo(a):",
        "    async def foo(self):",
        "class foo(Base):",
        "function foo() {",
        "export const foo = () => 1",
        "func (s *Server) foo(w int) error {",
        "pub fn foo<T>(x: T) {",
        "foo = 3",
        "foo: int = 3",
        "static int foo(char *s)",
        "  foo(a, b) {",
        "#define foo 1",
        "type foo struct {",
    ],
)
def test_definitions_are_recognised_in_many_languages(line: str) -> None:
    assert defines(line, "foo")


@pytest.mark.parametrize(
    "line",
    [
        "return foo(a)",
        "x = foo(1)",
        "if foo == 1:",
        "    foo()",
        "# the foo",
        "from a import foo",
        "food = 1",
        "await foo(x) {",
    ],
)
def test_a_use_is_not_treated_as_a_definition(line: str) -> None:
    assert not defines(line, "foo")


def test_the_definition_pattern_is_supported_by_ripgrep() -> None:
    pattern = definition_pattern("Class.method")
    assert pattern.endswith(r"method\b")
    assert "(?" not in pattern


@pytest.mark.parametrize(
    ("path", "source", "size"),
    [
        ("a.py", "def f(\n    a,\n):\n    x\n\n    y\n\n\nz = 1", 6),
        ("a.js", "function f() {\n  if (x) {\n  }\n}\ng()", 4),
        ("a.c", "int f(void);\nint g;", 1),
        ("a.py", "def last():\n    return 1", 2),
    ],
)
def test_a_block_ends_where_its_code_ends(path: str, source: str, size: int) -> None:
    assert block_end(source.split("\n"), path) == size


def test_markdown_headings_inside_code_are_ignored() -> None:
    found = outline("a.md", "# One\n\nSome words stand here, five.\n\n```sh\n# no\n```\n\n## Two ##\n")
    assert found.entries == (OutlineEntry(1, "One", 0), OutlineEntry(9, "Two", 1))
    assert found.summary == "Some words stand here, five."


@pytest.mark.parametrize(
    ("path", "source", "labels"),
    [
        (
            "a.go",
            "package a\n\nfunc (s *S) Run() {\n}\ntype S struct {\n",
            ["func (s *S) Run", "type S struct"],
        ),
        ("a.rs", "pub struct A;\nimpl A {\n    pub fn b(&self) {\n", ["struct A", "impl A", "fn b"]),
        ("a.c", "struct s {\n};\nint main(void)\n{\n  return f(1);\n}\n", ["struct s", "main"]),
        (
            "a.ts",
            "export interface I {\nexport const f = (a) => a\nclass C {\n  go(x) {\n",
            ["interface I", "const f", "class C", "go"],
        ),
        ("a.sh", "go() {\n  echo\n}\n", ["go"]),
        ("a.toml", "[a]\nx = 1\n[[b.c]]\n", ["[a]", "[[b.c]]"]),
        ("a.rst", "Title\n=====\n\nPart\n----\n", ["Title", "Part"]),
        ("broken.py", "def f(:\nclass A\n", ["def f", "class A"]),
    ],
)
def test_other_languages_are_outlined(path: str, source: str, labels: list[str]) -> None:
    assert [entry.label for entry in outline(path, source).entries] == labels


def test_a_deeply_nested_source_can_be_outlined() -> None:
    assert outline("a.py", "(" * 50_000).entries == ()
