"""How the model writes: one part of the system prompt, which users can replace."""

from __future__ import annotations

from dataclasses import dataclass

MAX_CHARS = 20_000
"""Of a style that are sent."""


@dataclass(frozen=True, slots=True)
class OutputStyle:
    """The part of the system prompt that describes the answers. It never replaces a rule of safety."""

    name: str
    """Safe to display."""
    description: str
    text: str
    keeps_work: bool = True
    """Whether the instructions for coding stay; if not, the style replaces these too."""

    @property
    def reminder(self) -> str:
        """What repeats the style after a compaction; empty for the default one."""
        if self.name == DEFAULT.name:
            return ""
        return (
            f"The user has chosen the style {self.name!r} for your answers: the system message describes it."
        )


DEFAULT = OutputStyle(
    "default",
    "Short and plain, the answer first",
    "Short and plain. The answer first, then what matters; no preamble, no praise, no summary of what "
    "the user just read. Name code as `path:line`. Use fenced code with a language. Say what you ran "
    "and how it ended; say what you did not check. If tests fail, say so and show the failing lines. "
    "Don't explain how to undo: the user has /undo.",
)
CONCISE = OutputStyle(
    "concise",
    "As few words as possible",
    "As few words as possible: the answer, in one to three lines, without headings. No explanation "
    "unless the user asks for one, no list of what you changed, no offers. Name code as `path:line`. "
    "Say in half a line what you ran and how it ended, and what you did not check. If tests fail, show "
    "the failing lines.",
)
EXPLAINING = OutputStyle(
    "explaining",
    "With the reasons, for people who want to learn the code",
    "The answer first, then why: for each decision, name the reason, the alternative that you rejected, "
    "and where in the code the reader can see it, as `path:line`. Explain a term, a pattern or a part "
    "of the project the first time it matters, in one or two sentences. After a change, say how the "
    "parts work together now. Use fenced code with a language. Say what you ran and how it ended; say "
    "what you did not check. If tests fail, say so, show the failing lines, and explain what they mean.",
)
BUILT_IN = (DEFAULT, CONCISE, EXPLAINING)
