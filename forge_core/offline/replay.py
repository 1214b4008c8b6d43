"""Runs a skill against the conversation: calls made are answered from it, the first new one is the reply."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from forge_core.offline import phrases
from forge_core.offline.conversation import Conversation, Done
from forge_core.offline.steps import Argument, Batch, Call, Outcome, Reply, Say, Skill, Status

MAX_CALLS = 12
"""Tool calls for one message of the person, at most."""


@dataclass(slots=True)
class _Replay:
    conversation: Conversation
    unused: list[Done]
    upcoming: Sequence[str] = ()
    unsaid: list[str] = field(default_factory=list)

    def reply(self, *calls: Call) -> Reply:
        return Reply("\n\n".join(text for text in self.unsaid if text), calls)

    def closing(self, text: str) -> Reply:
        self.unsaid.append(text)
        return self.reply()

    def giving_up(self, text: str) -> Reply:
        """The reply that ends the matter before its end."""
        self.unsaid.append(text)
        return self.closing(phrases.left_undone(self.upcoming) if self.upcoming else "")

    def take(self, call: Call) -> Outcome | None:
        """The outcome of an equal call that was made already; each is used once."""
        for position, done in enumerate(self.unused):
            if done.call.name == call.name and _key(done.call) == _key(call):
                del self.unused[position]
                return done.outcome
        return None


def replay(skill: Skill, conversation: Conversation, upcoming: Sequence[str] = ()) -> Reply:
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
            if isinstance(outcome, Reply):
                return outcome
            step = skill.send(outcome)
    except StopIteration as end:
        return state.closing(str(end.value or ""))
    finally:
        skill.close()


def _answer(state: _Replay, batch: Batch) -> tuple[Outcome, ...] | Reply:
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
        if outcome is not None and outcome.status is Status.DENIED:
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
