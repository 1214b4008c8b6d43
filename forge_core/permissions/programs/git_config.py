"""Git's configuration, read without running git: settings that run programs, and aliases.

The check accepts plain configurations only: a setting that is not known to be harmless counts as one that
runs a program, and so does whatever is not plain to read.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from forge_core.permissions.programs.git_command_line import OWN_SUBCOMMANDS, subcommand

_MAX_BYTES = 200_000
_MAX_FOLDERS = 40
_MAX_INDEX_BYTES = 32_000_000
_LINK = b"\0\0\xe0\0"
"""In an index: the mode of an entry that is a repository of its own."""
_SECTION = re.compile(r'[ \t]*\[[ \t]*([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\]|\\.)*)")?[ \t]*\](.*)')
_SETTING = re.compile(r"[ \t]*([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=[ \t]*(.*))?")
_COMMENT = re.compile(r"[ \t]*(?:[#;].*)?")
_NOT_PLAIN = re.compile(r"[^\t -~\u00c0-\uffef]|[\u2028\u2029\ufeff]")
_HARMLESS = re.compile(
    r"core\.(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks"
    r"|autocrlf|eol|safecrlf|quotepath|abbrev|compression|untrackedcache|sharedrepository|longpaths)"
    r"|remote\..+\.(?:url|pushurl|fetch|push|tagopt|prune|gh-resolved)|branch\..+|user\.(?:name|email|signingkey)"
    r"|(?:init|pull|push|fetch|color|advice|rerere|gc|pack|index|feature|gui|lfs|column|rebase)\..+"
    r"|merge\.(?:conflictstyle|ff|log|stat)|commit\.(?:gpgsign|verbose)|tag\.(?:sort|gpgsign)|http\.[a-z]+"
    r"|diff\.(?:algorithm|renames|colormoved|mnemonicprefix|noprefix|context)|log\.(?:date|decorate)"
    r"|status\.(?:short|branch|showuntrackedfiles)|blame\.date|help\.autocorrect|extensions\.worktreeconfig"
)
"""Settings of which no value runs anything when git shows something."""
_OFF = re.compile(r"core\.(?:fsmonitor|pager|splitindex)")
"""Settings that are harmless only when they say no."""
_NO = frozenset({"", "false", "no", "off", "0", "cat"})

_MEANINGS = (
    (r"(?:submodule|.* \(it may contain other repositories)", "names other repositories"),
    (r".* \(it ", "cannot be checked"),
    (r"include(?:if)?\.", "includes another file"),
    (
        r"extensions\.partialclone|remote\..+\.p(?:romisor|artialclonefilter)",
        "lets git fetch what is missing",
    ),
    (
        r"core\.(?:fsmonitor|pager|sshcommand|editor|hookspath|askpass|gitproxy|alternaterefscommand)"
        r"|diff\.external|(?:diff|merge)\..+\.(?:textconv|command|driver)|(?:filter|alias|pager)\."
        r"|(?:gpg|credential|sequence|interactive|man|browser|(?:diff|merge)tool|guitool)\."
        r"|remote\..+\.(?:url|pushurl|uploadpack|receivepack|vcs)|the hook ",
        "runs programs",
    ),
    ("", "may run programs"),
)
"""How what `running_settings` yields begins, and what it means."""

_SYSTEM = ("/etc/gitconfig", "/usr/local/etc/gitconfig", "/opt/homebrew/etc/gitconfig")
_REFRESH_HOOK = "post-index-change"
_MAX_STEPS = 5
"""An alias may name another one, and a config file another."""
_MAX_CONFIG_FILES = 30
_VALUE = re.compile(r'(?:[^"#;\\]|\\.|"(?:[^"\\]|\\.)*")*')
_PLAIN_SHELL = re.compile(r"[\w ./=:@,+-]+")


@dataclass(frozen=True, slots=True)
class Aliases:
    """Those that hold in a folder, whichever file they are from."""

    named: dict[str, list[str]] = field(default_factory=dict)
    unread: list[Path] = field(default_factory=list)
    """Files that cannot be read with certainty: they may name any."""

    def expanded(self, words: Sequence[str], steps: int = _MAX_STEPS) -> Iterator[tuple[str, ...] | None]:
        """Yield the commands that a git command with an alias stands for; None for one that cannot be
        determined."""
        own = list(subcommand(words))
        if not own or own[0] in OWN_SUBCOMMANDS:
            return
        values = self.named.get(own[0].casefold(), [])
        if self.unread or (values and not steps):
            yield None
        for value in values if steps else ():
            if value.startswith("!"):
                is_plain = _PLAIN_SHELL.fullmatch(value[1:]) is not None
                yield (*value[1:].split(), *own[1:]) if is_plain else None
                continue
            try:
                found = ("git", *shlex.split(value), *own[1:])
            except ValueError:
                yield None
                continue
            if any(word.casefold().startswith(("alias.", "-calias.")) for word in found):
                yield None  # one that sets another
            yield found
            yield from self.expanded(found[1:], steps - 1)


def running_setting(folder: Path) -> str:
    """Return the first setting of the repository around `folder` that may make git run a program; "" when
    there is none. What cannot be read with certainty counts as one, and so do repositories within."""
    return next(running_settings(folder), "")


def running_settings(folder: Path) -> Iterator[str]:
    """Yield every such setting."""
    git, is_bare = _repository(folder)
    if git is None:
        return
    if is_bare:
        yield f"{git} (it is itself a git directory)"
        return
    try:
        yield from _found(git)
    except (OSError, ValueError):
        yield f"{git} (it cannot be read reliably)"


def setting_reason(setting: str) -> str:
    """Return why a line asks for what `running_settings` yields."""
    meaning = next(text for pattern, text in _MEANINGS if re.match(pattern, setting))
    return f"the repository's git config {meaning}: {setting}"


def refresh_hook_runs(folder: Path) -> bool:
    """Return whether core.hooksPath leads to the hook that runs when git refreshes the index while it
    reads."""
    try:
        for path in _config_files(folder):
            if not os.path.lexists(path):
                continue
            for section, key, value in settings_in(joined_lines(config_text(path))):
                if f"{section}.{key}".casefold() == "core.hookspath":
                    hooks = index_around(folder)[0] / os.path.expanduser(value.strip(' \t"'))  # noqa: PTH111
                    if os.path.lexists(hooks / _REFRESH_HOOK):
                        return True
    except (OSError, ValueError):
        return True
    return False


def _repository(folder: Path) -> tuple[Path | None, bool]:
    """Return the `.git` of the repository around `folder`, or the folder that is itself a git directory, and
    whether it is that."""
    for one in (folder, *list(folder.parents)[:_MAX_FOLDERS]):
        if all(os.path.lexists(one / name) for name in ("HEAD", "objects", "refs")):
            return one, True
        if os.path.lexists(one / ".git"):
            return one / ".git", False
    return None, False


def _config_files(folder: Path) -> list[Path]:
    """Return the config files of the repository around `folder`. Raises OSError or ValueError when they
    cannot be determined."""
    git, is_bare = _repository(folder)
    if git is None or is_bare:
        return [git / "config"] if git else []
    return [place / name for place in dict.fromkeys(_folders(git)) for name in ("config", "config.worktree")]


def index_around(folder: Path) -> tuple[Path, bytes]:
    """Return the work tree around `folder` and the bytes of its index; none where there is no index. Raises
    OSError or ValueError when that cannot be determined."""
    for one in (folder, *list(folder.parents)[:_MAX_FOLDERS]):
        if os.path.lexists(one / ".git"):
            return one, _index_bytes(_folders(one / ".git")[0] / "index")
    return folder, b""


def _found(git: Path) -> Iterator[str]:
    own, common = _folders(git)
    for place in dict.fromkeys((own, common)):
        yield from _settings(place / "config")
        yield from _settings(place / "config.worktree")
        if os.path.lexists(place / "hooks" / _REFRESH_HOOK):
            yield f"the hook {_REFRESH_HOOK}"
    if any(own.glob("sharedindex.*")) or _LINK in _index_bytes(own / "index"):
        yield f"{git} (it may contain other repositories)"


def _folders(git: Path) -> tuple[Path, Path]:
    """Return the repository's own folder, and the one that it shares with its other work trees."""
    if git.is_file():
        pointer = config_text(git)
        if not pointer.startswith("gitdir:"):
            raise ValueError
        git = git.parent / pointer.removeprefix("gitdir:").strip()
    shared = git / "commondir"
    return git, git / config_text(shared).strip() if os.path.lexists(shared) else git


