"""The question whether a folder is trusted: said once, in the conversation, where it stops nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forge_core.workspace.trust import TrustQuestion

MANY = 6
"""Findings that are listed; the others are counted."""


def trust_notice(question: TrustQuestion) -> str:
    """What the folder brings, and how to say yes or no. Until then it does not count."""
    findings = question.findings[:MANY]
    if len(question.findings) > MANY:
        findings = (*findings, f"{len(question.findings) - MANY} more; /trust lists them")
    return "\n".join(
        [
            "This folder brings its own settings or instructions. They do not count unless you trust it:",
            *(f"  {finding}" for finding in findings),
            "/trust yes lets them count, /trust no stops asking.",
        ]
    )
