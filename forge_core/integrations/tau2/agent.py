"""Forge as an agent of tau2-bench."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
from pydantic import BaseModel, ConfigDict, Field

from forge_core.integrations.tau2.cost import CostBook, take_prices, usage_of
from forge_core.integrations.tau2.llm_arguments import build_llm, clean_args
from forge_core.integrations.tau2.messages import (
    KEPT,
    call_ids,
    check_input,
    parts_of,
    to_langchain,
    to_tool_calls,
)
from forge_core.integrations.tau2.model_calls import EventListener, ModelCaller, TurnUsage
from forge_core.integrations.tau2.react import RunAhead, ToolExecutor, came_true
from forge_core.integrations.tau2.system_prompt import SystemPrompt, build_prompt, domain_of
from forge_core.integrations.tau2.tau2_api import agent_base, load
from forge_core.langchain.agent.model_call import finish_reason_of, model_of

_log = logging.getLogger(__name__)
_Base: Any = agent_base()
_FROM_TAU2 = frozenset({"task", "audio_native_config", "audio_taps_dir"})
"""Arguments that tau2 passes to every factory and this agent does not use."""


class Tau2ForgeAgent(_Base):  # type: ignore[misc]  # tau2 is not there where types are checked
    """Answers each message with one model call: a text for the user, or tool calls for tau2 to run.

    `mode="step"` runs no tool itself. `mode="react"` runs reads ahead in a copy (see `react`), optionally
    through a `tool_executor` of the caller's. `llm` and `llm_args` are tau2's, in LiteLLM's words;
    `base_url` and `api_key` win over those in `llm_args`, and a key that is not given comes from the variable
    of the host (OPENROUTER_API_KEY, OPENAI_API_KEY, NEBIUS_API_KEY, …). `on_event` gets the model's calls as
    they happen. One agent may serve several conversations and threads.

    Raises:
        ImportError: tau2 is not installed.
        ValueError: there is no key, an argument is unusable, or react mode cannot copy the tools.
    """

    def __init__(
        self,
        tools: Sequence[Any],
        domain_policy: str,
        llm: str | None = None,
        llm_args: Mapping[str, Any] | None = None,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        mode: Literal["step", "react"] = "step",
        tool_executor: ToolExecutor | None = None,
        system_prompt: SystemPrompt | None = None,
        domain: str | None = None,
        stream: bool = True,
        on_event: EventListener | None = None,
        max_format_retries: int = 3,
        **ignored: Any,
    ) -> None:
        load()
        super().__init__(tools=list(tools), domain_policy=domain_policy)
        if mode not in ("step", "react"):
            raise ValueError(f'mode is {mode!r}; it is "step" or "react".')
        if ignored.get("audio_native_config") is not None:
            raise ValueError("This agent reads text; run audio with tau2's audio agent.")
        unknown = sorted(ignored.keys() - _FROM_TAU2)
        if unknown:
            _log.warning("Tau2ForgeAgent takes no %s; ignored.", ", ".join(unknown))
        if tool_executor is not None and mode == "step":
            _log.warning('tool_executor is not used: mode="step" runs no tools. Give mode="react" for it.')
        args = clean_args(llm_args)
        url, key = args.pop("base_url", None), args.pop("api_key", None)
        stream = bool(args.pop("stream", stream))
        prices = take_prices(args)
        self.mode = mode
        self.llm_args = args
        """A copy, without key and URL."""
        self.system_prompt = build_prompt(system_prompt, domain_policy, domain or domain_of(tools))
        self._llm = build_llm(llm, args, base_url or url, (api_key or "").strip() or key)
        self.llm = llm or self._llm.model
        self._caller = ModelCaller(
            self._llm,
            [tool.openai_schema for tool in tools],
            is_streaming=stream,
            max_format_retries=max_format_retries,
            on_event=on_event,
        )
        self._costs = CostBook(self.llm, prices)
        self._ahead = RunAhead(self._caller, self.tools, tool_executor) if mode == "react" else None

    def get_init_state(self, message_history: Sequence[Any] | None = None) -> Tau2ForgeState:
        """Return the state at the end of `message_history`. Raises ValueError for a history that is not the
        agent's or that a model's host would refuse."""
        history = list(message_history or ())
        return Tau2ForgeState(
            system_messages=[load().messages.SystemMessage(role="system", content=self.system_prompt)],
            messages=history,
            langchain_messages=to_langchain(history),
        )

    def generate_next_message(self, message: Any, state: Tau2ForgeState) -> tuple[Any, Tau2ForgeState]:
        """Return the agent's answer, and `state` with both messages in it. When it raises, `state` is as
        before.

        Raises:
            ValueError: the message is not one to answer (audio, the user's tool calls, solo mode).
            ProviderError: the provider refused or failed. The user gets no message about it.
            Exception: tau2's AgentError, when the model gave no usable answer.
        """
        check_input(message)
        new = parts_of(message)
        history = [*state.messages, *new]
        known = to_langchain(history, is_whole=True)
        if state.prepared_text is not None and came_true(state.tool_execution_cache, new):
            answer = self._message(AIMessage(state.prepared_text), TurnUsage(), raw={"prepared": True})
            self._commit(state, history, answer)
            return answer, state
        turn = TurnUsage()
        system: list[BaseMessage] = [SystemMessage(entry.content or "") for entry in state.system_messages]
        question, taken_ids = [*system, *known], call_ids(known)
        run = self._ahead.run(question, taken_ids, turn) if self._ahead is not None else None
        if run is None or not run.calls:
            plain = self._caller.ask(question, taken_ids, turn) if run is None else run.answer
            answer = self._message(plain, turn)
            self._commit(state, history, answer)
        else:
            answer = self._message(AIMessage(""), turn, calls=run.calls, raw=_answer_metadata(run.answer))
            self._commit(state, history, answer, run.results, run.text)
        return answer, state

    def set_seed(self, seed: int) -> None:
        """Send `seed` with every request from now on."""
        self.llm_args["seed"] = seed
        self._llm.seed = seed

    def stop(self, message: Any = None, state: Tau2ForgeState | None = None) -> None:
        """Close the connections, also those of this agent's other conversations. They open again when it is
        used."""
        self._llm.client.close()

    @classmethod
    def is_stop(cls, message: Any) -> bool:
        """Return False: the user ends a conversation."""
        return False

    def _message(
        self,
        answer: AIMessage,
        turn: TurnUsage,
        *,
        calls: Sequence[Any] = (),
        raw: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return tau2's message. It is created after the reply: tau2 sorts a trajectory by the times of its
        messages."""
        made = list(calls) or to_tool_calls(answer)
        text = str(answer.text)
        cost, source = self._costs.cost_of(turn.usage) if turn.model_calls else (0.0, "nothing asked")
        data = {
            **_answer_metadata(answer),
            **(raw or {}),
            "cost_source": source,
            "model_calls": turn.model_calls,
        }
        if turn.refused_answers:
            data["refused_answers"] = turn.refused_answers
        if made and text.strip():
            data["preamble"] = text
        return load().messages.AssistantMessage(
            role="assistant",
            content=None if made else text,
            tool_calls=made or None,
            cost=cost,
            usage=usage_of(turn.usage),
            raw_data=data,
            generation_time_seconds=turn.duration_s,
        )

    def _commit(
        self,
        state: Tau2ForgeState,
        history: list[Any],
        answer: Any,
        cache: dict[str, Any] | None = None,
        prepared_text: str | None = None,
    ) -> None:
        messages = [*history, answer]
        state.messages, state.langchain_messages = messages, to_langchain(messages)
        state.tool_execution_cache, state.prepared_text = cache or {}, prepared_text


def _answer_metadata(answer: AIMessage) -> dict[str, Any]:
    """Return the metadata of an answer, JSON-ready."""
    known: dict[str, Any] = {"model_name": model_of(answer), "finish_reason": finish_reason_of(answer)}
    known |= {name: answer.response_metadata.get(name) for name in ("provider", "generation_id")}
    known |= {name: answer.additional_kwargs.get(name) for name in KEPT}
    return {name: value for name, value in known.items() if value}


def create_tau2_forge_agent(tools: Sequence[Any], domain_policy: str, **kwargs: Any) -> Tau2ForgeAgent:
    """Return the agent for tau2's registry, which calls its factories with keywords; see Tau2ForgeAgent."""
    return Tau2ForgeAgent(tools, domain_policy, **kwargs)


LangChainAgent = Tau2ForgeAgent
"""The name of an earlier agent with this role."""


class Tau2ForgeState(BaseModel):
    """Both histories of one conversation, always of the same length and roles."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    system_messages: list[Any] = Field(default_factory=list)
    """tau2's SystemMessage, one."""
    messages: list[Any] = Field(default_factory=list)
    """tau2's messages, each tool result on its own."""
    langchain_messages: list[BaseMessage] = Field(default_factory=list)
    """The same as the model gets them."""
    tool_execution_cache: dict[str, Any] = Field(default_factory=dict)
    """React mode: the results that the copied toolkit gave to the calls of the last message, by call id."""
    prepared_text: str | None = None
    """React mode: the next message if the real results are those."""


LangChainAgentState = Tau2ForgeState
"""The name of an earlier agent's state."""