def _index_bytes(index: Path) -> bytes:
    if not os.path.lexists(index):
        return b""
    if not index.is_file() or index.stat().st_size > _MAX_INDEX_BYTES:
        raise ValueError
    return index.read_bytes()


def config_text(path: Path) -> str:
    """Return the text of a file. Raises OSError or ValueError for what is no plain text of a usual
    size."""
    if not path.is_file():
        raise ValueError
    with path.open("rb") as file:
        data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise ValueError
    return data.decode()


def _settings(path: Path) -> Iterator[str]:
    """Yield the settings that may run something. Lines end where git ends them, and nowhere else."""
    if not os.path.lexists(path):
        return
    text = config_text(path)
    if any(map(_NOT_PLAIN.search, text.replace("\r\n", "\n").split("\n"))):
        raise ValueError
    for section, key, value in settings_in(joined_lines(text)):
        if not section:
            raise ValueError
        name = f"{section}.{key}".lower()
        if not _is_harmless(name, value.strip(' \t"')):
            yield name


def settings_in(lines: Iterable[str], *, skips_invalid: bool = False) -> Iterator[tuple[str, str, str]]:
    """Yield section, key and value, as written, of each setting; a subsection follows its section's name and
    a dot.

    Raises ValueError for a line that is neither a setting, a section nor a comment, unless it
    `skips_invalid` ones.
    """
    section = ""
    for line in lines:
        header = _SECTION.fullmatch(line)
        if header is not None:
            section = header[1] + (f".{header[2]}" if header[2] is not None else "")
        rest = line if header is None else header[3]
        setting = None if _COMMENT.fullmatch(rest) else _SETTING.fullmatch(rest)
        if setting is not None:
            yield section, setting[1], setting[2] or ""
        elif not skips_invalid and not _COMMENT.fullmatch(rest):
            raise ValueError


