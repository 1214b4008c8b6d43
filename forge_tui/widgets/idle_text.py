"""What the screen says while nothing happens; without Textual, for the launcher too."""

IDLE_HINTS = "Enter send · Ctrl+J new line · / commands · F1 help"
PLACEHOLDER = "Ask about this folder, or say what to change"
