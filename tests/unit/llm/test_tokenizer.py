"""Exact counts, offline, from the bundled ranks."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest

from forge_core.llm.tokenizer import count_in_child, count_tokens, token_ids, unpack
from tests.pack_token_ranks import TOKENS, pack

pytest.importorskip("tiktoken")

KNOWN = [
    ("", []),
    ("Hello, world!", [13225, 11, 2375, 0]),
    ("def f(x):\n    return x + 1\n", [1314, 285, 4061, 1883, 271, 622, 1215, 659, 220, 16, 198]),
]


@pytest.mark.parametrize(("text", "ids"), KNOWN)
def test_token_ids_match_o200k_base(text: str, ids: list[int]) -> None:
    assert token_ids(text) == ids
    assert count_tokens(text) == len(ids)


def test_the_bundled_ranks_are_complete() -> None:
    ranks = unpack(files("forge_core.llm").joinpath("data/o200k_base.ranks.gz").read_bytes())
    assert len(ranks) == TOKENS
    assert ranks[b" the"] < 1000
    assert all(bytes((value,)) in ranks for value in range(256))


def test_special_tokens_and_lone_surrogates_are_plain_text() -> None:
    assert count_tokens("<|endoftext|>") > 1
    assert count_tokens("a\ud83d") >= 1


@pytest.mark.slow
async def test_a_child_process_counts_without_importing_from_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tiktoken.py").write_text("raise SystemExit('imported from the working directory')")
    monkeypatch.chdir(tmp_path)
    assert await count_in_child([text for text, _ in KNOWN]) == [len(ids) for _, ids in KNOWN]


async def test_a_slow_child_process_gives_no_count() -> None:
    assert await count_in_child(["x"], timeout_s=0.001) is None


def test_a_ranks_file_with_another_checksum_is_rejected() -> None:
    with pytest.raises(ValueError, match="sha256"):
        pack(b"IQ== 0\n")
