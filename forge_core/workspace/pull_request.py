"""What a pull request would hold: the commits since the base, their diff, and the repository's template."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from forge_core.errors import WorkspaceError
from forge_core.sanitize import safe_line
from forge_core.workspace.change_source import ChangedFile, Counts
from forge_core.workspace.git import GitOutput, branch, require_own_files, run_git
from forge_core.workspace.repository import Repository, find_repository, read_small
from forge_core.workspace.work_tree import DIFF_OPTIONS, MAX_PATCH_BYTES, numstat, raw_entries

MAX_COMMITS = 100
_TIMEOUT_S = 30.0
_USUAL_BASES = ("origin/main", "origin/master", "main", "master")
_TEMPLATE_FOLDERS = (
    ".github",
    "",
    "docs",
    ".github/PULL_REQUEST_TEMPLATE",
    ".github/pull_request_template",
    ".gitlab/merge_request_templates",
)
_TEMPLATE = re.compile(r"(?:pull_request_template|default)\.(?:md|txt|markdown)", re.IGNORECASE)
_RECORD, _FIELD = "\x1e", "\x1f"


@dataclass(frozen=True, slots=True)
class CommitText:
    """The message of a commit; untrusted."""

    subject: str
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequest:
    """The branch and what it adds to its base."""

    repository: Repository
    base: str
    """As it is named on the server: without "origin/"."""
    branch: str
    merge_base: str
    commits: tuple[CommitText, ...]
    """The oldest first, at most `MAX_COMMITS` of the newest."""
    files: tuple[ChangedFile, ...]
    counts: dict[str, Counts]
    template: str
    """The text of the repository's template; empty if there is none."""
    template_path: str
    """Relative to the top."""
    has_uncommitted: bool
    """Whether files of the work tree differ from the last commit: those changes are not included."""

    async def patch(self, without: Sequence[str] = ()) -> str:
        """Return the diff, but for that of some files. Raises WorkspaceError."""
        paths = [f":(top,exclude,literal){path}" for path in without]
        options = (*DIFF_OPTIONS, "--patch", self.merge_base, "HEAD", "--", *(["."] if paths else []), *paths)
        answer = await _git(self.repository, "diff", *options, max_bytes=MAX_PATCH_BYTES)
        return answer.raw.decode("utf-8", "surrogateescape")


async def read_pull_request(folder: Path, base: str = "") -> PullRequest:
    """Return what a pull request of the current branch would hold; the base is found if none is given.

    Raises:
        WorkspaceError: there is no repository, no base, or no commit since it.
    """
    repository = find_repository(folder)
    if repository is None:
        raise WorkspaceError(f"{str(folder)!r} is in no git repository.")
    await require_own_files(repository)
    name = branch(repository.top) or ""
    base = base or await _found_base(repository)
    commit = await _base_commit(repository, base)
    if not commit:
        raise WorkspaceError(f"There is no branch {safe_line(base)!r}. Name the base: /pr BRANCH.")
    forked = await _git(repository, "merge-base", commit, "HEAD")
    if forked.returncode:
        raise WorkspaceError(f"HEAD and {safe_line(base)!r} have no common ancestor.")
    start = forked.stdout.strip()
    log = (f"{start}..HEAD", "-n", str(MAX_COMMITS), "--no-merges", f"--format=%s{_FIELD}%b{_RECORD}")
    logged, raw, stats, status = await asyncio.gather(
        _git(repository, "log", *log),
        _git(repository, "diff", *DIFF_OPTIONS, "--raw", "-z", start, "HEAD"),
        _git(repository, "diff", *DIFF_OPTIONS, "--numstat", "-z", start, "HEAD"),
        _git(repository, "status", "--porcelain", "-z", "--untracked-files=normal"),
    )
    commits = _commits(logged.stdout)
    if not commits and not raw.raw:
        raise WorkspaceError(
            f"There is nothing to request: HEAD has no commit that {safe_line(base)!r} lacks."
        )
    template_path, template = await asyncio.to_thread(_template, repository.top)
    return PullRequest(
        repository=repository,
        base=base.removeprefix("origin/"),
        branch=name,
        merge_base=start,
        commits=commits,
        files=tuple(raw_entries(raw.raw, set())),
        counts=dict(numstat(stats.raw)),
        template=template,
        template_path=template_path,
        has_uncommitted=bool(status.raw),
    )


async def is_base(folder: Path, name: str) -> bool:
    """Return whether a branch or another commit, here or on the server, has this name."""
    repository = find_repository(folder)
    return repository is not None and bool(await _base_commit(repository, name))


async def _base_commit(repository: Repository, name: str) -> str:
    return await _commit(repository, name) or await _commit(repository, f"origin/{name}")


async def _found_base(repository: Repository) -> str:
    """Return the branch that the server calls its main one, else one of a usual name."""
    head = await _git(repository, "symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD")
    for name in (head.stdout.strip(), *_USUAL_BASES):
        if name and await _commit(repository, name):
            return name
    raise WorkspaceError("No base was found: neither origin/HEAD nor main or master. Use /pr BRANCH.")


async def _commit(repository: Repository, name: str) -> str:
    asked = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    found = await _git(repository, *asked)
    return "" if found.returncode else found.stdout.strip()


async def _git(repository: Repository, *arguments: str, max_bytes: int | None = None) -> GitOutput:
    return await run_git(repository.top, *arguments, timeout_s=_TIMEOUT_S, max_bytes=max_bytes)


def _commits(log: str) -> tuple[CommitText, ...]:
    found = []
    for record in reversed(log.split(_RECORD)):
        subject, field, body = record.strip("\n").partition(_FIELD)
        if field:
            found.append(CommitText(subject, body.strip()))
    return tuple(found)


def _template(top: Path) -> tuple[str, str]:
    """Return the path and the text of the template; empty if there is none. No link is followed."""
    real = Path(os.path.realpath(top))
    for name in _TEMPLATE_FOLDERS:
        folder = real / name
        try:
            entries = sorted(folder.iterdir()) if Path(os.path.realpath(folder)) == folder else []
        except OSError:
            continue
        for entry in entries:
            if _TEMPLATE.fullmatch(entry.name) and not entry.is_symlink() and (text := read_small(entry)):
                return str(entry.relative_to(real)), text.strip()
    return "", ""
