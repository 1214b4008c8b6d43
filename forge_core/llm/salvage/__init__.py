"""Recovery of tool calls that a model printed as text."""
