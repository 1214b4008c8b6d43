"""The chat model: requests, answers, structured output, errors. Users import `forge_core.langchain.llm`."""
