"""Runs key sequences in a real Vim, and in ours, to compare text and cursor."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from random import Random

from forge_tui.keys.vim.edits import insert
from forge_tui.keys.vim.engine import Mode, Vim
from forge_tui.keys.vim.text import Position, to_lines, to_text

MARK = "\N{SECTION SIGN}"
"""Typed at the cursor to show where it is."""
VIM = next(filter(None, map(shutil.which, ("vim.tiny", "vim.basic", "vim.nox"))), None)
RECORDED_WITH = "Vi IMproved 9.0"
"""What the recorded table is from: other versions differ in rare cases."""


def is_recorded_vim() -> bool:
    """Return whether the Vim here is of the version that the table was recorded with."""
    if VIM is None:
        return False
    about = subprocess.run([VIM, "--version"], capture_output=True, text=True, timeout=20, check=False)
    return RECORDED_WITH in about.stdout


_TEXTS = (
    "one two  three\nfour, (five) six;\n\n  seven 'ei ght' nine",
    'def f(a, [b, c]):\n    return {a: (b + c)}\n\n\n\tx = "it\'s" + y  \nend',
    "a",
    "",
    "foo.bar(baz)  qux\n   \nlast-line here",
    "{\n    one(two,\n    three)\n}\n\npara graph one\nline two\n\npara two",
    "wörd schön ÄÖ\n日本語 text 漢字かな\ntail",
)
_MOTIONS = [
    "h",
    "j",
    "k",
    "l",
    "w",
    "W",
    "b",
    "B",
    "e",
    "E",
    "ge",
    "gE",
    "0",
    "^",
    "$",
    "gg",
    "G",
    "{",
    "}",
    "%",
    "fe",
    "Fe",
    "te",
    "Te",
    "f(",
    "t)",
    "F,",
    ";",
    ",",
]
_FORWARD = ["l", "j", "w", "W", "e", "E", "$", "G", "}", "%", "fe", "te"]
_OBJECTS = [
    "iw",
    "aw",
    "iW",
    "aW",
    "i(",
    "a(",
    "i)",
    "ab",
    "i[",
    "a[",
    "i{",
    "a{",
    "iB",
    "aB",
    'i"',
    'a"',
    "i'",
    "a'",
    "ip",
    "ap",
]
_OPERATORS = ["d", "c", "y", ">", "<", "g~", "gu", "gU"]
_SIMPLE = [
    "x",
    "X",
    "D",
    "Y",
    "p",
    "P",
    "J",
    "~",
    "rz",
    ".",
    "dd",
    "yy",
    "cc",
    "S",
    ">>",
    "<<",
    "guu",
    "gUU",
    "g~~",
    "s",
    "C",
    "i",
    "a",
    "I",
    "A",
    "o",
    "O",
]
_BEGIN = ("iqq\x1b", "0fq", "yl")
"""Typed into an empty text before each case, so that the register, `.` and `;` have a value."""
_INSERTS = {*"cCsSiaIAoO"}


def random_commands(random: Random, count: int) -> list[str]:
    """Return complete commands, as they are typed; \x1b is Esc."""
    return [_command(random) for _ in range(count)]


def _command(random: Random) -> str:
    number = random.choice(("", "", "", "", "2", "3"))
    kind = random.random()
    if kind < 0.3:
        return number + random.choice(_MOTIONS)
    if kind < 0.5:
        simple = random.choice(_SIMPLE)
        return number + simple + _typed(random, simple)
    if kind < 0.8:
        operator = random.choice(_OPERATORS)
        if random.random() < 0.4:
            return operator + random.choice(_OBJECTS) + _typed(random, operator)
        # Vim changes the case of a whole line for an empty motion back: not copied.
        motions = _FORWARD if operator[0] == "g" else _MOTIONS
        return operator + number + random.choice(motions) + _typed(random, operator)
    moves = "".join(random.choice((*_MOTIONS, "o", "iw", "ap")) for _ in range(random.randrange(3)))
    end = random.choice(["d", "c", "x", "y", ">", "<", "~", "u", "U", "J", "rq", "p", "\x1b"])
    return random.choice("vV") + moves + end + _typed(random, end)


def _typed(random: Random, command: str) -> str:
    if command not in _INSERTS and command != "cc":
        return ""
    return random.choice(("", "new", "a b", "x y\nz")) + "\x1b"


def random_case(random: Random) -> tuple[str, list[str]]:
    return random.choice(_TEXTS), random_commands(random, random.randrange(1, 6))


def run_ours(text: str, commands: Sequence[str]) -> str:
    """Return the text with a mark at the cursor."""
    vim = Vim()
    vim.press("escape")
    _type(vim, _BEGIN)
    vim.lines = to_lines(text)
    vim.move_to(Position(0, 0))
    _type(vim, commands)
    insert(vim.lines, Position(*vim.cursor), [[MARK]])
    return to_text(vim.lines)


def _type(vim: Vim, commands: Sequence[str]) -> None:
    for command in commands:
        for key in command:
            if vim.mode is Mode.INSERT and key != "\x1b":
                vim.move_to(insert(vim.lines, vim.cursor, [[], []] if key == "\n" else [[key]]))
            else:
                vim.press({"\x1b": "escape", "\n": "enter"}.get(key, key))
        while vim.pending or vim.mode is not Mode.NORMAL:
            vim.press("escape")


def _line(command: str) -> str:
    return "silent! normal! " + command.replace("\n", "\r")


def run_vim(cases: Sequence[tuple[str, Sequence[str]]], folder: Path) -> list[str]:
    """Return what a real Vim makes of each case, as `run_ours` does."""
    assert VIM is not None
    script = [
        "set nocp noswapfile enc=utf-8 fenc=utf-8 sw=4 ts=4 et nofixeol noeol cpo=aABceFs whichwrap=b,s"
    ]
    for index, (text, commands) in enumerate(cases):
        (folder / f"{index}.in").write_text(text, "utf-8", newline="\n")
        script += ["enew!", *map(_line, _BEGIN), f"e! {index}.in", "normal! gg0", *map(_line, commands)]
        script += [f"silent! normal! i{MARK}\x1b", f"w! {index}.out"]
    script.append("qa!")
    source = folder / "script.vim"
    source.write_text("\n".join(script) + "\n", "utf-8", newline="\n")
    subprocess.run(
        [VIM, "-u", "NONE", "-i", "NONE", "-N", "-es", "-S", str(source)],
        cwd=folder,
        env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin", "TERM": "dumb"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=120,
        check=False,
    )
    return [
        (folder / f"{index}.out").read_text("utf-8").removesuffix("\n")
        if (folder / f"{index}.out").exists()
        else "<no output>"
        for index in range(len(cases))
    ]
