# ruff: noqa: E501  the table of outline rules: one rule a line reads best unbroken
"""Source code read as text: languages, definitions, where a block ends, and the outline of a file. Nothing is
run."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import PurePosixPath

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
    """Return the file extensions of a language as people call it; empty when it is not known."""
    language = language.lower()
    return LANGUAGES.get(_NICKNAMES.get(language, language), ())


def fence_language(path: str) -> str:
    """Return the info string of a fenced code block with a file of this name."""
    suffix = PurePosixPath(path).suffix.lstrip(".").lower()
    language = _FENCES.get(suffix, "")
    return "" if language in ("text", "image", "config", "header") else language


def definition_pattern(name: str) -> str:
    """Return a short regular expression (ripgrep's and Python's) for what defines `name` by a keyword."""
    return rf"\b({_KEYWORDS})\s+(\([^)]*\)\s*)?{re.escape(last_name(name))}\b"


def last_name(name: str) -> str:
    """Return `method` of `Class.method`."""
    return re.split(r"\.|::|->|#", name)[-1] or name


_STATEMENTS = re.compile(
    r"^\s*(?:return|await|yield|if|elif|else|while|for|throw|raise|assert|print|import|from|not|and|or|in|new|case)\b"
)


def defines(line: str, name: str) -> bool:
    """Return whether a line that mentions `name` looks like its definition and not like a use: a keyword
    before it, an assignment, a C function, a method of a class in braces."""
    return not _STATEMENTS.match(line) and bool(_definition(last_name(name)).search(line))


@lru_cache(maxsize=32)
def _definition(name: str) -> re.Pattern[str]:
    word = re.escape(name)
    keyword = rf"(?:\b(?:{_KEYWORDS})|(?:^|\s)(?:{_MORE_KEYWORDS}))\s+(?:\([^)]*\)\s*)?{word}\b"
    assigned = rf"^\s*(?:export\s+|public\s+|private\s+|static\s+|final\s+)*{word}\s*(?::[^=:]+)?(?::?=)[^=]"
    c_function = rf"^(?:[\w*&<>:\[\],]+\s+)+[*&]*{word}\s*\([^;]*$"
    method = rf"^\s+(?:(?:async|static|get|set|public|private|protected)\s+|\*)*{word}\s*\([^;]*\{{\s*$"
    return re.compile("|".join((keyword, assigned, c_function, method)))


def block_end(lines: Sequence[str], path: str) -> int:
    """Return how many of `lines` belong to the block that the first one starts, by indentation or by
    braces."""
    suffix = PurePosixPath(path).suffix.lstrip(".").lower()
    if suffix in _INDENTED or (lines[0].rstrip().endswith(":") and "{" not in lines[0]):
        return _indented_end(lines)
    return _braced_end(lines)


def _indented_end(lines: Sequence[str]) -> int:
    start = _indent(lines[0])
    header_open = lines[0].count("(") - lines[0].count(")")
    end = 1
    for position, text in enumerate(lines[1:], 1):
        if header_open > 0:  # the signature continues on further lines
            header_open += text.count("(") - text.count(")")
            end = position + 1
        elif text.strip():
            if _indent(text) <= start:
                break
            end = position + 1
    return end


def _braced_end(lines: Sequence[str]) -> int:
    # Braces in strings and comments are counted too: good enough for an excerpt.
    depth, opened = 0, False
    for position, line in enumerate(lines):
        depth += line.count("{") - line.count("}")
        opened = opened or "{" in line
        if depth <= 0 and (opened or line.rstrip().endswith(";")):
            return position + 1
        if not opened and position >= 5:
            return 1
    return len(lines)


def _indent(text: str) -> int:
    return len(text.expandtabs(4)) - len(text.expandtabs(4).lstrip())


_RULES: tuple[tuple[tuple[str, ...], str], ...] = (
    (("js", "jsx", "mjs", "cjs", "ts", "tsx"), r"^(?:export\s+)?(?:default\s+)?(?:declare\s+)?(?:abstract\s+)?(?P<what>(?:async\s+)?function\*?|class|interface|type|enum|namespace)\s+(?P<name>[\w$]+)"
        r"|^(?:export\s+)?(?P<what2>const|let)\s+(?P<name2>[\w$]+)\s*(?::[^=]+)?=\s*(?:async\s*)?(?:function|\(|[\w$]+\s*=>)"
        r"|^\s{2,4}(?:(?:public|private|protected|static|async|get|set|readonly)\s+)*(?P<name3>(?!if|for|while|switch|catch|return|function)[\w$]+)\s*\([^;]*\)\s*(?::\s*[^{;]+)?\{\s*$"),
    (("go",), r"^(?P<what>func)\s+(?P<name>(?:\([^)]*\)\s*)?\w+)|^(?P<what2>type)\s+(?P<name2>\w+\s+\w+)"),
    (("rs",), r"^\s{0,4}(?:pub(?:\([^)]*\))?\s+)?(?:async\s+|unsafe\s+|const\s+)*(?P<what>fn|struct|enum|trait|mod|union|macro_rules!)\s+(?P<name>\w+)|^(?P<what2>impl)(?:<[^>]*>)?\s+(?P<name2>[^{]+?)\s*(?:\{|where|$)"),
    (("c", "h", "cpp", "hpp", "cc", "cxx", "hh"), r"^(?P<what>struct|enum|union|class|namespace|#define)\s+(?P<name>\w+)|^(?!\s|return|else|typedef|#)(?:[\w:*&<>,]+\s+)+[*&]*(?P<name2>[\w:~]+)\s*\([^;]*$"),
    (("java", "kt", "scala", "swift", "cs"), r"^\s{0,8}(?:(?:public|private|protected|internal|open|static|final|abstract|override|data|sealed|suspend|inline)\s+)*(?P<what>class|interface|enum|record|object|struct|protocol|trait|fun|func|def)\s+(?P<name>\w+)"
        r"|^\s{2,8}(?:(?:public|private|protected|static|final)\s+)+[\w<>\[\], ]+\s+(?P<name2>\w+)"
        r"\s*\([^;]*\{\s*$"),
    (("rb",), r"^\s*(?P<what>class|module|def)\s+(?P<name>[\w.:?!]+)"),
    (("sh", "bash", "zsh"), r"^(?:function\s+)?(?P<name>[\w-]+)\s*\(\)"),
    (("toml", "ini", "cfg", "conf"), r"^\s*(?P<name>\[{1,2}[^\]]+\]{1,2})\s*$"),
    (("yaml", "yml"), r"^(?P<name>[\w.-]+):"),
    (("css", "scss"), r"^(?P<name>[^\s{}@/][^{}]*?)\s*\{"),
    (("sql",), r"^\s*(?i:create)\s+(?:or replace\s+)?(?P<what>\w+)\s+(?:if not exists\s+)?(?P<name>[\w.\"]+)"),
)  # fmt: skip
_HEADING = re.compile(r"^(#{1,6})\s+(.+?)\s*#*$")
_UNDERLINE = re.compile(r"^([=\-~^\"'*+#])\1{2,}\s*$")
MAX_ENTRIES = 60


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """One thing in a file."""

    line: int
    label: str
    depth: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True)
class Outline:
    """What a file holds."""

    summary: str = ""
    """Its own words about itself: the docstring, the first paragraph, the opening comment."""
    imports: tuple[str, ...] = ()
    entries: tuple[OutlineEntry, ...] = ()


def outline(path: str, source: str) -> Outline:
    """Return the outline of `source` by the file's ending; without a known ending only its opening words."""
    suffix = PurePosixPath(path).suffix.lstrip(".").lower()
    if suffix in ("py", "pyi"):
        return _python(source)
    if suffix in ("md", "markdown", "mdx"):
        return _markdown(source)
    if suffix == "rst":
        return _restructured(source)
    rule = next((pattern for endings, pattern in _RULES if suffix in endings), None)
    entries = tuple(_matched(rule, source)) if rule else ()
    summary = _opening_comment(source) if rule else _first_paragraph(source)
    return Outline(summary, _js_imports(source, suffix), entries)


