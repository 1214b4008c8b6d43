"""The contents that git already holds: the object ids of tracked files, and their bytes.

The index is read without git (5,000 entries in a few milliseconds) and is only a hint: git holds a file when
the file's own bytes hash to the id, so no filter, line-end conversion or stale entry can mislead, and when
git reports that the object exists. Objects are read with `cat-file`, which runs nothing that a repository
names.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from forge_core.undo.storage.file_tree import stamp_or_none
from forge_core.workspace.git import hardened_environment, hardened_git_args
from forge_core.workspace.git_index import blob_id, parse_index
from forge_core.workspace.program_lookup import require_program
from forge_core.workspace.repository import Repository, find_repository, read_small

_MAX_INDEX_BYTES = 64 * 1024 * 1024
_TIMEOUT_S = 20.0
_READ_BYTES = 32 * 1024 * 1024
"""Per call of `cat-file`, so that memory stays bounded."""


class GitObjects:
    """The objects of the repository around a folder; there are none without a repository.

    Those of the repositories around added folders count as well; paths in such folders are absolute.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self.repository: Repository | None = None
        """The repository around the folder."""
        self._stamp: tuple[int, int, int] | None = None
        self._ids: dict[str, str] = {}
        self._links: dict[str, str] = {}
        self._is_there: dict[str, bool] = {}
        self._algorithm = "sha1"
        self._added: dict[str, GitObjects] = {}
        """By the beginning of their paths, which ends with a slash."""
        self.find()

    def add_folder(self, folder: Path) -> GitObjects:
        """Include the repository around `folder`, a real path; return its objects alone."""
        return self._added.setdefault(f"{folder}/", GitObjects(folder))

    def find(self) -> None:
        """Look for a repository where there was none: `git init` may have been run."""
        if self.repository is None:
            self.repository = find_repository(self._root)
            self._algorithm = "sha256" if self._uses_sha256() else "sha1"
        for one in self._added.values():
            one.find()

    def tracked(self) -> dict[str, str]:
        """Return the object ids of the regular files in the index, by path relative to the root.

        An index is read again only when it has changed; one that cannot be read counts as empty.
        """
        found = self._tracked()
        if not self._added:
            return found
        return found | {
            prefix + path: object_id
            for prefix, one in self._added.items()
            for path, object_id in one.tracked().items()
        }

    def _tracked(self) -> dict[str, str]:
        if self.repository is None:
            return {}
        path = self.repository.git_dir / "index"
        try:
            status = path.stat()
            stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
            if stamp != self._stamp:
                # Set before the index is read: one that cannot be read is not tried again until it changes.
                self._stamp = stamp
                data = path.read_bytes() if status.st_size <= _MAX_INDEX_BYTES else b""
                self._ids, self._links = self._below_root(data)
        except (OSError, ValueError, IndexError):
            self._ids, self._links = {}, {}
        return self._ids

    def links(self) -> dict[str, str]:
        """Return the commits to which the index holds links in other repositories, by path relative to the
        root."""
        self._tracked()
        return self._links | {
            prefix + path: commit
            for prefix, one in self._added.items()
            for path, commit in one.links().items()
        }

    def remove_links(self, links: Mapping[str, str]) -> list[str]:
        """Remove those links from the index that are still as given, and nothing else; return their
        paths."""
        same = [path for path, commit in links.items() if self.links().get(path) == commit]
        self._update_index([("0", links[path], path) for path in same])
        return [path for path in same if path not in self.links()]

    def add_links(self, links: Mapping[str, str]) -> list[str]:
        """Add links to the index where it holds nothing; return their paths."""
        missing = [path for path in links if path not in self.links() and path not in self.tracked()]
        self._update_index([("160000", links[path], path) for path in missing])
        return [path for path in missing if path in self.links()]

    def _update_index(self, entries: Collection[tuple[str, str, str]]) -> None:
        """Set these entries: mode ("0" removes one), object id, and path relative to the root."""
        for prefix, one in self._added.items():
            own = [entry for entry in entries if entry[2].startswith(prefix)]
            one._update_index([(mode, commit, path[len(prefix) :]) for mode, commit, path in own])
        entries = [entry for entry in entries if not entry[2].startswith("/")]
        if entries and self.repository is not None:
            prefix = self._prefix()
            lines = (f"{mode} {commit} 0\t{prefix}{path}\0" for mode, commit, path in entries)
            self._git("update-index", "-z", "--index-info", stdin=os.fsencode("".join(lines)))

    def _prefix(self) -> str:
        """Return what paths relative to the root begin with in the index."""
        assert self.repository is not None
        inside = self._root.relative_to(self.repository.top).as_posix()
        return "" if inside == "." else inside + "/"

    def present(self, ids: Collection[str]) -> set[str]:
        """Return those of `ids` that git holds. One call of git checks all that were not checked before."""
        unknown = [one for one in ids if one not in self._is_there]
        if unknown:
            output = self._git("cat-file", "--batch-check", "--buffer", stdin=_lines(unknown))
            found = {line.split(b" ", 1)[0].decode() for line in output.splitlines() if b" blob " in line}
            self._is_there.update((one, one in found) for one in unknown)
        found = {one for one in ids if self._is_there[one]}
        for other in self._added.values():
            found |= other.present([one for one in ids if one not in found])
        return found

    def holds(self, ids: Collection[str]) -> set[str]:
        """Return those of `ids` that git holds now: unlike `present`, check again what was missing before."""
        for one in [one for one in ids if self._is_there.get(one) is False]:
            del self._is_there[one]
        for other in self._added.values():
            other.holds(ids)
        return self.present(ids)

    def unmerged(self) -> dict[str, list[str]]:
        """Return the paths in conflict, relative to the root, with the object ids of their sides."""
        output = self._git("ls-files", "--unmerged", "-z", stdin=b"")
        found: dict[str, list[str]] = {}
        for record in output.split(b"\0"):
            facts, _, name = record.partition(b"\t")
            if len(fields := facts.split()) == 3:
                found.setdefault(os.fsdecode(name), []).append(fields[1].decode())
        for prefix, one in self._added.items():
            found.update((prefix + path, ids) for path, ids in one.unmerged().items())
        return found

    def object_id(self, data: bytes) -> str:
        """Return the id of a blob of these bytes."""
        return blob_id(data, self._algorithm).hex()

    def read(self, sizes: Mapping[str, int]) -> Iterator[tuple[str, bytes]]:
        """Yield the ids and bytes of the objects with these sizes; objects that no longer exist are left
        out."""
        missing = dict(sizes)
        for object_id, data in self._read(sizes):
            missing.pop(object_id, None)
            yield object_id, data
        for one in self._added.values():
            for object_id, data in one.read(dict(missing)) if missing else ():
                missing.pop(object_id, None)
                yield object_id, data

    def _read(self, sizes: Mapping[str, int]) -> Iterator[tuple[str, bytes]]:
        batches: list[list[str]] = []
        room = 0
        for one, size in sizes.items():
            room -= size
            if not batches or room < 0:
                batches.append([])
                room = _READ_BYTES - size
            batches[-1].append(one)
        for batch in batches:
            yield from _objects(self._git("cat-file", "--batch", stdin=_lines(batch)))

    def history_stamp(self) -> int:
        """Return a number that changes when HEAD moves: by a commit, a checkout, a reset."""
        if self._added:
            return hash((self._history_stamp(), *(one.history_stamp() for one in self._added.values())))
        return self._history_stamp()

    def _history_stamp(self) -> int:
        if self.repository is None:
            return 0
        folder = self.repository.git_dir
        stamps = [stamp_or_none(folder / name) for name in ("logs/HEAD", "packed-refs")]
        return hash((read_small(folder / "HEAD"), *stamps))

    def _below_root(self, data: bytes) -> tuple[dict[str, str], dict[str, str]]:
        """Return the ids of regular files, and the commits of links to other repositories."""
        prefix = self._prefix()
        ids: dict[str, str] = {}
        links: dict[str, str] = {}
        for entry in parse_index(data, 32 if self._algorithm == "sha256" else 20):
            if entry.is_link and entry.name.startswith(prefix):
                links[entry.name[len(prefix) :]] = entry.object_id.hex()
            elif entry.is_regular and not entry.stage and entry.name.startswith(prefix):
                ids[entry.name[len(prefix) :]] = entry.object_id.hex()
        return ids, links

    def _uses_sha256(self) -> bool:
        config = read_small(self.repository.common_dir / "config") if self.repository else None
        return bool(config and re.search(r"(?im)^\s*objectformat\s*=\s*sha256\s*$", config))

    def _git(self, *arguments: str, stdin: bytes) -> bytes:
        """Return the output of a call of git; nothing when it fails to run."""
        try:
            return subprocess.run(
                [require_program("git", self._root), *hardened_git_args(), *arguments],
                cwd=self._root,
                env=hardened_environment(self._root),
                input=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=_TIMEOUT_S,
                start_new_session=True,
                check=False,
            ).stdout
        except (OSError, subprocess.SubprocessError):
            return b""


def _lines(ids: Collection[str]) -> bytes:
    return "\n".join(ids).encode("ascii") + b"\n"


def _objects(output: bytes) -> Iterator[tuple[str, bytes]]:
    offset = 0
    while (line_end := output.find(b"\n", offset)) >= 0:
        words = output[offset:line_end].split(b" ")
        offset = line_end + 1
        if len(words) == 3 and words[1] == b"blob":
            size = int(words[2])
            yield words[0].decode(), output[offset : offset + size]
            offset += size + 1
        # Another type: skip its bytes. A missing object has a line of two words and no bytes.
        elif len(words) == 3:
            offset += int(words[2]) + 1
