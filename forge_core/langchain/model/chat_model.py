"""OpenRouter, and every server that speaks its protocol, as a LangChain chat model."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, closing
from decimal import Decimal
from types import TracebackType
from typing import Annotated, Any, Self

from langchain_core import exceptions
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import LanguageModelInput, ModelProfile
from langchain_core.language_models.base import LangSmithParams
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.load.serializable import SerializedConstructor, SerializedNotImplemented
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import (
    AliasChoices,
    ConfigDict,
    Field,
    SecretStr,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)

from forge_core import errors
from forge_core.errors import ProviderError
from forge_core.langchain.model.requests import build_request, recoverable_tools, to_tool_choice
from forge_core.langchain.model.responses import MODEL_PROVIDER, ChunkConverter, sum_token_usage, to_result
from forge_core.langchain.model.structured import StructuredMethod, structured
from forge_core.llm.account.catalog import ModelInfo, lookup, price_at
from forge_core.llm.client import OpenRouterClient
from forge_core.llm.endpoints import DEFAULT_MODEL, DEFAULT_PROVIDER, NAMED_KEY_VARIABLE, resolve
from forge_core.llm.http.loop_thread import LOOP_THREAD
from forge_core.llm.models import CompletionRequest, TokenUsage, ToolDefinition
from forge_core.llm.tokenizer import token_ids
from forge_core.llm.tokens import estimate_tokens

_SAMPLING = ("temperature", "max_tokens", "top_p", "frequency_penalty", "presence_penalty")
_ROUTING = ("fallbacks", "models", "provider", "reasoning", "session_id", "cache_control", "seed")


class _UnsetTemperature(float):
    """The provider's own default, shown but never sent. A value of its own, as `model_fields_set` does not
    survive what LangChain does with a model: `configurable_fields` hands every field to a new one."""


_UNSET_TEMPERATURE = _UnsetTemperature(1.0)


def _keep_unset(value: Any, check: ValidatorFunctionWrapHandler) -> Any:
    return value if isinstance(value, _UnsetTemperature) else check(value)


class OpenRouterLLM(BaseChatModel):
    """Talks to one model through an OpenRouterClient.

    Give a `client`, or `api_key`, `base_url`, `timeout` (seconds) and `max_retries` (a count) to have one
    built; what is missing comes from OPENROUTER_BASE_URL, FORGE_API_KEY for an endpoint that is named so or
    by `base_url`, and the variable of the provider that answers there. A parameter is sent only when it was
    set: the `temperature` of 1.0 that an untouched model shows is the provider's own default.

    A stream that breaks off after its first token raises and is not sent again, because the text that was
    yielded cannot be taken back; the error's `partial_text` holds it. `ForgeAgent` repeats the whole call.

    Example:
        llm = OpenRouterLLM(model="openai/gpt-5-mini")
        async for chunk in llm.bind_tools([search]).astream("…"): ...
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, populate_by_name=True)

    client: OpenRouterClient = Field(default=None, exclude=True, repr=False)  # type: ignore[assignment]
    """Set after construction in any case."""
    model: str = Field(default=DEFAULT_MODEL, validation_alias=AliasChoices("model", "model_name"))
    api_key: SecretStr | None = None
    base_url: str | None = None
    timeout: float | None = None
    """Seconds for a whole answer, and for a stream's silences where shorter than the client's limits."""
    max_retries: int = 2
    """Attempts after the first; 0 for none."""
    attribution: bool = True
    """Whether OpenRouter is informed that Forge is calling; no other provider is."""
    temperature: Annotated[float, WrapValidator(_keep_unset)] = _UNSET_TEMPERATURE
    max_tokens: int | None = None
    top_p: float | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    stop: list[str] | None = Field(default=None, validation_alias=AliasChoices("stop", "stop_sequences"))
    """Joined with a call's own; the API takes four in all."""
    seed: int | None = None
    fallbacks: tuple[str, ...] | None = None
    """Models that answer, in this order, when `model` cannot: tried by OpenRouter itself, at other
    endpoints by the client."""
    models: list[str] | None = None
    """The same as a field of the request, for OpenRouter alone."""
    provider: dict[str, Any] | None = None
    """OpenRouter's routing preferences (order, only, ignore, sort, zdr, require_parameters, …)."""
    reasoning: dict[str, Any] | None = None
    """effort, max_tokens, exclude, enabled."""
    session_id: str | None = None
    """Keeps a conversation on one provider, so that its prompt cache stays warm."""
    cache_control: dict[str, Any] | None = None
    model_kwargs: dict[str, Any] = Field(default_factory=dict)
    """Further fields of the request body."""
    recover_tool_calls: bool = True
    """Whether a call that the model printed as text is accepted if it fits a tool that was offered."""
    streaming: bool | None = None
    """Whether every call streams; None leaves it to the call. An explicit False turns streaming off, so it
    must not be the default: `configurable_fields` makes every default explicit."""

    @model_validator(mode="after")
    def _complete_client(self) -> Self:
        if self.client is not None:
            return self
        found = resolve(self.base_url or os.environ.get("OPENROUTER_BASE_URL"), os.environ)  # type: ignore[unreachable]
        key = self.api_key.get_secret_value() if self.api_key is not None else None
        # A stored model that names no endpoint is loaded with OpenRouter's key, wherever it then goes.
        is_elsewhere = self.base_url is None and found.provider is not DEFAULT_PROVIDER
        if key is None or (is_elsewhere and key == os.environ.get("OPENROUTER_API_KEY", "").strip()):
            key = found.api_key
            self.api_key = SecretStr(key) if key is not None else None
        self.client = OpenRouterClient(
            key,
            found.base_url,
            key_variable=found.key_variable if key == found.api_key else None,
            timeout=self.timeout,
            max_retries=self.max_retries,
            attribution=self.attribution,
        )
        return self

    @property
    def _llm_type(self) -> str:
        return "openrouter-chat"

    @property
    def lc_secrets(self) -> dict[str, str]:
        """The variables that a stored model takes its key from: the one that may hold a key for its
        endpoint."""
        if self.base_url is None:
            return {"api_key": "OPENROUTER_API_KEY"}
        own = self.client.key_variable or self.client.provider.key_variable
        return {"api_key": own or NAMED_KEY_VARIABLE}

    @classmethod
    def is_lc_serializable(cls) -> bool:
        return True

    @classmethod
    def get_lc_namespace(cls) -> list[str]:
        return ["forge_core", "langchain", "llm"]

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model": self.model, "base_url": self.client.base_url, "stop": self.stop, **self._defaults()}

    def _defaults(self) -> dict[str, Any]:
        """Return the fields that were set; they are part of every request."""
        values = {name: getattr(self, name) for name in (*_SAMPLING, *_ROUTING)}
        chosen = {
            name: value
            for name, value in values.items()
            if value is not None and not isinstance(value, _UnsetTemperature)
        }
        return {**self.model_kwargs, **chosen}

    def to_json(self) -> SerializedConstructor | SerializedNotImplemented:
        """Return the stored form, without a temperature that was not set: loading it must not set one."""
        stored = super().to_json()
        if stored["type"] == "constructor" and isinstance(self.temperature, _UnsetTemperature):
            stored["kwargs"].pop("temperature", None)
        return stored

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        values = {**self._defaults(), **kwargs}
        params = LangSmithParams(
            ls_provider=MODEL_PROVIDER,
            ls_model_type="chat",
            ls_model_name=str(values.get("model") or self.model),
        )
        if values.get("temperature") is not None:
            params["ls_temperature"] = values["temperature"]
        if values.get("max_tokens") is not None:
            params["ls_max_tokens"] = values["max_tokens"]
        stops = list(dict.fromkeys([*(self.stop or ()), *(stop or ())]))
        if stops:
            params["ls_stop"] = stops
        return params

    def _resolve_model_profile(self) -> ModelProfile | None:
        found = lookup(self.model)
        return None if found is None else to_profile(found)

    def _combine_llm_outputs(self, _llm_outputs: list[dict[str, Any] | None], /) -> dict[str, Any]:
        return {"token_usage": sum_token_usage(_llm_outputs), "model_name": self.model}

    def _request(
        self, messages: Sequence[BaseMessage], stop: list[str] | None, kwargs: Mapping[str, Any]
    ) -> CompletionRequest:
        return build_request(
            self.model, messages, self._defaults(), [*(self.stop or ()), *(stop or ())], kwargs
        )

    def _recoverable(self, request: CompletionRequest) -> Sequence[ToolDefinition | dict[str, Any]]:
        return recoverable_tools(request) if self.recover_tool_calls else ()

    def _price(self, model: str, usage: TokenUsage) -> Decimal | None:
        return price_at(self.client.provider, model or self.model, usage)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return LOOP_THREAD.run(self._agenerate(messages, stop, **kwargs))

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        try:
            request = self._request(messages, stop, kwargs)
            return to_result(await self.client.complete(request), self._price, self._recoverable(request))
        except ProviderError as error:
            raise as_model_error(error) from error

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        with closing(LOOP_THREAD.iterate(self._astream(messages, stop, **kwargs))) as chunks:
            for chunk in chunks:
                if run_manager is not None:
                    run_manager.on_llm_new_token(chunk.text, chunk=chunk)
                yield chunk

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncGenerator[ChatGenerationChunk, None]:
        request = self._request(messages, stop, kwargs)
        converter = ChunkConverter(self._price, self._recoverable(request))
        try:
            async with aclosing(self.client.stream(request)) as chunks:
                async for chunk in chunks:
                    converted = converter.convert(chunk)
                    if converted is not None:
                        if run_manager is not None:
                            await run_manager.on_llm_new_token(converted.text, chunk=converted)
                        yield converted
        except ProviderError as error:
            raise as_model_error(error) from error
        last = converter.last()
        if run_manager is not None:
            await run_manager.on_llm_new_token(last.text, chunk=last)
        yield last

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | dict[str, Any] | bool | None = None,
        strict: bool | None = None,
        parallel_tool_calls: bool | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Return this model with `tools` in every request.

        `tool_choice` is a tool's name, "auto", "none", "required" (also "any" or True), or the API's own
        form.
        """
        wire_tools = [convert_to_openai_tool(tool, strict=strict) for tool in tools]
        bound: dict[str, Any] = {"tools": wire_tools, **kwargs}
        choice = to_tool_choice(tool_choice, wire_tools)
        if choice is not None:
            bound["tool_choice"] = choice
        if parallel_tool_calls is not None:
            bound["parallel_tool_calls"] = parallel_tool_calls
        return self.bind(**bound)

    def with_structured_output(
        self,
        schema: dict[str, Any] | type | None = None,
        *,
        method: StructuredMethod = "function_calling",
        include_raw: bool = False,
        strict: bool | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, Any]:
        """Return a runnable that returns instances of `schema`; see `model.structured`."""
        return structured(self, schema, method=method, include_raw=include_raw, strict=strict, **kwargs)

    def get_token_ids(self, text: str) -> list[int]:
        """Return the ids in o200k_base, offline, whatever the model's own vocabulary is; without tiktoken, as
        many numbers as `text` has tokens by estimate."""
        ids = token_ids(text)
        return list(range(estimate_tokens(text))) if ids is None else ids

    async def aclose(self) -> None:
        """Close the client's connections of this event loop; they open again when the model is used."""
        await self.client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def to_profile(model: ModelInfo) -> ModelProfile:
    """Return the profile of a catalogue entry, without what is unknown."""
    takes = model.input_modalities
    profile = ModelProfile(
        name=model.name,
        tool_calling=model.takes_tools,
        image_inputs="image" in takes,
        pdf_inputs="file" in takes,
        audio_inputs="audio" in takes,
        video_inputs="video" in takes,
    )
    if model.context_length:
        profile["max_input_tokens"] = model.context_length
    if model.max_output_tokens:
        profile["max_output_tokens"] = model.max_output_tokens
    if model.supported_parameters:
        profile["structured_output"] = "structured_outputs" in model.supported_parameters
        profile["reasoning_output"] = "reasoning" in model.supported_parameters
    return profile


