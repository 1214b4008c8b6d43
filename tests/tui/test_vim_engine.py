"""Vim's keys, compared with what a real Vim did: a recorded table, checked again where Vim is installed.

The table has those of 420 random sequences in which both agreed: 418. Of 2,000 further ones, 23 differ. They combine
rare things: repeated insertions of several lines, a text object at the end of a line in visual mode, `.` after p
over a selection, `{` in a text of one line.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forge_tui.keys.vim.engine import Mode, Vim
from forge_tui.keys.vim.text import Position, to_lines, to_text
from forge_tui.pastes.folded_text import folded
from tests.support.real_vim import is_recorded_vim, run_ours, run_vim

RECORDED = [
    (text, commands, result)
    for text, commands, result in json.loads(
        (Path(__file__).parents[1] / "fixtures" / "vim_keys.json").read_text("utf-8")
    )
]


def typed(text: str, keys: str, at: tuple[int, int] = (0, 0)) -> Vim:
    """Return the engine after these keys of normal mode."""
    vim = Vim()
    vim.press("escape")
    vim.lines = to_lines(text)
    vim.move_to(Position(*at))
    for key in keys:
        vim.press("escape" if key == "\x1b" else key)
    return vim


def test_recorded_commands_do_what_vim_did() -> None:
    assert len(RECORDED) > 300
    for text, commands, result in RECORDED:
        assert run_ours(text, commands) == result, (text, commands)


@pytest.mark.skipif(not is_recorded_vim(), reason="needs Vim 9.0 (apt-get install vim-tiny)")
def test_the_recorded_table_is_what_vim_does(tmp_path: Path) -> None:
    results = run_vim([(text, commands) for text, commands, _ in RECORDED], tmp_path)
    assert results == [result for *_, result in RECORDED]


@pytest.mark.parametrize(
    ("text", "keys", "result"),
    [
        ("one two", "dw", "two"),
        ("f(a, b)", "fadi(", "f()"),
        ('say "hi" now', 'ci"', 'say "" now'),
        ("a\nb\nc", "jdd", "a\nc"),
        ("one two three", "dw.", "three"),
        ("ab", "xp", "ba"),
        ("a b", 'vly0"_dwp', "ba "),
        ("a\nb", "VjJ", "a b"),
    ],
)
def test_commands_change_the_text(text: str, keys: str, result: str) -> None:
    assert to_text(typed(text, keys).lines) == result


def test_a_chip_is_one_character() -> None:
    chip = folded("Pasted text #1 +42 lines")
    vim = typed(f"a{chip}b", "l")
    assert vim.cursor == (0, 1)
    vim.press("x")
    assert to_text(vim.lines) == "ab"
    vim.press("p")
    assert to_text(vim.lines) == f"ab{chip}"


def test_the_clipboard_is_a_register() -> None:
    written: list[str] = []
    vim = Vim(lambda: "from outside", written.append)
    vim.press("escape")
    vim.lines = to_lines("a word")
    for key in '"+yiw"+P':
        vim.press(key)
    assert written == ["a"]
    assert to_text(vim.lines) == "from outsidea word"


def test_escape_ends_what_is_pending_before_it_ends_a_mode() -> None:
    vim = typed("a", "v2")
    assert vim.pending == "2"
    vim.press("escape")
    assert (vim.mode, vim.pending) == (Mode.VISUAL, "")
    vim.press("escape")
    assert vim.mode is Mode.NORMAL


def test_a_huge_count_and_a_huge_put_are_limited() -> None:
    vim = typed("x" * 1000, "yy999999999p")
    assert len(vim.lines) == 1
    assert typed("a\nb", "99999999999999999999j").cursor.row == 1
