"""Each acceptance scenario of the LangChain layer has one test that carries its name."""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache
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


@cache
def carried() -> Counter[str]:
    """How many tests begin their docstring with each scenario's name."""
    found: Counter[str] = Counter()
    for path in TESTS.rglob("test_*.py"):
        if path.relative_to(TESTS).parts[0] in NOT_RUN_EVERYWHERE:
            continue
        text = path.read_text()
        if "Scenario: " not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                first = (ast.get_docstring(node) or "").partition(".")[0]
                if first.startswith("Scenario: "):
                    found[first.removeprefix("Scenario: ")] += 1
    return found


@pytest.mark.parametrize("title", [title for titles in SCENARIOS.values() for title in titles])
def test_a_scenario_has_one_test_of_its_name(title: str) -> None:
    assert carried()[title] == 1, f'{carried()[title]} tests begin their docstring with "Scenario: {title}."'


def test_no_test_carries_the_name_of_an_unknown_scenario() -> None:
    assert carried().keys() <= {title for titles in SCENARIOS.values() for title in titles}
