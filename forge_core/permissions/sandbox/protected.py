"""Paths in writable folders that a command must not change, because git and Forge act on them.

A program that writes `.git/config` or a hook can have another program run the next time the user calls git.
So these are held read-only, also when they do not exist yet. `.git/commondir` belongs to them: that one file
moves config and hooks of a repository elsewhere. So does `config.worktree`, which git reads once
`extensions.worktreeConfig` is set, and `git sparse-checkout` sets that by itself (git-config,
git-sparse-checkout). The folders around them are pinned (bound onto themselves), because a folder that is
merely the parent of a mount could be renamed and created again.

Not held: a *new* repository further down. A command may clone or make one, and git runs what its config
names once the user calls git there, or in the workspace when the new one was added to its index. Forge's
own calls of git run nothing. Nor are these held:

- `info/attributes`, `info/exclude` and `info/sparse-checkout`: they name no program. Like `.gitattributes` in
  the workspace, they can only choose among those that a config names (gitattributes).
- The git directory of a linked working tree inside the workspace, which a command may remove and whose `.git`
  file it may rewrite. It is for the command what a new repository is.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from forge_core.permissions.programs.git_config import settings_in
from forge_core.permissions.sandbox.path_checks import is_own_folder, is_there, mode_of
from forge_core.workspace.repository import read_small
from forge_core.workspace.worktrees import is_own_worktree

MAX_REPOSITORIES = 32
"""Submodules, linked worktrees and nested repositories beyond these are not looked at, each sort by
itself."""

PlaceholderKind = Literal["folder", "file", "commondir"]

_AT_HOME = """.bashrc .bash_profile .bash_login .bash_logout .profile .zshrc .zshenv .zprofile .zlogin
.inputrc .gitconfig .config/git .config/fish .config/autostart .config/systemd .local/bin
.local/share/applications .vimrc .config/nvim .emacs .emacs.d .pam_environment .xprofile .xinitrc .xsession
.tmux.conf bin .config/Code .vscode .cargo/config.toml .cargo/bin .npmrc .pip/pip.conf .config/pip
.bash_aliases"""
"""What starts programs at login or with every shell, relative to a home."""


@dataclass(slots=True)
class Protection:
    """What to hold, in paths without links."""

    read_only: list[Path] = field(default_factory=list)
    pinned: list[Path] = field(default_factory=list)
    """Folders bound onto themselves: still writable, but they can be neither renamed nor removed."""
    missing: dict[Path, PlaceholderKind] = field(default_factory=dict)
    """What does not exist and must not come into being, with what to put there meanwhile."""
    writable: list[Path] = field(default_factory=list)
    """Git directories outside the workspace that a commit in it writes to."""
    unheld: list[Path] = field(default_factory=list)
    """Links where something protected should be: a link can't be bound, so a command could replace it."""

    def add(self, other: Protection) -> None:
        """Hold what `other` holds too."""
        self.read_only += other.read_only
        self.pinned += other.pinned
        self.missing |= other.missing
        self.writable += other.writable
        self.unheld += other.unheld

    def hold(self, path: Path, kind: PlaceholderKind) -> None:
        """Keep `path` as it is: read-only when it is there, absent when it is not."""
        mode = mode_of(path)
        while mode is None and (above := mode_of(path.parent)) is None:
            path, mode, kind = path.parent, above, "folder"
        if mode is None:
            self.missing[path] = kind
        elif stat.S_ISLNK(mode):
            self.unheld.append(path)
        else:
            self.read_only.append(path)


def protection(
    root: Path, nested: Iterable[Path] = (), homes: Iterable[Path] = (), state_dir: Path | None = None
) -> Protection:
    """Return what is held in the workspace `root` (a real path). `nested` are `.git` entries further down,
    `homes` the home folders, which count when they lie in the workspace. Of a worktree that Forge has made in
    `state_dir`, the repository that it shares is held as a whole."""
    found = Protection()
    found.hold(root / ".forge", "folder")
    dot_git = root / ".git"
    mode = mode_of(dot_git)
    if is_own_folder(dot_git) and mode_of(dot_git / "HEAD") is not None:
        _hold_repository(found, dot_git, root)
    elif mode is not None and stat.S_ISREG(mode):
        found.read_only.append(dot_git)
        _hold_linked(found, dot_git, root, is_own=state_dir is not None and is_own_worktree(root, state_dir))
    else:
        found.hold(dot_git, "folder")
        # Without a repository, four names in the folder itself make one, a bare one; this is the first.
        found.hold(root / "HEAD", "folder")
    for entry in list(nested)[:MAX_REPOSITORIES]:
        _hold_nested(found, entry)
    for home in homes:
        if home.is_relative_to(root):
            present = (home / name for name in _AT_HOME.split())
            found.read_only += [one.resolve() for one in present if is_there(one)]
    return found


def _hold_repository(found: Protection, git_dir: Path, work_tree: Path) -> None:
    """Config, hooks and what leads to them, of a repository with all its submodules and worktrees."""
    found.pinned.append(git_dir)
    found.hold(git_dir / "hooks", "folder")
    found.hold(git_dir / "commondir", "commondir")
    for name in ("config", "config.worktree"):
        _hold_config(found, git_dir / name, work_tree)
    _hold_modules(found, git_dir / "modules")
    _hold_worktrees(found, git_dir / "worktrees", work_tree)


def _hold_config(found: Protection, config: Path, work_tree: Path) -> None:
    """A config file and what it names in the working tree."""
    found.hold(config, "file")
    for path, kind in _named_paths(config, work_tree):
        if path.is_relative_to(work_tree) and path != work_tree:
            found.hold(path, kind)


def _hold_modules(found: Protection, modules: Path) -> None:
    waiting = [modules]
    seen = 0
    while waiting and seen < MAX_REPOSITORIES:
        folder = waiting.pop(0)
        if not is_own_folder(folder):
            continue
        seen += 1
        if is_there(folder / "HEAD"):
            _hold_repository(found, folder, folder)
        else:
            found.pinned.append(folder)
            waiting += sorted(_children(folder))


def _hold_worktrees(found: Protection, worktrees: Path, work_tree: Path) -> None:
    """Only worktrees that lie elsewhere: one inside the workspace is the command's own to add and remove."""
    elsewhere = [
        folder
        for folder in sorted(_children(worktrees))[: MAX_REPOSITORIES * 4]
        if (back := read_small(folder / "gitdir")) and not Path(back.strip()).is_relative_to(work_tree)
    ][:MAX_REPOSITORIES]
    for folder in elsewhere:
        found.pinned += [folder.parent, folder]
        _hold_linked_git_dir(found, folder, work_tree)


def _hold_linked_git_dir(found: Protection, git_dir: Path, work_tree: Path) -> None:
    """What a linked working tree has of its own, in `worktrees/NAME` of the repository."""
    for name in ("commondir", "gitdir"):
        if mode_of(git_dir / name) is not None:
            found.hold(git_dir / name, "file")
    _hold_config(found, git_dir / "config.worktree", work_tree)
    _hold_modules(found, git_dir / "modules")


def _hold_linked(found: Protection, dot_git: Path, root: Path, *, is_own: bool) -> None:
    """`.git` is a file. What it names becomes writable only when it names this workspace in turn: the file
    itself may have come with a hostile archive. Where Forge has made the worktree (`is_own`), that is only
    what belongs to it alone, as the index: what is shared with the user's own work tree is read-only."""
    text = read_small(dot_git) or ""
    if not text.startswith("gitdir:"):
        return
    git_dir = Path(os.path.realpath(root / text.removeprefix("gitdir:").strip()))
    back = read_small(git_dir / "gitdir")
    if back is not None and Path(os.path.realpath(back.strip())) == dot_git:
        common = Path(os.path.realpath(git_dir / (read_small(git_dir / "commondir") or ".").strip()))
        if git_dir.parent != common / "worktrees" or not is_there(common / "HEAD"):
            return
        found.writable.append(common)  # shown in the sandbox, also where the home around it is not
        if is_own:
            found.read_only.append(common)
            found.pinned.append(git_dir)
        else:
            _hold_repository(found, common, root)
            found.pinned += [git_dir.parent, git_dir]
        _hold_linked_git_dir(found, git_dir, root)
    elif any(path == root for path, kind in _named_paths(git_dir / "config", root) if kind == "folder"):
        found.writable.append(git_dir)
        _hold_repository(found, git_dir, root)


def _hold_nested(found: Protection, entry: Path) -> None:
    mode = mode_of(entry)
    if mode is not None and stat.S_ISDIR(mode) and is_there(entry / "HEAD"):
        found.hold(entry / "hooks", "folder")
        found.hold(entry / "commondir", "commondir")
        for name in ("config", "config.worktree"):
            found.hold(entry / name, "file")
    elif mode is not None and stat.S_ISREG(mode) and "/modules/" in (read_small(entry) or ""):
        found.read_only.append(entry)


def _children(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return [folder / entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _named_paths(config: Path, work_tree: Path) -> list[tuple[Path, Literal["folder", "file"]]]:
    """Return the real paths of core.hooksPath and core.worktree (folders) and of included config files. Too
    many rather than too few: a value that git would refuse may be among them."""
    found: list[tuple[Path, Literal["folder", "file"]]] = []
    for section, key, written in settings_in((read_small(config) or "").splitlines(), skips_invalid=True):
        value = written.strip().strip('"')
        match section.partition(".")[0].lower(), key.lower():
            case _ if not value:
                continue
            case "core", "hookspath":
                found.append((_real(value, work_tree), "folder"))
            case "core", "worktree":
                found.append((_real(value, config.parent), "folder"))
            case (("include" | "includeif"), "path"):
                found.append((_real(value, config.parent), "file"))
    return found


def _real(value: str, base: Path) -> Path:
    # Only the folder is resolved: a link at the very end is what could be replaced.
    path = base / os.path.expanduser(value)  # noqa: PTH111 - "~" stays text where there is no such home
    return (
        Path(os.path.realpath(path.parent)) / path.name if path.name != ".." else Path(os.path.realpath(path))
    )
