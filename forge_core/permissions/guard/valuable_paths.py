"""What of value a word names, wherever links lead: the system, the home, the project itself, its history."""

from __future__ import annotations

import os
import re
from fnmatch import fnmatchcase

from forge_core.permissions.programs.word_sets import table

_SYSTEM = table(
    "/ /bin /boot /dev /etc /home /lib /lib32 /lib64 /media /mnt /opt /proc /root /run /sbin /srv /sys /usr"
    " /var /usr/bin /usr/lib /usr/local /usr/share /var/lib /Applications /Library /System /Users /Volumes"
)
_ALL = re.compile(r"\*+|\.\*|\?\*|\{\*,\.\*\}|\.?\[[!^]\.\]\*|\.\?\?\*|\.\?\*")
"""A last part of a path that matches everything in the folder, or all hidden entries."""
_WILD = re.compile(r"[*?\[{$`]")
_KEYS = ("/.ssh", "/.gnupg")
_KEPT_IN_HOME = table(
    ".ssh/ .gnupg/ .password-store/ .aws/ .azure/ .config/gcloud/ .config/gh/hosts.yml .config/op/"
    " .config/sops/ .config/rclone/rclone.conf .local/share/keyrings/ .kube/config .docker/config.json .netrc"
    " _netrc .pgpass .pypirc .npmrc .git-credentials .vault-token .cargo/credentials"
    " .cargo/credentials.toml Library/Keychains/"
)
"""Keys and logins, below the home folder; what ends in `/` with everything below it."""
_KEPT_IN_SYSTEM = table(
    "etc/shadow etc/gshadow etc/passwd etc/group etc/sudoers etc/sudoers.d/ etc/ssh/ etc/pam.d/"
    " etc/ssl/private/ etc/fstab etc/crypttab etc/systemd lib/modules/ usr/lib/modules/ boot/ efi/"
    " sys/firmware/efi/ proc/sysrq-trigger"
)
_START_UP = table(
    ".bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin"
    " .kshrc .cshrc .tcshrc .xprofile .xinitrc .xsession .xsessionrc .pam_environment .ssh/config"
    " .config/fish/config.fish .config/fish/conf.d/ .config/nushell/ .config/autostart/"
    " .config/environment.d/ .config/systemd/user/ Library/LaunchAgents/"
)
"""What starts programs at login or connects elsewhere, below the home folder."""
_HOMES = re.compile(r"/(?:root|home/[^/]+|Users/[^/]+)/(.+)")
_REPLACEABLE = re.compile(r"/\.ssh/(?:known_hosts.*|config|[^/]*\.pub)$")
"""In a folder of keys, but none of them."""
_LIVE = re.compile(r"/proc/(?:self|thread-self)(?:/task/\d+)?/(cwd|root)(?=/|$)")


def valuable_at(target: str, folder: str, root: str, home: str, *, follows: bool = False) -> str | None:
    """Return what the target names, or None. A link that is named itself counts as what it leads to only
    when the command `follows` it."""
    for path in dict.fromkeys((absolute(target, folder, home), _real(target, folder, home, follows))):
        named = _at(path, target, root, home)
        if named is not None:
            return named
    return None


def is_whole_folder(target: str, folder: str, root: str, home: str) -> bool:
    """Return whether the target is all that the project's folder, or one above it, holds."""
    for path in (absolute(target, folder, home), _real(target, folder, home, follows=False)):
        inner = _all_in(path)
        if inner != path and _holds(inner, root):
            return True
    return False


def kept_at(target: str, folder: str, home: str, *, is_recursive: bool) -> str | None:
    """Return what of the keys, accounts and boot files the target names, or None. What is destroyed with
    all below it (`is_recursive`) may also be a folder that holds some."""
    for path in dict.fromkeys((absolute(target, folder, home), _real(target, folder, home, follows=False))):
        if _REPLACEABLE.search(path):
            continue
        below = _below_home(path, home)
        if below and any(_names_kept(below, one, is_recursive=is_recursive) for one in _KEPT_IN_HOME):
            return f"the keys in {target}"
        if any(_names_kept(path[1:], one, is_recursive=is_recursive) for one in _KEPT_IN_SYSTEM):
            return f"what the system starts or logs in with ({target})"
    return None


def is_key_folder(target: str, folder: str, home: str) -> bool:
    """Return whether the target is a folder of keys or logins itself."""
    below = _below_home(absolute(target, folder, home), home)
    return bool(below) and f"{below}/" in _KEPT_IN_HOME


def start_up_file_at(target: str, folder: str, home: str, *, is_recursive: bool) -> bool:
    """Return whether the target is a start-up file that exists; where all below it is destroyed, also whether
    it is a folder that may hold some."""
    path = absolute(target, folder, home)
    below = _below_home(path, home)
    named = any(_names_kept(below, one, is_recursive=is_recursive) for one in _START_UP) if below else False
    return named and (_WILD.search(path) is not None or os.path.lexists(path))


