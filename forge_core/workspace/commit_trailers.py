"""Lines of a commit message that credit an assistant: added once by the program, or removed.

Models are asked to write none, and those that they write all the same are removed: whether a commit is
attributed, and how, is the user's setting alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forge_core.config.settings import AttributionSetting

READ_ONLY = (
    "commands cannot commit in this worktree, as the repository is read-only for them: the user does it"
)
"""What a model is told of commits in a worktree that Forge has made."""
_TRAILER = re.compile(r"[A-Za-z][A-Za-z0-9-]*: \S.*")
_CREDIT = re.compile(
    r"\s*(?:co-?authored|co-?developed|assisted|generated)-(?:by|with)\s*:.*"
    r"|\W*(?:generated|co-authored) (?:with|by|using) \[?\W*"
    r"(?:forge|claude|codex|copilot|cursor|gemini|gpt|chatgpt|opencode|aider|an? ai|ai)\b.{0,80}",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"<([^<>\s]+@[^<>\s]+)>")
_NO_ADDRESS = "noreply@forge.invalid"
"""A name below `.invalid` belongs to nobody (RFC 2606), so no account is credited."""


def attributed(message: str, attribution: AttributionSetting, model: str, request: str = "") -> str:
    """Return a message that `model` has written with the trailer of the setting, once, and without the
    credits that it wrote. A person whose address is in the user's `request` stays."""
    subject, *rest = message.split("\n")
    lines = [subject, *(line for line in rest if not _is_credit(line, request))]
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip()
    if attribution == "off" or not text:
        return text
    *before, last = text.split("\n\n")
    has_trailers = before and all(map(_TRAILER.fullmatch, last.split("\n")))
    gap = "\n" if has_trailers else "\n\n"
    return f"{text}{gap}{_trailer(attribution, model)}"


def instruction(attribution: AttributionSetting, model: str) -> str:
    """Return what a model that runs `git commit` itself is told of its message."""
    if attribution == "off":
        return "no line that credits an assistant or a model (Co-authored-by, Assisted-by, Generated with)"
    return f"end with the trailer `{_trailer(attribution, model)}`, once; credit no assistant otherwise"


def _trailer(attribution: AttributionSetting, model: str) -> str:
    name = "-".join(re.sub(r"[<>\x00-\x1f\x7f]", "", model).split()) or "unknown"
    if attribution == "assisted-by":
        return f"Assisted-by: Forge:{name}"
    return f"Co-authored-by: Forge ({name}) <{_NO_ADDRESS}>"


def _is_credit(line: str, request: str) -> bool:
    if _CREDIT.fullmatch(line) is None:
        return False
    address = _ADDRESS.search(line)
    return address is None or address[1].lower() not in request.lower()
