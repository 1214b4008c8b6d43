"""Private keys, found by their content: in the beginning of a file, and in text that a model would read.

Known are the blocks of PEM (OpenSSL, OpenSSH, PKCS #8), PGP, SSH.com and PuTTY, and the keys of age. A block
may be indented, quoted, numbered or escaped as in JSON. One that is encoded otherwise is not found.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator

HEAD_BYTES = 1_024
"""A file with a block that begins within these is a key file."""
LEFT_OUT = "[" + "private key left out"
"""The beginning of what stands for a block, in two parts so that this file does not contain it."""
NO_LINE = "\0"
"""What stands for each further line of a block, where lines are to be kept."""

_MARKERS = ("PRIVATE KEY", "Private-", "AGE-SECRET-KEY-")
"""One of them is in every key."""
_EDGE = re.compile(
    r"(?P<begin>-{4,5} ?BEGIN (?:[A-Z0-9.]+ ){0,3}PRIVATE KEY(?: BLOCK)? ?-{4,5}|Private-Lines: ?\d+)"
    r"|-{4,5} ?END (?:[A-Z0-9.]+ ){0,3}PRIVATE KEY(?: BLOCK)? ?-{4,5}|Private-(?:MAC|Hash): ?[0-9a-f]{16,}"
    r"|(?P<age>AGE-SECRET-KEY-(?:PQ-)?1[A-Z0-9]{12,})"
)
_BODY = re.compile(r"[A-Za-z0-9+/]{24,}")
"""The lines of a key are such runs."""
_KEY_LINE = re.compile(
    r"""[A-Za-z0-9+/]{38,}={0,2}(?:\\+[rn])?["'`,;|$)\]\s\\]*$|\b(?:Proc-Type|DEK-Info|Version|Comment): """
)
_EMPTY_LINE = re.compile(r"[\d\s:|\"'+>#*-]*(?:\S+[:-]\d+[:-])?\s*")
_LAST_LINE = re.compile(r"[^A-Za-z0-9+/=]*(?:\S+[:-]\d+[:-])?[ +-]*=?[A-Za-z0-9+/]+={0,2}\W*")
"""The line before the last one may be short, and so may be the checksum of PGP behind it."""
_MAX_BLOCK = 32_768
"""Characters between the first and the last line; an RSA key of 16,384 bits has 12,700."""


def is_key_file(path: str | os.PathLike[str]) -> bool:
    """Return whether the regular file at this path begins with a private key."""
    try:
        if not stat.S_ISREG(os.stat(path, follow_symlinks=False).st_mode):  # noqa: PTH116 - hot
            return False
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    except (OSError, ValueError):
        return False
    try:
        data = os.read(descriptor, 2 * HEAD_BYTES)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    text = data.decode("latin-1")
    return any(start < HEAD_BYTES for start, _ in _spans(text))


def hide_private_keys(text: str, *, keeps_lines: bool = False) -> str:
    """Return the text with a note in place of each private key. With `keeps_lines` every other line keeps its
    number: `NO_LINE` stands for each line that the note replaces too."""
    parts: list[str] = []
    done = 0
    for start, end in _spans(text):
        lines = text.count("\n", start, end)
        parts += [text[done:start], _note(lines + 1), f"\n{NO_LINE}" * lines if keeps_lines else ""]
        done = end
    return "".join((*parts, text[done:])) if parts else text


def _note(lines: int) -> str:
    count = f"{lines} lines" if lines > 1 else "1 line"
    return f"{LEFT_OUT}: {count}. The user can allow it by /permissions add allow read(FILE); then use read]"


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the keys are: from the first to the last line of a block, or as far as a part of one
    goes."""
    if not any(marker in text for marker in _MARKERS):
        return
    edges = list(_EDGE.finditer(text))
    done = 0
    for edge, following in zip(edges, [*edges[1:], None], strict=False):
        if edge.start() < done:
            continue
        start, end = edge.span()
        if edge["begin"]:
            is_whole = (
                following is not None and _is_last_line(following) and _is_body(text, end, following.start())
            )
            end = following.end() if following is not None and is_whole else _end_of_part(text, end)
        elif _is_last_line(edge):
            is_reversed = (
                following is not None and following["begin"] and _is_body(text, end, following.start())
            )
            if following is not None and is_reversed:
                end = following.end()
            else:
                start = _start_of_part(text, start, done)
        if edge["age"] or _BODY.search(text, edge.end() if edge["begin"] else start, end):
            yield start, end
            done = end


def _is_last_line(edge: re.Match[str]) -> bool:
    return not (edge["begin"] or edge["age"])


def _is_body(text: str, start: int, end: int) -> bool:
    """Return whether what is between a first and a last line is a key, rather than text that mentions
    both. In a listing, much may be around each line."""
    if end - start > _MAX_BLOCK:
        return False
    return sum(len(run[0]) for run in _BODY.finditer(text, start, end)) > 0.1 * (end - start)


def _end_of_part(text: str, at: int) -> int:
    """Return where a block ends whose last line is missing. Its first line ends at `at`."""
    end = line_end = _line_end(text, at)
    while line_end < len(text):
        start, line_end = line_end + 1, _line_end(text, line_end + 1)
        if _KEY_LINE.search(text, start, line_end):
            end = line_end
        elif line_end == len(text) and _LAST_LINE.fullmatch(text, start, line_end):
            end = line_end  # cut off by a limit
        elif not _EMPTY_LINE.fullmatch(text, start, line_end):
            break
    return end


def _start_of_part(text: str, at: int, done: int) -> int:
    """Return where a block begins whose first line is missing: at `at`, in its last line, if all are."""
    start = text.rfind("\n", done, at) + 1 or done
    found, short = at, 2
    while start > done:
        before = text.rfind("\n", done, start - 1) + 1 or done
        if not _KEY_LINE.search(text, before, start - 1):
            if not short or not _LAST_LINE.fullmatch(text, before, start - 1):
                break
            short -= 1
        else:
            short = 0
        found = start = before
    return found


def _line_end(text: str, at: int) -> int:
    found = text.find("\n", at)
    return len(text) if found < 0 else found