def _is_harmless(name: str, value: str) -> bool:
    if _OFF.fullmatch(name):
        return value.casefold() in _NO
    return _HARMLESS.fullmatch(name) is not None and not (name.startswith("remote.") and "::" in value)


@lru_cache(maxsize=16)
def aliases_in(folder: Path) -> Aliases:
    """Return the aliases that hold in `folder`: the repository's, the user's and the system's."""
    home = Path.home()
    settings = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    return _aliases(folder, [*map(Path, _SYSTEM), settings / "git/config", home / ".gitconfig"])


def repository_aliases(folder: Path) -> Aliases:
    """Return the aliases that the repository around `folder` defines itself."""
    return _aliases(folder, [])


def _aliases(folder: Path, others: list[Path]) -> Aliases:
    """Return the aliases of the repository around `folder` and of the `others` among config files."""
    found = Aliases()
    home = Path.home()
    todo = list(others)
    try:
        todo += _config_files(folder)
    except (OSError, ValueError):
        found.unread.append(folder)
    done: set[Path] = set()
    while todo:
        path = todo.pop()
        if path in done or not os.path.lexists(path):
            continue
        done.add(path)
        try:
            todo += _read_aliases(path, found, home)
        except (OSError, ValueError):
            found.unread.append(path)
        if len(done) > _MAX_CONFIG_FILES:
            found.unread.append(path)
            break
    return found


def _read_aliases(path: Path, found: Aliases, home: Path) -> list[Path]:
    """Add the file's aliases, and return the files that it includes. Raises ValueError for what is not
    plain to read."""
    included: list[Path] = []
    for section, key, written in settings_in(joined_lines(config_text(path))):
        if "\r" in written:
            raise ValueError
        value = setting_value(written)
        kind, _, name = section.partition(".")
        kind = kind.casefold()
        if kind == "alias":
            found.named.setdefault((name or key).casefold(), []).append(value)
        elif kind in ("include", "includeif") and key.casefold() == "path":
            inner = home / value[2:] if value.startswith("~/") else Path(value)
            included.append(path.parent / inner)
    return included


def setting_value(written: str) -> str:
    """Return the value that git takes from what is written: without quotes and comments."""
    shown = _VALUE.match(written)
    return re.sub(r'\\(.)|"', lambda one: one[1] or "", shown[0] if shown else "").strip()


def joined_lines(text: str) -> Iterator[str]:
    """Yield the lines as git has them: a backslash at the end goes on in the next. Raises ValueError for
    one in what may be a comment."""
    before = ""
    for line in text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n"):
        whole = before + line
        before = ""
        if re.search(r"(?<!\\)(?:\\\\)*\\$", whole):
            if re.search(r"[#;]", whole):
                raise ValueError
            before = whole[:-1]
        else:
            yield whole
    if before:
        yield before
