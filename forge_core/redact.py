"""Removing secrets from what is shown or logged. For display only: never applied to the content of a file."""

from __future__ import annotations

import re

MASK = "[redacted]"

_PATTERNS = re.compile(
    r"sk-or-v1-[A-Za-z0-9]{8,}"
    r"|sk-[A-Za-z0-9_-]{16,}"
    r"|gh[pousr]_[A-Za-z0-9]{20,}"
    r"|github_pat_[A-Za-z0-9_]{20,}"
    r"|glpat-[A-Za-z0-9_-]{16,}"
    r"|AKIA[0-9A-Z]{16}"
    r"|xox[abprs]-[A-Za-z0-9-]{10,}"
    r"|eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    re.DOTALL,
)


class Redactor:
    """Replaces known values and well-known key shapes by a mask."""

    def __init__(self, secrets: tuple[str, ...] = ()) -> None:
        self._secrets = tuple(sorted((s for s in secrets if len(s) >= 6), key=len, reverse=True))

    def __call__(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, MASK)
        return _PATTERNS.sub(MASK, text)

    def __repr__(self) -> str:
        return f"Redactor({len(self._secrets)} secrets)"
