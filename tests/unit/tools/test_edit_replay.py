"""A small made-up history through the same program that replays real ones: `python -m tests.bench.replay`."""

import os
import random
import subprocess
from pathlib import Path

import pytest

from forge_core.tools import EditTool, ExecutionContext, ReadTool, ToolExecutor
from forge_core.tools.editing.text import decode
from tests.bench.perturb import Perturbed
from tests.bench.replay import Tally, replay_clone
from tests.bench.replay_cut import STYLES, Step, Style, steps
from tests.bench.replay_history import History
from tests.bench.replay_judge import Outcome, judge

CODE = """import os


def first(name):
    \"\"\"Says "hello" to 'name'.\"\"\"
    value = os.environ.get(name)   # aligned
    if value is None:
        return "hello - nobody..."

    return value


def second(name):
    if name:
        for one in name:
            print(one)
    return "x"
"""
CODE_AFTER = CODE.replace("value is None", "not value").replace(
    "            print(one)\n", "            if one:\n                print(one, 'y')\n"
)
MAKE = "all: one two\n\none:\n\tcc -o one one.c\n\t@echo done  \n\ntwo: one\n\tcc -o two two.c\n"
MAKE_AFTER = MAKE.replace("\tcc -o two two.c\n", "\tcc -O2 \\\n\t\t-o two two.c\n\t@echo two\n")
PROSE = "It\u2019s \u201cquoted\u201d \u2013 here\u2026\nand\u00a0there, caf\u00e9\nlast\n"
PROSE_AFTER = PROSE.replace("and\u00a0there", "and\u00a0not there").replace("last\n", "last\nmore\u2019\n")

