"""One call of a WINK tool: parsed, allowed, run as a transaction, and told to the session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from forge_core.integrations.langgraph.wink_types import Tool, prompt_name, session_id, wink

if TYPE_CHECKING:
    from forge_core.integrations.langgraph.wink_tools import ToolExecutionContext

_SHOWN_CHARS = 1_000
"""Of the output in a ToolInvoked event."""


class WinkCall:
    """Calls one tool's handler. What `weakincentives` 0.27 does for its own adapters, this does alike:
    session and resources are put back when the handler fails, raises or is denied; a denial and a result are
    told with ToolInvoked; arguments that do not fit never reach the handler."""

    def __init__(self, tool: Tool, context: ToolExecutionContext) -> None:
        self._tool = tool
        self._context = context

    def __call__(self, arguments: Mapping[str, Any], call_id: str | None) -> tuple[str, bool]:
        """The text for the model, and whether the call went well.

        Raises:
            VisibilityExpansionRequired: the handler asks for another rendering of the prompt.
        """
        context = self._context
        with context.turns.lock:
            if context.turns.escape is not None:
                return "Not run: the prompt is about to be rendered anew.", False
            self._beat()
            try:
                return self._transaction(dict(arguments), call_id)
            finally:
                self._beat()

    def _transaction(self, arguments: dict[str, Any], call_id: str | None) -> tuple[str, bool]:
        if self._tool.handler is None:
            return f"Error: the tool {self._tool.name!r} has no handler.", False
        transactions = wink("runtime.transactions")
        resources = self._context.prompt.resources.context
        bubble = wink_bubble()
        try:
            with transactions.tool_transaction(
                self._context.session, resources, tag=f"tool:{self._tool.name}"
            ) as snapshot:
                text, success, result = self._judged(arguments)
                if not success:
                    transactions.restore_snapshot(self._context.session, resources, snapshot)
                self._tell(arguments, result, text, call_id)
                return text, success
        except wink("prompt.errors").VisibilityExpansionRequired as asked:
            self._context.turns.escape = asked
            raise
        except wink("errors").RestoreFailedError:
            raise  # the session is in an unknown state: nothing may go on
        except bubble:
            raise  # interrupt() in a handler: the graph pauses
        except (TypeError, ValueError) as error:
            return f"Validation error: {error}", False
        except Exception as error:  # foreign code: a handler's failure is told to the model
            return f"Error: {error}", False

    def _judged(self, arguments: dict[str, Any]) -> tuple[str, bool, Any]:
        tool, context = self._tool, self._tool_context()
        params = self._parsed(arguments)
        policies = self._context.prompt.policies_for_tool(tool.name)
        for policy in policies:
            decision = policy.check(tool, params, context=context)
            if not decision.allowed:
                words = decision.reason or "Denied by policy."
                return words, False, wink("prompt.tool_result").ToolResult.error(words)
        self._context.turns.invoked += 1
        assert tool.handler is not None
        result = tool.handler(params, context=context)
        if result.success:
            for policy in policies:
                policy.on_result(tool, params, result, context=context)
        return _text(result), result.success, result

    def _parsed(self, arguments: dict[str, Any]) -> Any:
        """The handler's params. Raises TypeError or ValueError where they do not fit."""
        params_type = self._tool.params_type
        if params_type is type(None):
            if arguments:
                raise ValueError(f"{self._tool.name} takes no arguments, not {sorted(arguments)}.")
            return None
        return wink("serde").parse(params_type, arguments, extra="forbid", coerce=False)

    def _tool_context(self) -> Any:
        context = self._context
        deadline, heartbeat = context.turns.renewed or (context.deadline, context.heartbeat)
        return wink("prompt.tool").ToolContext(
            prompt=context.prompt,
            rendered_prompt=context.rendered_prompt,
            adapter=context.adapter,
            session=context.session,
            deadline=deadline,
            heartbeat=heartbeat,
            run_context=context.run_context,
        )

    def _tell(self, arguments: dict[str, Any], result: Any, text: str, call_id: str | None) -> None:
        context = self._context
        context.session.dispatcher.dispatch(
            wink("runtime.events").ToolInvoked(
                prompt_name=prompt_name(context.prompt),
                adapter=context.adapter.adapter_name,
                name=self._tool.name,
                params=arguments,
                result=result,
                session_id=session_id(context.session),
                created_at=wink("clock").SYSTEM_CLOCK.utcnow(),
                rendered_output=text[:_SHOWN_CHARS],
                call_id=call_id,
                run_context=context.run_context,
            )
        )

    def _beat(self) -> None:
        turns = self._context.turns
        heartbeat = turns.renewed[1] if turns.renewed else self._context.heartbeat
        if heartbeat is not None:
            heartbeat.beat()


def wink_bubble() -> type[BaseException]:
    """What LangGraph raises through a node to pause or to route."""
    from importlib import import_module

    try:
        bubble: type[BaseException] = import_module("langgraph.errors").GraphBubbleUp
    except ImportError:
        return _Never
    return bubble


class _Never(BaseException):
    """Never raised."""


def _text(result: Any) -> str:
    if result.exclude_value_from_context:
        return str(result.message)
    return str(result.render() or result.message)
