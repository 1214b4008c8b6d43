"""Words of the syntax tree, read into the pieces that they are put together from."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING

from forge_core.permissions.programs.word_sets import table
from forge_core.permissions.shell.bare_commands import Tree
from forge_core.permissions.shell.parser import WORDS
from forge_core.permissions.shell.words import QUOTED_NOTHING, Hole, Piece, ansi_c, in_double_quotes, unquoted

if TYPE_CHECKING:
    from tree_sitter import Node

_UNSEEN = re.compile(r"(?<!\\)(?:\\\\)*(?:`|\$[({\[])")
"""What would run or expand, in text that the parser took for plain."""
_BARE = table("word number variable_name special_variable_name")
_BORDER = re.compile(r"[\s;&|<>()`'\"]")
"""Ends a word that is not quoted."""
_DEFAULTS = table(":- - := = :+ +")


class WordReader(ABC):
    """Reads words; hands the commands in them to `visit`."""

    def __init__(self, source: bytes, tree: Tree) -> None:
        self.source = source
        self.tree = tree

    @abstractmethod
    def visit(self, node: Node, depth: int, scope: tuple[int, ...], *, is_piped: bool = False) -> None: ...

    def text(self, node: Node) -> str:
        return self.source[node.start_byte : node.end_byte].decode(errors="replace")

    def pieces(
        self, node: Node, depth: int, scope: tuple[int, ...], *, is_quoted: bool = False
    ) -> list[Piece]:
        """What a word is put together from; commands in it are visited."""
        kind, text = node.type, self.text(node)
        match kind:
            case "raw_string":
                return [text[1:-1] or QUOTED_NOTHING]
            case "ansi_c_string":
                return [ansi_c(text[2:-1]) or QUOTED_NOTHING]
            case "string" | "translated_string":
                return list(self.string(node, depth, scope)) or [QUOTED_NOTHING]
            case "concatenation":
                return [piece for child in node.children for piece in self.part(child, depth, scope)]
            case "simple_expansion":
                name = text[1:]
                return [Hole(text, name, is_quoted, is_simple=True)]
            case "expansion":
                return [self.expansion(node, depth, scope, is_quoted)]
            case "command_substitution" | "process_substitution":
                self.visit(node, depth, scope)
                return [Hole(text)]
            case "arithmetic_expansion":
                self.tree.features.add("arithmetic")
                for child in node.named_children:
                    self.visit(child, depth, scope)
                return [Hole(text)]
            case "brace_expression":
                return [unquoted(text)]
        if _UNSEEN.search(text) or (
            kind in _BARE and _BORDER.search(re.sub(r"\\.", "", text, flags=re.DOTALL))
        ):
            self.tree.problem = "its syntax is not clear"  # the grammar takes `a⏎\b` for one command
        for child in node.named_children:
            self.visit(child, depth, scope)
        return [unquoted(text)]

    def part(self, node: Node, depth: int, scope: tuple[int, ...]) -> list[Piece]:
        """A piece of a concatenation; the `$` of `$"…"` is none."""
        if node.type == "$" and self.source[node.end_byte : node.end_byte + 1] == b'"':
            return [unquoted(self.text(node)[:-1])]
        return self.pieces(node, depth, scope)

    def string(self, node: Node, depth: int, scope: tuple[int, ...]) -> Iterator[Piece]:
        if node.type == "translated_string":
            node = node.children[-1]
        at = node.start_byte + 1
        for child in node.children[1:-1]:
            if child.type in ("string_content", "$"):
                continue
            if at < child.start_byte:
                yield self.literal(at, child.start_byte)
            yield from self.pieces(child, depth, scope, is_quoted=True)
            at = child.end_byte
        if at < node.end_byte - 1:
            yield self.literal(at, node.end_byte - 1)

    def literal(self, start: int, end: int) -> str:
        text = self.source[start:end].decode(errors="replace")
        if _UNSEEN.search(text):
            self.tree.problem = "its syntax is not clear"
        return in_double_quotes(text)

    def expansion(self, node: Node, depth: int, scope: tuple[int, ...], is_quoted: bool) -> Hole:
        name, operator = "", ""
        defaults: list[str] = []
        for child in node.children[1:-1]:
            if child.type in ("variable_name", "special_variable_name") and not name and not operator:
                name = self.text(child)
            elif not child.is_named and not operator:
                operator = child.type
            elif child.type == "subscript" and not name and not operator:
                array = child.child_by_field_name("name")
                name = self.text(array) if array else ""
                self.visit(child, depth, scope)
            elif child.is_named:
                pieces = self.pieces(child, depth, scope) if child.type in WORDS else []
                if child.type not in WORDS:
                    self.visit(child, depth, scope)
                if operator in _DEFAULTS:
                    defaults.append("".join(one if isinstance(one, str) else one.raw for one in pieces))
        is_simple = not operator and node.child_count == 3 and bool(name)
        if not is_simple:
            self.tree.features.add("expansion")
        return Hole(self.text(node), name, is_quoted, tuple(defaults), is_simple)