FILES: dict[str, tuple[bytes, bytes]] = {
    "plain.py": (CODE.encode(), CODE_AFTER.encode()),
    "crlf.py": (CODE.replace("\n", "\r\n").encode(), CODE_AFTER.replace("\n", "\r\n").encode()),
    "old-mac.py": (CODE.replace("\n", "\r").encode(), CODE_AFTER.replace("\n", "\r").encode()),
    "mixed.txt": (b"one\r\ntwo\nthree\r\nfour\n", b"one\r\n2\nthree\r\nfour\n"),
    "Makefile": (MAKE.encode(), MAKE_AFTER.encode()),
    "prose.md": (PROSE.encode(), PROSE_AFTER.encode()),
    "bom.txt": (b"\xef\xbb\xbf" + PROSE.encode(), b"\xef\xbb\xbf" + PROSE_AFTER.encode()),
    "wide-le.txt": (PROSE.encode("utf-16"), PROSE_AFTER.encode("utf-16")),
    "wide-be.txt": (
        b"\xfe\xff" + PROSE.encode("utf-16-be"),
        b"\xfe\xff" + PROSE_AFTER.encode("utf-16-be"),
    ),
    "windows.txt": (PROSE.encode("cp1252"), PROSE_AFTER.encode("cp1252")),
    "latin.txt": (b"caf\xe9 \x81\none\n", b"caf\xe9 \x81\none\ntwo \xe9\n"),
    "ends-bare.txt": (b"a\nb\nc", b"a\nB\nc"),
    "gains-an-end.txt": (b"a\nb\nc", b"a\nb\nc\n"),
    "loses-its-end.txt": (b"a\nb\nc\n", b"a\nb\nc"),
    "empty.txt": (b"", b"now there is\n"),
    "emptied.txt": (b"was\nthere\n", b""),
    "repeats.txt": (b"x\ny\n" * 20, b"x\ny\n" * 9 + b"x\nz\n" + b"x\ny\n" * 10),
    "breaks.txt": (b"a\x0cb\xc2\x85c\xe2\x80\xa8d\ne\n", b"a\x0cb\xc2\x85C\xe2\x80\xa8d\ne\nf\n"),
    "long.txt": (b"x" * 50_000 + b" here\nend\n", b"x" * 50_000 + b" there\nend\n"),
    "joined.txt": ("e\u0301 \u00e9 \u200b\u202e\n\U0001f469\u200d\U0001f4bb\n".encode(), "\u00e9\n".encode()),
    "patterns.txt": (b"cost $& \\1 \\g<0>\nb\n", b"$& \\1 \\g<0> $& \\1\nb\n"),
}


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(
        [
            "git",
            "-c",
            "user.name=n",
            "-c",
            "user.email=e@example.org",
            "-c",
            "core.autocrlf=false",
            *arguments,
        ],
        cwd=folder,
        check=True,
        capture_output=True,
        env={name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
    )


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("history")
    git(folder, "init", "-q")
    for side, message in ((0, "first"), (1, "second"), (0, "back again")):
        for name, sides in FILES.items():
            (folder / name).write_bytes(sides[side])
        git(folder, "add", ".")
        git(folder, "commit", "-q", "-m", message)
    return folder


@pytest.fixture(scope="module")
def tally(history: Path) -> Tally:
    return replay_clone(history, History(history).commits(10), 100)


def test_every_commit_is_replayed_byte_for_byte(tally: Tally) -> None:
    changes = 2 * len(FILES)
    assert not tally.wrong, "\n".join(map(str, tally.wrong))
    assert tally.crashes == []
    assert sum(tally.files.values()) == 3 * changes
    assert {name for name in tally.files if not name.endswith("exact")} == set()


def test_no_simulated_model_mistake_writes_wrong_bytes(tally: Tally) -> None:
    spoilt = {name: outcomes for name, outcomes in tally.mistakes.items() if outcomes[Outcome.WRONG]}
    assert spoilt == {}
    assert sum(sum(outcomes.values()) for outcomes in tally.mistakes.values()) > 1_000


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("style", STYLES)
async def test_the_edit_tool_reproduces_the_bytes_of_the_commit(
    name: str, style: Style, tmp_path: Path
) -> None:
    data, wanted = FILES[name]
    path = tmp_path / name
    path.write_bytes(data)
    executor, context = ToolExecutor(), ExecutionContext(tmp_path)
    before, after = decode(data), decode(wanted)
    await executor.execute(ReadTool(), {"file_path": name}, context)
    for step in steps(before.text, after.text, style, random.Random(1)):
        params = {"file_path": name, "old_string": step.old, "new_string": step.new}
        result = await executor.execute(EditTool(), params, context)
        assert result.success, result.error
    assert path.read_bytes() == wanted


STEP = Step("a\n  b \nc\n", "a\n  B \nc\n", "a\n  b \n", "a\n  B \n", 1, range(1, 2))


@pytest.mark.parametrize(
    ("made", "asked", "outcome"),
    [
        (b"a\n  B \nc\n", Perturbed("m", "a\n  b\n", "a\n  B\n", str.rstrip), Outcome.EXACT),
        (b"a\n  B\nc\n", Perturbed("m", "a\n  b\n", "a\n  B\n", str.rstrip), Outcome.ALIKE),
        (b"a\n  B\nc\n", Perturbed("m", "a\n  b\n", "a\n  B\n", None), Outcome.WRONG),
        (b"a\n  B\n\nc\n", Perturbed("m", "a\n  b\n", "a\n  B\n", str.rstrip), Outcome.WRONG),
        (b"a \n  B \nc\n", Perturbed("m", "a \n  b \n", "a \n  B \n", str.rstrip), Outcome.WRONG),
        (b"a\r\n  B \nc\n", Perturbed("m", "a\r\n  b \n", "a\r\n  B \n", None), Outcome.WRONG),
        (b"a\n  b \nX\n", Perturbed("m", "c", "X", None), Outcome.AS_ASKED),
        (b"A\n  b \nX\n", Perturbed("m", "c", "X", None), Outcome.WRONG),
        (b"\xff", Perturbed("m", "c", "X", None), Outcome.WRONG),
        (None, Perturbed("m", "c", "X", None), Outcome.REFUSED),
    ],
)
def test_the_judge_is_strict(made: bytes | None, asked: Perturbed, outcome: Outcome) -> None:
    assert judge(STEP, decode(STEP.before.encode()), made, asked) is outcome
