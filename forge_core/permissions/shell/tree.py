"""The syntax tree of a shell line, read into bare commands.

Where the grammar is known to see a line otherwise than bash does (here-documents, backquotes, continued
words), the reading checks it, and fails closed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from forge_core.permissions.programs.word_sets import table
from forge_core.permissions.shell.bare_commands import BareCommand, Tree
from forge_core.permissions.shell.here_documents import end_fault, hidden_fault, scripts_in
from forge_core.permissions.shell.parser import MAX_NODES, REDIRECTS, SUBEXPRESSIONS, WORDS, parsed
from forge_core.permissions.shell.word_pieces import WordReader
from forge_core.permissions.shell.words import Piece, plain

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_WORDS = 500
_JOINT = re.compile(r"(?:\\\n)*")

_OWN_SHELL = table("subshell command_substitution process_substitution")


def read_tree(text: str, depth: int = 0, scope: tuple[int, ...] = (), max_nodes: int = MAX_NODES) -> Tree:
    """Parses `text`. Pure; never raises."""
    tree = Tree()
    try:
        source = text.encode()
    except UnicodeEncodeError:
        tree.problem = "it holds half of a surrogate pair"
        return tree
    root, tree.problem = parsed(text, source, max_nodes)
    if root is not None:
        tree.nodes = root.descendant_count
    if root is not None and not tree.problem:
        _Walk(source, tree).visit(root, depth, scope)
    return tree


class _Walk(WordReader):
    shells = 0

    def visit(self, node: Node, depth: int, scope: tuple[int, ...], *, is_piped: bool = False) -> None:
        kind = node.type
        if kind in _OWN_SHELL:
            if kind == "command_substitution" and self.source[node.start_byte] == ord("`"):
                inner = self.text(node)[1:-1]
                self.tree.scripts.append(
                    (re.sub(r"\\([$`\\])", r"\1", inner), depth + 1, (*scope, self.shell()))
                )
                return
            depth, scope = depth + (kind != "subshell"), (*scope, self.shell())
        if kind in ("command", "redirected_statement", "variable_assignment", "variable_assignments"):
            self.command(node, depth, scope, is_piped)
        elif kind in ("declaration_command", "unset_command", "test_command"):
            if re.match(r"\[[^\[\s]|\[\[\S", self.text(node)):
                self.tree.problem = "its syntax is not clear"  # `[ab]` is a glob for a program's name
            self.declaration(node, depth, scope)
        elif kind == "pipeline":
            self.pipeline(node, depth, scope, is_piped)
        elif kind == "for_statement":
            self.loop(node, depth, scope)
        elif kind in WORDS and kind not in _OWN_SHELL:
            self.pieces(node, depth, scope)
        elif kind in REDIRECTS:
            bare = BareCommand(self.text(node), depth, scope)
            self.redirect(node, bare)
            self.tree.commands.append(bare)
        else:
            if kind == "function_definition":
                name = node.child_by_field_name("name")
                self.tree.functions.add(self.text(name) if name else "")
            elif kind in SUBEXPRESSIONS or kind == "c_style_for_statement":
                self.tree.features.add(kind)
            elif kind == "compound_statement" and self.source[node.start_byte : node.start_byte + 2] == b"((":
                self.tree.features.add("arithmetic")
            for child in node.children:
                if child.is_named:
                    self.visit(child, depth, scope, is_piped=is_piped)

    def shell(self) -> int:
        self.shells += 1
        return self.shells

    def pipeline(self, node: Node, depth: int, scope: tuple[int, ...], is_piped: bool) -> None:
        for child in node.children:
            if child.type in ("|", "|&"):
                is_piped = True
            elif child.is_named:
                self.visit(child, depth, (*scope, self.shell()), is_piped=is_piped)

    def loop(self, node: Node, depth: int, scope: tuple[int, ...]) -> None:
        name = node.child_by_field_name("variable")
        values = [tuple(self.pieces(one, depth, scope)) for one in node.children_by_field_name("value")]
        for pieces in values:
            self.tree.variables.setdefault(self.text(name) if name else "", []).append(pieces)
        body = node.child_by_field_name("body")
        if body is not None:
            self.visit(body, depth, scope)

    def declaration(self, node: Node, depth: int, scope: tuple[int, ...]) -> None:
        """`export A=b`, `unset a`, `[ -f x ]`, `[[ … ]]`: a command whose words are what stands there."""
        bare = BareCommand(self.text(node), depth, scope)
        self.flat(node, bare)
        self.tree.commands.append(bare)

    def flat(self, node: Node, bare: BareCommand) -> None:
        is_bracket = self.source[node.start_byte : node.start_byte + 2] not in (b"[[", b"((")
        for child in node.children:
            if is_bracket and re.fullmatch(r"[<>]+[&|]?", self.text(child)):
                bare.redirects.append((">", (self.text(node),)))  # `[ a > b ]` writes b
            if child.type == "variable_assignment":
                self.assignment(child, bare)
                bare.words.append((plain(self.text(child)),))
            elif child.type in WORDS or not child.child_count:
                bare.words.append(tuple(self.pieces(child, bare.depth, bare.scope)))
            elif child.type in SUBEXPRESSIONS:
                self.flat(child, bare)
            else:
                self.visit(child, bare.depth, bare.scope)

    def command(self, node: Node, depth: int, scope: tuple[int, ...], is_piped: bool) -> None:
        bare = BareCommand(self.text(node), depth, scope, is_piped=is_piped)
        parts: list[Node] = []
        self.tree.commands.append(bare)
        self.gather(node, bare, parts)
        end, before = -1, ""
        for part in sorted(parts, key=lambda one: one.start_byte):
            if re.fullmatch(
                r"\d+[<>]", self.source[part.start_byte : part.end_byte + 1].decode(errors="replace")
            ):
                continue  # `a \⏎ 2>b`: the number belongs to the redirection
            pieces = tuple(self.pieces(part, depth, scope))
            gap = self.source[end : part.start_byte].decode(errors="replace") if end >= 0 else " "
            if bare.words and _JOINT.fullmatch(gap):
                if before == "$" and self.source[part.start_byte : part.start_byte + 1] == b'"':  # $"…"
                    bare.words[-1] = (*bare.words[-1][:-1], str(bare.words[-1][-1])[:-1])
                bare.words[-1] += pieces
            else:
                if not bare.words and _is_torn(self.text(part)):
                    self.tree.problem = "its syntax is not clear"
                bare.words.append(pieces)
            end, before = part.end_byte, part.type
        if len(bare.words) > _MAX_WORDS:
            self.tree.problem = "it has too many words"
        if not (bare.words or bare.assignments or bare.redirects or bare.fed):
            self.tree.commands.remove(bare)

    def gather(self, node: Node, bare: BareCommand, parts: list[Node]) -> None:
        """Sorts what stands in a command: words, assignments, redirections; the rest is visited."""
        for child in node.children:
            kind = child.type
            if kind == "variable_assignment":
                self.assignment(child, bare)
            elif kind == "variable_assignments":
                self.gather(child, bare, parts)
            elif kind in REDIRECTS:
                parts += self.redirect(child, bare)
            elif kind in ("command", "command_name") and node.type in ("redirected_statement", "command"):
                self.gather(child, bare, parts)
            elif kind in WORDS:
                parts.append(child)
            elif child.is_named:
                if node.type == "variable_assignment":
                    continue
                self.visit(child, bare.depth, bare.scope, is_piped=bare.is_piped)
        if node.type == "variable_assignment":
            del parts[:]
            self.assignment(node, bare)

    def assignment(self, node: Node, bare: BareCommand) -> None:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        pieces: list[Piece] = []
        named = self.text(name) if name else ""
        if name is not None and name.type == "subscript":
            self.visit(name, bare.depth, bare.scope)
            named = named.partition("[")[0]
        known = [pieces]
        if value is not None and value.type == "array":
            known = [self.pieces(one, bare.depth, bare.scope) for one in value.named_children]
        elif value is not None:
            pieces += self.pieces(value, bare.depth, bare.scope)
        for one in known:
            self.tree.variables.setdefault(named, []).append(tuple(one))
            bare.assignments.append((named, tuple(one)))

    def redirect(self, node: Node, bare: BareCommand) -> list[Node]:
        """Notes a redirection; returns words of the command that stand after it."""
        if node.type == "heredoc_redirect":
            return self.here_document(node, bare)
        operator, target, rest = "", None, []
        for child in node.children:
            if child.type == "file_descriptor":
                continue
            if not operator:
                operator = child.type
            elif target is None or (not rest and target and child.start_byte == target[-1].end_byte):
                target = [*(target or []), child]
            else:
                rest.append(child)
        pieces = tuple(piece for one in target or () for piece in self.pieces(one, bare.depth, bare.scope))
        if operator == "<<<":
            bare.fed.append("".join(plain(one) if isinstance(one, str) else one.raw for one in pieces))
        bare.redirects.append((operator, pieces))
        return rest

    def here_document(self, node: Node, bare: BareCommand) -> list[Node]:
        parts: list[Node] = []
        start = end = body = None
        for child in node.children:
            match child.type:
                case "heredoc_start":
                    start = child
                case "heredoc_end":
                    end = child
                case "heredoc_body":
                    body = child
                case kind if kind in WORDS:
                    parts.append(child)
                case kind if kind in REDIRECTS:
                    parts += self.redirect(child, bare)
                case "pipeline":
                    self.pipeline(child, bare.depth, bare.scope, True)
                case _ if child.is_named:
                    self.visit(child, bare.depth, bare.scope)
        if start is None or end is None:
            self.tree.problem = "a here-document in it has no end"
            return parts
        self.here_body(node, (start, end, body), bare)
        return parts

    def here_body(self, node: Node, ends: tuple[Node, Node, Node | None], bare: BareCommand) -> None:
        start, end, body = ends
        written, text = self.text(start), self.text(body) if body else ""
        behind = self.source[end.end_byte : end.end_byte + 1].decode(errors="replace")
        fault = end_fault(written, text, self.text(end), behind, strips=node.children[0].type == "<<-")
        self.tree.problem = self.tree.problem or fault
        bare.fed.append(text)
        bare.redirects.append(("<<", ()))
        if body is None or re.search(r"['\"\\]", written):
            return
        seen = [child for child in body.children if child.type != "heredoc_content"]
        for child in seen:
            self.pieces(child, bare.depth, bare.scope)
        for script in scripts_in(text):
            self.tree.scripts.append((script, bare.depth + 1, (*bare.scope, self.shell())))
        self.tree.problem = self.tree.problem or hidden_fault(text, [self.text(one) for one in seen])


def _is_torn(program: str) -> bool:
    """Whether the grammar took a brace of the word for one that groups commands."""
    return (
        len(program) > 1
        and re.search(r"[$'\"\\]", program) is None
        and program.count("{") != program.count("}")
    )