def parse_python(source: str) -> ast.Module | None:
    """Return the syntax tree, or None where the text is no whole Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in someone's code are not ours to report
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def signature(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Return `def name(args) -> type` on one line."""
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    return f"{word} {node.name}({ast.unparse(node.args)}){returns}"


def first_sentence(text: str | None) -> str:
    """Return the first sentence of a docstring, at most 200 characters."""
    paragraph = " ".join((text or "").strip().split("\n\n")[0].split())
    sentence = re.split(r"(?<=[.!?])\s", paragraph, maxsplit=1)[0]
    return sentence if len(sentence) <= 200 else sentence[:199] + "…"


def _python(source: str) -> Outline:
    tree = parse_python(source)
    if tree is None:
        pattern = r"^\s{0,8}(?P<what>class|(?:async\s+)?def)\s+(?P<name>\w+)"
        return Outline(_opening_comment(source), (), tuple(_matched(pattern, source)))
    imports: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imports += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            imports.append("." * node.level + (node.module or ""))
    summary = "\n\n".join((ast.get_docstring(tree) or "").split("\n\n")[:2])
    return Outline(summary, tuple(dict.fromkeys(imports)), tuple(_python_entries(tree.body, 0)))


def _python_entries(body: list[ast.stmt], depth: int) -> Iterator[OutlineEntry]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            bases = ", ".join(ast.unparse(base) for base in node.bases)
            label = f"class {node.name}" + (f"({bases})" if bases else "")
            yield OutlineEntry(node.lineno, label, depth, first_sentence(ast.get_docstring(node)))
            yield from _python_entries(node.body, depth + 1)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            label = signature(node)
            label = label if len(label) <= 100 else f"def {node.name}(…)"
            yield OutlineEntry(node.lineno, label, depth, first_sentence(ast.get_docstring(node)))
        elif depth == 0 and isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name) and target.id.isupper():
                yield OutlineEntry(node.lineno, target.id)


