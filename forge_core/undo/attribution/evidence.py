"""Tests whether a change of content is one that a kind of program makes. Pure, except that sed is run."""

from __future__ import annotations

import hashlib
import lzma
import re
import subprocess
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from forge_core.workspace.zip_directory import zip_names

_TIMEOUT_S = 2.0
_LAYOUT = re.compile(rb"[\s'\"`,;()\\]+")
"""What a formatter adds, removes or moves."""
_WORD = re.compile(rb"\w+")
_TOKEN = re.compile(rb"\w+|[^\w\s]")
_IMPORT = re.compile(
    rb"^\s*(?:import|from|use|using|require|include|#include|export)\b|^\s*\w+(?: as \w+)?,\s*$"
)
_MANIFEST_LINE = re.compile(rb"(?<!in)depend|version|require|packageManager", re.IGNORECASE)
_FIXING_WORDS = frozenset(
    b"""is not None in from import __future__ annotations const let var list dict set tuple type str f r u b
    return raise contextlib suppress as object async await strict""".split()
)
_MAX_ARCHIVE_BYTES = 256 * 1024 * 1024
_MAX_MEMBERS = 20_000
_UNREADABLE = (
    OSError,
    ValueError,
    EOFError,
    RuntimeError,  # an encrypted member, or a method that zipfile doesn't know
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
)
_MAX_PATCH_BYTES = 8 * 1024 * 1024


def is_reformatted(before: bytes, after: bytes) -> bool:
    """Return whether only the layout differs."""
    return _LAYOUT.sub(b"", before) == _LAYOUT.sub(b"", after)


def is_fixed(before: bytes, after: bytes) -> bool:
    """Return whether a linter's fix explains the difference: words of imports are removed or moved, and only
    keywords are added."""
    old, new = Counter(_WORD.findall(before)), Counter(_WORD.findall(after))
    gone, come = old - new, new - old
    if not set(come) <= _FIXING_WORDS:
        return False
    # The words that went must all come from import lines that are no longer there.
    kept = Counter(after.splitlines())
    imported: Counter[bytes] = Counter()
    for line in before.splitlines():
        if kept[line]:
            kept[line] -= 1
        elif _IMPORT.match(line):
            imported.update(_WORD.findall(line))
    return all(word in _FIXING_WORDS or imported[word] >= count for word, count in gone.items())


def edit_of(before: bytes, after: bytes) -> tuple[frozenset[bytes], frozenset[bytes]]:
    """Return the tokens that were removed and added, by which the same edit is recognised in several
    files."""
    old, new = Counter(_TOKEN.findall(before)), Counter(_TOKEN.findall(after))
    return frozenset(old - new), frozenset(new - old)


def is_patched(before: bytes, after: bytes, patches: Sequence[bytes]) -> bool:
    """Return whether all added and removed lines are in the patches (or in the reversed patches)."""
    old, new = Counter(map(bytes.rstrip, before.splitlines())), Counter(map(bytes.rstrip, after.splitlines()))
    lines = [line for patch in patches for line in patch.splitlines()]
    added = {line[1:].rstrip() for line in lines if line[:1] == b"+"}
    removed = {line[1:].rstrip() for line in lines if line[:1] == b"-"}
    come, gone = set(new - old), set(old - new)
    return (come <= added and gone <= removed) or (come <= removed and gone <= added)


def patch_texts(sources: Sequence[str]) -> list[bytes]:
    """Return the texts of patches; each source is a file's absolute path, or the text itself."""
    texts: list[bytes] = []
    for source in sources:
        if "\n" in source:
            texts.append(source.encode("utf-8", "surrogateescape"))
            continue
        try:
            with Path(source).open("rb") as file:
                texts.append(file.read(_MAX_PATCH_BYTES))
        except (OSError, ValueError):
            continue
    return texts


def is_manifest_update(before: bytes, after: bytes, names: Sequence[str]) -> bool:
    """Return whether all changed lines are about dependencies, versions, or the packages `names`."""
    old, new = Counter(map(bytes.strip, before.splitlines())), Counter(map(bytes.strip, after.splitlines()))
    known = [name.encode() for name in names if name]
    return all(
        _MANIFEST_LINE.search(line) or any(name in line for name in known)
        for line in ((old - new) + (new - old))
        if line.strip(b"[](){},")
    )


def is_merge_result(after: bytes, stages: Sequence[bytes]) -> bool:
    """Return whether a file with conflict markers consists of lines of the merged sides."""
    lines = after.splitlines()
    if not any(line.startswith(b"<<<<<<<") for line in lines):
        return False
    known = {line for stage in stages for line in stage.splitlines()}
    marks = (b"<<<<<<<", b"|||||||", b"=======", b">>>>>>>")
    return all(line in known or line.startswith(marks) for line in lines)


def sed_result(before: bytes, arguments: Sequence[str]) -> bytes | None:
    """Return the output of sed for `before`; None where it fails. GNU sed's sandbox mode refuses to run
    programs and to access files."""
    try:
        done = subprocess.run(
            ["sed", "--sandbox", *arguments],
            input=before,
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
            env={"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return done.stdout if done.returncode == 0 else None


def archive_digests(archive: str) -> frozenset[str]:
    """Return the sha256 of each member, and the targets of links; empty for an archive that is unreadable
    or too large."""
    import tarfile  # 0.3 MB, for few commands

    try:
        if Path(archive).stat().st_size > _MAX_ARCHIVE_BYTES:
            return frozenset()
        return frozenset(_members(archive))
    except (*_UNREADABLE, tarfile.TarError):
        return frozenset()


def _members(archive: str) -> Iterator[str]:
    if (names := zip_names(Path(archive))) is not None:
        if any(True for _ in islice(names, _MAX_MEMBERS, None)):
            return  # `ZipFile` would read all of its directory
        with zipfile.ZipFile(archive) as packed:
            left = _MAX_ARCHIVE_BYTES
            for info in packed.infolist():
                left -= info.file_size
                if not info.is_dir() and left >= 0:
                    yield hashlib.sha256(packed.read(info)).hexdigest()
        return
    import tarfile

    with tarfile.open(archive) as packed_tar:
        left = _MAX_ARCHIVE_BYTES
        for number, member in enumerate(packed_tar):
            left -= member.size
            if number >= _MAX_MEMBERS or left < 0:
                return
            if member.issym():
                yield member.linkname
            elif member.isreg():
                file = packed_tar.extractfile(member)
                if file is not None:
                    yield hashlib.sha256(file.read()).hexdigest()
