"""Toolkits and their tools."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, create_model


class ToolType(StrEnum):
    READ = "read"
    WRITE = "write"


def is_tool(tool_type: ToolType = ToolType.READ) -> Callable[[Any], Any]:
    def mark(function: Any) -> Any:
        function.__tool__ = True
        function.__mutates_state__ = tool_type is ToolType.WRITE
        return function

    return mark


class Tool:
    def __init__(self, func: Callable[..., Any]) -> None:
        self.name = func.__name__
        self._func = func
        fields: dict[str, Any] = {
            name: (parameter.annotation, ... if parameter.default is parameter.empty else parameter.default)
            for name, parameter in inspect.signature(func).parameters.items()
        }
        self.params = create_model("parameters", **fields)

    @property
    def openai_schema(self) -> dict[str, Any]:
        described = {"name": self.name, "description": inspect.getdoc(self._func) or self.name}
        return {"type": "function", "function": {**described, "parameters": self.params.model_json_schema()}}

    def __call__(self, **arguments: Any) -> Any:
        return self._func(**arguments)


def as_tool(func: Callable[..., Any]) -> Tool:
    return Tool(func)


class ToolKitBase:
    def __init__(self, db: Any = None) -> None:
        self.db = db

    @property
    def tools(self) -> dict[str, Callable[..., Any]]:
        marked = [name for name in dir(type(self)) if hasattr(getattr(type(self), name), "__tool__")]
        return {name: getattr(self, name) for name in marked}

    def use_tool(self, tool_name: str, **arguments: Any) -> Any:
        if tool_name not in self.tools:
            raise ValueError(f"Tool '{tool_name}' not found.")
        return self.tools[tool_name](**arguments)

    def get_tools(self) -> dict[str, Tool]:
        return {name: Tool(tool) for name, tool in self.tools.items()}

    def tool_mutates_state(self, tool_name: str) -> bool:
        return bool(getattr(self.tools[tool_name], "__mutates_state__", True))

    def get_db_hash(self) -> str:
        assert isinstance(self.db, BaseModel)
        return hashlib.sha256(self.db.model_dump_json().encode()).hexdigest()
