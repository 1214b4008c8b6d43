"""Frames around untrusted text in prompts, so that it cannot pass for the user's or for Forge's.

Both tags of a frame carry the same random mark, which the author of the text could not know: whatever tags
the text contains, it cannot close the frame. The text itself is not changed, so that edits still match it.
"""

from __future__ import annotations

import re
import secrets
from bisect import bisect_right

OUTPUT = "tool-output"
_NOT_IN_ATTRIBUTES = re.compile(r"[^\w ./~@+(),:=%-]")
_OPENING = re.compile(r'<([a-z-]{1,40}) mark="([0-9a-f]{1,40})"[^>\n]{0,4000}>')
_CLOSING = re.compile(r'</([a-z-]{1,40}) mark="([0-9a-f]{1,40})">')
_OUTPUT = re.compile(rf'<{OUTPUT} mark="([0-9a-f]+)"[^>\n]*>\n(.*)\n</{OUTPUT} mark="\1">\s*', re.DOTALL)


def frame_text(tag: str, text: str, **attributes: str) -> str:
    """Return `text` between `<tag mark="…" …>` and `</tag mark="…">`; quotes and angle brackets are removed
    from the attributes."""
    mark = secrets.token_hex(4)
    given = "".join(f' {name}="{_NOT_IN_ATTRIBUTES.sub("", value)}"' for name, value in attributes.items())
    return f'<{tag} mark="{mark}"{given}>\n{text}\n</{tag} mark="{mark}">'


def without_frames(text: str) -> str:
    """Return `text` without what is framed in it, such as the files that an editor embeds in a message. Takes
    time in proportion to the text, whatever it holds."""
    if ' mark="' not in text:
        return text
    ends: dict[tuple[str, str], list[int]] = {}
    for closing in _CLOSING.finditer(text):
        ends.setdefault((closing[1], closing[2]), []).append(closing.end())
    parts, at = [], 0
    for opening in _OPENING.finditer(text):
        found = ends.get((opening[1], opening[2]), [])
        number = bisect_right(found, opening.end())
        if opening.start() >= at and number < len(found):
            parts.append(text[at : opening.start()])
            at = found[number]
    return "".join([*parts, text[at:]])


def escape_tags(line: str) -> str:
    """Return a line of untrusted text that can neither open nor close a tag."""
    return line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def frame_tool_output(tool: str, text: str) -> str:
    """Return the output of a tool, framed as data."""
    return frame_text(OUTPUT, text, tool=tool)


def frame_hook_output(text: str) -> str:
    """Return what a hook has printed, framed: it may hold text of files and of other programs."""
    return frame_text("hook-output", text)


def unframe_tool_output(text: str) -> str:
    """Return the text inside a frame of `frame_tool_output`; other text unchanged."""
    found = _OUTPUT.match(text)  # instructions for the model may follow the frame
    return found[2] if found else text
