"""The environment that runs the calls of a conversation."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel

from tau2.data_model.message import ToolCall, ToolMessage


class Environment:
    def __init__(self, domain_name: str, policy: str, tools: Any = None) -> None:
        self.domain_name = domain_name
        self.policy = policy
        self.tools = tools

    def get_response(self, message: ToolCall) -> ToolMessage:
        failed = False
        try:
            answer = self.tools.use_tool(tool_name=message.name, **message.arguments)
        except Exception as error:
            failed, answer = True, f"Error: {error}"
        content = self.to_json_str(answer)
        return ToolMessage(
            id=message.id, content=content, requestor=message.requestor, role="tool", error=failed
        )

    @classmethod
    def to_json_str(cls, answer: Any) -> str:
        if isinstance(answer, str):
            return answer
        return json.dumps(answer.model_dump() if isinstance(answer, BaseModel) else answer, default=str)
