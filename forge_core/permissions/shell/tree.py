"""The syntax tree of a shell line, read into bare commands.

Where the grammar is known to see a line otherwise than bash does (here-documents, backquotes, continued
words), the reading checks it, and fails closed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from forge_core.permissions.programs.word_sets import table
from forge_core.permissions.shell.parser import (
    JOBS_IN_LOOPS,
    MAX_NODES,
    REDIRECTS,
    SUBEXPRESSIONS,
    WORDS,
    parsed,
    starts_jobs_in_loops,
)
from forge_core.permissions.shell.shell_words import (
    QUOTED_NOTHING,
    Hole,
    Piece,
    Pieces,
    ansi_c,
    as_written,
    expanded_count,
    in_double_quotes,
    plain,
    unquoted,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_WORDS = 500
_JOINT = re.compile(r"(?:\\\n)*")

_OWN_SHELL = table("subshell command_substitution process_substitution")
_LISTS = table("list pipeline negated_command")
_UNSEEN = re.compile(r"(?<!\\)(?:\\\\)*(?:`|\$[({\[])")
"""What would run or expand, in text that the parser took for plain."""
_BARE = table("word number variable_name special_variable_name")
_BORDER = re.compile(r"[\s;&|<>()`'\"]")
"""Ends a word that is not quoted."""
_DEFAULTS = table(":- - := = :+ +")
_BACKQUOTED = re.compile(r"(?<!\\)`((?:\\.|[^`\\])*)`", re.DOTALL)
_EXPANSION = re.compile(r"(?<!\\)\$[({\[]")
_UNCLEAR = "the end of a here-document is unclear"


Span = tuple[int, int]
"""Where something is in a text: the offsets of its first byte and of the one behind it."""


@dataclass(slots=True)
class BareCommand:
    """A command as it is written, its variables not yet put in."""

    text: str
    depth: int
    scope: tuple[int, ...]
    """The shells of their own that it runs in; what a `cd` changes stays within."""
    words: list[Pieces] = field(default_factory=list)
    assignments: list[tuple[str, Pieces]] = field(default_factory=list)
    redirects: list[tuple[str, Pieces]] = field(default_factory=list)
    """Operator and target."""
    fed: list[str] = field(default_factory=list)
    """Texts of here-documents and here-strings."""
    piped_from: tuple[Span, ...] = ()
    """Where the commands are whose output it reads through pipes."""
    span: Span = (0, 0)
    """Where it is in the text, as byte offsets."""


@dataclass(slots=True)
class Tree:
    """What a text consists of."""

    commands: list[BareCommand] = field(default_factory=list)
    variables: dict[str, list[Pieces]] = field(default_factory=dict)
    functions: set[str] = field(default_factory=set)
    scripts: list[tuple[str, int, tuple[int, ...]]] = field(default_factory=list)
    """Texts in backquotes, with depth and scope."""
    features: set[str] = field(default_factory=set)
    """What is evaluated besides the commands, by kind of node: arithmetic, `${x@P}` …"""
    brace_words: int = 0
    """How many words its braces expand to."""
    nodes: int = 0
    problem: str = ""
    """Why it could not be read; empty when it was."""


def read_tree(text: str, depth: int = 0, scope: tuple[int, ...] = (), max_nodes: int = MAX_NODES) -> Tree:
    """Parse `text`. Pure; never raises."""
    tree = Tree()
    try:
        source = text.encode()
    except UnicodeEncodeError:
        tree.problem = "it contains an unpaired surrogate"
        return tree
    root, tree.problem = parsed(text, source, max_nodes)
    if root is None:
        return tree
    tree.nodes = root.descendant_count
    if not tree.problem:
        _TreeReader(source, tree).visit(root, depth, scope)
        if b"&" in source and starts_jobs_in_loops(root):
            tree.features.add(JOBS_IN_LOOPS)
    return tree


def _last_of_list(node: Node) -> Node | None:
    """Return the last part of a list or pipeline that has a redirection; None for a single command."""
    body = node.child_by_field_name("body")
    if body is None or body.type not in _LISTS:
        return None
    while body.type in _LISTS and body.named_children:
        body = body.named_children[-1]
    return body


class _TreeReader:
    """Adds the commands of a syntax tree to `tree`. Words hold commands and commands words, so that one class
    reads both."""

    def __init__(self, source: bytes, tree: Tree) -> None:
        self.source = source
        self.tree = tree
        self.shells = 0
        self.word_depth = 0
        """How many words around the one that is being read."""

    def visit(
        self, node: Node, depth: int, scope: tuple[int, ...], *, piped_from: tuple[Span, ...] = ()
    ) -> None:
        kind = node.type
        if kind in _OWN_SHELL:
            if kind == "command_substitution" and self.source[node.start_byte] == ord("`"):
                # In backquotes bash removes the backslash before `$`, a backquote and a backslash, and only
                # then parses. The grammar does not, so that the text is read again as a script of its own.
                inner = self.text(node)[1:-1]
                self.tree.scripts.append(
                    (re.sub(r"\\([$`\\])", r"\1", inner), depth + 1, (*scope, self.shell()))
                )
                return
            depth, scope = depth + (kind != "subshell"), (*scope, self.shell())
        if kind in ("command", "redirected_statement", "variable_assignment", "variable_assignments"):
            self.command(node, depth, scope, piped_from)
        elif kind in ("declaration_command", "unset_command", "test_command"):
            if re.match(r"\[[^\[\s]|\[\[\S", self.text(node)):
                self.tree.problem = "its syntax is unclear"  # `[ab]` is a glob for a program's name
            self.declaration(node, depth, scope)
        elif kind == "pipeline":
            self.pipeline(node, depth, scope, piped_from)
        elif kind == "for_statement":
            self.loop(node, depth, scope)
        elif kind in WORDS and kind not in _OWN_SHELL:
            self.pieces(node, depth, scope)
        elif kind in REDIRECTS:
            bare = BareCommand(self.text(node), depth, scope, span=(node.start_byte, node.end_byte))
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
                    self.visit(child, depth, scope, piped_from=piped_from)

    def shell(self) -> int:
        self.shells += 1
        return self.shells

    def pipeline(self, node: Node, depth: int, scope: tuple[int, ...], piped_from: tuple[Span, ...]) -> None:
        for child in node.children:
            if child.is_named:
                self.visit(child, depth, (*scope, self.shell()), piped_from=piped_from)
                piped_from = (*piped_from, (child.start_byte, child.end_byte))

    def loop(self, node: Node, depth: int, scope: tuple[int, ...]) -> None:
        name = node.child_by_field_name("variable")
        values = [tuple(self.pieces(one, depth, scope)) for one in node.children_by_field_name("value")]
        for pieces in values:
            self.tree.variables.setdefault(self.text(name) if name else "", []).append(pieces)
        if (body := node.child_by_field_name("body")) is not None:
            self.visit(body, depth, scope)

    def declaration(self, node: Node, depth: int, scope: tuple[int, ...]) -> None:
        """`export A=b`, `unset a`, `[ -f x ]`, `[[ … ]]`: a command whose words are its operands."""
        bare = BareCommand(self.text(node), depth, scope, span=(node.start_byte, node.end_byte))
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

    def command(self, node: Node, depth: int, scope: tuple[int, ...], piped_from: tuple[Span, ...]) -> None:
        span = node.start_byte, node.end_byte
        bare = BareCommand(self.text(node), depth, scope, piped_from=piped_from, span=span)
        parts: list[Node] = []
        self.tree.commands.append(bare)
        self.gather(node, bare, parts)
        if node.type == "redirected_statement" and (last := _last_of_list(node)) is not None:
            bare = self.redirected(bare, last)
        end, before = -1, ""
        # Parts come from several nodes, since redirections hold words too: restore the order of the source.
        for part in sorted(parts, key=lambda one: one.start_byte):
            if re.fullmatch(
                r"\d+[<>]", self.source[part.start_byte : part.end_byte + 1].decode(errors="replace")
            ):
                continue  # `a \⏎ 2>b`: the number belongs to the redirection
            pieces = tuple(self.pieces(part, depth, scope))
            gap = self.source[end : part.start_byte].decode(errors="replace") if end >= 0 else " "
            # Two nodes with nothing or a continued line between them are one word to bash.
            if bare.words and _JOINT.fullmatch(gap):
                if before == "$" and self.source[part.start_byte : part.start_byte + 1] == b'"':  # $"…"
                    bare.words[-1] = (*bare.words[-1][:-1], str(bare.words[-1][-1])[:-1])
                bare.words[-1] += pieces
                self.tree.brace_words += expanded_count(bare.words[-1]) - 1
            else:
                if not bare.words and _is_torn(self.text(part)):
                    self.tree.problem = "its syntax is unclear"
                bare.words.append(pieces)
            end, before = part.end_byte, part.type
        if len(bare.words) > _MAX_WORDS:
            self.tree.problem = "it has too many words"
        if not (bare.words or bare.assignments or bare.redirects or bare.fed):
            self.tree.commands.remove(bare)

    def redirected(self, bare: BareCommand, last: Node) -> BareCommand:
        """Give the redirections of a list (`cd a && b > c`) to its last command, to which they belong in
        bash, and return it. Where that is no simple command, they follow all commands of the list."""
        commands = self.tree.commands
        del commands[next(at for at, one in enumerate(commands) if one is bare)]
        span = last.start_byte, last.end_byte
        for one in reversed(commands):
            if one.span == span and last.type == "command":
                one.redirects += bare.redirects
                one.fed += bare.fed
                return one
        commands.append(bare)
        return bare

    def gather(self, node: Node, bare: BareCommand, parts: list[Node]) -> None:
        """Sort the parts of a command: words, assignments, redirections; the rest is visited."""
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
                self.visit(child, bare.depth, bare.scope, piped_from=bare.piped_from)
        if node.type == "variable_assignment":
            # An assignment without a command: its value is not a word of a command.
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
        """Record a redirection; return the words of the command that follow it."""
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
            bare.fed.append(as_written(pieces))
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
                    self.pipeline(child, bare.depth, bare.scope, (*bare.piped_from, bare.span))
                case _ if child.is_named:
                    self.visit(child, bare.depth, bare.scope)
        if start is None or end is None:
            self.tree.problem = "a here-document has no end"
            return parts
        self.here_body(node, (start, end, body), bare)
        return parts

    def here_body(self, node: Node, ends: tuple[Node, Node, Node | None], bare: BareCommand) -> None:
        start, end, body = ends
        written, text = self.text(start), self.text(body) if body else ""
        behind = self.source[end.end_byte : end.end_byte + 1].decode(errors="replace")
        fault = _end_fault(written, text, self.text(end), behind, strips=node.children[0].type == "<<-")
        self.tree.problem = self.tree.problem or fault
        bare.fed.append(text)
        bare.redirects.append(("<<", ()))
        if body is None or re.search(r"['\"\\]", written):
            return
        # The delimiter is not quoted, so bash expands the document and runs the substitutions in it.
        seen = [child for child in body.children if child.type != "heredoc_content"]
        for child in seen:
            self.pieces(child, bare.depth, bare.scope)
        for script in _scripts_in(text):
            self.tree.scripts.append((script, bare.depth + 1, (*bare.scope, self.shell())))
        self.tree.problem = self.tree.problem or _hidden_fault(text, [self.text(one) for one in seen])

    def text(self, node: Node) -> str:
        return self.source[node.start_byte : node.end_byte].decode(errors="replace")

    def pieces(
        self, node: Node, depth: int, scope: tuple[int, ...], *, is_quoted: bool = False
    ) -> list[Piece]:
        """Return what a word is put together from; commands in it are visited."""
        self.word_depth += 1
        found = self.pieces_of(node, depth, scope, is_quoted=is_quoted)
        self.word_depth -= 1
        # Only a whole word is counted: the braces of its parts multiply with each other.
        if not self.word_depth and (count := expanded_count(found)) > 1:
            self.tree.brace_words += count
        return found

    def pieces_of(self, node: Node, depth: int, scope: tuple[int, ...], *, is_quoted: bool) -> list[Piece]:
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
                # The words in a substitution are counted by themselves; they do not multiply with this word's
                # braces.
                outer, self.word_depth = self.word_depth, 0
                self.visit(node, depth, scope)
                self.word_depth = outer
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
            self.tree.problem = "its syntax is unclear"  # the grammar takes `a⏎\b` for one command
        for child in node.named_children:
            self.visit(child, depth, scope)
        return [unquoted(text)]

    def part(self, node: Node, depth: int, scope: tuple[int, ...]) -> list[Piece]:
        """Return a piece of a concatenation; the `$` of `$"…"` is none."""
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
            self.tree.problem = "its syntax is unclear"
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


def _is_torn(program: str) -> bool:
    """Return whether the grammar took a brace of the word for one that groups commands."""
    is_plain = len(program) > 1 and re.search(r"[$'\"\\]", program) is None
    return is_plain and program.count("{") != program.count("}")


def _end_fault(written: str, body: str, end: str, behind: str, *, strips: bool) -> str:
    """Return why bash may see the document end elsewhere than the parser; nothing when it does not.
    `written` is the word after `<<`, `end` the line that closes it, `behind` the character after that."""
    delimiter = re.sub(r"\\(.)|['\"]", r"\1", written)
    lines = [line.lstrip("\t") if strips else line for line in body.split("\n")]
    closes = end.lstrip("\t") if strips else end
    if delimiter in lines or closes != delimiter or re.search(r"[$`\n]", written) or behind not in ("", "\n"):
        return _UNCLEAR
    # Unless the delimiter is quoted, bash joins continued lines before it compares them with the delimiter.
    continued = re.search(r"\\\n", body) if not re.search(r"['\"\\]", written) else None
    return _UNCLEAR if continued and delimiter in body.replace("\\\n", "").split("\n") else ""


def _scripts_in(body: str) -> list[str]:
    """Return what is in backquotes in a document whose word was not quoted: bash runs it."""
    return [re.sub(r"\\([$`\\])", r"\1", found) for found in _BACKQUOTED.findall(body)]


def _hidden_fault(body: str, seen: Sequence[str]) -> str:
    """Return a problem when the document holds an expansion that is in none of those that the parser has
    `seen`, else nothing."""
    found = sum(len(_EXPANSION.findall(one)) for one in seen)
    return "a here-document is unclear" if len(_EXPANSION.findall(body)) > found else ""
