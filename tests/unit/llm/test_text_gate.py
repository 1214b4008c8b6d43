"""Streamed text waits only while it may be a printed call, and nothing of it is lost."""

from __future__ import annotations

import pytest

from forge_core.llm.salvage.text_gate import TextGate

NAMES = ("read", "grep")


def shown(text: str, size: int) -> tuple[str, str]:
    """What a gate shows of `text` in pieces of `size`, and what waits at the end."""
    gate = TextGate(NAMES)
    parts = "".join(gate.feed(text[start : start + size]) for start in range(0, len(text), size))
    assert gate.shown_chars == len(parts)
    return parts, gate.held


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(
    "text",
    [
        "Hello, I can help.\nThe list:\n- a < b\n- [x] done\n",
        "```python\nprint(1)\n```\nDone.",
        "{\n  a JavaScript object\n}",
        '{"total": 5, "name": "x"}',
        "[1] See the notes.",
        "[a link](https://x)",
        "<b>bold</b>",
        "read the file first",
        "Reading…",
        "`read` does it",
        "Action speaks louder.",
        "In a fence:\n```\n<tool_call>\n{}\n</tool_call>\n```\nok",
        "a <tool_call> in mid-line",
    ],
)
def test_ordinary_text_is_shown_whole(text: str, size: int) -> None:
    parts, held = shown(text + ".", size)
    assert parts + held == text + "."
    assert held == ""


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(
    ("text", "before"),
    [
        ('{"name": "read", "arguments": {"path": "/x"}}', ""),
        ('\n\n  {"tool": "read"', ""),
        ('[{"name": "read"', ""),
        ('```json\n{"name": "read"', ""),
        ("```tool_code\nread(", ""),
        ('read(path="/x")', ""),
        ('[read(path="/x")]', ""),
        ('tools.read(path="/x")', ""),
        ("<tool_call>\n{}", ""),
        ("[TOOL_CALLS]read{", ""),
        ("I will.\n<tool_call>\n{}", "I will.\n"),
        ("I will.\n\n  <function=read>", "I will.\n\n"),
        ("```\ncode\n```\n<tool_call>x", "```\ncode\n```\n"),
        ("Hm.\n<｜tool▁calls▁begin｜>", "Hm.\n"),
    ],
)
def test_text_that_may_be_a_call_is_held_back(text: str, before: str, size: int) -> None:
    assert shown(text, size) == (before, text[len(before) :])


def test_opening_the_gate_releases_held_text_and_stops_holding() -> None:
    gate = TextGate(NAMES)
    assert gate.feed('{"name": "re') == ""
    assert gate.open() == '{"name": "re'
    assert gate.feed("ad") == "ad"


def test_a_held_line_that_is_not_a_call_is_shown() -> None:
    gate = TextGate(NAMES)
    assert [gate.feed(part) for part in ("a\n", "<to", "ols> are", " fine")] == [
        "a\n",
        "",
        "<tools> are",
        " fine",
    ]


def test_a_long_call_in_small_pieces_is_cheap() -> None:
    gate = TextGate(NAMES)
    gate.feed('{"name": "read", "arguments": {"path": "')
    for _ in range(100_000):
        gate.feed("abcd")
    assert len(gate.held) == 400_040
