"""The model itself: a conversation in, a reply out. Stateless and deterministic."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from forge_core.images.image_header import SUFFIXES
from forge_core.offline import phrases
from forge_core.offline.conversation import (
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
    server_tools,
)
from forge_core.offline.steps import ModelReply, SearchError, Skill, StepFailedError, say

MAX_STEPS = 6
"""Requests of one message that are served."""
MAX_CALLS = 12
"""Tool calls for one message of the user."""


_SKILLS: Mapping[Intent, str | Callable[[Request, Memory], Skill | str]] = {
    Intent.GREET: phrases.GREETING, Intent.THANKS: phrases.THANKS,
    Intent.ACK: dialogue.acknowledge, Intent.BYE: phrases.BYE, Intent.HELP: dialogue.show_help,
    Intent.WHO: phrases.WHO, Intent.CONNECT: phrases.CONNECT,
    Intent.AGAIN: phrases.NOTHING_BEFORE, Intent.PICK: dialogue.nothing_listed,
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

_CLUELESS = frozenset({Intent.UNKNOWN, Intent.BEYOND})
"""What a request about an image is to the rules."""


def respond(conversation: ChatRequest, root: str = "") -> ModelReply:
    """Return the next reply: tool calls, or the answer. `root` shortens absolute paths in answers."""
    if not conversation.tools and (summary := dialogue.transcript_summary(conversation.now.request)):
        return ModelReply(summary)
    memory = Memory(list(conversation.earlier), frozenset(conversation.tools), root)
    memory.is_planning = conversation.is_planning
    reply = replay(_serve(conversation, memory), conversation, memory)
    if reply.calls or _is_introduced(conversation) or phrases.MARK in reply.text:
        return reply
    return ModelReply(f"{reply.text}\n\n{phrases.INTRO}".strip())


def _is_introduced(conversation: ChatRequest) -> bool:
    return any(phrases.MARK in turn.full_answer for turn in (*conversation.earlier, conversation.now))


def _serve(conversation: ChatRequest, memory: Memory) -> Skill:
    """Serve the requests of the present message in order; each sees what the ones before it found."""
    if conversation.now.skill:
        return phrases.cannot_use_skill(conversation.now.skill)
    if tool := server_tools.named_tool(conversation.now.request):
        return (yield from _finished(server_tools.call(tool, conversation.tools)))
    requests, images = resolve(conversation.now.request, memory), conversation.now.images
    if images and all(map(_may_be_about_image, requests)):
        return phrases.seen(images)
    if images:
        yield from say(phrases.seen(images))
    left_out = [request.text for request in requests[MAX_STEPS:]]
    answer = ""
    for position, asked in enumerate(requests[:MAX_STEPS], 1):
        memory.upcoming[:] = [later.text for later in requests[position:]]
        if answer:
            yield from say(answer)
        request = about(asked, memory)
        skill = _SKILLS[request.intent]
        result = skill if isinstance(skill, str) else skill(request, memory)
        answer = result if isinstance(result, str) else (yield from _finished(result))
        memory.turns.append(ConversationTurn(request.text, tuple(memory.done), answer))
        memory.done.clear()
    return f"{answer}\n\n{phrases.left_undone(left_out)}" if left_out else answer


def _may_be_about_image(request: Request) -> bool:
    names_image = any(suffix in request.text.lower() for suffix in SUFFIXES)
    return request.intent in _CLUELESS or (request.intent in (Intent.READ, Intent.EXPLAIN) and names_image)


def _finished(skill: Skill) -> Skill:
    """Run `skill` to its end; return its answer, also where it broke off."""
    try:
        return (yield from skill)
    except StepFailedError as end:
        return str(end)
    except SearchError as problem:
        advice = "Check the path, or leave it out to search everywhere."
        return phrases.failed("The search failed", str(problem), advice)


def replay(skill: Skill, conversation: ChatRequest, memory: Memory) -> ModelReply:
    """Return the next reply of `skill`: run it up to its first new call.

    Calls that the conversation holds are answered from there and added to `memory.done`. A denied call,
    a tool that is not offered, and the call over MAX_CALLS end the request; the reply lists what is left.
    """
    state = _Replay(conversation, list(conversation.now.done), memory.upcoming)
    try:
        step = next(skill)
        while True:
            outcomes: tuple[CallOutcome, ...] = ()
            if isinstance(step, str):
                state.unsaid.append(step)
            else:
                answered = state.answer(step)
                if isinstance(answered, ModelReply):
                    return answered
                outcomes = answered
                memory.done += map(CompletedCall, step, outcomes)
            step = skill.send(outcomes)
    except StopIteration as end:
        return state.reply(str(end.value or ""))
    finally:
        skill.close()


@dataclass(slots=True)
class _Replay:
    conversation: ChatRequest
    unused: list[CompletedCall]
    """The calls in the conversation that no call of the skill has claimed yet."""
    upcoming: Sequence[str]
    unsaid: list[str] = field(default_factory=list)
    """The texts since the last call that the conversation holds: they go out with the reply."""

    def reply(self, text: str = "", calls: Sequence[Call] = ()) -> ModelReply:
        return ModelReply("\n\n".join(filter(None, (*self.unsaid, text))), tuple(calls))

    def give_up(self, text: str) -> ModelReply:
        """Return the reply that ends the request before its last step."""
        self.unsaid.append(text)
        return self.reply(phrases.left_undone(self.upcoming) if self.upcoming else "")

    def take(self, call: Call) -> CallOutcome | None:
        """Return the outcome of an equal call in the conversation; each is used once."""
        for position, done in enumerate(self.unused):
            if done.call.name == call.name and _key(done.call) == _key(call):
                return self.unused.pop(position).outcome
        return None

    def answer(self, batch: Sequence[Call]) -> tuple[CallOutcome, ...] | ModelReply:
        """Return the outcomes of a batch, or the reply that makes its calls or gives up."""
        tools = self.conversation.tools
        calls = [_fit(call, tools) for call in batch]
        missing = sorted({call.name for call in calls} - set(tools))
        if missing:
            return self.give_up(phrases.tool_missing(missing))
        outcomes = [self.take(call) for call in calls]
        known = tuple(outcome for outcome in outcomes if outcome is not None)
        if known:
            self.unsaid.clear()  # these texts went out with the calls
        for call, outcome in zip(calls, outcomes, strict=True):
            if outcome is not None and outcome.status is CallStatus.DENIED:
                command = str(call.arguments.get("command", ""))
                return self.give_up(phrases.denied(call.name, command, outcome.text))
        wanted = [call for call, outcome in zip(calls, outcomes, strict=True) if outcome is None]
        if not wanted:
            return known
        made = len(self.conversation.now.done)
        if made + len(wanted) > MAX_CALLS:
            return self.give_up(phrases.too_many_calls(made))
        return self.reply(calls=wanted if self.conversation.parallel else wanted[:1])


def _fit(call: Call, tools: Mapping[str, frozenset[str]]) -> Call:
    """Return the call without arguments that the offered tool does not have."""
    if call.name.startswith(server_tools.PREFIX):
        return call  # the user wrote them
    names = tools.get(call.name) or call.arguments.keys()
    return Call(call.name, {name: value for name, value in call.arguments.items() if name in names})


def _key(call: Call) -> str:
    return json.dumps(dict(call.arguments), sort_keys=True, default=str)
