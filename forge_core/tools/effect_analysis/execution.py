"""Which commands of a shell text have certainly run, given that its shell has ended, or ended successfully.

In `a && b > f` an exit status of 0 proves that both ran; in `a || b` it proves nothing about `b`. The exit
status is known only later, so each command gets the `Proof` that is required. Unknown syntax proves nothing:
a wrong proof would attribute the user's writes to the command.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from forge_core.permissions.programs.word_sets import table
from forge_core.tools.effect_analysis.command_words import parsed_source
from forge_core.undo.expected_effects import Proof

if TYPE_CHECKING:
    from tree_sitter import Node

_MAY_END = re.compile(
    r"(?<![\w./-])(?:exit|exec|return|break|continue|logout|trap|eval|source|shopt|alias|unalias|enable|set|"
    r"[pk]*kill(?:all)?)(?![\w./-])|(?:^|[;&|(\n])\s*\.\s"
)
"""Commands that may end a shell early, or change the meaning of later words."""
_STRICT = re.compile(r"set(?:\s+(?:-[eux]+|-[eux]*o\s+(?:pipefail|errexit|nounset)|pipefail))+")
"""`set -e` and similar options only make a shell end earlier, and then with a failure."""
_FATAL_EXPANSION = re.compile(r"\$\{\w*[^\w}]|\$\(\(|\$\[")
"""Expansions that may end a shell with a failure before the command starts: `${x:?}`, `$((1 / 0))`."""
_INFALLIBLE = re.compile(r":|true|(?:echo|sleep)(?:[ \t]+(?:[\w./,:=+-]+|'[^']*'|\"[^\"$`\\]*\"))*")
_CD = re.compile(r"cd[ \t]+([\w./-]+)")
_COMMANDS = table(
    "command variable_assignment variable_assignments declaration_command unset_command test_command"
)

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Execution:
    """What proves that a command was started with its redirections opened, and that it has succeeded."""

    reached: Proof = Proof.NONE
    succeeded: Proof = Proof.NONE

    def __and__(self, other: Execution) -> Execution:
        """Return the weaker proofs of both."""
        return Execution(min(self.reached, other.reached), min(self.succeeded, other.succeeded))


UNPROVEN = Execution()
WHOLE_LINE = Execution(Proof.END, Proof.SUCCESS)
"""The proofs of a line whose own exit status becomes known."""


def executions(text: str, whole: Execution, cwd: Path) -> Executions:
    """Return what proves each command of a shell that runs `text` in `cwd`; `whole` proves the text
    itself."""
    root, source = parsed_source(text)
    result = Executions(source, cwd)
    if root is not None:
        result.sequence(root, whole)
    return result


class Executions:
    """The commands of one text, by their spans."""

    def __init__(self, source: bytes, cwd: Path) -> None:
        self._source = source
        self._cwd = cwd
        self.found: dict[Span, Execution] = {}
        self.redirected: dict[Span, Span] = {}
        """Redirection at the end of a list → the last command of the list, whose output it receives."""

    def of(self, span: Span) -> Execution:
        return self.found.get(span, UNPROVEN)

    def sequence(self, node: Node, whole: Execution) -> None:
        """Read consecutive statements; the status of the last is the status of all."""
        statements = [child for child in node.children if child.is_named and child.type != "comment"]
        reached, is_strict = whole.reached, False
        for number, one in enumerate(statements, 1):
            is_last = number == len(statements)
            in_background = one.next_sibling is not None and one.next_sibling.type == "&"
            succeeded = whole.succeeded if is_last else Proof.NONE
            # After `set -e` a success of the shell proves the success of every plain statement.
            if is_strict and not is_last and self._ends_strict_shell(one):
                succeeded = min(Proof.SUCCESS, whole.succeeded, reached)
            text = self._text(one)
            if _FATAL_EXPANSION.search(text):
                reached = min(reached, whole.succeeded)
            if not in_background:
                self.statement(one, Execution(reached, min(reached, succeeded)))
            # `reached` only ever gets weaker: nothing after an uncertain statement is more certain than it.
            if _STRICT.fullmatch(text):
                is_strict, reached = True, min(reached, whole.succeeded)
            elif _MAY_END.search(text):
                reached = Proof.NONE

    def statement(self, node: Node, here: Execution) -> None:
        match node.type:
            case "list":
                self._list(node, here)
            case "pipeline":
                self._pipeline(node, here)
            case "redirected_statement":
                self._redirected(node, here)
            case "negated_command":
                for child in node.named_children:
                    self.statement(child, Execution(here.reached))
            case "subshell":
                self.sequence(node, here)
            case "compound_statement" if self._text(node).startswith("{"):
                self.sequence(node, here)
            case "if_statement" | "while_statement":
                condition = node.child_by_field_name("condition")
                if condition is not None:
                    self.statement(condition, Execution(here.reached))
            case kind if kind in _COMMANDS:
                self.found[node.start_byte, node.end_byte] = here

    def _list(self, node: Node, here: Execution) -> None:
        if len(node.named_children) != 2:
            return
        first, second = node.named_children
        if node.children[1].type == "||":
            self.statement(first, Execution(here.reached))
            return
        self.statement(first, here)
        reached = here.reached if self._is_infallible(first) else here.succeeded
        if _MAY_END.search(self._text(first)):
            reached = Proof.NONE
        self.statement(second, Execution(reached, min(reached, here.succeeded)))

    def _pipeline(self, node: Node, here: Execution) -> None:
        parts = node.named_children
        if any(self._holds_list(part) for part in parts):
            return  # `a && b > f | c`: the grammar binds the list tighter than bash does
        for part in parts:
            self.statement(part, here if part is parts[-1] else Execution(here.reached))

    def _redirected(self, node: Node, here: Execution) -> None:
        body, span = node.child_by_field_name("body"), (node.start_byte, node.end_byte)
        if body is None or body.type == "command":
            self.found[span] = here
            return
        # A compound body starts only after its redirections have been opened; a list opens them at its end.
        opens_first = body.type not in ("list", "pipeline", "negated_command")
        self.statement(body, Execution(here.succeeded, here.succeeded) if opens_first else here)
        last = body
        while last.type in ("list", "pipeline", "negated_command"):
            last = last.named_children[-1]
        inner = last.start_byte, last.end_byte
        if last is body:
            self.found[span] = here
        else:
            self.found[span] = self.of(inner)
            self.redirected[span] = inner

    def _holds_list(self, node: Node) -> bool:
        body = node.child_by_field_name("body") if node.type == "redirected_statement" else node
        return body is not None and body.type in ("list", "negated_command", "redirected_statement")

    def _ends_strict_shell(self, node: Node) -> bool:
        """Return whether a failure of this statement ends a shell after `set -e`."""
        body = node.child_by_field_name("body") if node.type == "redirected_statement" else node
        return body is not None and body.type in ("command", "pipeline")

    def _is_infallible(self, node: Node) -> bool:
        text = self._text(node)
        folder = _CD.fullmatch(text)
        return _INFALLIBLE.fullmatch(text) is not None or (
            folder is not None and self._source.count(b"cd") == 1 and (self._cwd / folder[1]).is_dir()
        )

    def _text(self, node: Node) -> str:
        return self._source[node.start_byte : node.end_byte].decode(errors="replace")
