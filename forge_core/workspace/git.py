"""Calls of git by Forge itself, which run nothing that a repository names, and the current branch.

`git status` and `git diff` execute programs that a repository's config and attributes name (core.fsmonitor,
diff.external, textconv, clean filters, pagers, hooks). Each call by Forge goes through `run_git`, which turns
them off. Commands of the model run as they are, except for lines in which git only reads: they get
`reading_variables`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from forge_core.errors import WorkspaceError
from forge_core.workspace.program_lookup import require_program, search_path
from forge_core.workspace.repository import Repository, find_repository, read_small

_SHORT_SHA = 7
_CHUNK_BYTES = 256 * 1024
_KEPT_VARIABLES = (
    *("HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL"),  # where the user's settings are
    *("USER", "LOGNAME", "LANG", "LC_ALL", "TMPDIR"),
)
_DIFF_COMMANDS = frozenset({"diff", "log", "show", "diff-tree", "diff-files", "diff-index", "whatchanged"})
_SUBMODULE_COMMANDS = _DIFF_COMMANDS | {"status"}
"""A submodule has a config of its own, which may make git inspect it."""
_PROGRAM_KEYS = re.compile(
    r"(?:filter|diff|merge)\..+\.(?:clean|smudge|process|textconv|command|driver)", re.IGNORECASE | re.DOTALL
)
_HOOK_KEYS = re.compile(r"hook\..+\.(?:command|event)", re.IGNORECASE | re.DOTALL)
"""Of hooks in the config (git 2.54 and later), which core.hooksPath does not replace."""
_EXTERNAL_DIFF = "diff.external"
_DRIVER_PROGRAMS = re.compile(r"diff\.external|diff\..+\.command", re.IGNORECASE | re.DOTALL)
_PLAIN_DIFF = 'f() { [ $# -lt 7 ] || diff -u --label "a/$1" --label "b/$1" -- "$2" "$5" || [ $? = 1 ]; }; f'
"""Set in place of an external diff program: git fails where the program is empty. `diff` ends with 1 where
the files differ."""
_SWITCHED_OFF = re.compile(
    r"core\.(?:fsmonitor|hookspath|pager|sshcommand|askpass|editor|gitproxy)|pager\..+|credential\..+"
    r"|gpg\..+|log\.showsignature|protocol\..+|submodule\..+|the hook post-index-change"
    r"|diff\..+\.(?:textconv|cachetextconv|binary|xfuncname|funcname|wordregex|algorithm)"
    r"|(?:alias|merge|mergetool|difftool|sequence|interactive|browser|web|man|help|sendemail)\..+",
    re.IGNORECASE | re.DOTALL,
)
_SETTINGS = (
    "core.fsmonitor=",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.sshCommand=false",
    "core.askPass=",
    "core.editor=true",
    "credential.helper=",
    "diff.external=",
    "diff.ignoreSubmodules=all",
    "gpg.program=false",
    "gpg.openpgp.program=false",
    "gpg.ssh.program=false",
    "gpg.x509.program=false",
    "log.showSignature=false",
    "protocol.allow=never",
    "status.submoduleSummary=false",
    "submodule.recurse=false",
)


_GUARDS = {
    "GIT_PAGER": "cat",
    "PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",  # over any protocol.*.allow; older versions fetch what was promised
}


@dataclass(frozen=True, slots=True)
class GitOutput:
    """The result of a call of git."""

    returncode: int
    raw: bytes
    """Its output, undecoded: names need not be UTF-8."""
    stderr: str
    is_cut: bool = False
    """Whether the output was larger than the caller accepts."""

    @property
    def stdout(self) -> str:
        return self.raw.decode("utf-8", "replace")


def branch(path: Path) -> str | None:
    """Return the branch checked out at `path`, a short commit id when HEAD is detached, None without a
    repository.

    Only HEAD is read, which takes microseconds and works on an unborn branch too.
    """
    repository = find_repository(path)
    head = read_small(repository.git_dir / "HEAD") if repository else None
    if not head:
        return None
    line = head.splitlines()[0].strip()
    if line.startswith("ref:"):
        name = line.removeprefix("ref:").strip()
        name = name.removeprefix("refs/heads/").removeprefix("refs/")
        return name if name.isprintable() and name not in ("", ".invalid") else None
    return line[:_SHORT_SHA] if re.fullmatch(r"[0-9a-f]{40,64}", line) else None


async def changed_paths(folder: Path, timeout_s: float = 3.0) -> list[str]:
    """Return the files of the repository with uncommitted changes, relative to `folder`: untracked and
    deleted ones included, and those elsewhere in the repository.

    A folder without tracked files counts as one, and ends with a slash. Where there are very many, some are
    left out. Return none without a repository or git, or if git takes too long.
    """
    if (repository := find_repository(folder)) is None:
        return []
    arguments = ("status", "--porcelain", "-z", "--no-renames", "--untracked-files=normal")
    try:
        listed = await run_git(folder, *arguments, timeout_s=timeout_s, max_bytes=_CHUNK_BYTES)
    except WorkspaceError:
        return []
    if listed.returncode and not listed.is_cut:
        return []
    lines = os.fsdecode(listed.raw).split("\0")[:-1]  # each is the state, two letters, a blank and the path
    return _relative_to(folder, repository.top, [line[3:] for line in lines])


def _relative_to(folder: Path, top: Path, paths: list[str]) -> list[str]:
    """Return paths that are relative to the repository's top relative to a folder in it."""
    here = os.path.relpath(os.path.normpath(folder.absolute()), top)
    if here == os.curdir:
        return paths
    return [os.path.relpath(path, here) + "/" * path.endswith("/") for path in paths]


