"""The screens of the app: the chat, its prompts, the diff viewer, and panels over the chat."""
