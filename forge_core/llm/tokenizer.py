"""Exact token counts by OpenAI's o200k_base vocabulary, offline.

The ranks are package data: tiktoken itself would download them on first use. They are OpenAI's, published
with tiktoken under the MIT licence (`data/o200k_base.LICENSE`), in a compact form: every token in rank order
behind one byte of length, gzipped. `python -m forge_core.llm.tokenizer pack SOURCE TARGET` makes the file
from tiktoken's own, whose sha256 is checked.

Loading takes about 0.6 s and 70 MB, with the interpreter's lock held, so a chat process does not do it: it
asks a child (`count_in_child`). Needs the package `tiktoken`; without it there are estimates only.
"""

from __future__ import annotations

import asyncio
import base64
import functools
import gzip
import hashlib
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

SOURCE_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
"""Of o200k_base.tiktoken, as tiktoken's own loader expects it."""
TOKENS = 199_998

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
    """Whether exact counts can be had here."""
    return importlib.util.find_spec("tiktoken") is not None


def token_ids(text: str) -> list[int] | None:
    """The ids of `text`, special tokens read as plain text; None without tiktoken."""
    encoding = _encoding()
    if encoding is None:
        return None
    return encoding.encode(text.encode("utf-8", "replace").decode("utf-8"), disallowed_special=())


def count_tokens(text: str) -> int:
    """How many tokens `text` is: exact where tiktoken is installed, else by estimate."""
    ids = token_ids(text)
    return estimate_tokens(text) if ids is None else len(ids)


async def count_in_child(texts: Sequence[str], *, timeout_s: float = 30.0) -> list[int] | None:
    """Exact counts from a short-lived child process; None when it cannot give any."""
    if not is_available():
        return None
    child = await asyncio.create_subprocess_exec(
        # -P: the working directory may be anybody's and must not be imported from
        *(sys.executable, "-P", "-m", __name__, "count"),
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


def pack(source: bytes) -> bytes:
    """tiktoken's file of ranks in the compact form. Raises ValueError when it is not the one that is
    known."""
    if hashlib.sha256(source).hexdigest() != SOURCE_SHA256:
        raise ValueError("This is not o200k_base.tiktoken: its sha256 differs.")
    ranked = sorted(
        (int(rank), base64.b64decode(token)) for token, rank in map(bytes.split, source.splitlines())
    )
    packed = b"".join(bytes((len(token),)) + token for _, token in ranked)
    return gzip.compress(packed, compresslevel=9, mtime=0)


def unpack(packed: bytes) -> dict[bytes, int]:
    """Token → rank, from the compact form."""
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


def _main(arguments: Sequence[str]) -> int:
    match arguments:
        case ["count"]:
            texts = json.loads(sys.stdin.buffer.read())
            sys.stdout.write(json.dumps([count_tokens(text) for text in texts]))
        case ["pack", source, target]:
            Path(target).write_bytes(pack(Path(source).read_bytes()))
        case _:
            sys.stderr.write("usage: python -m forge_core.llm.tokenizer count | pack SOURCE TARGET\n")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
