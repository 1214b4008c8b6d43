"""Front matter, as people write it for several assistants."""

from __future__ import annotations

from itertools import product

import pytest
import yaml

from forge_core.extensions.front_matter import MAX_BYTES, parse_markdown_file


@pytest.mark.parametrize(
    ("text", "fields", "body"),
    [
        ("No front matter.\n", {}, "No front matter."),
        ("---\nname: a\n---\n\nBody\n", {"name": "a"}, "Body"),
        ("\ufeff---\r\nname: a\r\n---\r\nBody\r\n", {"name": "a"}, "Body"),
        ("---\ndescription: Use when: asked\n---\nBody", {"description": "Use when: asked"}, "Body"),
        ("---\ndescription: it's: fine\n---\nBody", {"description": "it's: fine"}, "Body"),
        (
            "---\nargument-hint: [file] [options]\nallowed-tools: *\nmodel: [a, b]\n---\nBody",
            {"argument-hint": "[file] [options]", "allowed-tools": "*", "model": ["a", "b"]},
            "Body",
        ),
        (
            '---\ndescription: "Fix" it\nnotes: |\n  a: b\n---\n',
            {"description": '"Fix" it', "notes": "a: b\n"},
            "",
        ),
        ("---\n---\nBody", {}, "Body"),
        ("---\nname: a\n---", {"name": "a"}, ""),
        ("---\n\nA text below a rule: no fields.", {}, "---\n\nA text below a rule: no fields."),
        ("Text\n---\nname: a\n---\n", {}, "Text\n---\nname: a\n---"),
        ("---\nx-unknown: kept\n---\n", {"x-unknown": "kept"}, ""),
    ],
)
def test_fields_and_body(text: str, fields: dict[str, object], body: str) -> None:
    document = parse_markdown_file(text.encode())

    assert (document.fields, document.body, document.problems) == (fields, body, ())


@pytest.mark.parametrize(
    ("yaml", "reason"),
    [
        ("a: b\n  c: [", "not valid YAML"),
        ("a: b\x07", "not valid YAML"),
        ("- a\n- b", "it is no mapping"),
        ("a: &x [1]\nb:\n  - *x", "aliases are not supported"),
        ("a:\n  " + "[" * 5000, "not valid YAML"),
    ],
    ids=["broken", "control", "list", "alias", "deep"],
)
def test_unusable_front_matter_keeps_the_body_and_says_why(yaml: str, reason: str) -> None:
    document = parse_markdown_file(f"---\n{yaml}\n---\nBody".encode())

    assert (document.fields, document.body, document.is_readable) == ({}, "Body", False)
    assert len(document.problems) == 1
    assert reason in document.problems[0]


@pytest.mark.parametrize(
    ("yaml", "fields"),
    [
        ("description: Text: it\ngoes on.\nmodel: a", {"description": "Text: it goes on.", "model": "a"}),
        (
            'description: Use it.\n\n<example>\nuser: "Hi"\nassistant: "Ho"\n</example>\n\nmodel: a',
            {"description": "Use it. <example>", "user": "Hi", "assistant": '"Ho" </example>', "model": "a"},
        ),
        ("disallowedTools: [Write,\nEdit]\na: b: c", {"disallowedTools": ["Write", "Edit"], "a": "b: c"}),
        ("tools:\nRead, Grep", {"tools": "Read, Grep"}),
    ],
)
def test_text_at_the_left_margin_continues_the_field_above(yaml: str, fields: dict[str, object]) -> None:
    file = parse_markdown_file(f"---\n{yaml}\n---\nBody".encode())

    assert (file.fields, file.body, file.is_readable) == (fields, "Body", True)
    assert file.problems == ("the front matter is not valid YAML; it was read line by line",)


def test_front_matter_without_an_end_is_text() -> None:
    file = parse_markdown_file(b"---\nname: never closed\n")

    assert (file.fields, file.body, file.is_readable) == ({}, "---\nname: never closed", False)
    assert file.problems == ("the front matter has no second line of three dashes; it was read as text",)


