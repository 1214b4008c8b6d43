"""The tokenizer as a program of its own, and without the package that it needs for exact counts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

_BLOCKED = """
import asyncio, sys
sys.modules["tiktoken"] = None
from forge_core.llm import tokenizer, tokens
text = "Hello, world! " * 20
assert tokenizer.token_ids(text) is None
assert tokenizer.count_tokens(text) == tokens.estimate_tokens(text) > 0
"""


@pytest.mark.slow
def test_the_program_counts_the_given_texts() -> None:
    pytest.importorskip("tiktoken")
    done = subprocess.run(
        [sys.executable, "-m", "forge_core.llm.tokenizer"],
        input=json.dumps(["Hello, world!", ""]),
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert (done.returncode, json.loads(done.stdout)) == (0, [4, 0])


def test_an_unknown_vocabulary_is_rejected(tmp_path: Path) -> None:
    source, packed = tmp_path / "other.tiktoken", tmp_path / "packed.gz"
    source.write_bytes(b"IQ== 0\n")
    done = subprocess.run(
        [sys.executable, "-m", "tests.pack_token_ranks", str(source), str(packed)],
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.returncode != 0
    assert "sha256" in done.stderr
    assert not packed.exists()


def test_without_tiktoken_tokens_are_estimated() -> None:
    done = subprocess.run([sys.executable, "-c", _BLOCKED], capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
