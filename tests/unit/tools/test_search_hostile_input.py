"""Both search engines over files that no sane person writes: the answers must be the same, line for line.

A third of the questions in the usual run, all with FORGE_FULL=1.
"""

import os
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from forge_core.tools import ExecutionContext, GrepTool, ToolExecutor
from forge_core.tools.searching.engine import SearchEngine

RIPGREP = shutil.which("rg")
pytestmark = pytest.mark.skipif(RIPGREP is None, reason="ripgrep is not installed: nothing to compare with")

PIECES = (
    *("foo", "bar", "foobar", " ", "\t", "", "a.b", "(x)", "[y]", "caf\u00e9", "\u4e2d\u6587", "FOO", "Bar"),
    *(
        "x" * 300,
        "\x0c",
        "\u2028",
        "\x85",
        "\u200b",
        "\U0001f469",
        "\x1b[31m",
        "--",
        "::",
    ),
)
ENDS = ("\n", "\n", "\n", "\r\n", "\r\n", "\n\n")
PATTERNS: tuple[dict[str, Any], ...] = (
    *({"pattern": text} for text in ("foo", r"\bfoo\b", "^foo", "foo$", "^$", r"\s", ".", "a.b", r"a\.b")),
    *(
        {"pattern": text}
        for text in (r"\(x\)", r"[^a-z]foo", r"foo|bar", "(foo)+", "f.o", "caf\u00e9", "\u4e2d", r"\w+")
    ),
    *(
        {"pattern": text}
        for text in (r"^\s*$", "x{100}", r"\t", r"\x1b", "--", "-e", "[[:upper:]]+", r"\d", "foo.*bar")
    ),
    *({"pattern": "foo", "context": count} for count in (1, 3)),
    *(
        {"pattern": "bar", "head_limit": limit, "offset": offset, "after": 1}
        for limit, offset in ((2, 0), (3, 5), (1, 9))
    ),
    {"pattern": "FOO", "ignore_case": True, "output_mode": "count"},
    {"pattern": "CAF\u00c9", "ignore_case": True},
    {"pattern": "foo", "glob": "*.{txt,py}", "output_mode": "files"},
    {"pattern": "foo", "glob": "!*.txt"},
    {"pattern": r"foo\s+bar", "multiline": True},
    {"pattern": r"foo\nbar"},
    {"pattern": "foo.bar", "multiline": True, "output_mode": "count"},
    {"pattern": "bar$", "before": 2},
)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("nasty")
    rng = random.Random(11)
    encodings = ("utf-8", "utf-8", "utf-8", "utf-16", "latin-1", "utf-8-sig")
    for number in range(40):
        folder = root / rng.choice(("", "a", "a/b", ".hidden", "with space", "\u00fcml"))
        folder.mkdir(parents=True, exist_ok=True)
        text = "".join(
            " ".join(rng.choices(PIECES, k=rng.randint(0, 4))) + rng.choice(ENDS)
            for _ in range(rng.randint(0, 12))
        )
        text = text if rng.random() < 0.7 else text.rstrip("\n")
        data = text.encode(rng.choice(encodings), "replace")
        if rng.random() < 0.1:
            data = data[: len(data) // 2] + b"\xff\xfe\x80" + data[len(data) // 2 :]
        (folder / f"{number}{rng.choice(('.txt', '.py', '', '.b-c'))}").write_bytes(data)
    (root / "loop").symlink_to(root)
    (root / "to-file").symlink_to("a")
    return root


@pytest.mark.parametrize(
    "question",
    PATTERNS if os.environ.get("FORGE_FULL") else PATTERNS[::3],
    ids=lambda question: " ".join(map(str, question.values())),
)
async def test_both_engines_agree(tree: Path, question: dict[str, Any]) -> None:
    executor = ToolExecutor()
    answers = [
        await executor.execute(GrepTool(SearchEngine(program)), dict(question), ExecutionContext(tree))
        for program in (None, RIPGREP)
    ]
    ours, theirs = answers
    assert (ours.success, ours.error) == (theirs.success, theirs.error)
    assert ours.output.split("\n") == theirs.output.split("\n")
    assert ours.summary == theirs.summary