def _below_home(path: str, home: str) -> str:
    """Return the part of the path below a home folder; "" for any other path."""
    found = _HOMES.match(path)
    return path.removeprefix(f"{home}/") if path.startswith(f"{home}/") else found[1] if found else ""


def _names_kept(path: str, kept: str, *, is_recursive: bool) -> bool:
    own, names = path.split("/"), kept.rstrip("/").split("/")
    for part, name in zip(own, names, strict=False):
        if name.startswith(".") and not part.startswith("."):  # no glob meets a hidden name without its dot
            return False
        if part != name and not (_WILD.search(part) and fnmatchcase(name, part.replace("[^", "[!"))):
            return False
    if len(own) > len(names):
        return kept.endswith("/")
    return is_recursive or (len(own) == len(names) and not kept.endswith("/"))


def is_history(target: str, folder: str, root: str, home: str) -> bool:
    """Return whether a file that keeps the project's history would be overwritten."""
    path = _real(target, folder, home, follows=False).removeprefix(root.rstrip("/"))
    return re.match(r"/\.git/(?:HEAD|index|packed-refs|(?:objects|refs)/.+)$", path) is not None


def _at(path: str, target: str, root: str, home: str) -> str | None:
    inner = _all_in(path)
    if any(_is_git(one, root) for one in (path, inner)):
        return f"the history in {target}"
    first = path.removeprefix("/").partition("/")
    if not first[2] and re.search(r"[*?\[{]", first[0]):
        return f"the system ({target})"
    for one, name in ((home, "the home folder"), (root, "the whole project")):
        ours = path if name == "the whole project" else inner
        if _holds(ours, one):
            return f"{name} ({target})" if ours not in _SYSTEM else f"the system ({target})"
    if inner.startswith(home) and inner.removeprefix(home) in _KEYS:
        return f"the keys in {target}"
    return f"the system ({target})" if inner in _SYSTEM or path in _SYSTEM else None


def _holds(folder: str, path: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _all_in(path: str) -> str:
    """Return the folder all of whose names the path meets, or the path."""
    while _ALL.fullmatch(path.rpartition("/")[2]):
        path = path.rpartition("/")[0] or "/"
    return path


def _is_git(path: str, root: str) -> bool:
    """Return whether it is the project's `.git`, by a glob too, or what the history in it lives by."""
    below = path.removeprefix(root) if path.startswith(root.rstrip("/") + "/") else path
    if re.fullmatch(r"/\.git/(?:objects|refs)", below) and below != path:
        return True
    name = below.removeprefix("/")
    if "/" in name:
        return False
    return name == ".git" or (name.startswith(".") and not name.startswith("..") and _meets_git(name))


def _meets_git(name: str) -> bool:
    return bool(_WILD.search(name)) and fnmatchcase(".git", name.replace("[^", "[!"))


def _real(word: str, folder: str, home: str, follows: bool) -> str:
    """Return the real path of the existing part of a word's path; a link before a `..` behind it."""
    path = _spelled_out(word, folder, home)
    parts = path.split("/")
    known = next((at for at, part in enumerate(parts) if _WILD.search(part)), len(parts))
    if known == len(parts) and not follows and parts[-1] not in ("", ".", ".."):
        known -= 1
    rest = "/".join(parts[known:])
    try:
        real = os.path.realpath("/".join(parts[:known]) or "/")
    except (OSError, ValueError):
        return absolute(word, folder, home)
    return "/" + os.path.normpath(f"{real}/{rest}").lstrip("/")


def absolute(word: str, folder: str, home: str) -> str:
    """Return the path that `word` means, links not resolved."""
    return "/" + os.path.normpath(_spelled_out(word, folder, home)).lstrip("/")


def _spelled_out(word: str, folder: str, home: str) -> str:
    for spelling, value in (("${HOME}", home), ("$HOME", home), ("${PWD}", folder), ("$PWD", folder)):
        word = word.replace(spelling, value)
    word = re.sub(r"^~\+(?=/|$)", lambda _: folder, word)
    word = re.sub(r"^~-(?=/|$)", "$OLDPWD", word)
    if word == "~" or word.startswith("~/"):
        word = home + word[1:]
    elif word.startswith("~"):
        user, _, rest = word[1:].partition("/")
        word = ("/root" if user == "root" else f"/home/{user}") + (f"/{rest}" if rest else "")
    path = f"{folder}/{word}" if not word.startswith("/") else word
    return _LIVE.sub(lambda live: folder if live[1] == "cwd" else "/", path)
