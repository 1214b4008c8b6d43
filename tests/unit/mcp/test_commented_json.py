"""JSON with comments: parsed, and edited so that all else stays."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge_core.mcp.commented_json import parse, with_member, without_member

ENTRY = {"command": "x", "args": ["-a"]}
COMMENTED = """{
  // what the team uses
  "mcpServers": {
    /* the log */
    "git": {"command": "mcp-server-git"}, // keep: "a, b"
    "docs": {
      "url": "https://a.example//mcp", /* , */
    }, // the last
  },
  "other": [1, 2,],
}
"""


def test_comments_and_trailing_commas_are_no_part_of_the_value() -> None:
    assert parse(COMMENTED) == {
        "mcpServers": {
            "git": {"command": "mcp-server-git"},
            "docs": {"url": "https://a.example//mcp"},
        },
        "other": [1, 2],
    }


@pytest.mark.parametrize(
    "text", ["{", '{"a": "b', '{"a": 1,, }', "{/* }", '{"a": "\\', "[" * 100_000, "// x"]
)
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse(text)


@pytest.mark.parametrize("text", ['"' + '\\"' * 500_000, "/*" * 500_000, '{"a": ' + ", " * 500_000])
def test_the_time_does_not_grow_faster_than_the_text(text: str) -> None:
    with pytest.raises(ValueError):
        parse(text)


def test_a_member_is_added_and_removed_in_place() -> None:
    added = with_member(COMMENTED, ["mcpServers"], "new", ENTRY)
    assert added == COMMENTED.replace(
        "    }, // the last\n",
        '    }, // the last\n    "new": {\n      "command": "x",\n      "args": [\n        "-a"\n      ]\n    }\n',
    )
    assert without_member(added, ["mcpServers"], "new") == COMMENTED.replace(
        "}, // the last", "} // the last"
    )
    removed = without_member(COMMENTED, ["mcpServers"], "docs")
    assert removed == COMMENTED.replace(
        '    "docs": {\n      "url": "https://a.example//mcp", /* , */\n    }, // the last\n',
        "     // the last\n",
    )
    assert "/* the log */" in without_member(COMMENTED, ["mcpServers"], "git")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{}", '{\n  "new": 1\n}'),
        ('{"a": 1}', '{"a": 1, "new": 1}'),
        ('{"a": 1 // c\n}', '{"a": 1, // c\n"new": 1\n}'),
        ("{ /* c */ }", '{ /* c */\n  "new": 1\n}'),
        ('{"a": "\\udcff"}', '{"a": "\\udcff", "new": 1}'),
        ("{ // c\n}", '{ // c\n  "new": 1\n}'),
        ('{\r\n\t"a": 1\r\n}\r\n', '{\r\n\t"a": 1,\r\n\t"new": 1\r\n}\r\n'),
    ],
)
def test_the_style_of_the_file_is_kept(before: str, after: str) -> None:
    assert with_member(before, [], "new", 1) == after


def test_a_name_that_occurs_twice_is_removed_entirely() -> None:
    assert parse(without_member('{"a": 1, "b": 2, "a": 3}', [], "a")) == {"b": 2}


_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=5)
    | st.sampled_from(["//", "/*", ",}", '"']),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
_SERVERS = st.dictionaries(st.text(max_size=4), _VALUES, max_size=4)


@given(
    _SERVERS,
    st.sampled_from([None, 0, 1, 2, 4, "\t"]),
    st.sampled_from(["", " ", "/* , } */ ", "// } ,\n", ",", ", // x\n"]),
)
def test_every_edit_changes_one_member(servers: dict[str, Any], indent: Any, end: str) -> None:
    text = json.dumps({"mcpServers": servers, "z": 0}, indent=indent)
    inner = json.dumps(servers, indent=indent)
    if end and (servers or not end.startswith(",")):
        edited = inner[:-1].rstrip() + end + inner[-1]
        text = f'{{"mcpServers": {edited}, "z": 0}}'
    assert parse(text) == {"mcpServers": servers, "z": 0}

    added = with_member(text, ["mcpServers"], "a new one", ENTRY)
    assert parse(added) == {"mcpServers": {**servers, "a new one": ENTRY}, "z": 0}
    assert parse(without_member(added, ["mcpServers"], "a new one")) == parse(text)
    for name in servers:
        left = {key: value for key, value in servers.items() if key != name}
        without = parse(without_member(text, ["mcpServers"], name))
        assert without == {"mcpServers": left, "z": 0}
