"""One evaluation of a WINK prompt: rendered, run on a graph, told to the session."""

from __future__ import annotations

import dataclasses
import json
import uuid
from collections.abc import Generator, Mapping
from contextlib import nullcontext
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from forge_core.events import AgentEnd, AgentEvent, Error
from forge_core.integrations.langgraph import faults, output
from forge_core.integrations.langgraph.budget import BudgetTrackingCallback
from forge_core.integrations.langgraph.graph_run import GraphRun, error_event, shown
from forge_core.integrations.langgraph.runner import GraphRunner
from forge_core.integrations.langgraph.wink_tools import (
    ToolExecutionContext,
    ToolTurns,
    wink_tool_to_langgraph,
)
from forge_core.integrations.langgraph.wink_types import (
    BudgetTracker,
    Deadline,
    Heartbeat,
    Prompt,
    Rendered,
    Session,
    prompt_name,
    session_id,
    wink,
)
from forge_core.llm.models import TokenUsage
from forge_core.result import AgentResult, StoppedReason

if TYPE_CHECKING:
    from forge_core.integrations.langgraph.adapter import LangGraphAdapter


class Evaluation:
    """`check()` and `render()` first, then `run()` or `stream()`, and `conclude()` with what came."""

    runner: GraphRunner
    rendered: Rendered

    def __init__(
        self,
        adapter: LangGraphAdapter,
        prompt: Prompt,
        session: Session,
        *,
        deadline: Deadline | None,
        budget_tracker: BudgetTracker | None,
        heartbeat: Heartbeat | None,
        run_context: Any,
    ) -> None:
        self._adapter = adapter
        self._prompt = prompt
        self._session = session
        self._deadline = deadline
        self._tracker = budget_tracker
        self._heartbeat = heartbeat
        self._run_context = run_context
        self._name = prompt_name(prompt)
        self._turns = ToolTurns()
        self._meter = BudgetTrackingCallback(budget_tracker, prompt_name=self._name)
        self.is_resumable = False

    def check(self) -> None:
        """Raises PromptEvaluationError where time or budget are used up; asked before every call."""
        if self._heartbeat is not None:
            self._heartbeat.beat()
        if self._turns.escape is not None:
            raise self._turns.escape
        if self._deadline is not None and self._deadline.remaining() <= timedelta(0):
            raise wink("errors").PromptEvaluationError(
                f"The deadline of prompt {self._name!r} has passed. Give it more time.",
                prompt_name=self._name,
                phase="request",
            )
        self._meter.check()

    def render(self) -> None:
        """Renders the prompt and tells PromptRendered and RenderedTools."""
        rendered = self._prompt.render(session=self._session)
        event_id, now = uuid.uuid4(), wink("clock").SYSTEM_CLOCK.utcnow()
        dispatch = self._session.dispatcher.dispatch
        dispatch(
            wink("runtime.events").PromptRendered(
                prompt_ns=self._prompt.ns,
                prompt_key=self._prompt.key,
                prompt_name=self._prompt.name,
                adapter=self._adapter.adapter_name,
                session_id=session_id(self._session),
                render_inputs=self._prompt.params,
                rendered_prompt=rendered.text,
                created_at=now,
                descriptor=rendered.descriptor,
                run_context=self._run_context,
                event_id=event_id,
            )
        )
        schema_of = wink("adapters.tool_spec").extract_tool_schema
        dispatch(
            wink("runtime.session.rendered_tools").RenderedTools(
                prompt_ns=self._prompt.ns,
                prompt_key=self._prompt.key,
                tools=tuple(schema_of(tool) for tool in rendered.tools),
                render_event_id=event_id,
                session_id=session_id(self._session),
                created_at=now,
            )
        )
        self.rendered = rendered
        if self._tracker is not None:  # handlers read it as a resource
            self._prompt.bind(resources={wink("budget").BudgetTracker: self._tracker})
        self.runner = self._make_runner()

    def run(self) -> GraphRun:
        """Runs the graph in this thread."""
        return self._driven(self.runner.start(self.rendered.text))

    def resume(self, value: Any, deadline: Deadline | None, heartbeat: Heartbeat | None) -> GraphRun:
        """Goes on after a pause, in this thread."""
        self._deadline, self._heartbeat = deadline, heartbeat or self._heartbeat
        self._turns.renewed = (self._deadline, self._heartbeat)
        return self._driven(self.runner.restart(value))

    def stream(self) -> Generator[AgentEvent, None, Any]:
        """The run's events, with WINK's judgement of its end; the value is the PromptResponse or None."""
        run = self.runner.start(self.rendered.text)
        end: AgentEnd | None = None
        with self._resources():
            for event in run.events():
                if isinstance(event, AgentEnd):
                    end = event
                elif not isinstance(event, Error):  # told below, in WINK's words
                    yield event
        assert end is not None
        self._look_at(run)
        try:
            response = self.conclude(run)
        except wink("errors").PromptEvaluationError as error:
            yield from _failed(error, end.result)
            return None
        yield end
        return response

    def conclude(self, run: GraphRun) -> Any:
        """The PromptResponse, told as PromptExecuted; raises WINK's error where there is none."""
        if self._turns.escape is not None:
            raise self._turns.escape
        if run.error is not None:
            raise faults.normalized(
                run.error,
                prompt_name=self._name,
                recursion_limit=self._adapter.client_config.recursion_limit,
                retry_safe=self._turns.invoked == 0,
            )
        if run.pause is not None:
            raise faults.paused(run.pause, prompt_name=self._name)
        text = self._final_text(run)
        parsed = output.parse_output(text, self.rendered, self._name)
        response = wink("adapters.core").PromptResponse(prompt_name=self._name, text=text, output=parsed)
        self._session.dispatcher.dispatch(
            wink("runtime.events").PromptExecuted(
                prompt_name=self._name,
                adapter=self._adapter.adapter_name,
                result=response,
                session_id=session_id(self._session),
                created_at=wink("clock").SYSTEM_CLOCK.utcnow(),
                usage=self._meter.wink_usage(),
                run_context=self._run_context,
            )
        )
        return response

    @staticmethod
    def failed_before(error: Exception) -> Generator[AgentEvent, None, None]:
        """The events of an evaluation that did not begin."""
        yield from _failed(error, AgentResult("", [], [], TokenUsage(), 0))

    def _driven(self, run: GraphRun) -> GraphRun:
        with self._resources():
            run.drive()
        self._look_at(run)
        return run

    def _look_at(self, run: GraphRun) -> None:
        self.is_resumable = run.error is None and run.pause is not None and run.pause.can_resume
        if not self.is_resumable:
            self.runner.forget()

    def _resources(self) -> Any:
        """The prompt's resources, entered unless the caller has done so."""
        try:
            _ = self._prompt.resources.context
        except RuntimeError:
            return self._prompt.resources
        return nullcontext()

    def _tools(self) -> list[Any]:
        context = ToolExecutionContext(
            session=self._session,
            prompt=self._prompt,
            adapter=self._adapter,
            rendered_prompt=self.rendered,
            deadline=self._deadline,
            budget_tracker=self._tracker,
            heartbeat=self._heartbeat,
            run_context=self._run_context,
            turns=self._turns,
        )
        return [wink_tool_to_langgraph(tool, **context.as_dict()) for tool in self.rendered.tools]

    def _make_runner(self) -> GraphRunner:
        adapter = self._adapter
        schema = output.output_schema(self.rendered)
        how = adapter.response_format
        return GraphRunner(
            llm=adapter.llm,
            tools=self._tools(),
            graph=adapter.graph,
            config=dataclasses.replace(adapter.client_config, thread_id=adapter.thread_id(self._session)),
            system_prompt=output.system_words(schema) if schema is not None and how == "prompt" else None,
            response_format=None if schema is None else output.agent_format(schema, how),
            tool_choice=adapter.tool_choice,
            model_settings=adapter.settings,
            check=self.check,
            tracker=self._meter,
            checkpointer=adapter.checkpointer,
            middleware=adapter.middleware,
        )

    def _final_text(self, run: GraphRun) -> str:
        """The last answer's text; structured output that the agent graph has read already, as JSON again."""
        if isinstance(run.state, Mapping) and run.state.get("structured_response") is not None:
            return json.dumps(run.state["structured_response"], ensure_ascii=False)
        final = run.final_message()
        if final is None:
            messages = run.messages()
            raw = str(messages[-1].text) if messages else str(run.state)
            raise output.response_error(
                "The graph ended without an answer of the model. Let its last node add an AIMessage.",
                raw,
                self._name,
            )
        return str(final.text)


def _failed(error: Exception, result: AgentResult) -> Generator[AgentEvent, None, None]:
    phase = getattr(error, "phase", None)
    reason: StoppedReason = "budget" if phase == "budget" else result.stopped_reason
    if reason == "complete":
        reason = "error"
    yield dataclasses.replace(error_event(error), recoverable=hasattr(error, "retry_after"))
    yield AgentEnd(result=dataclasses.replace(result, stopped_reason=reason, error=shown(error), output=""))
