"""The intents, and the shorthand in which the table words their patterns.

In a pattern a space is any space, `@word` is a macro of `MACROS` and `%name` a named argument of `ARGUMENTS`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from forge_core.llm.offline.intent_grammar import ARGUMENTS, MACROS


class Intent(StrEnum):
    GREET = "greet"
    THANKS = "thanks"
    ACK = "ack"
    BYE = "bye"
    HELP = "help"
    WHO = "who"
    CONNECT = "connect"
    AGAIN = "again"
    PICK = "pick"
    MORE = "more"
    OVERVIEW = "overview"
    LIST = "list"
    FIND_FILES = "find_files"
    DEFINITION = "definition"
    USAGES = "usages"
    TEXT = "text"
    READ = "read"
    EXPLAIN = "explain"
    EXPLAIN_SYMBOL = "explain_symbol"
    CREATE = "create"
    REPLACE = "replace"
    APPEND = "append"
    DELETE_LINE = "delete_line"
    MOVE_FILE = "move_file"
    DELETE_FILE = "delete_file"
    MAKE_FOLDER = "make_folder"
    RUN = "run"
    BACKGROUND = "background"
    JOB_OUTPUT = "job_output"
    JOB_STOP = "job_stop"
    PLAN = "plan"
    ASK_ME = "ask_me"
    TESTS = "tests"
    CHANGES = "changes"
    DIFF = "diff"
    LOG = "log"
    BRANCH = "branch"
    UNDO = "undo"
    COMMIT = "commit"
    FACTS = "facts"
    TOPIC = "topic"
    BEYOND = "beyond"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class IntentSpec:
    """One row: what it is, how people say it, and how the help text shows it."""

    intent: Intent
    patterns: tuple[str, ...]
    group: str = ""
    example: str = ""


_HEAD = re.compile(r"\[(\w+)(?: \| (\w+) \| (.+))?\]")


def rows(text: str) -> tuple[IntentSpec, ...]:
    """The rows of a table that is written as text."""
    found: list[tuple[re.Match[str], list[str]]] = []
    for line in text.strip().split("\n"):
        head = _HEAD.fullmatch(line)
        if head:
            found.append((head, []))
        else:
            found[-1][1].append(line)
    return tuple(
        IntentSpec(Intent(head[1]), tuple(lines), head[2] or "", head[3] or "") for head, lines in found
    )


@cache
def compiled() -> tuple[tuple[Intent, re.Pattern[str]], ...]:
    """The table, compiled once on the first request (about 40 ms, so never at import)."""
    from forge_core.llm.offline.intent_table import TABLE

    return tuple((row.intent, compile_pattern(pattern)) for row in TABLE for pattern in row.patterns)


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """A pattern of the table as a regular expression over a whole step. A name that stands twice (in two
    alternatives) gets a number: `path`, `path__2`; `argument_name` takes it off."""
    for _ in range(4):  # macros stand in macros, at most three deep
        pattern = re.sub(r"@([a-z]+)", lambda found: MACROS[found[1]], pattern)
    pattern = re.sub(r"(?<!\\)%([a-z]+)", lambda found: ARGUMENTS[found[1]], pattern)
    seen: dict[str, int] = {}

    def numbered(group: re.Match[str]) -> str:
        name = group[1]
        seen[name] = seen.get(name, 0) + 1
        return f"(?P<{name}>" if seen[name] == 1 else f"(?P<{name}__{seen[name]}>"

    return re.compile(re.sub(r"\(\?P<(\w+)>", numbered, pattern), re.I)


def argument_name(group: str) -> str:
    """The argument that a group of a compiled pattern holds."""
    return group.split("__", 1)[0]