def _markdown(source: str) -> Outline:
    entries: list[OutlineEntry] = []
    fence = ""
    for number, line in enumerate(source.split("\n"), 1):
        mark = re.match(r"\s{0,3}(`{3,}|~{3,})", line)
        if mark and not fence:
            fence = mark[1]
        elif fence:
            fence = "" if mark and mark[1].startswith(fence) else fence
        elif heading := _HEADING.match(line):
            entries.append(OutlineEntry(number, heading[2], len(heading[1]) - 1))
    return Outline(_first_paragraph(source), (), tuple(entries))


def _restructured(source: str) -> Outline:
    lines = source.split("\n")
    marks: list[str] = []
    entries = []
    for number, (title, rule) in enumerate(pairwise(lines), 1):
        underline = _UNDERLINE.match(rule)
        if underline and title.strip() and not _UNDERLINE.match(title):
            if underline[1] not in marks:
                marks.append(underline[1])
            entries.append(OutlineEntry(number, title.strip(), marks.index(underline[1])))
    return Outline(_first_paragraph(source), (), tuple(entries))


def _matched(pattern: str, source: str) -> Iterator[OutlineEntry]:
    rule = re.compile(pattern)
    for number, line in enumerate(source.split("\n"), 1):
        found = rule.match(line) if len(line) < 1_000 else None
        if found:
            groups = {key.rstrip("23"): value for key, value in found.groupdict().items() if value}
            depth = 1 if line[:1] in " \t" else 0
            what = groups.get("what", "")
            yield OutlineEntry(number, f"{what} {groups.get('name', '').strip()}".strip(), depth)


def _js_imports(source: str, suffix: str) -> tuple[str, ...]:
    if suffix not in ("js", "jsx", "mjs", "cjs", "ts", "tsx"):
        return ()
    found = re.findall(
        r"(?:from|require\()\s*['\"]([^'\"\n]+)['\"]|^import\s+['\"]([^'\"\n]+)['\"]", source, re.MULTILINE
    )
    return tuple(dict.fromkeys(first or second for first, second in found))


def _opening_comment(source: str) -> str:
    """Return the comment at the head of a source file, without its marks."""
    lines: list[str] = []
    for line in source.split("\n")[:30]:
        bare = line.strip()
        if bare.startswith("#!") or (not bare and not lines):
            continue
        if not re.match(r"(?://|/\*|\*|#(?!\w)|--|\"\"\"|;)", bare):
            break
        lines.append(re.sub(r"^(?://[/!]?|/\*+|\*/?|#+|--|\"\"\"|;+)\s?|\*/$|\"\"\"$", "", bare).strip())
    text = "\n".join(lines).strip().split("\n\n")[0]
    return "" if re.search(r"copyright|licen[sc]e", text, re.I) else text[:600]


def _first_paragraph(source: str) -> str:
    """Return the first paragraph of prose: not a heading, a badge, HTML, a table, a quote mark or a list."""
    for block in re.split(r"\n\s*\n", source.replace("\r", "")[:20_000]):
        text = " ".join(block.split())
        is_prose = not re.match(r"(?:#|<|\[!\[|!\[|\||---|===|```|~~~|[-*+] |\.\. |:\w+:|\{|\*{0,2}\[)", text)
        has_words = len(re.findall(r"[A-Za-z]{2,}", text)) >= 5
        if is_prose and has_words and not _UNDERLINE.match(block.split("\n")[-1]):
            return text if len(text) <= 600 else text[:599] + "…"
    return ""
