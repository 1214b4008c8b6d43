"""Make the bundled token ranks from tiktoken's own file: `python -m tests.pack_token_ranks SOURCE TARGET`."""

from __future__ import annotations

import base64
import gzip
import hashlib
import sys
from pathlib import Path

SOURCE_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
"""Of o200k_base.tiktoken, as tiktoken's own loader expects it."""
TOKENS = 199_998


def pack(source: bytes) -> bytes:
    """Return tiktoken's file of ranks in the compact form. Raise ValueError for any other file."""
    if hashlib.sha256(source).hexdigest() != SOURCE_SHA256:
        raise ValueError("This is not o200k_base.tiktoken: its sha256 differs.")
    ranked = sorted(
        (int(rank), base64.b64decode(token)) for token, rank in map(bytes.split, source.splitlines())
    )
    packed = b"".join(bytes((len(token),)) + token for _, token in ranked)
    return gzip.compress(packed, compresslevel=9, mtime=0)


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    target.write_bytes(pack(source.read_bytes()))
