"""Programs of the user and the project that run at events of a session, as Claude Code runs them.

Source: https://docs.claude.com/en/docs/claude-code/hooks. Names and shapes of files, input and answers are
unchanged, so that hooks written for Claude Code work here.
"""
