"""Content parts of messages: LangChain's kinds in, the parts that chat completions take out.

Text, pictures, files, audio and video survive, so does `cache_control`. Parts that an assistant message
carries for other reasons (tool calls, reasoning) are left out here: they travel in fields of their own.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from langchain_core.messages import AIMessage
from langchain_core.messages.block_translators.openai import convert_to_openai_data_block
from langchain_core.messages.content import is_data_content_block

from forge_core.llm.models import Content

LangChainContent: TypeAlias = "str | list[str | dict[str, Any]]"

_ELSEWHERE = frozenset(
    {
        "tool_use",
        "tool_call",
        "tool_call_chunk",
        "invalid_tool_call",
        "server_tool_call",
        "server_tool_call_chunk",
        "server_tool_result",
        "reasoning",
        "thinking",
        "redacted_thinking",
        "function_call",
    }
)


def to_wire(content: LangChainContent) -> Content:
    """Return `content` as a string, or as parts that the provider accepts."""
    if isinstance(content, str):
        return content
    parts = [part for item in content for part in _part(item)]
    return parts if parts else ""


def text_of(content: LangChainContent) -> str:
    """Return the text of `content`, without reasoning and media."""
    if isinstance(content, str):
        return content
    return "".join(
        part if isinstance(part, str) else str(part.get("text") or "")
        for part in content
        if isinstance(part, str) or part.get("type") == "text"
    )


def reasoning_of(message: AIMessage) -> str:
    """Return the reasoning of `message`, which is in a field of its own or in blocks of the content."""
    reasoning = message.additional_kwargs.get("reasoning_content")
    if isinstance(reasoning, str) and reasoning:
        return reasoning
    if isinstance(message.content, str):
        return ""
    blocks = (block for block in message.content if isinstance(block, dict))
    return "".join(str(b.get("reasoning") or "") for b in blocks if b.get("type") == "reasoning")


def _part(item: str | dict[str, Any]) -> list[dict[str, Any]]:
    if isinstance(item, str):
        return [{"type": "text", "text": item}] if item else []
    kind = item.get("type")
    if kind in _ELSEWHERE:
        return []
    if kind == "text" or (kind is None and "text" in item):
        return [_kept(item, {"type": "text", "text": str(item.get("text", ""))})]
    if kind == "text-plain" and isinstance(item.get("text"), str):
        return [{"type": "text", "text": item["text"]}]
    if kind == "image" and isinstance(item.get("source"), dict):
        return [_kept(item, _anthropic_image(item["source"]))]
    if kind == "non_standard" and isinstance(item.get("value"), dict):
        return [item["value"]]
    if is_data_content_block(item):
        return [_kept(item, _data_part(item))]
    return [item]


def _data_part(item: dict[str, Any]) -> dict[str, Any]:
    kind, url = item.get("type"), item.get("url")
    if kind == "file":
        return {"type": "file", "file": _file(item)}
    if kind == "video":
        data = f"data:{item.get('mime_type', 'video/mp4')};base64,{item.get('base64') or item.get('data')}"
        return {"type": "video_url", "video_url": {"url": url or data}}
    if kind == "audio" and url:
        return {"type": "input_audio", "input_audio": {"data": url, "format": _subtype(item, "mp3")}}
    if kind == "text":
        return {"type": "text", "text": str(item.get("text", ""))}
    return convert_to_openai_data_block(item)


def _file(item: dict[str, Any]) -> dict[str, Any]:
    """Return a file as OpenRouter accepts it: a URL or a data URL as `file_data`, and a name."""
    extras = item.get("extras") or item.get("metadata") or {}
    name = item.get("filename") or extras.get("filename") or f"file.{_subtype(item, 'pdf')}"
    if item.get("source_type") == "id" or "file_id" in item:
        return {"file_id": item.get("file_id") or item.get("id")}
    data = item.get("base64") or item.get("data")
    if data:
        return {
            "filename": name,
            "file_data": f"data:{item.get('mime_type', 'application/pdf')};base64,{data}",
        }
    return {"filename": name, "file_data": str(item.get("url") or item.get("text") or "")}


def _anthropic_image(source: dict[str, Any]) -> dict[str, Any]:
    url = source.get("url") or f"data:{source.get('media_type', 'image/png')};base64,{source.get('data', '')}"
    return {"type": "image_url", "image_url": {"url": url}}


def _subtype(item: dict[str, Any], default: str) -> str:
    return str(item.get("mime_type") or "").rpartition("/")[2] or default


def _kept(item: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    """Return `part` with the cache breakpoint of `item`."""
    control = item.get("cache_control") or (item.get("extras") or {}).get("cache_control")
    return {**part, "cache_control": control} if control else part
