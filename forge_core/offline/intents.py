# ruff: noqa: E501  a table: one expression a line reads best unbroken
"""The intents, and the shorthand in which the table words their patterns.

In a pattern a space is any space, `@word` is a macro of `MACROS` and `%name` a named argument of `ARGUMENTS`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from forge_core.offline.wording import QUOTED


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
    MEASURE = "measure"
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


MACROS = {
    "the": r"(?:(?:me|us|the|teh|this|that|these|those|a|an|my|our|your|all|any|every|each|some|of|entire|whole|full|current|new|existing) )*",
    "find": r"(?:find(?: out)?|locate|look for|look up|search(?: for)?|hunt for|where is|where's|where are|show(?: me)? where is|get)",
    "show": r"(?:show|read|open|cat|go to|goto|jump to|take me to|print|display|view|see|look at|look into|look in|dump|peek at|bring up|pull up|let me (?:see|look at|look into|check|read)|give me|get|bat|less|take a look at|have a look at|type out|inspect)",
    "explain": r"(?:explain|outline|summari[sz]e|describe|analy[sz]e|sum up|walk me through|walk through|tell me about|give me (?:an? )?(?:overview|outline|summary|description) of|(?:an? )?(?:overview|outline|summary|structure) of|review the structure of|what's in the module|document)",
    "list": r"(?:list|show|display|print|enumerate|give me|see|which are|what are)",
    "in": r"(?:in|inside|within|under|of|from|through|across|at)",
    "file": r"@the(?:file |files |module |script |document |contents? of @the(?:file )?)?%file(?: file| module| script)?",
    "place": r"(?: @in @the(?:file |files |folder |directory |package |module |dir )?%path(?: files?| folder| directory| package| module| dir)?)?",
    "kind": r"(?:(?P<kind>functions?|funcs?|class(?:es)?|methods?|defs?|definitions?|declarations?|variables?|vars?|constants?|types?|structs?|interfaces?|enums?|traits?|modules?|macros?|symbols?|fixtures?|exceptions?|attributes?|fields?|property|properties|decorators?|procedures?|routines?|names?)(?: definition)? (?:of |for |named |called )?@the)",
    "code": r"(?:function|func|class|method|def|struct|interface|enum|trait|macro|fixture|exception|decorator)",
    "text": r"(?:text|string|word|phrase|typo|name|pattern|regexp?|regular expression|term|literal|expression|keyword|message|lines? (?:with|containing|that contains?|matching|that says?)|lines?|occurrences? of|mentions? of|instances? of)",
    "change": r"(?:fix|debug|refactor|implement|optimi[sz]e|improve|review|translate|port|convert|design|solve|rewrite|simplify|clean up|cleanup|migrate|modernize|modernise|upgrade|update|bump|change|remove|delete|speed up|profile|build|develop|code|program|generate|write|create|add|make|extend|complete|finish|finali[sz]e|draft|compose|invent|brainstorm|plan|suggest|propose|recommend|advise|compare|evaluate|critique|audit|secure|type|annotate|comment|test|format|reformat|lint|beautify)",
    "changed": r"(?:wrote|written|changed?|touch(?:ed)?|edit(?:ed)?|committed|modif(?:y|ied)|updated?|created?|add(?:ed)?|authored|maintains?|owns?|worked on)",
    "repo": r"(?:project|repo(?:sitory)?|code ?base|code|folder|directory|workspace|package|app|application|library|program|source tree|sources?)",
    "tests": r"(?:unit |integration |test )?(?:tests?|test ?suites?|specs?|suite|unittests?|checks)",
    "changes": r"(?:uncommitted |unstaged |local |git |recent |working |file |my )*(?:changes?|modifications?|edits?|status|modified files|changed files)",
    "where": r"(?:with|by|to|for|into|->|=>|→|as)(?: the (?:word|text|string|phrase|name))?",
    "ref": r"(?:(?:the |number |no\.? ?|result |hit |match |file |item |option |commit |entry |#)*(?P<nth>\d{1,3}|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last|one|two|three|four|five)(?:st|nd|rd|th)?(?: one| commit| result| hit| file| match| entry| item| of them| suggestion| option)?|it|that|this|them|that one|this one|(?:that|this|the|same) (?:same )?(?:file|one|result|match|function|class|definition)|the whole (?:file|thing)|all of it)",
}
ARGUMENTS = {
    "file": rf"(?P<file>{QUOTED}|[^\s,;?!]+)",
    "path": rf"(?P<path>{QUOTED}|[^\s,;?!]+)",
    "other": rf"(?P<other>{QUOTED}|[^\s,;?!]+)",
    "dotted": rf"(?P<file>{QUOTED}|[^\s,;?!]*[\w*\]}}]?\.[A-Za-z*][\w*]*|[^\s,;?!]*/[^\s,;?!]*|(?:README|LICEN[CS]E|Makefile|Dockerfile|CHANGELOG|Procfile|Gemfile|Rakefile|Justfile|Jenkinsfile|NOTICE|AUTHORS|CONTRIBUTING)[\w.]*|\.[\w.-]+)",
    "name": rf"(?P<name>{QUOTED}|[A-Za-z_$][\w$]*(?:(?:\.|::|->|#)[\w$]+)*(?:\(\))?)",
    "symbol": rf"(?P<name>{QUOTED}|[A-Za-z_$][\w$]*(?:(?:\.|::)[\w$]+)*\(\)|\w*_\w+|(?-i:[a-z]+[A-Z]\w*|(?:[A-Z][a-z0-9]+){{2,}})|[A-Za-z_]\w*(?:\.|::)[A-Za-z_]\w*)",
    "glob": r"(?P<glob>[^\s,;?!]*\*[^\s,;?!]*|\*?\.[A-Za-z]\w{0,9})",
    "quoted": rf"(?P<text>{QUOTED})",
    "text": r"(?P<text>.+?)",
    "old": r"(?P<old>.+?)",
    "new": r"(?P<new>.+?)",
    "content": r"(?P<content>.+)",
    "command": r"(?P<command>.+)",
    "n": r"(?P<n>\d{1,7})",
    "a": r"(?P<a>\d{1,7})",
    "b": r"(?P<b>\d{1,7})",
    "language": r"(?P<language>python|javascript|js|typescript|ts|markdown|md|rust|go|golang|c|c\+\+|cpp|java|kotlin|swift|ruby|php|shell|bash|sh|html|css|json|yaml|yml|toml|xml|sql|text|txt|test|config|header|image|lua|perl|scala|r)",
}


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
def compiled(*, last: bool = False) -> tuple[tuple[Intent, re.Pattern[str]], ...]:
    """The table, compiled once on the first request (about 40 ms, so never at import)."""
    from forge_core.offline.intent_table import LAST, TABLE

    found = LAST if last else TABLE
    return tuple((row.intent, compile_pattern(pattern)) for row in found for pattern in row.patterns)


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
