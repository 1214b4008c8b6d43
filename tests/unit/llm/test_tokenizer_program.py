"""The tokenizer as a program of its own, and without the package that it needs for exact counts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from forge_core.llm.tokenizer import pack

_BLOCKED = """
import asyncio, sys
sys.modules["tiktoken"] = None
from forge_core.llm import tokenizer, tokens
text = "Hello, world! " * 20
assert tokenizer.token_ids(text) is None
assert tokenizer.count_tokens(text) == tokens.estimate_tokens(text) > 0
"""


def program(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "forge_core.llm.tokenizer", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=180,
    )


def test_the_program_counts_the_given_texts() -> None:
    pytest.importorskip("tiktoken")
    done = program("count", stdin=json.dumps(["Hello, world!", ""]))
    assert (done.returncode, json.loads(done.stdout)) == (0, [4, 0])


def test_an_invalid_command_line_prints_the_usage() -> None:
    done = program("weigh")
    assert done.returncode == 1
    assert done.stderr.startswith("usage: ")


def test_an_unknown_vocabulary_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="sha256"):
        pack(b"IQ== 0\n")
    source = tmp_path / "other.tiktoken"
    source.write_bytes(b"IQ== 0\n")
    done = program("pack", str(source), str(tmp_path / "packed.gz"))
    assert done.returncode != 0
    assert not (tmp_path / "packed.gz").exists()


def test_without_tiktoken_tokens_are_estimated() -> None:
    done = subprocess.run([sys.executable, "-c", _BLOCKED], capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
