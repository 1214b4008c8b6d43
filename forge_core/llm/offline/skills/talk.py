"""Greetings, help, what this model is, and asking back."""

from __future__ import annotations

import re

from forge_core.llm.offline import code_shape, phrases
from forge_core.llm.offline.intent_table import TABLE
from forge_core.llm.offline.memory import Memory
from forge_core.llm.offline.parse import Request
from forge_core.llm.offline.skills.reading import names_in
from forge_core.llm.offline.steps import Batch, Outcome, Say, Skill, ask
from forge_core.llm.offline.test_commands import test_command

from collections.abc import Generator  # isort: skip

_SOURCE = re.compile(
    r"^(?!\.|(?:tests?|docs?|examples?|scripts?|benchmarks?)/)(?!.*(?:^|/)(?:__\w+__|conftest|setup)\.)"
    r".*\.(?!md|toml|json|ya?ml|html?|css|xml|sql)\w+$"
)
_GROUPS = ("Look", "Find", "Read", "Change", "Run", "Git", "More")
_PLAIN = ("list the files", "explain this project", "what changed?")


def greet(request: Request, memory: Memory) -> Skill:
    suggestions = yield from fitting(memory)
    listing = phrases.numbered(f"`{item}`" for item in suggestions)
    return f"{phrases.GREETING}\n\n{listing}\n\n`help` shows all I understand."


def thanks(request: Request, memory: Memory) -> Skill:
    yield from ()
    return phrases.THANKS


def acknowledge(request: Request, memory: Memory) -> Skill:
    yield from ()
    return phrases.ACKNOWLEDGED


def bye(request: Request, memory: Memory) -> Skill:
    yield from ()
    return phrases.BYE


def who(request: Request, memory: Memory) -> Skill:
    yield from ()
    return phrases.WHO


def connect(request: Request, memory: Memory) -> Skill:
    yield from ()
    return phrases.CONNECT


def help_(request: Request, memory: Memory) -> Skill:
    """The table's examples, by group."""
    yield from ()
    groups: dict[str, list[str]] = {group: [] for group in _GROUPS}
    for row in TABLE:
        if row.example:
            groups[row.group].append(row.example)
    listing = "\n".join(
        f"- **{group}**: " + ", ".join(phrases.code(item) for item in examples)
        for group, examples in groups.items()
    )
    return (
        "I am the offline model and understand plain requests about this folder. Some to start from:\n\n"
        f"{listing}\n\nSeveral steps work too (`find the function main, then read it`), and so do `it`, "
        "`the second one`, `more` and `again`. "
        "Before I change a file or run a command, Forge asks you."
    )


def beyond(request: Request, memory: Memory) -> Skill:
    return phrases.beyond(request.text, (yield from fitting(memory)))


def unknown(request: Request, memory: Memory) -> Skill:
    """Asks back, with three requests that fit the folder."""
    if not memory.tools and _asks_for_summary(request.text):
        return summary(memory, request.text)
    return phrases.not_understood(request.text, (yield from fitting(memory)))


def fitting(memory: Memory) -> Generator[Say | Batch, tuple[Outcome, ...], list[str]]:
    """Three requests that make sense in this folder, from a look at its names."""
    if "ls" not in memory.tools:
        return list(_PLAIN)
    names = names_in((yield from ask("ls", depth=2)))
    if not names:
        return ["create notes.md with 'first line'", "run git init", "help"]
    readme = next((name for name in names if name.lower().startswith("readme")), "")
    source = next((name for name in names if _SOURCE.search(name) and code_shape.fence_language(name)), "")
    found = ["explain this project" if readme else "list the files"]
    found += [f"outline {source}"] if source else []
    found += ["run the tests"] if test_command(names) else []
    found += [f"read {readme}"] if readme else []
    return [*found, *(item for item in _PLAIN if item not in found)][:3]


def _asks_for_summary(text: str) -> bool:
    return bool(
        re.search(r"summar|condense|compact", text, re.I)
        and re.search(r"conversation|dialog|messages|history|transcript|chat", text, re.I)
    )


def summary(memory: Memory, text: str) -> str:
    """What was asked and which files were touched, taken from the conversation itself (for compaction)."""
    asked = [exchange.request.split("\n")[0][:200] for exchange in memory.exchanges if exchange.request]
    asked += [line[:200] for line in re.findall(r"^(?:user|human)\s*:\s*(.+)$", text, re.I | re.MULTILINE)]
    files = [
        str(done.call.arguments.get("file_path"))
        for exchange in memory.exchanges
        for done in exchange.done
        if done.call.arguments.get("file_path")
    ]
    files += re.findall(r"\"file_path\":\s*\"([^\"]+)\"", text)
    parts = ["The person asked:\n" + "\n".join(f"- {line}" for line in asked[-40:])] if asked else []
    parts += ["Files that were read or changed: " + ", ".join(dict.fromkeys(files))] if files else []
    return "\n\n".join(parts) or "Nothing was asked so far."


def nothing_before(request: Request, memory: Memory) -> Skill:
    yield from ()
    return phrases.NOTHING_BEFORE


def nothing_listed(request: Request, memory: Memory) -> Skill:
    yield from ()
    return (
        f"I listed nothing that {phrases.code(request.text)} could stand for. `help` shows what I understand."
    )
