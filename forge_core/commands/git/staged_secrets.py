"""Keys and passwords in the lines that a commit would add."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from forge_core.permissions.path_info import is_example, is_secret
from forge_core.permissions.secret_content import holds_password, needs_reading
from forge_core.private_keys import LEFT_OUT, hide_private_keys
from forge_core.redact import Redactor
from forge_core.sanitize import safe_line
from forge_core.workspace.change_source import quoted
from forge_core.workspace.patch_lines import PatchLine, added_lines

SHOWN = 5
"""Secrets that a message names; the rest is counted."""


@dataclass(frozen=True, slots=True)
class FoundSecret:
    """A line that seems to hold a secret, which is not repeated here."""

    path: str
    line: int
    kind: str
    """"a private key"."""

    def __str__(self) -> str:
        return safe_line(f"{quoted(self.path)}:{self.line} ({self.kind})")


def staged_secrets(patch: str, redact: Redactor) -> list[FoundSecret]:
    """Return the secrets in the added lines of a diff, in order.

    `redact` knows the user's keys and the forms of well-known ones. Passwords are looked for only in files
    whose name says that they may hold some: code mentions passwords without holding one.
    """
    found: list[FoundSecret] = []
    for path, lines in groupby(added_lines(patch), lambda line: line.path):
        found += _in_file(path, list(lines), redact)
    return found


def _in_file(path: str, lines: list[PatchLine], redact: Redactor) -> Iterable[FoundSecret]:
    keys = hide_private_keys("\n".join(line.text for line in lines), keeps_lines=True).split("\n")
    may_hold = (is_secret(path) or needs_reading(path)) and not is_example(path)
    for line, hidden in zip(lines, keys, strict=True):
        if LEFT_OUT in hidden:
            yield FoundSecret(path, line.number, "a private key")
        elif hidden == line.text and redact(line.text) != line.text:
            yield FoundSecret(path, line.number, "a key or token")
        elif hidden == line.text and may_hold and holds_password(line.text):
            yield FoundSecret(path, line.number, "a password")


def refusal(found: list[FoundSecret]) -> str:
    """Return why nothing is committed."""
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    named = ", ".join(map(str, found[:SHOWN]))
    return (
        f"Nothing was committed: {named}{more} would be in it. Remove that and stage the file again, or take "
        "the file out with !git restore --staged FILE. If it is no secret, commit with !git commit."
    )
