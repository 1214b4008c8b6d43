"""Secrets that entries of servers hold in plain text: they are found, and masked where entries are shown.

Names of fields, variables and options suggest what is a secret, and so do well-known shapes of keys and long
random words. Variables are shown unexpanded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from forge_core.mcp.server_files import ServerEntry
from forge_core.mcp.server_launch import REFERENCE
from forge_core.redact import MASK, Redactor

_SECRET_NAME = re.compile(
    r"KEY|TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|COOKIE|SIGNATURE|AUTH(?!OR(?!IZ))"
    r"|(?<![A-Z])(?:PAT|PWD|PASS|DSN|SIG)(?![A-Z])",
    re.IGNORECASE,
)
_PLACE_NAME = re.compile(r"(?:FILE|PATH|DIR|SOCK)$", re.IGNORECASE)
_HARMLESS = re.compile(r"[\W_]*|true|false|yes|no|on|off|[01]", re.IGNORECASE)
_SCHEME = re.compile(r"\s*(?:(?:Bearer|Basic|Token|Bot|ApiKey)\s+)?", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z0-9_+=-]{20,}")
_MANY_DIGITS = 5
_ASSIGNMENT = re.compile(r"(-*[A-Za-z_][\w.-]*)(=|:\s*)(.*)", re.DOTALL)
"""`--token=x`, `TOKEN=x`, `Authorization: x`."""
_URL = re.compile(
    r"(?<![A-Za-z0-9+.-])([A-Za-z][A-Za-z0-9+.-]*://)(?:([^/?#@\s]*)@)?([^/?#]*)([^?#]*)(\?[^#]*)?(#.*)?",
    re.DOTALL,
)

_shapes = Redactor()


@dataclass(frozen=True, slots=True)
class MaskedEntry:
    """An entry as it is shown. Its text is untrusted."""

    command: str
    args: Sequence[str]
    url: str
    environment: Mapping[str, str]
    headers: Mapping[str, str]
    secrets: Sequence[str]
    """Where it holds secrets in plain text: "env.API_KEY", "url"."""


def mask_entry(server: ServerEntry) -> MaskedEntry:
    """Return what is shown of an entry."""
    args = _masked_arguments(server.args)
    url = _masked_url(server.url)
    environment = {name: masked_value(name, value) for name, value in server.environment.items()}
    headers = {name: masked_value(name, value) for name, value in server.headers.items()}
    client_secret = server.client.client_secret
    secrets = [
        *(f"env.{name}" for name, value in environment.items() if value != server.environment[name]),
        *(f"headers.{name}" for name, value in headers.items() if value != server.headers[name]),
        *(["args"] if args != list(server.args) else []),
        *(["url"] if url != server.url else []),
        *(["oauth.clientSecret"] if masked_value("SECRET", client_secret) != client_secret else []),
    ]
    return MaskedEntry(server.command, args, url, environment, headers, secrets)


def is_secret_name(name: str) -> bool:
    """Return whether the name of a variable, header or option suggests that its value is a secret."""
    return _SECRET_NAME.search(name) is not None and _PLACE_NAME.search(name) is None


def masked_value(name: str, text: str) -> str:
    """Return the value of a variable, header or option with its secrets masked."""
    if is_secret_name(name):
        return _between_references(text, _masked_whole)
    if "://" in text:
        return _masked_url(text)
    return _between_references(text, _masked_words)


def _between_references(text: str, masked: Callable[[str], str]) -> str:
    """Mask what is written out in a text: what is between variables, and their defaults."""
    parts, at = [], 0
    for found in REFERENCE.finditer(text):
        default = found[2]
        shown = found[0] if not default else f"${{{found[1]}:-{masked(default)}}}"
        parts += [masked(text[at : found.start()]), shown]
        at = found.end()
    return "".join((*parts, masked(text[at:])))


def _masked_whole(text: str) -> str:
    scheme = _SCHEME.match(text)
    start = 0 if scheme is None else scheme.end()
    return text if _HARMLESS.fullmatch(text, start) else text[:start] + MASK


def _masked_words(text: str) -> str:
    return _WORD.sub(lambda found: MASK if _is_random(found[0]) else found[0], _shapes(text))


def _is_random(word: str) -> bool:
    kinds = [any(map(test, word)) for test in (str.isupper, str.islower, str.isdigit)]
    return all(kinds) or (sum(map(str.isdigit, word)) >= _MANY_DIGITS and any(map(str.isalpha, word)))


def _masked_url(text: str) -> str:
    return _URL.sub(_masked_parts, text)


def _masked_parts(found: re.Match[str]) -> str:
    """Mask the user, secrets in the path, and the values of the query that are secrets; the host is shown."""
    scheme, user, host, path, query, fragment = found.groups()
    shown = "" if user is None else _between_references(user, _masked_whole) + "@"
    pairs = [one.partition("=") for one in query[1:].split("&")] if query else []
    values = "&".join(name + equals + masked_value(name, value) for name, equals, value in pairs)
    rest = ("?" + values if query else "") + (
        _between_references(fragment, _masked_words) if fragment else ""
    )
    return scheme + shown + host + _between_references(path, _masked_words) + rest


def _masked_arguments(args: Sequence[str]) -> list[str]:
    shown: list[str] = []
    before = ""
    for one in args:
        is_value = before.startswith("-") and "=" not in before and not one.startswith("-")
        assignment = _ASSIGNMENT.fullmatch(one)
        if assignment is not None and not one[assignment.start(2) :].startswith("://"):
            shown.append(assignment[1] + assignment[2] + masked_value(assignment[1], assignment[3]))
        else:
            shown.append(masked_value(before if is_value else "", one))
        before = one
    return shown
