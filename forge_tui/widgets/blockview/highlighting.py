"""Syntax highlighting in pieces: a long file costs by the piece that shows, not by the file.

Pygments is imported on first use; `warm_up()` does it ahead of time, off the event loop. `_TokenType`, the
class of all kinds of tokens, has no public name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from rich.style import Style

from forge_tui.widgets.blockview.rows import StyledSpan

if TYPE_CHECKING:
    from pygments.lexer import Lexer  # type: ignore[import-untyped]
    from pygments.token import _TokenType  # type: ignore[import-untyped]

CodeToken: TypeAlias = tuple[str, str]
"""Kind (a key of `TranscriptStyles.syntax`, or "") and text."""
LexerState: TypeAlias = tuple[str, ...]
"""The state of a lexer between two pieces (inside a docstring, for example)."""

START: LexerState = ("root",)
LONGEST_LINE = 2_000
"""Characters; longer lines are not highlighted: some lexers take quadratic time on them."""

_KINDS: tuple[tuple[str, str], ...] = (
    ("Comment", "comment"),
    ("Keyword.Type", "builtin"),
    ("Keyword", "keyword"),
    ("Name.Function", "function"),
    ("Name.Class", "class"),
    ("Name.Decorator", "function"),
    ("Name.Tag", "keyword"),
    ("Name.Attribute", "function"),
    ("Name.Builtin", "builtin"),
    ("Name.Exception", "class"),
    ("Literal.String", "string"),
    ("Literal.Number", "number"),
    ("Operator.Word", "keyword"),
    ("Operator", "operator"),
    ("Generic.Inserted", "added"),
    ("Generic.Deleted", "removed"),
    ("Generic.Subheading", "comment"),
    ("Generic.Heading", "comment"),
)
_ALIASES = {"console": "bash", "shell": "bash", "py": "python", "jsonc": "json", "tsx": "typescript"}


def warm_up() -> None:
    """Import the lexers that answers use most."""
    for language in ("python", "bash", "json", "javascript", "diff", "toml"):
        highlight("x = 1", language)


def highlight(
    text: str, language: str, state: LexerState = START
) -> tuple[list[list[CodeToken]], LexerState]:
    """Return the tokens of each line of `text`, and the state to continue from; plain if the language is
    unknown."""
    lines = text.split("\n")
    lexer = _lexer(language.strip().lower())
    if lexer is None or any(len(line) > LONGEST_LINE for line in lines):
        return [[("", line)] for line in lines], state
    stack = list(state)
    tokens = list(_tokens(lexer, text + "\n", stack))
    return _by_line(tokens)[: len(lines)], tuple(stack)


@lru_cache(maxsize=256)
def language_of(path: str) -> str:
    """Return the language of a file by its name, or ""."""
    from pygments.lexers import find_lexer_class_for_filename  # type: ignore[import-untyped]
    from pygments.util import ClassNotFound  # type: ignore[import-untyped]

    try:
        found = find_lexer_class_for_filename(path.rpartition("/")[2])
    except (ClassNotFound, ValueError):
        return ""
    return str(found.aliases[0]) if found is not None and found.aliases else ""


def styled(tokens: list[CodeToken], syntax: Mapping[str, Style], under: Style) -> list[StyledSpan]:
    """Return tokens as spans, each over the style `under`."""
    return [(text, under + syntax[kind] if kind else under) for kind, text in tokens]


@lru_cache(maxsize=64)
def _lexer(language: str) -> Lexer | None:
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    if not language:
        return None
    try:
        return get_lexer_by_name(_ALIASES.get(language, language), stripnl=False, ensurenl=False)
    except (ClassNotFound, ValueError):
        return None


def _tokens(lexer: Lexer, text: str, stack: list[str]) -> Iterator[tuple[_TokenType, str]]:
    """Yield what `lexer.get_tokens_unprocessed` yields, and leave the end state in `stack`.

    Pygments 2.x keeps the compiled rules of a RegexLexer in `_tokens` and has no way to ask for the end
    state. A lexer of another class, or one whose callbacks need more, starts each piece from its initial
    state.
    """
    from pygments.lexer import ExtendedRegexLexer, LexerContext, RegexLexer

    if not isinstance(lexer, RegexLexer) or any(name not in lexer._tokens for name in stack):
        yield from lexer.get_tokens(text)
        return
    if isinstance(lexer, ExtendedRegexLexer):
        context = LexerContext(text, 0, stack=stack, end=len(text))
        for _, kind, value in lexer.get_tokens_unprocessed(context=context):
            yield kind, value
        return
    yield from _regex_tokens(lexer, text, stack)


def _regex_tokens(lexer: Lexer, text: str, stack: list[str]) -> Iterator[tuple[_TokenType, str]]:
    from pygments.token import Error, Text, Whitespace, _TokenType

    rules = lexer._tokens
    at = 0
    while at < len(text):
        # The same loop as in RegexLexer, which keeps its state in a local variable.
        for matches, action, new_state in rules[stack[-1]]:
            match = matches(text, at)
            if match is None:
                continue
            if isinstance(action, _TokenType):
                yield action, match.group()
            elif action is not None:
                for _, kind, value in action(lexer, match):
                    yield kind, value
            at = match.end()
            _move(stack, new_state)
            break
        else:
            is_line_end = text[at] == "\n"
            if is_line_end:
                stack[:] = ["root"]
            yield (Whitespace if is_line_end else Error if text[at].strip() else Text), text[at]
            at += 1


def _move(stack: list[str], new_state: tuple[str, ...] | int | str | None) -> None:
    """Apply a rule's state change, as `RegexLexer.get_tokens_unprocessed` does."""
    if new_state is None:
        return
    if isinstance(new_state, int):
        del stack[max(1, len(stack) + new_state) :]
    else:
        for state in (new_state,) if isinstance(new_state, str) else new_state:
            if state == "#pop":
                if len(stack) > 1:
                    stack.pop()
            elif state == "#push":
                stack.append(stack[-1])
            else:
                stack.append(state)


def _by_line(tokens: list[tuple[_TokenType, str]]) -> list[list[CodeToken]]:
    lines: list[list[CodeToken]] = [[]]
    for kind, text in tokens:
        name = _kind(kind)
        first, *rest = text.split("\n")
        if first:
            lines[-1].append((name, first))
        for part in rest:
            lines.append([(name, part)] if part else [])
    return lines


@lru_cache(maxsize=512)
def _kind(token: _TokenType) -> str:
    name = str(token).removeprefix("Token.")
    return next((kind for prefix, kind in _KINDS if name.startswith(prefix)), "")
