"""What Forge itself asks of git: the branch without a process, and calls that run nothing a repository names.

`git status` and `git diff` execute programs that a repository's config and attributes name (core.fsmonitor,
diff.external, textconv, clean filters, pagers, hooks). Each of our own calls goes through `run_git`, which
turns them off. What the *model* runs in a shell is its own business, but for lines that plainly only read and
so run unasked: they get `reading_variables`.
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
from forge_core.workspace.repository import find_repository, read_small

_SHORT_SHA = 7
_CHUNK_BYTES = 256 * 1024
_KEPT_VARIABLES = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TMPDIR")
_DIFF_COMMANDS = frozenset({"diff", "log", "show", "diff-tree", "diff-files", "diff-index", "whatchanged"})
_SUBMODULE_COMMANDS = _DIFF_COMMANDS | {"status"}
"""A submodule has a config of its own, and may insist on being looked into."""
_PROGRAM_KEYS = re.compile(
    r"(?:filter|diff|merge)\..+\.(?:clean|smudge|process|textconv|command|driver)", re.IGNORECASE | re.DOTALL
)
_EXTERNAL_DIFF = "diff.external"
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
    """How a call of git ended."""

    returncode: int
    raw: bytes
    """What it wrote, as it is: names need not be UTF-8."""
    stderr: str
    is_cut: bool = False
    """Whether there was more than the caller takes."""

    @property
    def stdout(self) -> str:
        return self.raw.decode("utf-8", "replace")


def branch(path: Path) -> str | None:
    """The branch checked out where `path` lies, a short commit id when HEAD is detached, None without a
    repository. Reads HEAD only, so it costs microseconds and works on an unborn branch too."""
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


def hardened_git_args() -> list[str]:
    """The `-c` options that keep git from running what a repository's config names."""
    return [part for setting in _SETTINGS for part in ("-c", setting)]


async def run_git(
    folder: Path, *arguments: str, timeout_s: float = 10.0, max_bytes: int | None = None
) -> GitOutput:
    """Runs git in `folder` with hooks, filters, helpers, pagers, prompts and the network off.

    Once it has written `max_bytes` it is stopped. Raises WorkspaceError when git is missing or takes longer
    than `timeout_s`.
    """
    names = await _call(folder, ["config", "--name-only", "--null", "--list"], {}, timeout_s)
    command = list(arguments)
    if command and command[0] in _DIFF_COMMANDS:
        command[1:1] = ["--no-ext-diff", "--no-textconv"]
    if command and command[0] in _SUBMODULE_COMMANDS:
        command[1:1] = ["--ignore-submodules=all"]
    return await _call(folder, command, _disarmed(names.stdout.split("\0")), timeout_s, max_bytes)


async def reading_variables(folder: Path, timeout_s: float = 5.0) -> dict[str, str]:
    """Variables under which git, called to read in `folder`, runs no hook, filter, helper, pager or transport
    that a repository's config names. Drivers in the person's own config stay theirs, and those of other
    repositories (`git -C`) may keep filters of their own."""
    settings = [tuple(line.split("=", 1)) for line in _SETTINGS if not line.startswith(_EXTERNAL_DIFF)]
    try:
        listed = ["config", "--name-only", "--null", "--show-scope", "--list"]
        told = (await _call(folder, listed, {}, timeout_s)).stdout.split("\0")
    except WorkspaceError:
        return {}  # without git nothing of git runs
    brought = [
        name for scope, name in zip(told[::2], told[1::2], strict=False) if scope in ("local", "worktree")
    ]
    # Emptied, it makes git fail instead of doing without: so only where there is one to be kept from running.
    settings += [(name, "") for name in brought if name.lower() == _EXTERNAL_DIFF]
    return _GUARDS | _as_variables([*settings, *_emptied(brought)])


def _disarmed(names: list[str]) -> dict[str, str]:
    """Variables that set to nothing every key of `names` that holds a program. Not by `-c`: a key may hold an
    equals sign, and git would cut it there."""
    return _as_variables(_emptied(names))


def _emptied(names: list[str]) -> list[tuple[str, str]]:
    programs = [name for name in names if _PROGRAM_KEYS.fullmatch(name)]
    filters = {name.rpartition(".")[0] for name in programs if name.lower().startswith("filter.")}
    return [(name, "") for name in programs] + [(f"{name}.required", "false") for name in sorted(filters)]


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
) -> GitOutput:
    try:
        process = await asyncio.create_subprocess_exec(
            *("git", *hardened_git_args(), *arguments),
            cwd=folder,
            env=_environment() | variables,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
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


def _environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    return kept | _GUARDS | {"TERM": "dumb"}
