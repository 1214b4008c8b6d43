"""Greetings, help, the plan, questions to the user, and the answers where nothing else fits."""

from __future__ import annotations

import re
from collections.abc import Sequence

from forge_core.offline import phrases
from forge_core.offline.intents import TABLE, Request
from forge_core.offline.phrases import code
from forge_core.offline.references import Memory
from forge_core.offline.skills.search import search_words
from forge_core.offline.steps import Skill, ask, require

_MAX_STEPS = 20
_ANSWER = re.compile(r"^ {2}→ (.+)$", re.MULTILINE)
_TRANSCRIPT = re.compile(r"^<conversation>\n(.*)\n</conversation>$", re.DOTALL | re.MULTILINE)
_SUMMARY = re.compile(r"^<summary>\n(.*?)\n</summary>$", re.DOTALL | re.MULTILINE)
_FILES = "Files that were read or changed: "
_GROUPS = ("Look", "Find", "Read", "Change", "Run", "Git", "More")


def acknowledge(request: Request, memory: Memory) -> str:
    return phrases.STOPPED if request.get("no") else phrases.ACKNOWLEDGED


def show_help(request: Request, memory: Memory) -> str:
    """Return the table's examples, by group; for "can you edit files?" what it may do, in short."""
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
        "to find and read code, to edit files, and to run commands and tests. Some to start from:\n\n"
        f"{listing}\n\nSeveral steps work too (`find the function main, then read it`), and so do `it`, "
        "`the second one`, `more` and `again`. "
        "Before I change a file or run a command, Forge asks you."
    )


def beyond(request: Request, memory: Memory) -> str:
    return phrases.beyond(request.text)


def unknown(request: Request, memory: Memory) -> Skill:
    """Search for its words; what a client asks for when it compacts the conversation is served."""
    if not memory.tools and _asks_for_summary(request.text):
        return summary(memory, request.text)
    return (yield from search_words(request, memory))


def _asks_for_summary(text: str) -> bool:
    return bool(
        re.search(r"summar|condense|compact", text, re.I)
        and re.search(r"conversation|dialog|messages|history|transcript|chat", text, re.I)
    )


def summary(memory: Memory, text: str) -> str:
    """Return what was asked and which files were read or changed, for compaction."""
    asked = [turn.request.split("\n")[0][:200] for turn in memory.turns if turn.request]
    asked += [line[:200] for line in re.findall(r"^(?:user|human)\s*:\s*(.+)$", text, re.I | re.MULTILINE)]
    files = [
        str(done.call.arguments.get("file_path"))
        for turn in memory.turns
        for done in turn.done
        if done.call.arguments.get("file_path")
    ]
    files += re.findall(r"\"file_path\":\s*\"([^\"]+)\"", text)
    return _summary_text(asked, files)


def transcript_summary(text: str) -> str | None:
    """Return the summary of the conversation that `text` holds between tags, as Forge's own compaction sends
    it; None if there is none. No line of it is taken for a request."""
    found = _TRANSCRIPT.search(text)
    if found is None:
        return None
    before = _SUMMARY.search(text[: found.start()])
    earlier = before[1] if before else ""
    asked = re.findall(r"^- (.+)$", earlier, re.MULTILINE)
    asked += [line[:200] for line in re.findall(r"^\[user\]\n(.+)$", found[1], re.MULTILINE)]
    files = [
        name for line in re.findall(rf"^{_FILES}(.+)$", earlier, re.MULTILINE) for name in line.split(", ")
    ]
    files += re.findall(r"\"file_path\":\s*\"([^\"]+)\"", found[1])
    return _summary_text(asked, files)


def _summary_text(asked: Sequence[str], files: Sequence[str]) -> str:
    parts = ["The user asked:\n" + "\n".join(f"- {line}" for line in asked[-40:])] if asked else []
    parts += [_FILES + ", ".join(dict.fromkeys(files))] if files else []
    return "\n\n".join(parts) or "Nothing was asked so far."


def nothing_listed(request: Request, memory: Memory) -> str:
    return f"I listed nothing that {code(request.text)} could stand for. `help` shows what I understand."


def plan(request: Request, memory: Memory) -> Skill:
    """Keep the steps as the todo list, the first of them begun; in plan mode, present them first."""
    steps = _steps(request.get("content") or _presented(memory))[:_MAX_STEPS]
    if not steps:
        return "What are the steps? Say for example `plan: read the code, fix the bug, run the tests`."
    if memory.is_planning and "exit_plan_mode" in memory.tools:
        text = f"# Plan\n\n{phrases.numbered(steps)}"
        yield from require("The plan could not be presented", "exit_plan_mode", plan=text)
        return "I am rules and cannot change the plan: send `plan: …` with the steps as you want them."
    items = [
        {"content": step, "status": "pending" if at else "in_progress", "active_form": step}
        for at, step in enumerate(steps)
    ]
    yield from require("The plan could not be kept", "todo", items=items)
    listing = phrases.numbered(code(step) for step in steps)
    return f"The plan has {phrases.count(len(steps), 'step')}; `/todo` shows it:\n\n{listing}"


def ask_me(request: Request, memory: Memory) -> Skill:
    """Ask the user a question with ready answers."""
    text = request.get("text")
    head, options = _options(text, request.get("kind"))
    question = f"{head[:1].upper()}{head[1:]}?"
    offered = [{"label": option} for option in options]
    outcome = yield from ask("ask_user", questions=[{"question": question, "options": offered}])
    if outcome.failed:
        return "No one answered, so the question stays open."
    answers = _ANSWER.findall(outcome.text)
    if not answers or answers == ["no answer"]:
        return "You gave no answer, so the question stays open."
    chosen = phrases.one_of([code(answer) for answer in answers])
    return f"You chose {chosen}. Tell me what to do with it."


def _presented(memory: Memory) -> str:
    """Return the steps of the plan that was presented last."""
    calls = [done.call for turn in memory.turns for done in turn.done if done.call.name == "exit_plan_mode"]
    text = str(calls[-1].arguments.get("plan", "")) if calls else ""
    return re.sub(r"^#.*$", "", text, flags=re.MULTILINE).strip()


def _steps(text: str) -> list[str]:
    parts = re.split(r"\n+|;" if re.search(r"[\n;]", text) else r",|\bthen\b", text)
    bare = (re.sub(r"^(?:\s*(?:\d{1,2}[.)]|[-*•]))?\s*(?:and\s+|then\s+)?", "", part) for part in parts)
    return [step for part in bare if (step := part.strip(" .\t"))]


def _options(text: str, kind: str) -> tuple[str, list[str]]:
    """Return the question without its list, and two to four answers."""
    head, colon, listed = text.partition(":")
    if colon:
        options = [one.strip(" .") for one in re.split(r",|\bor\b", listed) if one.strip(" .")]
        if 2 <= len(options) <= 4:
            return f"{kind} {head}".strip(), options
    found = re.fullmatch(r"(?P<head>.*?)(?P<a>\S+) or (?P<b>\S+)", text)
    if found and found["a"].lower() != found["b"].lower():
        return text, [found["a"], found["b"]]
    return text, ["Yes", "No"]
