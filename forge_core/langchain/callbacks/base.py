"""The base of Forge's callback handlers: in order, on the caller's thread, and never fatal."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
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
    """Whether a failure inside the handler reaches the caller. False: it is logged and the run goes on."""
    run_inline: bool = True

    def __init__(self, name: str | None = None) -> None:
        super().__init__()
        self.name = name or self.name or type(self).__name__

    def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], *, run_id: UUID, **kwargs: Any
    ) -> None:
        """Does nothing, unless the subclass listens to `on_llm_start`: then LangChain calls that one instead.

        Raising is LangChain's way to ask for it. It renders the whole history as text for the fallback, hence
        not for handlers that do not look.
        """
        if type(self).on_llm_start is not BaseCallbackHandler.on_llm_start:
            raise NotImplementedError

    def _safe_call(self, func: Callable[..., object], *args: Any, **kwargs: Any) -> None:
        """Calls `func`; its failure is logged, and raised only where `raise_error` is set."""
        try:
            func(*args, **kwargs)
        except Exception:  # foreign code: a broken listener must not end the run that it listens to
            if self.raise_error:
                raise
            _log.warning("%s: %s failed", self.name, getattr(func, "__name__", func), exc_info=True)
