"""Exact token counts by OpenAI's o200k_base vocabulary, offline.

The ranks are package data: tiktoken itself would download them on first use. They are OpenAI's, published
with tiktoken under the MIT licence (`data/o200k_base.LICENSE`), in a compact form: every token in rank order
behind one byte of length, gzipped. `tests/pack_token_ranks.py` makes the file from tiktoken's own.

Loading takes about 0.6 s and 70 MB, with the interpreter's lock held, so a chat process does not do it: it
runs this module in a child process (`count_in_child`). Needs the package `tiktoken`; without it there are
estimates only.
"""

from __future__ import annotations

import asyncio
import functools
import gzip
import importlib.util
import json
import os
import sys
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from forge_core.llm.tokens import estimate_tokens

if TYPE_CHECKING:
    from tiktoken import Encoding

_PACKAGE_ROOT = str(Path(__file__).resolve().parents[2])
_PATTERN = "|".join(
    [
        r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"""
        r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
        r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"""
        r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
        r"""\p{N}{1,3}""",
        r""" ?[^\s\p{L}\p{N}]+[\r\n/]*""",
        r"""\s*[\r\n]+""",
        r"""\s+(?!\S)""",
        r"""\s+""",
    ]
)
_SPECIAL = {"<|endoftext|>": 199_999, "<|endofprompt|>": 200_018}


def is_available() -> bool:
    """Return whether exact counts are available."""
    return importlib.util.find_spec("tiktoken") is not None


def token_ids(text: str) -> list[int] | None:
    """Return the ids of `text`, with special tokens taken as plain text; None without tiktoken."""
    encoding = _encoding()
    if encoding is None:
        return None
    return encoding.encode(text.encode("utf-8", "replace").decode("utf-8"), disallowed_special=())


def count_tokens(text: str) -> int:
    """Return the number of tokens in `text`: exact where tiktoken is installed, else an estimate."""
    ids = token_ids(text)
    return estimate_tokens(text) if ids is None else len(ids)


async def count_in_child(texts: Sequence[str], *, timeout_s: float = 30.0) -> list[int] | None:
    """Return exact counts from a short-lived child process; None when it fails."""
    if not is_available():
        return None
    child = await asyncio.create_subprocess_exec(
        # -P: nothing may be imported from the working directory, whose files may be hostile
        *(sys.executable, "-P", "-m", __name__),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={"PATH": os.environ.get("PATH", ""), "PYTHONPATH": _PACKAGE_ROOT},
    )
    try:
        async with asyncio.timeout(timeout_s):
            out, _ = await child.communicate(json.dumps(list(texts)).encode())
        counts = json.loads(out)
    except (TimeoutError, ValueError, OSError):
        return None
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    return [int(count) for count in counts]


def unpack(packed: bytes) -> dict[bytes, int]:
    """Return token → rank from the compact form."""
    data = gzip.decompress(packed)
    ranks: dict[bytes, int] = {}
    place = 0
    while place < len(data):
        end = place + 1 + data[place]
        ranks[data[place + 1 : end]] = len(ranks)
        place = end
    return ranks


@functools.cache
def _encoding() -> Encoding | None:
    try:
        from tiktoken import Encoding
    except ImportError:
        return None
    ranks = unpack(files("forge_core.llm").joinpath("data/o200k_base.ranks.gz").read_bytes())
    return Encoding(name="o200k_base", pat_str=_PATTERN, mergeable_ranks=ranks, special_tokens=_SPECIAL)


if __name__ == "__main__":
    sys.stdout.write(json.dumps([count_tokens(text) for text in json.load(sys.stdin.buffer)]))
