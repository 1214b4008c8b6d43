"""A small shop as a tau2 domain, and agents of Forge's that work in it. tau2 is imported on first use.

Without postponed annotations: tau2 makes a tool's schema from the annotations as they are.
"""

from importlib import import_module
from typing import Any

from pydantic import BaseModel

from forge_core.integrations import tau2 as forge_tau2
from tests.support.sse_server import SseServer

POLICY = "Cancel an order only when the user says why."


class Reason(BaseModel):
    """Why an order is cancelled."""

    code: str
    note: str = ""


class ShopDB(BaseModel):
    orders: dict[str, str]

    def get_hash(self) -> str:
        return self.model_dump_json()


def environment() -> Any:
    """A live environment with two orders."""
    kit = import_module("tau2.environment.toolkit")

    class Shop(kit.ToolKitBase):  # type: ignore[misc, name-defined]
        @kit.is_tool(kit.ToolType.READ)  # type: ignore[untyped-decorator]
        def get_order(self, order_id: str) -> str:
            """The state of an order.

            Args:
                order_id: the order's number
            """
            if order_id not in self.db.orders:
                raise ValueError(f"no order {order_id}")
            return str(self.db.orders[order_id])

        @kit.is_tool(kit.ToolType.WRITE)  # type: ignore[untyped-decorator]
        def cancel_order(self, order_id: str, reason: Reason) -> str:
            """Cancel an order.

            Args:
                order_id: the order's number
                reason: why
            """
            self.db.orders[order_id] = "cancelled"
            return "cancelled"

    db = ShopDB(orders={"1": "open", "2": "sent"})
    return import_module("tau2.environment.environment").Environment("shop", POLICY, Shop(db))


def shop_tools(live: Any) -> list[Any]:
    return list(live.tools.get_tools().values())


def agent(server: SseServer, live: Any = None, **given: Any) -> Any:
    """Forge's agent in the shop (a new one unless `live` is given), with `server` for its provider."""
    llm_args = {"base_url": server.base_url, "api_key": "sk-loopback-key", **given.pop("llm_args", {})}
    tools = given.pop("tools", None)
    tools = shop_tools(live or environment()) if tools is None else tools
    given = {"llm": "test/model", "domain_policy": POLICY, **given}
    return forge_tau2.create_tau2_forge_agent(tools=tools, llm_args=llm_args, **given)


def messages() -> Any:
    """tau2's module of message types."""
    return import_module("tau2.data_model.message")


def user(text: str = "Hello", **given: Any) -> Any:
    return messages().UserMessage(role="user", content=text, **given)


def said(text: str) -> Any:
    return messages().AssistantMessage(role="assistant", content=text, cost=0.0)


def called(*calls: tuple[str, str, dict[str, Any]]) -> Any:
    """An assistant's message with calls, each `(id, name, arguments)`."""
    kinds = messages()
    made = [kinds.ToolCall(id=call_id, name=name, arguments=arguments) for call_id, name, arguments in calls]
    return kinds.AssistantMessage(role="assistant", tool_calls=made, cost=0.0)


def result(call_id: str, content: str, **given: Any) -> Any:
    return messages().ToolMessage(id=call_id, role="tool", content=content, **given)


def results(live: Any, message: Any) -> Any:
    """What the orchestrator hands back for the calls of `message`, having run them."""
    made = [live.get_response(call) for call in message.tool_calls]
    if len(made) == 1:
        return made[0]
    return messages().MultiToolMessage(role="tool", tool_messages=made)
