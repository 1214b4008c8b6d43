"""A shell line's syntax tree, from tree-sitter-bash, or why there is none to go by.

Nothing is skipped: a node that is not known, text between nodes that is not blank, or a line beyond the caps
makes the whole line one that could not be read.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from forge_core.permissions.programs.word_sets import table

if TYPE_CHECKING:
    from tree_sitter import Language, Node

MAX_LINE_BYTES = 16_384
"""Longer lines are not parsed: error recovery may take the parser 10 ms a kilobyte."""
MAX_HERE_DOCUMENTS = 8
"""Each costs the parser quadratic time."""
MAX_NODES = 2_500
_MAX_STEPS, _MAX_ERROR_STEPS = 1_000, 40
"""The parser reports about each hundred steps of its own."""
_MAX_DEPTH = 60
_GAP = re.compile(r"(?:[ \t\n]|\\\n)*")
_ODD = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\xa0\u1680\u2000-\u200b\u2028-\u202f\u205f\u2060\u3000\ufeff\U000f0000-\U000fffff]"
)

WORDS = table(
    "word number string raw_string ansi_c_string translated_string concatenation simple_expansion expansion"
    " command_substitution process_substitution arithmetic_expansion brace_expression extglob_pattern regex"
    " special_variable_name variable_name test_operator $"
)
_LOOPS = table("for_statement while_statement c_style_for_statement")
JOBS_IN_LOOPS = "jobs in loops"
"""A feature of a line: the number of processes that it starts at once cannot be determined."""
REDIRECTS = table("file_redirect herestring_redirect heredoc_redirect")
_STATEMENTS = table(
    "program list negated_command if_statement elif_clause else_clause while_statement do_group"
    " case_item compound_statement redirected_statement for_statement c_style_for_statement case_statement"
    " function_definition test_command declaration_command unset_command variable_assignment"
    " variable_assignments command command_name pipeline subshell command_substitution process_substitution"
)
SUBEXPRESSIONS = table(
    "binary_expression unary_expression postfix_expression ternary_expression parenthesized_expression"
    " subscript array arithmetic_expansion"
)
_DETAILS = table(
    "file_descriptor heredoc_start heredoc_body heredoc_content heredoc_end comment string_content"
)
_KNOWN = WORDS | REDIRECTS | _STATEMENTS | SUBEXPRESSIONS | _DETAILS


def parsed(text: str, source: bytes, max_nodes: int) -> tuple[Node | None, str]:
    """Return the root of the tree of `text` (which is `source`, decoded), and what is wrong with it, or
    nothing."""
    if len(source) > MAX_LINE_BYTES:
        return None, f"it is longer than {MAX_LINE_BYTES:,} bytes"
    if _ODD.search(text):
        return None, "it contains a control character or an unusual space"
    if text.count("<<") > MAX_HERE_DOCUMENTS:
        return None, "it has too many here-documents"
    root = _parsed(source)
    return root, _fault(root, source, max_nodes) if root is not None else "its syntax is unclear"


def _parsed(source: bytes) -> Node | None:
    """Return the tree's root; None when the parser met an error and took its time over it."""
    import tree_sitter

    calls = 0

    def is_enough(_offset: int, has_error: bool) -> bool:
        nonlocal calls
        calls += 1
        return calls > (_MAX_ERROR_STEPS if has_error else _MAX_STEPS)

    def piece(offset: int, _point: object) -> bytes | None:
        return source[offset:] or None

    try:  # a parser of its own for each text: tools may be decided on from several threads
        return tree_sitter.Parser(_language()).parse(piece, progress_callback=is_enough).root_node
    except ValueError:
        return None


@cache
def _language() -> Language:
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Language(tree_sitter_bash.language())


def _fault(root: Node, source: bytes, max_nodes: int) -> str:
    if root.has_error:
        return "its syntax is unclear"
    if root.descendant_count > max_nodes:
        return "it has too many parts"
    cursor = root.walk()
    end = 0
    while True:
        node = cursor.node
        if node is None:
            return "its syntax is unclear"
        kind = node.type
        if node.is_named and kind not in _KNOWN:
            return f"it contains {kind.replace('_', ' ')}, which Forge does not parse"
        if cursor.depth > _MAX_DEPTH:
            return "it is nested too deeply"
        is_leaf = kind == "heredoc_body" or not node.child_count
        if is_leaf:
            start = node.start_byte
            if start < end or not _GAP.fullmatch(source[end:start].decode(errors="replace")):
                return "its syntax is unclear"
            end = max(end, node.end_byte)
            if kind == "comment" and start and source[start - 1 : start] not in b" \t\n;&|()":
                return "its syntax is unclear"
        if not is_leaf and cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                rest = source[end:].decode(errors="replace")
                return "" if _GAP.fullmatch(rest) else "its syntax is unclear"


def starts_jobs_in_loops(root: Node) -> bool:
    """Return whether a loop starts jobs in the background: `while true; do sleep 9 & done`."""
    nodes = [(root, False)]
    while nodes:
        node, is_looped = nodes.pop()
        is_operator = node.parent is not None and node.parent.type == "binary_expression"
        if is_looped and node.type == "&" and not is_operator:
            return True
        is_looped = is_looped or node.type in _LOOPS
        nodes += [(child, is_looped) for child in node.children]
    return False
