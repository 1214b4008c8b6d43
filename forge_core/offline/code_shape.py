"""The shape of source code without running it: patterns for definitions, where a block ends, languages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import PurePosixPath

from forge_core.offline.tool_text import Numbered

LANGUAGES = {
    "python": ("py", "pyi"), "javascript": ("js", "jsx", "mjs", "cjs"), "typescript": ("ts", "tsx"),
    "markdown": ("md", "markdown"), "rust": ("rs",), "go": ("go",), "c": ("c", "h"), "ruby": ("rb",),
    "cpp": ("cpp", "cc", "cxx", "hpp", "hh"), "java": ("java",), "kotlin": ("kt", "kts"), "swift": ("swift",),
    "php": ("php",), "shell": ("sh", "bash", "zsh"), "html": ("html", "htm"), "css": ("css", "scss"),
    "json": ("json",), "yaml": ("yaml", "yml"), "toml": ("toml",), "xml": ("xml",), "sql": ("sql",),
    "text": ("txt", "rst"), "lua": ("lua",), "perl": ("pl", "pm"), "scala": ("scala",), "r": ("R", "r"),
    "config": ("toml", "cfg", "ini", "conf", "yaml", "yml"), "header": ("h", "hpp"),
    "image": ("png", "jpg", "jpeg", "gif", "svg", "webp")
}  # fmt: skip
"""Language → file extensions."""

_NICKNAMES = {
    "js": "javascript", "ts": "typescript", "md": "markdown", "golang": "go", "c++": "cpp", "bash": "shell",
    "sh": "shell", "yml": "yaml", "txt": "text"
}  # fmt: skip
_FENCES = {
    extension: language for language, extensions in reversed(LANGUAGES.items()) for extension in extensions
}
_INDENTED = ("py", "pyi", "yaml", "yml", "md", "rst", "txt")
_KEYWORDS = "def|class|func|function|fn|struct|enum|trait|interface|type|const|let|var"
_MORE_KEYWORDS = (
    r"union|module|object|record|protocol|macro_rules!|val|static|namespace|procedure|sub|#define|typedef|fun"
    r"|function\*"
)


def extensions(language: str) -> tuple[str, ...]:
    """The file extensions of a language as people call it; empty when it is not known."""
    language = language.lower()
    return LANGUAGES.get(_NICKNAMES.get(language, language), ())


def fence_language(path: str) -> str:
    """What to write behind the three backticks for a file."""
    suffix = PurePosixPath(path).suffix.lstrip(".").lower()
    language = _FENCES.get(suffix, "")
    return "" if language in ("text", "image", "config", "header") else language


def definition_pattern(name: str) -> str:
    """A short regular expression (ripgrep's and Python's) for what defines `name` by a keyword."""
    return rf"\b({_KEYWORDS})\s+(\([^)]*\)\s*)?{re.escape(last_name(name))}\b"


def last_name(name: str) -> str:
    """`method` of `Class.method`."""
    return re.split(r"\.|::|->|#", name)[-1] or name


_STATEMENTS = re.compile(
    r"^\s*(?:return|await|yield|if|elif|else|while|for|throw|raise|assert|print|import|from|not|and|or|in|new|case)\b"
)


def defines(line: str, name: str) -> bool:
    """Whether a line that mentions `name` looks like its definition and not like a use: a keyword before
    it, an assignment, a C function, a method of a class in braces."""
    return not _STATEMENTS.match(line) and bool(_definition(last_name(name)).search(line))


@lru_cache(maxsize=32)
def _definition(name: str) -> re.Pattern[str]:
    word = re.escape(name)
    keyword = rf"(?:\b(?:{_KEYWORDS})|(?:^|\s)(?:{_MORE_KEYWORDS}))\s+(?:\([^)]*\)\s*)?{word}\b"
    assigned = rf"^\s*(?:export\s+|public\s+|private\s+|static\s+|final\s+)*{word}\s*(?::[^=:]+)?(?::?=)[^=]"
    c_function = rf"^(?:[\w*&<>:\[\],]+\s+)+[*&]*{word}\s*\([^;]*$"
    method = rf"^\s+(?:(?:async|static|get|set|public|private|protected)\s+|\*)*{word}\s*\([^;]*\{{\s*$"
    return re.compile("|".join((keyword, assigned, c_function, method)))


def block_end(lines: Sequence[Numbered], path: str) -> int:
    """How many of `lines` belong to the block that the first one starts: by indentation, or by braces."""
    if not lines:
        return 0
    suffix = PurePosixPath(path).suffix.lstrip(".").lower()
    if suffix in _INDENTED or (lines[0].text.rstrip().endswith(":") and "{" not in lines[0].text):
        return _indented_end(lines)
    return _braced_end(lines)


def _indented_end(lines: Sequence[Numbered]) -> int:
    start = _indent(lines[0].text)
    header_open = lines[0].text.count("(") - lines[0].text.count(")")
    end = 1
    for position, line in enumerate(lines[1:], 1):
        text = line.text
        if header_open > 0:  # the signature goes on over several lines
            header_open += text.count("(") - text.count(")")
            end = position + 1
        elif text.strip():
            if _indent(text) <= start:
                break
            end = position + 1
    return end


def _braced_end(lines: Sequence[Numbered]) -> int:
    depth, opened = 0, False
    for position, line in enumerate(lines):
        depth += line.text.count("{") - line.text.count("}")
        opened = opened or "{" in line.text
        if depth <= 0 and (opened or line.text.rstrip().endswith(";")):
            return position + 1
        if not opened and position >= 5:
            return 1
    return len(lines)


def _indent(text: str) -> int:
    return len(text.expandtabs(4)) - len(text.expandtabs(4).lstrip())
