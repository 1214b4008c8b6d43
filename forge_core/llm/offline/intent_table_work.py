# ruff: noqa: E501  a table: one phrasing a line reads best unbroken
"""The rows about working side by side: background jobs, the plan, questions to the person."""

from __future__ import annotations

import re
from collections.abc import Mapping

from forge_core.llm.offline.intents import Intent, IntentSpec

_I = Intent

WORK = (
    IntentSpec(
        _I.BACKGROUND,
        (
            r"(?:run|start|launch|execute) (?:the command |command )?(?P<command>.+?) (?:in (?:the )?background|as a (?:background )?job|and keep it running)",
            r"in (?:the )?background,? (?:run|start|launch|execute) (?:the command )?%command",
        ),
        "Run",
        "run `python3 -m http.server` in the background",
    ),
    IntentSpec(
        _I.JOB_OUTPUT,
        (
            r"(?:show|read|print|see|check|get|what(?:'s| is))(?: me)? (?:the |new |latest )*(?:output|logs?|status) (?:of|from|for) (?:the )?(?:(?:background )?job(?: (?:number |no\.? ?|#)?%n)?)",
            r"(?:show|check|read)(?: me)? (?:the )?job(?: (?:number |no\.? ?|#)?%n)?(?:'s)?(?: (?:output|logs?|status))?",
            r"(?:how is|how's|what about|is) (?:the )?job(?: (?:number |no\.? ?|#)?%n)?(?: (?:doing|done|going|finished|running|still running|ready))?",
            r"(?:the )?job(?:'s)?(?: %n)? output",
        ),
        "Run",
        "show the output of job 1",
    ),
    IntentSpec(
        _I.JOB_STOP,
        (
            r"(?:stop|end|kill|cancel|terminate|quit) (?:the )?(?:background )?job(?: (?:number |no\.? ?|#)?%n)?",
        ),
        "Run",
        "stop job 1",
    ),
    IntentSpec(_I.PLAN, (), "Run", "plan: read the code, fix the bug, run the tests"),
    IntentSpec(_I.ASK_ME, (), "More", "ask me whether to use tabs or spaces"),
)

_PLAN = re.compile(
    r"\s*(?:please\s+)?(?:(?:make|write|set up|keep|create|note)\s+)?(?:(?:a|the|my|this|our)\s+)?(?:plan|to-?dos?(?:\s+list)?|task list|tasks)\s*:\s*(?P<content>.+)",
    re.I | re.DOTALL,
)
_ASK_ME = re.compile(
    r"\s*(?:please\s+)?ask me\s+(?:(?P<kind>whether|if|which|what)\s+)(?P<text>\S.*)", re.I | re.DOTALL
)


def whole_request(text: str) -> tuple[Intent, Mapping[str, str]] | None:
    """What a message asks for that is one request to its end, whatever commas and "then" stand in it."""
    if plan := _PLAN.fullmatch(text):
        return _I.PLAN, {"content": plan["content"].strip()}
    if asked := _ASK_ME.fullmatch(text):
        return _I.ASK_ME, {"kind": (asked["kind"] or "").lower(), "text": asked["text"].strip(" .?!")}
    return None
