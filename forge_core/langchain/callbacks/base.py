"""Base classes of callback handlers: one handler, and several behind one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.callbacks.manager import handle_event
from langchain_core.messages import BaseMessage

_log = logging.getLogger(__name__)


class ForgeCallbackHandler(BaseCallbackHandler):
    """A handler that is called in registration order, on the thread that makes the call.

    `run_inline` holds both: LangChain's async manager hands other handlers to a thread pool and gathers them,
    which loses order and thread and costs 240 µs per streamed token.
    """

    name: str = ""
    """Shown in logs; the class's name unless set."""
    raise_error: bool = False
    """Whether a failure inside the handler reaches the caller. False: it is logged, and the run continues."""
    run_inline: bool = True

    def __init__(self, name: str | None = None) -> None:
        super().__init__()
        self.name = name or self.name or type(self).__name__

    def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], *, run_id: UUID, **kwargs: Any
    ) -> None:
        """Do nothing, unless the subclass listens to `on_llm_start`: then LangChain calls that one instead.

        Raising is LangChain's way to ask for it. It renders the whole history as text for the fallback, hence
        not for handlers that do not look.
        """
        if type(self).on_llm_start is not BaseCallbackHandler.on_llm_start:
            raise NotImplementedError

    def _safe_call(self, func: Callable[..., object], *args: Any, **kwargs: Any) -> None:
        """Call `func`; its failure is logged, and raised only where `raise_error` is set."""
        try:
            func(*args, **kwargs)
        except Exception:  # foreign code: a broken listener must not end the run that it listens to
            if self.raise_error:
                raise
            _log.warning("%s: %s failed", self.name, getattr(func, "__name__", func), exc_info=True)


def _forward(event: str, ignored_by: str | None) -> Callable[..., Any]:
    """Return a handler method that forwards `event`; `ignored_by` names the children's opt-out attribute."""

    def forward(self: CompositeCallback, *args: Any, **kwargs: Any) -> None:
        self._dispatch(event, ignored_by, args, kwargs)

    forward.__name__ = event
    return forward


class CompositeCallback(ForgeCallbackHandler):
    """Forwards every event to its children in their order, as LangChain's own manager would.

    A child's opt-outs (`ignore_llm`, …) and the fallback from `on_chat_model_start` to `on_llm_start` hold
    for each child. A child's failure never keeps an event from the next one; where the child has
    `raise_error` set, the first such failure is raised after all have been served. Children with coroutine
    methods are waited for.
    """

    def __init__(self, callbacks: Sequence[BaseCallbackHandler] = ()) -> None:
        super().__init__()
        self.callbacks = list(callbacks)
        self.raise_error = any(child.raise_error for child in self.callbacks)

    def _dispatch(
        self, event: str, ignored_by: str | None, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        failure: Exception | None = None
        for child in self.callbacks:
            try:
                # One child at a time: given all, LangChain would run coroutine methods after the plain ones.
                handle_event([child], event, ignored_by, *args, **kwargs)
            except Exception as error:  # only from a child that asks for it: LangChain logs the others
                failure = failure or error
        if failure is not None:
            raise failure

    on_llm_start = _forward("on_llm_start", "ignore_llm")
    on_chat_model_start = _forward("on_chat_model_start", "ignore_chat_model")
    on_llm_new_token = _forward("on_llm_new_token", "ignore_llm")
    on_stream_event = _forward("on_stream_event", "ignore_llm")
    on_llm_end = _forward("on_llm_end", "ignore_llm")
    on_llm_error = _forward("on_llm_error", "ignore_llm")
    on_chain_start = _forward("on_chain_start", "ignore_chain")
    on_chain_end = _forward("on_chain_end", "ignore_chain")
    on_chain_error = _forward("on_chain_error", "ignore_chain")
    on_tool_start = _forward("on_tool_start", "ignore_agent")
    on_tool_end = _forward("on_tool_end", "ignore_agent")
    on_tool_error = _forward("on_tool_error", "ignore_agent")
    on_agent_action = _forward("on_agent_action", "ignore_agent")
    on_agent_finish = _forward("on_agent_finish", "ignore_agent")
    on_retriever_start = _forward("on_retriever_start", "ignore_retriever")
    on_retriever_end = _forward("on_retriever_end", "ignore_retriever")
    on_retriever_error = _forward("on_retriever_error", "ignore_retriever")
    on_text = _forward("on_text", None)
    on_retry = _forward("on_retry", "ignore_retry")
    on_custom_event = _forward("on_custom_event", "ignore_custom_event")
