"""Texts that look like private keys of each kind; none opens anything."""

from __future__ import annotations

import base64
import random
import textwrap

_BYTES = random.Random(13).randbytes(1_190)


def _body(width: int, size: int = 1_190) -> str:
    return "\n".join(textwrap.wrap(base64.b64encode(_BYTES[:size]).decode(), width))


def _pem(kind: str, body: str) -> str:
    return f"-----BEGIN {kind}-----\n{body}\n-----END {kind}-----"


RSA = _pem("RSA PRIVATE KEY", _body(64))
KEYS = {
    "pkcs1": RSA,
    "pkcs8": _pem("PRIVATE KEY", _body(64)),
    "ed25519": _pem("PRIVATE KEY", _body(64, 48)),
    "ec": _pem("EC PRIVATE KEY", _body(64, 121)),
    "encrypted": _pem("ENCRYPTED PRIVATE KEY", _body(64)),
    "legacy": _pem(
        "RSA PRIVATE KEY", f"Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,{'0A' * 16}\n\n{_body(64)}"
    ),
    "openssh": _pem("OPENSSH PRIVATE KEY", _body(70)),
    "pgp": _pem("PGP PRIVATE KEY BLOCK", f"Version: GnuPG v2\n\n{_body(64)}\n=aB3d"),
    "ssh.com": "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nComment: me\n"
    f"{_body(70)}\n---- END SSH2 ENCRYPTED PRIVATE KEY ----",
    "putty": f"Private-Lines: 25\n{_body(64)}\nPrivate-MAC: {'0a' * 20}",
    "age": "AGE-SECRET-KEY-1" + "QPZRY9X8GF2TVDW0" * 3,
}


def fragments(key: str) -> list[str]:
    """Return pieces of a key none of which may be shown."""
    if key.startswith("AGE"):
        return [key[20:40]]
    return [line[:20] for line in key.split("\n")[1:-1] if len(line) > 40 and ": " not in line]