def as_model_error(error: ProviderError) -> ProviderError:
    """Return `error` as an instance of both trees, ours and LangChain's ModelError family; itself when it is
    one already.

    Code that catches `forge_core.errors.RateLimitError` and LangChain's retry middleware, which looks for
    ModelError and `is_retryable`, see the same object.
    """
    if isinstance(error, exceptions.ModelError):
        return error
    made = next(_IN_BOTH_TREES[base] for base in type(error).__mro__ if base in _IN_BOTH_TREES)(error.message)
    vars(made).update(vars(error), is_retryable=error.retryable)
    return made


def _reduce(error: ProviderError) -> tuple[Any, ...]:
    """Pickle an error of both trees as the one of our tree: its own type cannot be imported by name."""
    return _restore, (type(error).__mro__[1], error.message, vars(error))


def _restore(kind: type[ProviderError], message: str, attributes: dict[str, Any]) -> ProviderError:
    error = kind(message)
    vars(error).update(attributes)
    return as_model_error(error)


_IN_BOTH_TREES: Mapping[type, type[ProviderError]] = {
    ours: type(ours.__name__, (ours, *theirs), {"__reduce__": _reduce})
    for ours, *theirs in (
        (errors.AuthenticationError, exceptions.ModelAuthenticationError),
        (errors.PaymentRequiredError, exceptions.ModelError),
        (errors.PermissionDeniedError, exceptions.ModelPermissionDeniedError),
        (errors.ModelNotFoundError, exceptions.ModelNotFoundError),
        (errors.InvalidRequestError, exceptions.ModelInvalidRequestError),
        (
            errors.ContextLengthError,
            exceptions.ModelInvalidRequestError,
            exceptions.ContextOverflowError,
        ),
        (errors.RateLimitError, exceptions.ModelRateLimitError),
        (errors.ServerError, exceptions.ModelAPIError),
        (errors.ConnectionFailedError, exceptions.ModelConnectionError),
        (errors.ProviderTimeoutError, exceptions.ModelTimeoutError),
        (errors.MalformedResponseError, exceptions.ModelAPIError),
        (ProviderError, exceptions.ModelError),
    )
}
"""For each of our types the subclass, under the same name, that is also LangChain's."""
