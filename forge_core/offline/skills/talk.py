"""Greetings, help, what this model is, and asking back."""

from __future__ import annotations

import re
from collections.abc import Callable

from forge_core.offline import phrases
from forge_core.offline.intents import TABLE, Request
from forge_core.offline.memory import Memory
from forge_core.offline.phrases import code
from forge_core.offline.skills.search import seek
from forge_core.offline.steps import Skill

_GROUPS = ("Look", "Find", "Read", "Change", "Run", "Git", "More")


def says(text: str) -> Callable[[Request, Memory], Skill]:
    """A skill that always gives the same answer."""

    def skill(request: Request, memory: Memory) -> Skill:
        yield from ()
        return text

    return skill


def acknowledge(request: Request, memory: Memory) -> Skill:
    yield from ()
    return phrases.STOPPED if request.get("no") else phrases.ACKNOWLEDGED


def help_(request: Request, memory: Memory) -> Skill:
    """The table's examples, by group; for "can you edit files?" what it may do, in short."""
    yield from ()
    if request.get("ability"):
        return phrases.ABILITIES
    groups: dict[str, list[str]] = {group: [] for group in _GROUPS}
    for row in TABLE:
        if row.example:
            groups[row.group].append(row.example)
    listing = "\n".join(
        f"- **{group}**: " + ", ".join(code(item) for item in examples) for group, examples in groups.items()
    )
    return (
        "I am the offline model: rules, not a language model. I understand plain requests about this folder, "
        "to find and read code, to edit files, to run commands and tests. Some to start from:\n\n"
        f"{listing}\n\nSeveral steps work too (`find the function main, then read it`), and so do `it`, "
        "`the second one`, `more` and `again`. "
        "Before I change a file or run a command, Forge asks you."
    )


def beyond(request: Request, memory: Memory) -> Skill:
    yield from ()
    return phrases.beyond(request.text)


def unknown(request: Request, memory: Memory) -> Skill:
    """Searches for its words; what a client asks for when it compacts the conversation is served."""
    if not memory.tools and _asks_for_summary(request.text):
        return summary(memory, request.text)
    return (yield from seek(request, memory))


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


def nothing_listed(request: Request, memory: Memory) -> Skill:
    yield from ()
    return f"I listed nothing that {code(request.text)} could stand for. `help` shows what I understand."
