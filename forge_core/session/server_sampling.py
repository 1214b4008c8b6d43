"""Answers of the session's model for MCP servers: requests of their own, outside the conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forge_core.session.side_model import SideModel

if TYPE_CHECKING:
    from forge_core.mcp.sampling import SampleAnswer, SampleRequest


class ServerSampling:
    """Passes the requests of servers to the model."""

    def __init__(self, side_model: SideModel) -> None:
        self._side_model = side_model

    @property
    def model(self) -> str:
        """The model that would answer now."""
        return self._side_model.name

    async def answer(self, request: SampleRequest) -> SampleAnswer:
        """Return the model's answer. It is given nothing but the request, and no tools. Raises ForgeError."""
        from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

        from forge_core.mcp.sampling import SampleAnswer

        kinds = {"user": HumanMessage, "assistant": AIMessage}
        messages = [kinds[one.role](one.text) for one in request.messages]
        system = [SystemMessage(request.system)] if request.system else []
        options: dict[str, Any] = {"max_tokens": request.max_tokens}
        if request.temperature is not None:
            options["temperature"] = request.temperature
        if request.stop:
            options["stop"] = [*request.stop]
        given = await self._side_model.answer([*system, *messages], "sampling", **options)
        return SampleAnswer(given.text, given.model, is_cut=given.completion_tokens >= request.max_tokens)
