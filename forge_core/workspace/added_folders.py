"""Which folders may be added to a workspace: none of the system, with keys, of Forge itself, and no home."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from forge_core.errors import WorkspaceError
from forge_core.workspace.folders import WorkspaceFolders, containing

# fmt: off
_SYSTEM = (
    "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr/bin",
    "/usr/lib", "/usr/lib64", "/usr/libexec", "/usr/sbin", "/var/lib", "/var/spool", "/System", "/Library",
    "/private/etc", "/private/var/db",
)
_KEYS = (
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".password-store", ".mozilla", ".thunderbird",
    ".config/gh", ".config/gcloud", ".config/google-chrome", ".config/chromium", ".local/share/keyrings",
    ".local/share/kwalletd", "Library/Keychains", "Library/Cookies", "Library/Mail",
)
"""In a home folder: keys, logins, and what other programs keep for themselves."""
# fmt: on
_TEMPORARY = tuple(map(Path, ("/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp")))
_HOMES = tuple(map(Path, ("/home", "/Users")))
_NEVER_IN = (".git", ".forge")


def folder_to_add(given: Path, workspace: WorkspaceFolders, private: Sequence[Path] = ()) -> Path | None:
    """Return the real path of a folder that may be added to the workspace; None if it is inside already.

    `given` is absolute, or relative to the current folder; `private` are Forge's own folders.

    Raises:
        WorkspaceError: it is missing or must not be added, with the reason and what to do.
    """
    name = str(given)
    try:
        real = given.expanduser().resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as error:
        raise WorkspaceError(f"The folder {name!r} does not exist. Name an existing folder.") from error
    if not real.is_dir():
        raise WorkspaceError(f"{name!r} is a file, not a folder. Name the folder that it is in.")
    if not os.access(real, os.R_OK | os.X_OK):
        raise WorkspaceError(f"The folder {name!r} cannot be read. Change its permissions or name another.")
    if containing(real, workspace) is not None:
        return None
    if reason := _refusal(real, workspace, private):
        shown = repr(name) if name == str(real) else f"{name!r} ({real})"
        raise WorkspaceError(f"The folder {shown} cannot be added: {reason}.")
    return real


def _refusal(real: Path, workspace: WorkspaceFolders, private: Sequence[Path]) -> str:
    """Return why a folder must not be added, and what to do; "" if it may be."""
    if real == Path(real.anchor):
        return "it holds the whole system. Add the folder that you need"
    main = Path(os.path.realpath(workspace.main))
    if main.is_relative_to(real):
        return f"it holds {main}, in which Forge works. Start Forge there instead"
    if inner := next((one for one in workspace.added if one.is_relative_to(real)), None):
        return f"it holds {inner}, which is added already"
    homes = _homes()
    if real.parent in _HOMES or any(home.is_relative_to(real) for home in homes):
        return "it is or holds a home folder. Add the folder in it that you need"
    if real in _TEMPORARY:
        return "it is where every program keeps its temporary files. Add the folder in it that you need"
    meets = _Places(real).meets
    if any(meets(Path(one)) for one in _SYSTEM):
        return "it belongs to the system"
    if any(meets(home / one) for home in homes for one in _KEYS):
        return "it holds keys or logins"
    if any(meets(Path(os.path.realpath(one))) for one in private):
        return "it holds Forge's own settings, keys or sessions"
    if not {part.casefold() for part in real.parts}.isdisjoint(_NEVER_IN):
        return "what is in .git and .forge controls git and Forge"
    return ""


def _homes() -> tuple[Path, ...]:
    """Return the real home folders of the user, and of root."""
    named = [os.environ.get("HOME", ""), os.path.expanduser("~"), "/root"]  # noqa: PTH111 - never raises
    return tuple(dict.fromkeys(Path(os.path.realpath(one)) for one in named if one.startswith("/")))


class _Places:
    """A folder and those above it, recognized by other paths too: where a file system ignores case, or where
    one is mounted twice."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._above = _identities(folder)

    def meets(self, other: Path) -> bool:
        """Return whether one of the two folders is in the other, or the same."""
        if self._folder.is_relative_to(other) or other.is_relative_to(self._folder):
            return True
        found = _identities(other)
        return found[0] is not None and (found[0] in self._above or self._above[0] in found)


def _identities(folder: Path) -> list[tuple[int, int] | None]:
    """Return the device and number of a folder and of each above it; None for one that does not exist."""
    return [_identity(one) for one in (folder, *folder.parents)]


def _identity(folder: Path) -> tuple[int, int] | None:
    try:
        status = folder.stat()
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino
