"""Facts about a path: its real location, whether it is inside the workspace, secret or protected."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from forge_core.permissions.programs.word_sets import table
from forge_core.permissions.secret_content import holds_secret, needs_reading
from forge_core.permissions.tool_files import acting_program, folded_name
from forge_core.private_keys import is_key_file
from forge_core.workspace.folders import Workspace, containing, main_folder

_SECRET_NAMES = table(
    "id_rsa id_dsa id_ecdsa id_ed25519 id_ecdsa_sk id_ed25519_sk .netrc _netrc .pgpass .pypirc .npmrc"
    " .htpasswd .git-credentials .vault-token credentials.json client_secret.json secring.gpg"
    " .my.cnf .s3cfg .boto .dockercfg kubeconfig"
)
_SECRET_ENDINGS = (
    *(".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk", ".asc.key"),
    *(".env", ".tfstate"),
)
_SECRET_FORM = re.compile(r"service[-_ ]?account[^/]*\.json$")
_BACKUP = re.compile(r"(?:\.(?:bak|backup|old|orig|save|swp)|~)+$")
"""What editors and people add to the name of a copy."""
_EXAMPLE = re.compile(r"(?:^|/)\.env[\w.-]*\.(?:example|sample|template|dist|defaults?)$", re.IGNORECASE)
_SECRET_TAILS = re.compile(
    r"(?:^|/)(?:etc/g?shadow-?|\.(?:ssh|gnupg|aws)/?|\.ssh/(?!known_hosts|config$|.*\.pub$).+|\.gnupg/.+|\.aws/(?:credentials|config)"
    r"|\.docker/config\.json|\.kube/config|\.ray/auth_token|\.config/gh/hosts\.yml|\.azure/.+|\.config/gcloud/.+|proc/[^/]+/(?:task/[^/]+/)?environ)$"
)
_PROTECTED = frozenset({".git", ".forge"})


@dataclass(frozen=True, slots=True)
class PathInfo:
    """A path as the policy sees it."""

    given: Path
    """Absolute, lexically normalised."""
    real: Path
    """With every link resolved, as far as it exists."""
    relative: str | None
    """The real path relative to the folder that it is in, with forward slashes ("." for the folder); None
    outside."""
    has_secret_name: bool
    """Holds keys or passwords by its name, as given or resolved."""
    is_protected: bool
    """In a .git or .forge folder: what is written there may be executed or change what is allowed."""
    acting_program: str = ""
    """Who acts on the file without being asked (see `tool_files`); "" for other files."""
    is_added: bool = False
    """In a folder that the user has added to the one that Forge works in."""
    folds_case: bool = False
    """The file system takes names that differ only in case or in Unicode form for one."""

    @property
    def is_inside(self) -> bool:
        return self.relative is not None

    @property
    def is_secret(self) -> bool:
        """Whether it holds keys or passwords: by its name, because it begins with a private key, because of
        what it holds where the name alone says too little, or because it is a hard link to such a file. The
        file is read each time (8 µs); one outside the folder is not."""
        return self.has_secret_name or (self.is_inside and self._holds_secret())

    def _holds_secret(self) -> bool:
        if is_key_file(self.real) or (needs_reading(self.real.name) and holds_secret(self.real)):
            return True
        return link_count(self.real) > 1 and links_to_secret(self.real, self.relative or ".")

    @property
    def is_private(self) -> bool:
        """Whether it is outside, or holds keys or passwords."""
        return not self.is_inside or self.is_secret


def locate(path: Path, root: Workspace) -> PathInfo:
    """Look `path` up. Containment is decided after resolving, as the kernel does it: a link before the
    `..` behind it, so that neither leads out."""
    given = Path(os.path.normpath(path))
    real = real_path(path)
    folder = containing(real, root)
    main = main_folder(root)
    real_main = real_path(main)
    relative = None if folder is None else real.relative_to(folder).as_posix()
    base = real_main if folder is None else folder
    names = [_below(given, main if base == real_main else base), _below(real, base)]
    folds = folds_case(base)
    is_protected = any(_is_protected(part, folds=folds) for name in names for part in name.split("/"))
    program = next(filter(None, (acting_program(name, folds=folds) for name in names)), "")
    return PathInfo(
        given=given,
        real=real,
        relative=relative,
        has_secret_name=any(is_secret(str(one)) for one in (given, real)),
        is_protected=is_protected,
        acting_program=program or ("git" if is_protected else ""),
        is_added=folder is not None and folder != real_main,
        folds_case=folds,
    )


def _is_protected(name: str, *, folds: bool) -> bool:
    return (folded_name(name) if folds else name.casefold()) in _PROTECTED


def link_count(path: Path) -> int:
    """Return the number of links of the regular file at this real path; 0 for anything else."""
    try:
        status = path.stat(follow_symlinks=False)
    except (OSError, ValueError):
        return 0
    return status.st_nlink if stat.S_ISREG(status.st_mode) else 0


def links_to_secret(real: Path, relative: str) -> bool:
    """Return whether a file with a name of `is_secret` in its folder, or in one above as far as `relative`
    goes, is the same file."""
    number = real.stat().st_ino
    for folder in real.parents[: relative.count("/") + 1]:
        try:
            with os.scandir(folder) as entries:
                if any(entry.inode() == number and is_secret(entry.name) for entry in entries):
                    return True
        except OSError:
            continue
    return False


def links_reason(name: str | Path, links: int) -> str:
    """Return why a write to a file with several links asks."""
    return f"{name} has {links} links: it may change a file outside the folder"


@lru_cache(maxsize=64)
def folds_case(folder: Path) -> bool:
    """Return whether the file system of `folder` ignores case, found by another spelling of the folder's
    own path."""
    for one in (folder, *folder.parents):
        other = one.with_name(one.name.swapcase()) if one.name else one
        if other != one:
            try:
                return other.samefile(one)
            except (OSError, ValueError):
                return False
    return False


def real_path(path: Path) -> Path:
    """`path` with links resolved, each before a `..` behind it; a tail that does not exist stays as it is."""
    try:
        return Path(os.path.realpath(path))
    except (OSError, ValueError):
        return Path(os.path.normpath(path))


def is_secret(path: str) -> bool:
    """Return whether a file of this name holds keys or passwords, judged by the name alone."""
    lowered = path.replace("\\", "/").casefold()
    lowered = _BACKUP.sub("", lowered)
    name = lowered.rpartition("/")[2]
    return (
        name.startswith(".env")
        or _SECRET_FORM.match(name) is not None
        or name in _SECRET_NAMES
        or name.endswith(_SECRET_ENDINGS)
        or _SECRET_TAILS.search(lowered) is not None
    )


def is_example(path: str) -> bool:
    """Return whether a file of this name is committed in order to be read by everybody: `.env.example`."""
    return _EXAMPLE.search(path) is not None


def _below(path: Path, root: Path) -> str:
    """`path` relative to `root` when it is below it, else whole."""
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()