def hardened_git_args() -> list[str]:
    """Return the `-c` options that keep git from running programs that a repository's config names."""
    return [part for setting in _SETTINGS for part in ("-c", setting)]


async def run_git(
    folder: Path,
    *arguments: str,
    timeout_s: float = 10.0,
    max_bytes: int | None = None,
    index_file: Path | None = None,
    pass_fds: Sequence[int] = (),
) -> GitOutput:
    """Run git in `folder` with hooks, filters, helpers, pagers, prompts and the network turned off.

    It is stopped after `max_bytes` of output. `index_file` is used in place of the index. It inherits the
    descriptors `pass_fds`. Raises WorkspaceError when git is missing or takes longer than `timeout_s`.
    """
    names = await _call(folder, ["config", "--name-only", "--null", "--list"], {}, timeout_s)
    command = list(arguments)
    if command and command[0] in _DIFF_COMMANDS:
        command[1:1] = ["--no-ext-diff", "--no-textconv"]
    if command and command[0] in _SUBMODULE_COMMANDS:
        command[1:1] = ["--ignore-submodules=all"]
    # Every setting that names a program is emptied. With `-c` git would split a key with an equals sign.
    variables = _as_variables(_emptied(names.stdout.split("\0")))
    if index_file is not None:
        variables["GIT_INDEX_FILE"] = str(index_file)
    return await _call(folder, command, variables, timeout_s, max_bytes, pass_fds)


async def require_own_files(repository: Repository) -> None:
    """Raise WorkspaceError if the config of a repository names another folder for its files (core.worktree).

    What git then lists and compares is not in the folder of the session, so that no rule for that holds.
    """
    answer = await run_git(repository.top, "rev-parse", "--show-toplevel")
    named = os.fsdecode(answer.raw).removesuffix("\n")
    if not answer.returncode and not await asyncio.to_thread(_are_same, named, repository.top):
        raise WorkspaceError(
            f"The config of the repository in {str(repository.top)!r} says that its files are in {named!r} "
            "(core.worktree). Start forge there, or use git itself."
        )


def _are_same(one: str, other: Path) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def is_switched_off(setting: str, arguments: Sequence[str]) -> bool:
    """Return whether a setting of a repository runs nothing under `reading_variables` while git answers as it
    would without them. `arguments` are those of git, from the subcommand on.

    Not so filters (git would compare unfiltered files), drivers that make a diff (git would fail), and what
    fetches missing objects.
    """
    if _DRIVER_PROGRAMS.fullmatch(setting):
        return "--no-ext-diff" in arguments
    return _SWITCHED_OFF.fullmatch(setting) is not None