def test_valid_yaml_means_what_yaml_says() -> None:
    names = "name", "a-b", "x1", "on", "Null", "a b", "2x", "é"
    values = (
        *(
            "text",
            "a b",
            "a #b",
            "a#b",
            "a:b",
            "it's",
            'a "b"',
            "a ",
            "é",
            "a é",
            "a\u2028b",
            "a\x85b",
            "a\tb",
        ),
        *(
            "on",
            "Yes",
            "tRue",
            "null",
            "None",
            "y",
            "2",
            "2fa",
            "0x1",
            "~",
            "=",
            "<<",
            "[a]",
            "'a'",
            "&a b",
            "",
        ),
    )
    for name, value in product(names, values):
        for text in (
            f"{name}: {value}",
            f"z: plain\n{name}: {value}\n",
            f"{name}: {value}\n more\n",
            f"a: b\n\n{name}: {value}\n# c",
        ):
            try:
                expected = yaml.safe_load(text)
            except yaml.YAMLError:
                continue
            fields = parse_markdown_file(f"---\n{text}\n---\n".encode()).fields
            assert fields == {str(one): expected[one] for one in expected}, text


def test_what_is_over_the_limit_is_not_read() -> None:
    document = parse_markdown_file(b"---\nname: a\n---\n" + b"x" * MAX_BYTES)

    assert document.text("name") == "a"
    assert len(document.body) < MAX_BYTES
    assert document.problems == (f"it is longer than {MAX_BYTES:,} bytes; the rest was not read",)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *((word, True) for word in ("true", "Yes", "on", "1", "'true'", "maybe", "[]")),
        *((word, False) for word in ("false", "no", "OFF", "0", "'false'")),
    ],
)
def test_booleans_are_read_in_every_spelling(value: str, expected: bool) -> None:
    assert parse_markdown_file(f"---\nf: {value}\n---".encode()).flag("f", default=True) is expected


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("Read, Grep", ("Read", "Grep")),
        ("Read Grep", ("Read", "Grep")),
        ("[Read, Grep]", ("Read", "Grep")),
        ("Bash(git add *), Read", ("Bash(git add *)", "Read")),
        ("\n  - Read\n  - Bash(a, b)", ("Read", "Bash(a, b)")),
        ("5", ()),
        ("'*'", ("*",)),
    ],
)
def test_lists_are_read_in_every_spelling(value: str, words: tuple[str, ...]) -> None:
    assert parse_markdown_file(f"---\ntools: {value}\n---".encode()).words("tools") == words


def test_text_and_numbers_ignore_other_types() -> None:
    document = parse_markdown_file(b"---\na: [1]\nb: 2024-01-01\nc: 12\nd: -3\ne: |\n  two\n  lines\n---")

    assert [document.text(name) for name in "abce"] == ["", "", "12", "two lines"]
    assert [document.number(name) for name in "acdz"] == [None, 12, None, None]


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? ", "- ? ", "[{a: "])
@pytest.mark.parametrize("lines", ["description: {}", "{}"])
def test_deep_nesting_is_refused(opening: str, lines: str) -> None:
    """The parser in C recurses, and ends the process when its stack is full."""
    text = lines.format(opening * (30_000 // len(opening)))
    file = parse_markdown_file(f"---\n{text}\n---\nBody".encode())

    assert file.body == "Body"
    assert file.fields == {} or set(file.fields) == {"description"}
    assert file.problems or isinstance(file.fields["description"], str)


def test_long_front_matter_is_ignored() -> None:
    file = parse_markdown_file(b"---\n" + b"".join(b"k%d: v\n" % n for n in range(20_000)) + b"---\nBody")

    assert (file.fields, file.body) == ({}, "Body")
    assert file.problems == ("the front matter is longer than 32 KB; it was ignored",)


@pytest.mark.parametrize(
    "value",
    [
        "!!bool maybe",
        "!!timestamp soon",
        "!!int ''",
        "!!float ''",
        "0x" + "f" * 5_000,
        "0" + "7" * 6_000,
        "1" + ":59" * 8_000,
        "[0x" + "f" * 5_000 + "]",
    ],
    ids=("bool", "timestamp", "int", "float", "hexadecimal", "octal", "sexagesimal", "list"),
)
def test_a_value_that_does_not_fit_its_type_is_text(value: str) -> None:
    file = parse_markdown_file(f"---\nmodel: {value}\nname: a\n---\nBody".encode())
    assert (file.text("model"), file.text("name"), file.body) == (value, "a", "Body")
