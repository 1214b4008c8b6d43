"""One evaluation of a WINK prompt: rendered, run on a graph, and reported to the session."""

from __future__ import annotations

import dataclasses
import json
import uuid
from collections.abc import Generator, Mapping
from contextlib import nullcontext
from datetime import timedelta
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from forge_core.events import AgentEnd, AgentEvent, Error
from forge_core.integrations.langgraph.budget import BudgetTrackingCallback
from forge_core.integrations.langgraph.runner import GraphRun, GraphRunner, error_event, shown
from forge_core.integrations.langgraph.wink_errors import normalized, paused
from forge_core.integrations.langgraph.wink_tools import (
    ToolExecutionContext,
    ToolTurns,
    bound_tool,
)
from forge_core.integrations.langgraph.wink_types import prompt_name, session_id, wink
from forge_core.llm.models import TokenUsage
from forge_core.result import AgentResult, StoppedReason

if TYPE_CHECKING:
    from weakincentives import BudgetTracker, Deadline
    from weakincentives.prompt import Prompt, RenderedPrompt
    from weakincentives.runtime import Heartbeat, Session

    from forge_core.integrations.langgraph.adapter import LangGraphAdapter


ResponseFormat = Literal["prompt", "provider", "tool"]
"""prompt: the schema is in the system message, which every model takes; provider: the provider's own JSON
mode; tool: a tool that the model must call."""
_RAW_CHARS = 2_000


class Evaluation:
    """One evaluation: call `check()` and `render()`, then `run()` or `stream()`, then `conclude()` with the
    run."""

    runner: GraphRunner
    rendered: RenderedPrompt

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
        """Raise PromptEvaluationError where time or budget are used up. Called before every model and tool
        call."""
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
        """Render the prompt and dispatch PromptRendered and RenderedTools."""
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
        """Run the graph in this thread."""
        return self._driven(self.runner.start(self.rendered.text))

    def resume(self, value: Any, deadline: Deadline | None, heartbeat: Heartbeat | None) -> GraphRun:
        """Continue after a pause, in this thread."""
        self._deadline, self._heartbeat = deadline, heartbeat or self._heartbeat
        self._turns.renewed = (self._deadline, self._heartbeat)
        return self._driven(self.runner.restart(value))

    def stream(self) -> Generator[AgentEvent, None, Any]:
        """Return the run's events, with WINK's judgement of its end; the value is the PromptResponse or
        None."""
        run = self.runner.start(self.rendered.text)
        end: AgentEnd | None = None
        with self._resources():
            for event in run.events():
                if isinstance(event, AgentEnd):
                    end = event
                elif not isinstance(event, Error):  # reported below, as WINK's error
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
        """Return the PromptResponse, dispatched as PromptExecuted; raise WINK's error where there is none."""
        if self._turns.escape is not None:
            raise self._turns.escape
        if run.error is not None:
            raise normalized(
                run.error,
                prompt_name=self._name,
                recursion_limit=self._adapter.client_config.recursion_limit,
                retry_safe=self._turns.invoked == 0,
            )
        if run.pause is not None:
            raise paused(run.pause, prompt_name=self._name)
        text = self._final_text(run)
        parsed = parse_output(text, self.rendered, self._name)
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
        """Return the events of an evaluation that did not begin."""
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
        """Return the prompt's resources, entered unless the caller has done so."""
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
        return [bound_tool(tool, context) for tool in self.rendered.tools]

    def _make_runner(self) -> GraphRunner:
        adapter = self._adapter
        schema = output_schema(self.rendered)
        how = adapter.response_format
        return GraphRunner(
            llm=adapter.llm,
            tools=self._tools(),
            graph=adapter.graph,
            config=dataclasses.replace(adapter.client_config, thread_id=adapter.thread_id(self._session)),
            system_prompt=system_words(schema) if schema is not None and how == "prompt" else None,
            response_format=None if schema is None else agent_format(schema, how),
            tool_choice=adapter.tool_choice,
            model_settings=adapter.settings,
            check=self.check,
            tracker=self._meter,
            checkpointer=adapter.checkpointer,
            middleware=adapter.middleware,
        )

    def _final_text(self, run: GraphRun) -> str:
        """Return the last answer's text; structured output that the agent graph has read already, as JSON
        again."""
        if isinstance(run.state, Mapping) and run.state.get("structured_response") is not None:
            return json.dumps(run.state["structured_response"], ensure_ascii=False)
        final = run.final_message()
        if final is None:
            messages = run.messages()
            raw = str(messages[-1].text) if messages else str(run.state)
            raise response_error(
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


def output_schema(rendered: RenderedPrompt) -> dict[str, Any] | None:
    """Return the JSON schema of the prompt's output, an array as `{"items": […]}`; None for plain text."""
    if rendered.output_type is None:
        return None
    serde = wink("serde")
    extra = "ignore" if rendered.allow_extra_keys else "forbid"
    schema: dict[str, Any] = serde.schema(rendered.output_type, extra=extra)
    if rendered.container != "array":
        return schema
    return {
        "title": f"{rendered.output_type.__name__}List",
        "type": "object",
        "properties": {"items": {"type": "array", "items": schema}},
        "required": ["items"],
        "additionalProperties": False,
    }


def system_words(schema: dict[str, Any]) -> str:
    """Tell the model the form of its last answer."""
    return (
        "When you are done, answer with one JSON value and nothing else. It must follow this JSON schema:\n"
        + json.dumps(schema, ensure_ascii=False)
    )


def agent_format(schema: dict[str, Any], how: ResponseFormat) -> Any:
    """Return the strategy for `create_agent(response_format=…)`; None where the prompt asks."""
    if how == "prompt":
        return None
    strategies = import_module("langchain.agents.structured_output")
    named = {"description": "The final answer.", "title": "Answer", **schema}
    return strategies.ProviderStrategy(named) if how == "provider" else strategies.ToolStrategy(named)


def parse_output(text: str, rendered: RenderedPrompt, prompt_name: str) -> Any:
    """Return the prompt's dataclass, or list of them; None where it declares none.

    Raises:
        PromptEvaluationError: phase "response", with the text, where it does not fit.
    """
    if rendered.output_type is None:
        return None
    structured = wink("prompt.structured_output")
    try:
        return structured.parse_structured_output(text, rendered)
    except (structured.OutputParseError, TypeError, ValueError) as error:
        raise response_error(
            f"The answer is not the structured output asked for: {error}", text, prompt_name
        ) from error


def response_error(message: str, raw: str, prompt_name: str) -> Any:
    """Return a PromptEvaluationError of phase "response" that keeps what came."""
    return wink("errors").PromptEvaluationError(
        message, prompt_name=prompt_name, phase="response", provider_payload={"raw_text": raw[:_RAW_CHARS]}
    )
