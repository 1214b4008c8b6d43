"""Copies of configuration files without the logins in them: git's, and those of package managers.

A line that may hold one is left out, rather too many than too few. A file that has none is shown as it is.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from forge_core.permissions.programs.git_config import config_text, joined_lines, setting_value, settings_in
from forge_core.redact import Redactor

_LOGIN = re.compile(
    r"://[^/\s\"']*@"  # a name or password in a URL
    r"|^\s*//"  # npm's settings for one host
    r"|auth(?!or)|token|passw|passphrase|secret|credential|cookie|bearer|extraheader|api[-_]?key|private",
    re.IGNORECASE,
)
_LONG_WORD = re.compile(r"[A-Za-z0-9_-]{20,}")
"""With some digits, it may be a token: as a part of a URL it has no name that says so."""
_BARE_KEY = re.compile(r'([ \t]*(?:\[[^]"]*(?:"[^"]*")?\])?[ \t]*[A-Za-z][A-Za-z0-9-]*)[ \t]*(?:[#;].*)?')
"""In git's files: a key without a value, which means true; one with an empty value does not."""
_SERVERS = re.compile(r"<(servers|proxies)>.*?</\1>|<!--.*?-->", re.DOTALL)
_INCLUDES = re.compile(rb"^\s*\[include.*\n(?:(?!\s*\[).*\n?)*", re.MULTILINE | re.IGNORECASE)
_redact = Redactor()
_MAX_FILES = 20


def without_logins(path: Path) -> bytes | None:
    """Return the content of the configuration file without logins; None when it cannot be separated from
    them, or not be read."""
    return _filtered(path, _stamp(path))


@lru_cache(maxsize=64)
def _filtered(path: Path, _stamp: tuple[int, ...]) -> bytes | None:
    try:
        text = config_text(path)
    except (OSError, ValueError):
        return None
    if path.suffix == ".xml":
        kept = _SERVERS.sub("", text)
        return None if any(_may_hold_login(line) for line in kept.splitlines()) else kept.encode()
    kept = "".join(line for line in text.splitlines(keepends=True) if not _may_hold_login(line))
    if path.parent.name == ".cargo" or path.suffix == ".toml":
        try:
            tomllib.loads(kept)
        except tomllib.TOMLDecodeError:
            return None
    return kept.encode()


def git_files(home: Path, config_home: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield git's configuration files of a home, each with its content without logins: also those that they
    include, where these are in the home."""
    waiting = [config_home / "git/config", home / ".gitconfig"]
    seen: set[Path] = set()
    while waiting and len(seen) < _MAX_FILES:
        path = waiting.pop(0)
        if path in seen:
            continue
        seen.add(path)
        content, included = _git_file(path, _stamp(path))
        if content is not None:
            yield path, content
            waiting += [one for one in (_named(value, path, home) for value in included) if one is not None]


def git_folders(home: Path, config_home: Path) -> list[Path]:
    """Return the paths that git's configuration names: ignore rules, attributes, templates, hooks."""
    found = []
    for path, content in git_files(home, config_home):
        for section, key, written in settings_in(content.decode().splitlines(), skips_invalid=True):
            if f"{section}.{key}".casefold() in _NAMING:
                found.append(_named(setting_value(written), path, home))
    return [one for one in found if one is not None]


_NAMING = frozenset({"core.excludesfile", "core.attributesfile", "core.hookspath", "commit.template"})


@lru_cache(maxsize=64)
def _git_file(path: Path, _stamp: tuple[int, ...]) -> tuple[bytes | None, tuple[str, ...]]:
    """Return the content without logins, and what the file includes."""
    try:
        text = config_text(path)
    except (OSError, ValueError):
        return None, ()
    is_plain = True
    try:
        lines = [
            _BARE_KEY.sub(r"\1 = true", line) if _BARE_KEY.fullmatch(line) else line
            for line in joined_lines(text)
        ]
        settings = list(settings_in(lines))
    except ValueError:  # only what every commit needs
        settings = [
            one
            for one in settings_in(text.splitlines(), skips_invalid=True)
            if f"{one[0]}.{one[1]}".casefold() in {"user.name", "user.email"}
        ]
        is_plain = False
    kept = [one for one in settings if not _is_login(*one)]
    included = tuple(
        setting_value(value)
        for section, key, value in kept
        if section.partition(".")[0].casefold() in {"include", "includeif"} and key.casefold() == "path"
    )
    is_whole = is_plain and kept == settings and not any(_may_hold_login(one) for one in _comments(text))
    return text.encode() if is_whole else _written(kept).encode(), included


def without_includes(content: bytes) -> bytes:
    """Return a configuration of git without the settings that include other files."""
    return _INCLUDES.sub(b"", content)


def _comments(text: str) -> list[str]:
    return [line for line in text.splitlines() if "#" in line or ";" in line]


def _written(settings: Sequence[tuple[str, str, str]]) -> str:
    lines: list[str] = []
    last = ""
    for section, key, value in settings:
        name, dot, rest = section.partition(".")
        header = f'[{name} "{rest}"]' if dot else f"[{name}]"
        if header != last:
            lines.append(header)
        last = header
        lines.append(f"\t{key} = {value}")
    return "\n".join(lines) + "\n"


def _is_login(section: str, key: str, value: str) -> bool:
    name = section.partition(".")[0].casefold()
    if name in {"credential", "sendemail", "imap", "oauth"}:
        return True
    if name == "user":
        return "://" in value
    return _may_hold_login(f"{section} {key} {value}")


def _may_hold_login(line: str) -> bool:
    if _LOGIN.search(line) or _redact(line) != line:
        return True
    return any(sum(map(str.isdigit, word)) >= 3 for word in _LONG_WORD.findall(line))


def _named(value: str, config: Path, home: Path) -> Path | None:
    if not value or "\0" in value:
        return None
    inner = home / value[2:] if value.startswith("~/") else Path(value)
    path = Path(os.path.normpath(config.parent / inner))
    return path if path.is_relative_to(home) else None


def _stamp(path: Path) -> tuple[int, ...]:
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_mtime_ns, status.st_size, status.st_ino
