"""Foreign text on its way to a model: framed, so that it cannot pass for the person or for Forge.

A frame's two ends carry the same random mark, which whoever wrote the text could not know: whatever tags it
holds, it stays inside. The text itself is not changed by a single character, so that edits still fit.
"""

from __future__ import annotations

import re
import secrets

OUTPUT = "tool-output"
_NOT_IN_ATTRIBUTES = re.compile(r"[^\w ./-]")
_OUTPUT = re.compile(rf'<{OUTPUT} mark="([0-9a-f]+)"[^>\n]*>\n(.*)\n</{OUTPUT} mark="\1">\s*', re.DOTALL)


def frame_text(tag: str, text: str, **attributes: str) -> str:
    """`text` between `<tag mark="…" …>` and `</tag mark="…">`; attributes lose quotes and angles."""
    mark = secrets.token_hex(4)
    given = "".join(f' {name}="{_NOT_IN_ATTRIBUTES.sub("", value)}"' for name, value in attributes.items())
    return f'<{tag} mark="{mark}"{given}>\n{text}\n</{tag} mark="{mark}">'


def frame_tool_output(tool: str, text: str) -> str:
    """What a tool has returned, framed as data."""
    return frame_text(OUTPUT, text, tool=tool)


def unframe_tool_output(text: str) -> str:
    """What stands in a frame of `tool_output`; other text as it is."""
    found = _OUTPUT.fullmatch(text)
    return found[2] if found else text
