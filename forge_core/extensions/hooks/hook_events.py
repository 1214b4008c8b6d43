"""The events at which hooks run, and what an answer can do at each."""

from __future__ import annotations

from enum import StrEnum


class HookEvent(StrEnum):
    SESSION_START = "SessionStart"
    SESSION_END = "SessionEnd"
    USER_PROMPT_SUBMIT = "UserPromptSubmit"
    PRE_TOOL_USE = "PreToolUse"
    PERMISSION_REQUEST = "PermissionRequest"
    POST_TOOL_USE = "PostToolUse"
    POST_TOOL_USE_FAILURE = "PostToolUseFailure"
    NOTIFICATION = "Notification"
    SUBAGENT_START = "SubagentStart"
    SUBAGENT_STOP = "SubagentStop"
    STOP = "Stop"
    STOP_FAILURE = "StopFailure"
    PRE_COMPACT = "PreCompact"
    POST_COMPACT = "PostCompact"


TOOL_EVENTS = frozenset(
    {
        HookEvent.PRE_TOOL_USE,
        HookEvent.PERMISSION_REQUEST,
        HookEvent.POST_TOOL_USE,
        HookEvent.POST_TOOL_USE_FAILURE,
    }
)
"""They match the name of a tool, and only they know `if`."""
DECIDING = frozenset({HookEvent.PRE_TOOL_USE, HookEvent.PERMISSION_REQUEST})
"""A block of these denies a tool call."""
BLOCKABLE = DECIDING | {
    HookEvent.USER_PROMPT_SUBMIT,
    HookEvent.POST_TOOL_USE,
    HookEvent.POST_TOOL_USE_FAILURE,
    HookEvent.STOP,
    HookEvent.SUBAGENT_STOP,
    HookEvent.PRE_COMPACT,
}
"""A block has an effect: the action does not happen, the turn goes on, or the model is given the reason."""
TEXT_IS_CONTEXT = frozenset({HookEvent.SESSION_START, HookEvent.USER_PROMPT_SUBMIT})
"""Text on standard output is context for the model."""
WITHOUT_MATCHER = frozenset({HookEvent.USER_PROMPT_SUBMIT, HookEvent.STOP})
"""They have nothing to match; a matcher is ignored."""
