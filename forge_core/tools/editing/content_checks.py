"""Checks of new content: no placeholder for omitted text, and whether a file still parses."""

from __future__ import annotations

import json
import re
import tomllib
import warnings

from forge_core.errors import ToolError

_COMMENT = r"(?:#|//|/\*|<!--|--|;|%|\{/\*)"
_PLACEHOLDER = re.compile(
    rf"^[ \t]*{_COMMENT}?[ \t]*[\[(]?[ \t]*(?:\.\.\.|\u2026)[ \t]*\(?[ \t]*(?:the )?"
    r"(?:rest|remaining|remainder|existing|unchanged|omitted|same as)\b[^\n]{0,60}$"
    rf"|^[ \t]*{_COMMENT}[ \t]*[\[(]?[ \t]*(?:the )?(?:rest|remainder|remaining)\b[^\n]{{0,60}}"
    r"\b(?:unchanged|the same|omitted|as before|as is|stays?|remains?)\b[^\n]{0,30}$",
    re.IGNORECASE | re.MULTILINE,
)
_MAX_PARSED = 1_000_000
_MAX_YAML = 200_000
"""Its parser takes ten times as long as the others."""


def refuse_placeholders(new: str, old: str) -> None:
    """Raise ToolError when `new` contains a line like "# ... rest unchanged ..." that `old` does not."""
    for found in _PLACEHOLDER.finditer(new):
        if found[0].strip() not in old:
            raise ToolError(
                f"The text contains a placeholder instead of content: {found[0].strip()!r}. Nothing was "
                "written. Send the whole text, or use edit to change only a part."
            )


def syntax_warning(path: str, before: str | None, after: str) -> str | None:
    """Return a warning if `before` (None: a new file) parsed and `after` does not; else None."""
    problem = new_syntax_error(path, before, after)
    if problem is None:
        return None
    was = "no longer parses" if before is not None else "does not parse"
    return (
        f"warning: {path.rpartition('/')[2]} {was}: {problem}. If that is not intended, revert this change "
        "(the same call with old and new swapped) or repair it before you continue."
    )


def new_syntax_error(path: str, before: str | None, after: str) -> str | None:
    """Return the syntax error of `after`, with its line, if `before` (None: a new file) parsed; else None.

    `before` is parsed only if `after` has an error.
    """
    if len(after) > _MAX_PARSED:
        return None
    problem = _problem(path, after)
    if problem is None or (before is not None and _problem(path, before) is not None):
        return None
    return problem


def _problem(path: str, text: str) -> str | None:
    ending = path.rpartition(".")[2].lower()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            match ending:
                case "py" | "pyi":
                    # Faster than `ast.parse`, and it finds a `return` that is no longer in a function.
                    compile(text, path, "exec", dont_inherit=True)
                case "json" | "ipynb":
                    json.loads(text)
                case "toml":
                    tomllib.loads(text)
                case "yaml" | "yml" if len(text) <= _MAX_YAML:
                    return _yaml_problem(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = f" (line {error.lineno})" if isinstance(error, SyntaxError) and error.lineno else ""
        return f"{getattr(error, 'msg', None) or error}{line}"[:200]
    return None


def _yaml_problem(text: str) -> str | None:
    """Check the grammar alone: several documents and tags of any kind are valid, nothing is built. An alias
    without its anchor is an error."""
    import yaml

    anchors: set[str] = set()
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            match event:
                case yaml.DocumentStartEvent():
                    anchors.clear()
                case yaml.AliasEvent(anchor=name) if name not in anchors:
                    line = f" (line {event.start_mark.line + 1})" if event.start_mark else ""
                    return f"the alias *{name} has no anchor{line}"
                case yaml.NodeEvent(anchor=str(name)):
                    anchors.add(name)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" (line {mark.line + 1})" if mark is not None else ""
        return f"{getattr(error, 'problem', None) or error}{line}"[:200]
    return None