async def reading_variables(folders: Sequence[Path], timeout_s: float = 5.0) -> dict[str, str]:
    """Return variables under which git, reading in these folders, runs no program that the config of a
    repository names.

    These are hooks, filters, helpers, pagers and transports. Drivers in the user's own config are kept.
    """
    settings = [tuple(line.split("=", 1)) for line in _SETTINGS if not line.startswith(_EXTERNAL_DIFF)]
    brought: list[str] = []
    for folder in folders:
        with contextlib.suppress(WorkspaceError):  # without git, or the folder, nothing of git runs
            listed = ["config", "--name-only", "--null", "--show-scope", "--list"]
            scopes = (await _call(folder, listed, {}, timeout_s)).stdout.split("\0")
            brought += [
                name
                for scope, name in zip(scopes[::2], scopes[1::2], strict=False)
                if scope in ("local", "worktree") and name not in brought
            ]
    settings += [(name, _PLAIN_DIFF) for name in brought if name.lower() == _EXTERNAL_DIFF]
    return _GUARDS | _as_variables([*settings, *_emptied(brought)])


def _emptied(names: list[str]) -> list[tuple[str, str]]:
    """Return settings that take the program from every key of `names` that holds one."""
    programs = [name for name in names if _PROGRAM_KEYS.fullmatch(name)]
    filters = {name.rpartition(".")[0] for name in programs if name.lower().startswith("filter.")}
    hooks = {name.rpartition(".")[0] for name in names if _HOOK_KEYS.fullmatch(name)}
    emptied = [(name, _harmless(name)) for name in programs]
    emptied += [(f"{name}.enabled", "false") for name in sorted(hooks)]
    return emptied + [(f"{name}.required", "false") for name in sorted(filters)]


def _harmless(name: str) -> str:
    """Return what takes the place of a program: git fails where a diff or a text conversion has none."""
    if _DRIVER_PROGRAMS.fullmatch(name):
        return _PLAIN_DIFF
    return "cat" if name.lower().endswith(".textconv") else ""


def _as_variables(settings: Sequence[tuple[str, ...]]) -> dict[str, str]:
    variables = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings):
        variables |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return variables


async def _call(
    folder: Path,
    arguments: list[str],
    variables: dict[str, str],
    timeout_s: float,
    max_bytes: int | None = None,
    pass_fds: Sequence[int] = (),
) -> GitOutput:
    try:
        process = await asyncio.create_subprocess_exec(
            *(require_program("git", folder), *hardened_git_args(), *arguments),
            cwd=folder,
            env=hardened_environment(folder) | variables,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
            pass_fds=pass_fds,
        )
    except OSError as error:
        raise WorkspaceError(f"git could not be run in {str(folder)!r}: {error}.") from error
    try:
        async with asyncio.timeout(timeout_s):
            out, err = await _output(process, max_bytes)
    except TimeoutError as error:
        raise WorkspaceError(f"git {' '.join(arguments[:4])} took longer than {timeout_s:g} s.") from error
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    is_cut = max_bytes is not None and len(out) > max_bytes
    return GitOutput(process.returncode or 0, out[:max_bytes], err.decode("utf-8", "replace"), is_cut)


async def _output(process: asyncio.subprocess.Process, max_bytes: int | None) -> tuple[bytes, bytes]:
    if max_bytes is None or process.stdout is None or process.stderr is None:
        return await process.communicate()
    stderr = asyncio.ensure_future(process.stderr.read())
    parts: list[bytes] = []
    left = max_bytes
    while left >= 0 and (part := await process.stdout.read(_CHUNK_BYTES)):
        parts.append(part)
        left -= len(part)
    if left < 0:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
    await process.wait()
    return b"".join(parts), await stderr


def hardened_environment(root: Path) -> dict[str, str]:
    """Return the environment for a call of git: no prompts, pagers, locks, network, or programs
    from `root`."""
    kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    return kept | _GUARDS | {"PATH": search_path(root), "TERM": "dumb"}
