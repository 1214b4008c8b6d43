"""What commits did to single files, read from a clone with plumbing that runs no program the clone names."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from forge_core.workspace.git import hardened_git_args

_REGULAR = {"100644", "100755"}
MAX_BYTES = 2_000_000
"""Of a file; larger ones are passed over and counted."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """One modified file of one commit."""

    repository: str
    commit: str
    path: str
    before: bytes
    after: bytes

    @property
    def name(self) -> str:
        return f"{self.repository} {self.commit[:10]} {self.path}"

    @property
    def is_text(self) -> bool:
        """Whether both sides are text by the rule of the tools: no NUL but in UTF-16."""
        return not any(
            b"\0" in data and not data.startswith((b"\xff\xfe", b"\xfe\xff"))
            for data in (self.before, self.after)
        )


class History:
    """A clone. `commits` spreads its choice evenly over all of the history."""

    def __init__(self, clone: Path) -> None:
        self.clone = clone
        self.name = clone.parent.name if clone.name in ("repo", ".git") else clone.name

    def commits(self, count: int) -> list[str]:
        every = self._git("rev-list", "--no-merges", "HEAD").decode().split()
        step = max(len(every) // count, 1)
        return every[::step][:count]

    def changes(self, commits: list[str]) -> Iterator[FileChange]:
        """Every modified regular file up to 2 MB, in the order of the commits; links and submodules are none."""
        reader = subprocess.Popen(
            [*self._command("cat-file", "--batch")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert reader.stdin is not None and reader.stdout is not None
        try:
            for commit in commits:
                for path, before, after in self._modified(commit):
                    sides = []
                    for blob in (before, after):
                        reader.stdin.write(blob.encode() + b"\n")
                        reader.stdin.flush()
                        size = int(reader.stdout.readline().split()[2])
                        sides.append(reader.stdout.read(size + 1)[:-1])
                    if max(map(len, sides)) <= MAX_BYTES:
                        yield FileChange(self.name, commit, path, sides[0], sides[1])
        finally:
            reader.stdin.close()
            reader.wait()
            reader.stdout.close()

    def _modified(self, commit: str) -> Iterator[tuple[str, str, str]]:
        raw = self._git("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-commit-id", commit)
        fields = raw.split(b"\0")
        for head, path in zip(fields[::2], fields[1::2], strict=False):
            old_mode, new_mode, before, after, status = head.decode().lstrip(":").split()
            if status == "M" and before != after and {old_mode, new_mode} <= _REGULAR:
                yield path.decode("utf-8", "replace"), before, after

    def _git(self, *arguments: str) -> bytes:
        return subprocess.run(self._command(*arguments), check=True, capture_output=True).stdout

    def _command(self, *arguments: str) -> list[str]:
        return ["git", "-C", str(self.clone), *hardened_git_args(), *arguments]
