"""The content of the context window: the system prompt, the folder's instructions, and a ledger."""
