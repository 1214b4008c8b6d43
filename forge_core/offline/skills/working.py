"""Background jobs, the plan, and questions to the person: the tools for working side by side."""

from __future__ import annotations

import re

from forge_core.offline import phrases
from forge_core.offline.conversation import Outcome
from forge_core.offline.intents import Request
from forge_core.offline.memory import Memory
from forge_core.offline.phrases import code
from forge_core.offline.steps import Skill, ask

_JOB = re.compile(r"\bjob[ _](?:output )?(\d+)\b|\bas job (\d+)\b")
_NOTE = re.compile(r"^\[.*\]$|^\(no (?:new )?output.*\)$")
_STANDING = re.compile(r"^\[(job \d+ .+)\]$", re.MULTILINE)
_MAX_STEPS = 20
_ANSWER = re.compile(r"^ {2}→ (.+)$", re.MULTILINE)


def background(request: Request, memory: Memory) -> Skill:
    """Starts a command as a job."""
    command = request.get("command")
    what = f"Start {command[:60]}"
    outcome = yield from ask("bash", command=command, description=what, run_in_background=True)
    if outcome.failed:
        return phrases.failed(f"{code(command)} could not be started", outcome.text)
    number = _number_in(outcome.text)
    body = _body(outcome)
    shown = f"\n\n{phrases.block(body)}" if body else ""
    if not number:
        return f"{code(command)} has ended already.{shown}"
    return (
        f"{code(command)} runs in the background as job {number}.{shown}\n\n"
        f"1. `show the output of job {number}`\n2. `stop job {number}`"
    )


def job_output(request: Request, memory: Memory) -> Skill:
    """What a job has printed since the last look."""
    number = _which(request, memory)
    outcome = yield from ask("job_output", job_id=number)
    if outcome.failed:
        return phrases.failed(f"Job {number} could not be looked at", outcome.text)
    body = _body(outcome)
    return _standing(outcome, number) + (f"\n\n{phrases.block(body)}" if body else " It printed nothing new.")


def job_stop(request: Request, memory: Memory) -> Skill:
    """Ends a job."""
    number = _which(request, memory)
    outcome = yield from ask("job_stop", job_id=number)
    if outcome.failed:
        return phrases.failed(f"Job {number} could not be stopped", outcome.text)
    body = _body(outcome)
    return _standing(outcome, number) + (f"\n\n{phrases.block(body)}" if body else "")


def plan(request: Request, memory: Memory) -> Skill:
    """Keeps the steps as the todo list, the first of them begun."""
    steps = _steps(request.get("content"))[:_MAX_STEPS]
    if not steps:
        return "What are the steps? Say for example `plan: read the code, fix the bug, run the tests`."
    items = [
        {"content": step, "status": "pending" if at else "in_progress", "active_form": step}
        for at, step in enumerate(steps)
    ]
    outcome = yield from ask("todo", items=items)
    if outcome.failed:
        return phrases.failed("The plan could not be kept", outcome.text)
    listing = phrases.numbered(code(step) for step in steps)
    return f"The plan has {phrases.count(len(steps), 'step')}; `/todo` shows it:\n\n{listing}"


def ask_me(request: Request, memory: Memory) -> Skill:
    """Puts the question to the person with ready answers."""
    text = request.get("text")
    head, options = _options(text, request.get("kind"))
    question = f"{head[:1].upper()}{head[1:]}?"
    offered = [{"label": option} for option in options]
    outcome = yield from ask("ask_user", questions=[{"question": question, "options": offered}])
    if outcome.failed:
        return "Nobody answered, so I leave it open."
    answers = _ANSWER.findall(outcome.text)
    if not answers or answers == ["no answer"]:
        return "You gave no answer, so I leave it open."
    chosen = phrases.one_of([code(answer) for answer in answers])
    return f"You chose {chosen}. Tell me what to do with it."


def _which(request: Request, memory: Memory) -> int:
    """The job that is named, else the one that was spoken of last, else the first."""
    named = request.number("n")
    if named is not None:
        return named
    for exchange in reversed(memory.exchanges):
        number = _number_in(exchange.answer)
        if number:
            return number
    return 1


def _number_in(text: str) -> int | None:
    found = _JOB.search(text)
    return int(found[1] or found[2]) if found else None


def _standing(outcome: Outcome, number: int) -> str:
    found = _STANDING.search(outcome.text)
    told = found[1] if found else f"job {number}"
    return f"{told[:1].upper()}{told[1:]}."


def _body(outcome: Outcome) -> str:
    lines = [line for line in outcome.text.split("\n") if not _NOTE.fullmatch(line.strip())]
    return "\n".join(lines).strip("\n")


def _steps(text: str) -> list[str]:
    parts = re.split(r"\n+|;" if re.search(r"[\n;]", text) else r",|\bthen\b", text)
    bare = (re.sub(r"^(?:\s*(?:\d{1,2}[.)]|[-*•]))?\s*(?:and\s+|then\s+)?", "", part) for part in parts)
    return [step for part in bare if (step := part.strip(" .\t"))]


def _options(text: str, kind: str) -> tuple[str, list[str]]:
    """The question without its list, and two to four answers."""
    head, colon, listed = text.partition(":")
    if colon:
        options = [one.strip(" .") for one in re.split(r",|\bor\b", listed) if one.strip(" .")]
        if 2 <= len(options) <= 4:
            return f"{kind} {head}".strip(), options
    found = re.fullmatch(r"(?P<head>.*?)(?P<a>\S+) or (?P<b>\S+)", text)
    if found and found["a"].lower() != found["b"].lower():
        return text, [found["a"], found["b"]]
    return text, ["Yes", "No"]
