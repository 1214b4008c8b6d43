"""The model itself: a conversation in, a reply out. Stateless and deterministic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TypeAlias

from forge_core.offline import phrases
from forge_core.offline.conversation import Conversation, Done, Exchange
from forge_core.offline.follow_ups import about, resolve
from forge_core.offline.intents import Intent
from forge_core.offline.memory import Memory
from forge_core.offline.parse import Request
from forge_core.offline.replay import replay
from forge_core.offline.steps import Batch, Outcome, Reply, Say, SearchError, Skill, say

Serve: TypeAlias = Callable[[Request, Memory], Skill]

MAX_STEPS = 6
"""Requests that one message is served for."""


def respond(conversation: Conversation, root: str = "") -> Reply:
    """The next reply: tool calls, or the answer. `root` shortens absolute paths in what is said."""
    memory = Memory(list(conversation.earlier), frozenset(conversation.tools), root)
    reply = replay(_serve(conversation, memory), conversation, memory.upcoming)
    if reply.calls or _is_introduced(conversation) or phrases.MARK in reply.text:
        return reply
    return Reply(f"{reply.text}\n\n{phrases.INTRO}".strip())


def _is_introduced(conversation: Conversation) -> bool:
    return any(phrases.MARK in exchange.said for exchange in (*conversation.earlier, conversation.now))


def _serve(conversation: Conversation, memory: Memory) -> Skill:
    """Serves the requests of the present message in order; each sees what the ones before it found."""
    requests = resolve(conversation.now.request, memory)
    skills = _skills()
    left_out = [request.text for request in requests[MAX_STEPS:]]
    answer = ""
    for position, asked in enumerate(requests[:MAX_STEPS], 1):
        memory.upcoming[:] = [later.text for later in requests[position:]]
        if answer:
            yield from say(answer)
        done: list[Done] = []
        request = about(asked, memory)
        answer = yield from _noting(skills[request.intent](request, memory), done)
        memory.exchanges.append(Exchange(request.text, tuple(done), answer))
    return f"{answer}\n\n{phrases.left_undone(left_out)}" if left_out else answer


def _noting(skill: Skill, done: list[Done]) -> Skill:
    """Runs `skill`, keeping its calls and their outcomes in `done`."""
    try:
        step: Say | Batch = next(skill)
        while True:
            outcomes: tuple[Outcome, ...] = yield step
            if isinstance(step, Batch):
                done += [Done(call, outcome) for call, outcome in zip(step.calls, outcomes, strict=True)]
            step = skill.send(outcomes)
    except StopIteration as end:
        return str(end.value or "")
    except SearchError as problem:
        advice = "Check the path, or leave it out to search everywhere."
        return phrases.failed("The search failed", str(problem), advice)
    finally:
        skill.close()


@cache
def _skills() -> Mapping[Intent, Serve]:
    from forge_core.offline.skills import creating, editing, explaining, git, line_edits  # isort: skip
    from forge_core.offline.skills import measuring, project, reading, running, search  # isort: skip
    from forge_core.offline.skills import talk, working  # isort: skip

    return {
        Intent.GREET: talk.says(phrases.GREETING), Intent.THANKS: talk.says(phrases.THANKS),
        Intent.ACK: talk.acknowledge, Intent.BYE: talk.says(phrases.BYE), Intent.HELP: talk.help_,
        Intent.WHO: talk.says(phrases.WHO), Intent.CONNECT: talk.says(phrases.CONNECT),
        Intent.AGAIN: talk.says(phrases.NOTHING_BEFORE), Intent.PICK: talk.nothing_listed,
        Intent.MORE: reading.more, Intent.OVERVIEW: project.overview, Intent.LIST: project.listing,
        Intent.MEASURE: measuring.measure, Intent.FIND_FILES: search.find_files,
        Intent.DEFINITION: search.definition, Intent.USAGES: search.usages, Intent.TEXT: search.text,
        Intent.READ: reading.read, Intent.EXPLAIN: explaining.explain,
        Intent.EXPLAIN_SYMBOL: explaining.explain_symbol, Intent.CREATE: creating.create,
        Intent.REPLACE: editing.replace, Intent.APPEND: line_edits.append,
        Intent.DELETE_LINE: editing.delete_line, Intent.MOVE_FILE: creating.move,
        Intent.DELETE_FILE: creating.delete, Intent.MAKE_FOLDER: creating.make_folder,
        Intent.RUN: running.run, Intent.TESTS: running.tests, Intent.CHANGES: git.changes,
        Intent.DIFF: git.diff, Intent.LOG: git.log, Intent.BRANCH: git.branch, Intent.UNDO: git.undo,
        Intent.COMMIT: git.commit, Intent.FACTS: project.facts, Intent.TOPIC: search.topic,
        Intent.BEYOND: talk.beyond, Intent.UNKNOWN: talk.unknown, Intent.BACKGROUND: working.background,
        Intent.JOB_OUTPUT: working.job_output, Intent.JOB_STOP: working.job_stop, Intent.PLAN: working.plan,
        Intent.ASK_ME: working.ask_me,
    }  # fmt: skip
