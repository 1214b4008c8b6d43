"""The model itself: a conversation in, a reply out. Stateless and deterministic."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from forge_core.offline import phrases
from forge_core.offline.conversation import (
    Argument,
    Call,
    CallOutcome,
    CallStatus,
    ChatRequest,
    CompletedCall,
    ConversationTurn,
)
from forge_core.offline.follow_ups import about, resolve
from forge_core.offline.intents import Intent, Request
from forge_core.offline.references import Memory
from forge_core.offline.skills import (
    creating,
    dialogue,
    editing,
    explaining,
    git,
    measuring,
    project,
    reading,
    running,
    search,
)
from forge_core.offline.steps import Batch, ModelReply, Say, SearchError, Skill, say

MAX_STEPS = 6
"""Requests that one message is served for."""


_SKILLS: Mapping[Intent, Callable[[Request, Memory], Skill]] = {
    Intent.GREET: dialogue.says(phrases.GREETING), Intent.THANKS: dialogue.says(phrases.THANKS),
    Intent.ACK: dialogue.acknowledge, Intent.BYE: dialogue.says(phrases.BYE), Intent.HELP: dialogue.help_,
    Intent.WHO: dialogue.says(phrases.WHO), Intent.CONNECT: dialogue.says(phrases.CONNECT),
    Intent.AGAIN: dialogue.says(phrases.NOTHING_BEFORE), Intent.PICK: dialogue.nothing_listed,
    Intent.MORE: reading.more, Intent.OVERVIEW: project.overview, Intent.LIST: project.listing,
    Intent.MEASURE: measuring.measure, Intent.FIND_FILES: search.find_files,
    Intent.DEFINITION: search.definition, Intent.USAGES: search.usages, Intent.TEXT: search.text,
    Intent.READ: reading.read, Intent.EXPLAIN: explaining.explain,
    Intent.EXPLAIN_SYMBOL: explaining.explain_symbol, Intent.CREATE: creating.create,
    Intent.REPLACE: editing.replace, Intent.APPEND: editing.append,
    Intent.DELETE_LINE: editing.delete_line, Intent.MOVE_FILE: creating.move,
    Intent.DELETE_FILE: creating.delete, Intent.MAKE_FOLDER: creating.make_folder,
    Intent.RUN: running.run, Intent.TESTS: running.tests, Intent.CHANGES: git.changes,
    Intent.DIFF: git.diff, Intent.LOG: git.log, Intent.BRANCH: git.branch, Intent.UNDO: git.undo,
    Intent.COMMIT: git.commit, Intent.FACTS: project.facts, Intent.TOPIC: search.topic,
    Intent.BEYOND: dialogue.beyond, Intent.UNKNOWN: dialogue.unknown, Intent.BACKGROUND: running.background,
    Intent.JOB_OUTPUT: running.job_output, Intent.JOB_STOP: running.job_stop, Intent.PLAN: dialogue.plan,
    Intent.ASK_ME: dialogue.ask_me,
}  # fmt: skip


def respond(conversation: ChatRequest, root: str = "") -> ModelReply:
    """The next reply: tool calls, or the answer. `root` shortens absolute paths in what is said."""
    memory = Memory(list(conversation.earlier), frozenset(conversation.tools), root)
    reply = replay(_serve(conversation, memory), conversation, memory.upcoming)
    if reply.calls or _is_introduced(conversation) or phrases.MARK in reply.text:
        return reply
    return ModelReply(f"{reply.text}\n\n{phrases.INTRO}".strip())


def _is_introduced(conversation: ChatRequest) -> bool:
    return any(phrases.MARK in exchange.said for exchange in (*conversation.earlier, conversation.now))


def _serve(conversation: ChatRequest, memory: Memory) -> Skill:
    """Serves the requests of the present message in order; each sees what the ones before it found."""
    requests = resolve(conversation.now.request, memory)
    left_out = [request.text for request in requests[MAX_STEPS:]]
    answer = ""
    for position, asked in enumerate(requests[:MAX_STEPS], 1):
        memory.upcoming[:] = [later.text for later in requests[position:]]
        if answer:
            yield from say(answer)
        done: list[CompletedCall] = []
        request = about(asked, memory)
        answer = yield from _noting(_SKILLS[request.intent](request, memory), done)
        memory.exchanges.append(ConversationTurn(request.text, tuple(done), answer))
    return f"{answer}\n\n{phrases.left_undone(left_out)}" if left_out else answer


def _noting(skill: Skill, done: list[CompletedCall]) -> Skill:
    """Runs `skill`, keeping its calls and their outcomes in `done`."""
    try:
        step: Say | Batch = next(skill)
        while True:
            outcomes: tuple[CallOutcome, ...] = yield step
            if isinstance(step, Batch):
                done += [
                    CompletedCall(call, outcome) for call, outcome in zip(step.calls, outcomes, strict=True)
                ]
            step = skill.send(outcomes)
    except StopIteration as end:
        return str(end.value or "")
    except SearchError as problem:
        advice = "Check the path, or leave it out to search everywhere."
        return phrases.failed("The search failed", str(problem), advice)
    finally:
        skill.close()


MAX_CALLS = 12
"""Tool calls for one message of the person, at most."""


@dataclass(slots=True)
class _Replay:
    conversation: ChatRequest
    unused: list[CompletedCall]
    upcoming: Sequence[str] = ()
    unsaid: list[str] = field(default_factory=list)

    def reply(self, *calls: Call) -> ModelReply:
        return ModelReply("\n\n".join(text for text in self.unsaid if text), calls)

    def closing(self, text: str) -> ModelReply:
        self.unsaid.append(text)
        return self.reply()

    def giving_up(self, text: str) -> ModelReply:
        """The reply that ends the matter before its end."""
        self.unsaid.append(text)
        return self.closing(phrases.left_undone(self.upcoming) if self.upcoming else "")

    def take(self, call: Call) -> CallOutcome | None:
        """The outcome of an equal call that was made already; each is used once."""
        for position, done in enumerate(self.unused):
            if done.call.name == call.name and _key(done.call) == _key(call):
                del self.unused[position]
                return done.outcome
        return None


def replay(skill: Skill, conversation: ChatRequest, upcoming: Sequence[str] = ()) -> ModelReply:
    """The next reply of `skill`. A denied call ends it; so does a tool that is not on offer, or the 13th
    call: `upcoming` (which the skill keeps up to date) then tells what is left undone."""
    state = _Replay(conversation, list(conversation.now.done), upcoming)
    try:
        step = next(skill)
        while True:
            if isinstance(step, Say):
                state.unsaid.append(step.text)
                step = skill.send(())
                continue
            outcome = _answer(state, step)
            if isinstance(outcome, ModelReply):
                return outcome
            step = skill.send(outcome)
    except StopIteration as end:
        return state.closing(str(end.value or ""))
    finally:
        skill.close()


def _answer(state: _Replay, batch: Batch) -> tuple[CallOutcome, ...] | ModelReply:
    """The outcomes of a batch, or the reply that asks for them or ends the matter."""
    tools = state.conversation.tools
    calls = [_fit(call, tools) for call in batch.calls]
    missing = sorted({call.name for call in calls} - set(tools))
    if missing:
        return state.giving_up(phrases.tool_missing(missing))
    outcomes = [state.take(call) for call in calls]
    wanted = [call for call, outcome in zip(calls, outcomes, strict=True) if outcome is None]
    known = tuple(outcome for outcome in outcomes if outcome is not None)
    if known:
        state.unsaid.clear()  # those words went out with the calls
    for call, outcome in zip(calls, outcomes, strict=True):
        if outcome is not None and outcome.status is CallStatus.DENIED:
            command = str(call.arguments.get("command", ""))
            return state.giving_up(phrases.denied(call.name, command, outcome.text))
    if not wanted:
        return known
    made = len(state.conversation.now.done)
    if made + len(wanted) > MAX_CALLS:
        return state.giving_up(phrases.too_many_calls(made))
    return state.reply(*(wanted if state.conversation.parallel else wanted[:1]))


def _fit(call: Call, tools: Mapping[str, frozenset[str]]) -> Call:
    """The call without arguments that the offered tool does not have."""
    names = tools.get(call.name)
    if not names:
        return call
    kept: dict[str, Argument] = {name: value for name, value in call.arguments.items() if name in names}
    return Call(call.name, kept)


def _key(call: Call) -> str:
    return json.dumps(dict(call.arguments), sort_keys=True, default=str)
