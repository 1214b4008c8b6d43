"""What a simple command prints, where its words tell that."""

from __future__ import annotations

import re

from forge_core.permissions.shell.syntax import SimpleCommand

_MAX_CHARACTERS = 4_000


def printed_text(one: SimpleCommand) -> str | None:
    """The text that `echo`, `printf` or `cat` with a here-document prints; None where it isn't known."""
    words = one.words[1:]
    text: str | None = None
    if not one.is_known or any(part.has_glob or part.has_tilde for part in one.parts):
        return None
    match one.program:
        case "echo":
            has_end = words[:1] != ("-n",)
            words = words if has_end else words[1:]
            if not any(word.startswith("-") for word in words[:1]) and "\\" not in " ".join(words):
                text = " ".join(words) + "\n" * has_end
        case "printf" if len(words) == 1 and "%" not in words[0]:
            plain = words[0].replace("\\n", "\n").replace("\\t", "\t")
            text = plain if "\\" not in plain else None
        case "printf" if len(words) == 2 and words[0] in ("%s", "%s\\n"):
            text = words[1] + "\n" * (words[0] != "%s")
        case "cat" if not words and len(one.fed) == 1 and not one.reads:
            text = one.fed[0] if re.search(r"[$`\\]|^\t", one.fed[0], re.MULTILINE) is None else None
    return text if text is not None and len(text) <= _MAX_CHARACTERS else None
