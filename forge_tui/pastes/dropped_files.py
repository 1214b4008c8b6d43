"""Files that were dropped onto the terminal, or pasted as paths.

Terminals paste the paths of dropped files: in quotes, with backslashes, as `file://` URIs, or as they are;
several are separated by spaces or line ends.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

from forge_core.images.image_header import SUFFIXES

_LONGEST = 20_000
"""A longer paste is no list of files."""


def image_files(pasted: str) -> list[Path]:
    """Return the image files that a pasted text consists of; none if it has any other word.

    Only whole paths count (`/…`, `~/…`, `file://…`), by their names: the files are not read.
    """
    text = pasted.strip()
    if not text or len(text) > _LONGEST or not text.lower().rstrip("'\"").endswith(SUFFIXES):
        return []
    for paths in _readings(text):
        if paths and all(map(_is_image_file, paths)):
            return paths
    return []


def _readings(text: str) -> Iterator[list[Path]]:
    """Yield what the text may mean: a path per line, as it is, or words as in a shell."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    yield [_path(line) for line in lines]
    try:
        yield [_path(word) for word in shlex.split(" ".join(lines))]
    except ValueError:  # an open quote
        return


def _path(word: str) -> Path:
    if word.lower().startswith("file:"):
        parts = urlsplit(word)
        return Path(unquote(parts.path)) if parts.netloc in ("", "localhost") else Path()
    try:
        return Path(word).expanduser()
    except RuntimeError:  # no such user
        return Path()


def _is_image_file(path: Path) -> bool:
    try:
        return path.is_absolute() and path.suffix.lower() in SUFFIXES and path.is_file()
    except (OSError, ValueError):  # too long, a null character
        return False
