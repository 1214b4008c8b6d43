"""What the LangChain layer costs, measured beside its peers; `python -m tests.bench.langchain`."""
