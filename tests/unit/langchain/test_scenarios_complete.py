"""Each acceptance scenario of the LangChain layer has a test that carries its name."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[2]
NOT_RUN_EVERYWHERE = {"conformance", "bench"}
"""Folders whose tests need more than the project's own packages, or that hold none."""

SCENARIOS: dict[str, tuple[str, ...]] = {
    "Message Conversion": (
        "Convert SystemMessage to Forge",
        "Convert HumanMessage to Forge",
        "Convert AIMessage to Forge",
        "Convert AIMessage with tool calls",
        "Convert ToolMessage to Forge",
        "Convert Forge system message to LangChain",
        "Convert Forge assistant message with tool calls",
        "Convert list of messages",
    ),
    "OpenRouterLLM": (
        "Initialize LLM with client",
        "Generate response synchronously",
        "Generate response asynchronously",
        "Stream response",
        "Bind tools to LLM",
        "LLM with bound tools returns tool calls",
        "Pass custom parameters",
    ),
    "Tool Adapters": (
        "Adapt Forge tool to LangChain",
        "Generate args schema from Forge parameters",
        "Execute adapted tool",
        "Handle tool execution error",
        "Adapt LangChain tool to Forge",
        "Convert batch of tools",
    ),
    "Conversation Memory": (
        "Add messages to memory",
        "Set system message",
        "System message not duplicated in history",
        "Enforce max messages limit",
        "Trim by token count",
        "Convert to LangChain messages",
        "Clear conversation history",
        "Full clear",
    ),
    "Sliding Window Memory": (
        "Keep only recent exchanges",
        "System message preserved in window",
    ),
    "Summary Memory": (
        "Summarize when threshold exceeded",
        "Include summary in messages",
    ),
    "Callback Handlers": (
        "Track token usage",
        "Accumulate usage across calls",
        "Reset token tracking",
        "Log LLM events",
        "Log tool events",
        "Stream tokens to callback",
        "Composite callback",
    ),
    "Agent Execution": (
        "Simple completion without tools",
        "Agent with tool execution",
        "Multiple tool calls in one turn",
        "Max iterations limit",
        "Timeout handling",
        "Stream agent execution",
        "Tool execution error handling",
        "Agent reset",
    ),
    "Integration with LangChain Chains": (
        "Use OpenRouterLLM in LCEL chain",
        "Use with LangChain retrieval chain",
    ),
    "Error Scenarios": (
        "Handle LLM API error in agent",
        "Handle invalid tool call",
        "Handle malformed tool arguments",
    ),
    "Async Context Manager": ("Use LLM as context manager",),
    "Model Parameters": (
        "Override temperature per request",
        "Set max tokens",
        "Add stop sequences",
    ),
}


def carried_names() -> set[str]:
    """Of all tests, what they are called: the scenario that a docstring begins with, and the bare name."""
    names = set()
    for path in TESTS.rglob("test_*.py"):
        if path.relative_to(TESTS).parts[0] in NOT_RUN_EVERYWHERE:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                names.add(letters(node.name.removeprefix("test_")))
                first = (ast.get_docstring(node) or "").partition(".")[0]
                if first.startswith("Scenario: "):
                    names.add(letters(first.removeprefix("Scenario: ")))
    return names


def letters(title: str) -> str:
    """ "Convert AIMessage to Forge" and "convert_ai_message_to_forge" come out alike."""
    return "".join(char for char in title.lower() if char.isalnum())


NAMES = carried_names()


@pytest.mark.parametrize("title", [title for titles in SCENARIOS.values() for title in titles])
def test_a_scenario_has_a_test_of_its_name(title: str) -> None:
    assert letters(title) in NAMES, f'no test begins its docstring with "Scenario: {title}."'


def test_a_scenario_without_a_test_would_be_noticed() -> None:
    assert letters("Juggle five clubs on a unicycle") not in NAMES
