"""An app whose model asks: for permission, or questions of its own."""

from __future__ import annotations

from textual.pilot import Pilot

from forge_core.approval import ApprovalRequest, PlanRequest, Question, QuestionOption, QuestionRequest
from forge_core.config.forge_config import ForgeConfig
from forge_core.config.permission_mode import PermissionMode
from forge_core.events import LLMStart
from forge_tui.screens.prompts.permission import PermissionPrompt
from forge_tui.screens.prompts.plan import PlanPrompt
from forge_tui.screens.prompts.prompt import Prompt
from forge_tui.screens.prompts.question import QuestionPrompt
from tests.support.chat_app import ChatApp, make_app, ready, say, until
from tests.support.scripted_session import answer

DATABASE = Question(
    "Which database?",
    "Database",
    (QuestionOption("SQLite", "One file, no server"), QuestionOption("PostgreSQL", "For many writers")),
)
CHECKS = Question(
    "Which checks?",
    "Checks",
    (QuestionOption("Lint"), QuestionOption("Types"), QuestionOption("Tests", "Four minutes")),
    multi_select=True,
)
ONE = QuestionRequest("q1", (DATABASE,))
SEVERAL = QuestionRequest("q1", (CHECKS,))
BOTH = QuestionRequest("q1", (DATABASE, CHECKS))
DRAFT = QuestionRequest(
    "q1",
    (
        Question(
            "Add x\n\nIt was missing.\n\non main",
            "Commit",
            (QuestionOption("Commit"),),
            draft="Add x\n\nNew.",
        ),
    ),
    heading="Commit 1 file",
)
PLAN = PlanRequest("p1", "# Fix it\n\n1. Read `a.py`\n2. Change **one** line", PermissionMode.ASK)


def asking(config: ForgeConfig, *requests: ApprovalRequest | QuestionRequest | PlanRequest) -> ChatApp:
    """An app whose model makes `requests`, one after the other, in answer to the first message."""
    return make_app(config, [[LLMStart(iteration=1, model="m"), *requests, *answer("went on")]])


async def ask(pilot: Pilot[None], prompt: type[Prompt] = PermissionPrompt, *, armed: bool = True) -> ChatApp:
    """Send a message whose script asks, and wait for the prompt; `armed`: until it takes keys."""
    app = await ready(pilot)
    await say(pilot, "do it")
    await until(pilot, lambda: isinstance(app.focused, prompt) and app.focused.size, "the focused prompt")
    if armed:
        app.clock.pass_(1.1)
    return app


async def ask_questions(pilot: Pilot[None], *, armed: bool = True) -> ChatApp:
    """The same for the model's own questions."""
    return await ask(pilot, QuestionPrompt, armed=armed)


async def ask_plan(pilot: Pilot[None], *, armed: bool = True) -> ChatApp:
    """The same for a plan."""
    return await ask(pilot, PlanPrompt, armed=armed)
