"""One evaluation of a WINK prompt: rendered, run on a graph, and reported to the session."""

from __future__ import annotations

import dataclasses
import json
import uuid
from collections.abc import Generator, Iterator, Mapping
from contextlib import nullcontext
from datetime import timedelta
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from forge_core.events import AgentEnd, AgentEvent, Error
from forge_core.integrations.langgraph.budget import BudgetTrackingCallback
from forge_core.integrations.langgraph.runner import GraphRun, GraphRunner, error_event, shown
from forge_core.integrations.langgraph.wink_errors import normalized
from forge_core.integrations.langgraph.wink_tools import ToolExecutionContext, bound_tool
from forge_core.integrations.langgraph.wink_types import prompt_name, wink
from forge_core.result import AgentResult, StoppedReason

if TYPE_CHECKING:
    from weakincentives import Deadline
    from weakincentives.prompt import RenderedPrompt
    from weakincentives.runtime import Heartbeat

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

    def __init__(self, adapter: LangGraphAdapter, context: ToolExecutionContext) -> None:
        self._adapter = adapter
        self._context = context
        self._turns = context.turns
        self._prompt = context.prompt
        self._name = prompt_name(context.prompt)
        self._meter = BudgetTrackingCallback(context.budget_tracker, prompt_name=self._name)
        self.is_resumable = False

    def check(self) -> None:
        """Raise PromptEvaluationError where time or budget are used up. Called before every model and tool
        call."""
        context = self._context
        if context.heartbeat is not None:
            context.heartbeat.beat()
        if self._turns.escape is not None:
            raise self._turns.escape
        if context.deadline is not None and context.deadline.remaining() <= timedelta(0):
            raise wink("errors").PromptEvaluationError(
                f"The deadline of prompt {self._name!r} has passed. Give it more time.",
                prompt_name=self._name,
                phase="request",
            )
        self._meter.check()

    def render(self) -> None:
        """Render the prompt and dispatch PromptRendered and RenderedTools."""
        prompt, context = self._prompt, self._context
        context.rendered_prompt = rendered = prompt.render(session=context.session)
        event_id = uuid.uuid4()
        context.dispatch(
            wink("runtime.events").PromptRendered,
            prompt_ns=prompt.ns,
            prompt_key=prompt.key,
            prompt_name=prompt.name,
            adapter=self._adapter.adapter_name,
            render_inputs=prompt.params,
            rendered_prompt=rendered.text,
            descriptor=rendered.descriptor,
            run_context=context.run_context,
            event_id=event_id,
        )
        schema_of = wink("adapters.tool_spec").extract_tool_schema
        context.dispatch(
            wink("runtime.session.rendered_tools").RenderedTools,
            prompt_ns=prompt.ns,
            prompt_key=prompt.key,
            tools=tuple(schema_of(tool) for tool in rendered.tools),
            render_event_id=event_id,
        )
        self.rendered = rendered
        if context.budget_tracker is not None:  # handlers read it as a resource
            prompt.bind(resources={wink("budget").BudgetTracker: context.budget_tracker})
        self.runner = self._make_runner()

    def run(self) -> GraphRun:
        """Run the graph in this thread."""
        return self._driven(self.runner.start(self.rendered.text))

    def resume(self, value: Any, deadline: Deadline | None, heartbeat: Heartbeat | None) -> GraphRun:
        """Continue after a pause, in this thread."""
        self._context.deadline, self._context.heartbeat = deadline, heartbeat or self._context.heartbeat
        return self._driven(self.runner.restart(value))

    def stream(self) -> Generator[AgentEvent, None, Any]:
        """Return the run's events, with the outcome as WINK judges it; the value is the PromptResponse or
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
            yield from failure_events(error, end.result)
            return None
        yield end
        return response

    def conclude(self, run: GraphRun) -> Any:
        """Return the PromptResponse, dispatched as PromptExecuted; raise WINK's error where there is none."""
        if self._turns.escape is not None:
            raise self._turns.escape
        failure = run.error or run.pause
        if failure is not None:
            raise normalized(
                failure,
                prompt_name=self._name,
                recursion_limit=self._adapter.client_config.recursion_limit,
                retry_safe=self._turns.invoked == 0,
            )
        text = self._final_text(run)
        parsed = parse_output(text, self.rendered, self._name)
        response = wink("adapters.core").PromptResponse(prompt_name=self._name, text=text, output=parsed)
        self._context.dispatch(
            wink("runtime.events").PromptExecuted,
            prompt_name=self._name,
            adapter=self._adapter.adapter_name,
            result=response,
            usage=self._meter.wink_usage(),
            run_context=self._context.run_context,
        )
        return response

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

    def _make_runner(self) -> GraphRunner:
        adapter = self._adapter
        schema = output_schema(self.rendered)
        how = adapter.response_format
        return GraphRunner(
            llm=adapter.llm,
            tools=[bound_tool(tool, self._context) for tool in self.rendered.tools],
            graph=adapter.graph,
            config=dataclasses.replace(
                adapter.client_config, thread_id=adapter.thread_id(self._context.session)
            ),
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


def failure_events(error: Exception, result: AgentResult) -> Iterator[AgentEvent]:
    """Yield ERROR and AGENT_END for WINK's error; `result` is what the run had until then."""
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
    """Return the instruction on the form of the last answer."""
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
