"""Runs the turns of a session: records them, counts them, and informs their followers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from forge_core.events import AgentEnd, AgentEvent, LLMEnd, Notice, ToolEnd
from forge_core.langchain.agent.event_queue import EventQueue, ObservedQueue
from forge_core.llm.models import TokenUsage
from forge_core.result import AgentResult
from forge_core.session.agents.subagents import SubAgents
from forge_core.session.billing import SessionBilling
from forge_core.session.command_messages import CommandMessages, NotSentError, TypedUse
from forge_core.session.context_meter import ContextMeter
from forge_core.session.context_parts import ContextParts
from forge_core.session.model_selection import ModelSelection
from forge_core.session.saved_state import PendingNews
from forge_core.session.session_parts import SessionParts
from forge_core.session.session_recorder import SessionRecorder
from forge_core.session.turn_recorder import TurnRecorder, crash_events
from forge_core.store.folded_parts import Span, recorded_spans


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFollowers:
    """What of a session takes part in its turns."""

    recorder: SessionRecorder
    models: ModelSelection
    billing: SessionBilling
    meter: ContextMeter
    context: ContextParts
    news: PendingNews
    commands: CommandMessages
    """Makes the message of a turn."""
    agents: SubAgents
    notify: Callable[[Notice], None]


class TurnRunner:
    """Runs one turn at a time."""

    def __init__(
        self, parts: SessionParts, followers: TurnFollowers, is_interrupted: Callable[[], bool]
    ) -> None:
        """`is_interrupted` returns whether the user has interrupted the running turn."""
        self.last_result: AgentResult | None = None
        self._parts, self._of, self._is_interrupted = parts, followers, is_interrupted
        self._text, self._began_at = "", 0.0

    async def run(
        self,
        text: str | None,
        queue: EventQueue,
        folded: Sequence[Span] = (),
        command: TypedUse | None = None,
    ) -> None:
        """Run a turn and emit its events; without a `text`, the last one again from the call that failed.
        `folded` parts of the text are recorded; a `command` makes the message."""
        self._begin(text, folded)
        parts, of = self._parts, self._of
        recorder, agent, environment = TurnRecorder(parts.journal), parts.agent, parts.environment
        agent.on_message = recorder.message
        await parts.extensions.ready()
        if text is not None and (refusal := await parts.hooks.admit(text)) is not None:
            self._refuse(refusal, recorder, queue)
            return
        of.agents.turn_began()
        await environment.begin_turn(self._text, self._began_at)
        parts.budget.begin_turn(is_retry=text is None)
        agent.timeout = parts.budget.timeout()

        def observe(event: AgentEvent) -> None:
            if self._is_interrupted():  # the interrupt may have come before the run had begun
                agent.interrupt()
            self._follow(event)
            recorder.event(event)

        events = ObservedQueue(queue, observe)
        try:
            for line in parts.hooks.take_context():
                of.news.add(line)
            with of.commands.in_turn(command, is_retry=text is None):
                message = None if text is None else await of.commands.message(text, events)
                await agent.execute(message, events)
        except NotSentError as error:
            of.notify(Notice(text=str(error), level="warning"))
            if agent.last_result is not None:
                events.emit(AgentEnd(result=agent.last_result))
        except Exception as error:  # the turn's border: a bug ends the turn, not the session
            for event in crash_events(error):
                recorder.event(event)
                queue.emit(event)
        finally:
            self.last_result = agent.last_result
            parts.budget.end_turn()
            parts.journal.record("budget", parts.budget.state())
            recorder.close(agent.last_result, parts.tracker.get_usage())
            of.recorder.settings()
            await environment.end_turn()
            self._inform_hooks(agent.last_result)
            await of.agents.turn_ended()

    def _begin(self, text: str | None, folded: Sequence[Span]) -> None:
        parts, of = self._parts, self._of
        of.recorder.begin()
        parts.environment.plan.turn_began()
        about_turn = {"model": of.models.current, "mode": str(parts.environment.policy.mode)}
        of.recorder.state.assume_recorded(**about_turn)
        if text is None:  # the retry belongs to the same turn
            parts.journal.record("retry", about_turn)
        else:
            self._text = text
            of.billing.begin_turn(text)
            spans = recorded_spans(text, folded, parts.journal.redactor)
            self._began_at = parts.journal.record("user", {"text": text, **spans, **about_turn})

    def _refuse(self, reason: str, recorder: TurnRecorder, queue: EventQueue) -> None:
        """End a turn whose message a hook has blocked: the model is sent nothing."""
        result = AgentResult("", [], [], TokenUsage(), 0, stopped_reason="denied", warning=reason)
        event = AgentEnd(result=result)
        recorder.event(event)
        queue.emit(event)
        self.last_result = result
        self._of.recorder.settings()

    def _inform_hooks(self, result: AgentResult | None) -> None:
        failed = result is not None and result.stopped_reason == "error"
        error, output = (result.error or "", result.output) if result is not None and failed else ("", "")
        self._parts.hooks.turn_ended(error, output)

    def _follow(self, event: AgentEvent) -> None:
        if event.parent_id is not None:
            return  # of a sub-agent, which counts its own
        of = self._of
        of.context.follow(event)
        if isinstance(event, LLMEnd):
            of.meter.answered(event)
            of.billing.answered(event)
            of.billing.learn_window(of.models.current)
            if notice := of.models.answered(event):
                of.notify(Notice(text=notice, level="warning"))
        elif isinstance(event, ToolEnd):
            of.recorder.settings()
        elif isinstance(event, AgentEnd):
            self.last_result = event.result
