"""Files whose name may, but need not, mean that they hold keys or passwords: decided by what they hold.

A `*.pem` or `*.key` may be a certificate, which is public. `secrets.yml`, `wp-config.php` and their like may
hold nothing but placeholders.
"""

from __future__ import annotations

import os
import re
import stat
from functools import lru_cache
from pathlib import Path

from forge_core.redact import Redactor

_KEY_ENDINGS = (".pem", ".key")
_MAYBE = re.compile(
    r"(?:^|/)(?:wp-config\.php|database\.ya?ml|auth\.json|[^/]+\.tfvars(?:\.json)?"
    r"|(?:[^/]+[._-])?(?:secrets?|credentials?)(?:[._-][^/.]+)?\.(?:ya?ml|json|toml|ini|properties|conf|cfg|xml|txt))"
    r"(?:\.(?:bak|backup|old|orig|save)|~)*$"
)
"""Names of data and settings; no source files, whose code mentions passwords without holding one."""
_MAX_BYTES = 262_144
_PUBLIC_BLOCK = re.compile(
    rb"-----BEGIN (?:(?:X509 |TRUSTED )?CERTIFICATE|(?:NEW )?CERTIFICATE REQUEST|X509 CRL|PKCS7|CMS"
    rb"|(?:RSA |DSA |EC )?PUBLIC KEY|(?:X9\.42 )?DH PARAMETERS|DSA PARAMETERS|EC PARAMETERS"
    rb"|PGP PUBLIC KEY BLOCK|PGP SIGNATURE)-----"
)
_PUBLIC_BINARY = (b"PK\3\4", b"\x98", b"\x99", b"\xc6")
"""Slides of Keynote, and public keys of PGP."""
_DER_KEY = re.compile(rb"\x30(?:[\0-\x7f]|\x81.|\x82..|\x83...)\x02\x01[\0\1]", re.DOTALL)
"""A version comes first in a private key, the certified content in a certificate.

Source: RFC 5208, 5280, 5915."""
_DER = re.compile(rb"\x30(?:[\0-\x7f]|\x81.|\x82..|\x83...)[\x02\x30]", re.DOTALL)
_BARE_KEY = re.compile(rb"^[A-Za-z0-9+/_-]{16,}={0,2}$", re.MULTILINE)
"""A key alone on its line: that of Rails, of WireGuard."""
_LOGIN = re.compile(
    r"""(?:passw(?:or)?d|passphrase|pwd|secret|token|api[-_]?key|(?:private|access|auth|signing|encryption)[-_]?key)
    (?P<rest>[\w.-]{0,80})["']?[ \t]*(?:[:=]>?|,)[ \t]*["']?(?P<value>[^\s"',;)#<][^\s"',;)]*)""",
    re.IGNORECASE | re.VERBOSE,
)
"""The rest of the name is bounded, or one long name that repeats such a word would cost O(n²)."""
_PLACEHOLDER = re.compile(
    r"\d{1,5}|https?://[^@]*|null|nil|none|true|false|~|undefined|[*x.-]+|\[\]|\{\}|[$%{!&\[(].*|ENC\[.*|vault:.*|op://.*"
    r"|(?:var|local|data|env|process|os|config|module|secrets)[.([].*|getenv.*|env$"
    r"|(?:your|my|put|enter|insert|change|replace|example|dummy|sample|placeholder|todo|fixme)"
    r"(?:[-_][\w-]*|me|it|this|here)?",
    re.IGNORECASE,
)
_DESCRIBES = re.compile(
    r"(?:name|ref|url|uri|path|file|length|ttl|type|count|expir\w*|days|hours|seconds|header|prefix|label|hint|enabled"
    r"|required|policy|version|provider)s?$",
    re.IGNORECASE,
)
"""Ends of names whose value is no secret: `token_url`, `secretName`."""
_redact = Redactor()


def needs_reading(path: str) -> bool:
    """Return whether only the content of a file of this name says whether it holds keys or passwords."""
    lowered = path.casefold()
    return lowered.endswith(_KEY_ENDINGS) or _MAYBE.search(lowered) is not None


def may_be_public(name: str) -> bool:
    """Return whether a file of a name that means keys may hold nothing but what is public: a certificate."""
    return name.casefold().endswith(_KEY_ENDINGS)


def holds_secret(path: str | os.PathLike[str]) -> bool:
    """Return whether the regular file at this path, whose name needs reading, holds keys or passwords. It is
    read again only when it has changed; False when it cannot be read."""
    try:
        status = os.stat(path)  # noqa: PTH116 - of many files for every command
    except (OSError, ValueError):
        return False
    if not stat.S_ISREG(status.st_mode):
        return False
    return _holds_secret(os.fspath(path), (status.st_mtime_ns, status.st_size, status.st_ino))


@lru_cache(maxsize=4_096)
def _holds_secret(path: str, _stamp: tuple[int, ...]) -> bool:
    try:
        with Path(path).open("rb") as file:
            data = file.read(_MAX_BYTES)
    except OSError:
        return False
    return _is_key(data) if path.casefold().endswith(_KEY_ENDINGS) else holds_password(_text(data))


def _is_key(data: bytes) -> bool:
    if b"PRIVATE KEY" in data:
        return True
    if not data.strip() or data.startswith(_PUBLIC_BINARY) or _PUBLIC_BLOCK.search(data):
        return False
    if _DER.match(data):
        return _DER_KEY.match(data) is not None
    return b"\0" in data or _BARE_KEY.search(data) is not None or holds_password(_text(data))


def holds_password(text: str) -> bool:
    """Return whether a line of the text gives a value to a password, a token or a key, or holds one of a
    known form. References to variables, encrypted values and placeholders do not count."""
    if _redact(text) != text:
        return True
    return any(
        not (_PLACEHOLDER.fullmatch(found["value"]) or _DESCRIBES.search(found["rest"]))
        for found in _LOGIN.finditer(text)
    )


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
