"""The permission modes, and the form of rules. `forge --help` imports this module, so it imports little."""

from __future__ import annotations

from enum import StrEnum

RULE_FORM = "tool(pattern): bash(pytest:*), edit(src/**), read(.env)"
"""How a permission rule is written, for messages."""


class PermissionMode(StrEnum):
    """How much runs without asking."""

    summary: str
    """What runs without asking, for the user."""
    instruction: str
    """What the mode means for the model's work."""
    sandboxed_summary: str
    """The summary where a full sandbox confines commands."""

    def __new__(
        cls, value: str, summary: str = "", instruction: str = "", sandboxed: str = ""
    ) -> PermissionMode:
        mode = str.__new__(cls, value)
        mode._value_ = value
        mode.summary, mode.instruction, mode.sandboxed_summary = summary, instruction, sandboxed or summary
        return mode

    ASK = (
        "ask",
        "reads freely, asks before it writes and before most commands",
        "Edits and commands are shown to the user, who allows or denies each; plain reading runs without "
        "asking.",
    )
    ACCEPT_EDITS = (
        "accept-edits",
        "edits files here unasked, asks before most commands",
        "Edits inside the folder are made at once; commands are shown to the user first.",
    )
    PLAN = (
        "plan",
        "reads and searches only, changes nothing",
        "Plan mode: read and search only; edits and commands that change anything are denied. Work out a "
        "plan, present it with the files and steps, and stop there.",
    )
    AUTO = (
        "auto",
        "edits files here unasked, asks before most commands",
        "The user has left more to you: edits inside the folder, and commands that stay in the sandbox, run "
        "at once.",
        "edits files here and runs sandboxed commands unasked",
    )
    YOLO = (
        "yolo",
        "writes files and runs commands without asking",
        "Nothing is asked. Be all the more careful with anything that cannot be undone.",
    )
