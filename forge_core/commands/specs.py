"""The slash commands as data: one table feeds dispatch, completion, the palette, `/help` and the docs.

To add a command, add a row to `SPECS` and write its body.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable

from forge_core.commands.command_spec import CommandSpec, Scope, Tier
from forge_core.config.permission_mode import PermissionMode
from forge_core.config.settings import choices

SPECS: tuple[CommandSpec, ...] = (
    CommandSpec(
        "help",
        "Show the commands and keys",
        "screen_commands:show_help",
        scope=Scope.SCREEN,
        aliases=("?",),
        keywords=("keys", "manual"),
    ),
    CommandSpec(
        "tools",
        "List the tools with their parameters and permission",
        "tools_command:tools",
        accepts=("NAME",),
        values="tools_command:tool_values",
    ),
    CommandSpec(
        "reset",
        "Clear the conversation; the system message stays",
        "session_commands:reset",
        aliases=("clear",),
        keywords=("forget",),
        tier=Tier.INTERRUPTS,
    ),
    CommandSpec(
        "new",
        "Start a new session; this one can be continued later",
        "screen_commands:new_session",
        scope=Scope.SCREEN,
        keywords=("session", "start"),
        tier=Tier.INTERRUPTS,
    ),
    CommandSpec(
        "resume",
        "Continue a saved session",
        "screen_commands:resume",
        scope=Scope.SCREEN,
        accepts=("ID...",),
        aliases=("continue", "sessions"),
        keywords=("history", "fork"),
        tier=Tier.IDLE,
        is_open=True,
    ),
    CommandSpec(
        "export",
        "Write this session to a file: .md, .html, .json or .jsonl",
        "session_commands:export",
        accepts=("FILE...",),
        keywords=("save", "markdown", "html", "share"),
        is_open=True,
    ),
    CommandSpec(
        "rename",
        "Give this session a title",
        "session_commands:rename",
        accepts=("TITLE...",),
        keywords=("session", "name"),
    ),
    CommandSpec(
        "retry",
        "Repeat the model call that failed, and continue the turn",
        "session_commands:retry",
        keywords=("again", "repeat"),
        tier=Tier.IDLE,
    ),
    CommandSpec(
        "model",
        "Show or change the model",
        "model_commands:model",
        accepts=("NAME...",),
        keywords=("provider", "models"),
        tier=Tier.IDLE,
        is_open=True,
        values="model_commands:model_values",
    ),
    CommandSpec(
        "connect",
        "Connect to a provider or a local server, with a key if it needs one",
        "connect_command:connect",
        accepts=("NAME", "NAME MODEL..."),
        keywords=("login", "key", "provider", "endpoint", "auth", "ollama", "openrouter", "offline"),
        tier=Tier.IDLE,
        is_open=True,
        working="Connecting …",
        values="connect_command:provider_values",
    ),
    CommandSpec(
        "effort",
        "Show or change how much the model reasons before it answers",
        "model_commands:effort",
        accepts=("|".join((*choices("effort"), "default")),),
        keywords=("reasoning", "model"),
        tier=Tier.IDLE,
        values="model_commands:effort_values",
    ),
    CommandSpec(
        "extensions",
        "List the commands, skills, agents and styles that come from files",
        "extension_commands:extensions",
        keywords=("plugins", "skills", "agents", "commands", "custom"),
    ),
    CommandSpec(
        "reload",
        "Read the files of commands, skills, agents and styles again",
        "extension_commands:reload",
        keywords=("refresh", "reread", "extensions"),
        tier=Tier.IDLE,
    ),
    CommandSpec(
        "config",
        "Show and change the settings",
        "config_command:config",
        scope=Scope.SCREEN,
        accepts=("NAME", "NAME VALUE..."),
        aliases=("settings",),
        keywords=("preferences", "options", "set"),
        values="config_command:setting_values",
    ),
    CommandSpec(
        "theme",
        "Show or change the theme",
        "screen_commands:theme",
        scope=Scope.SCREEN,
        accepts=("NAME...",),
        keywords=("dark", "light", "colour", "color"),
        values="screen_commands:theme_values",
    ),
    CommandSpec(
        "vim",
        "Turn the keys of Vim in the message on or off; alone: the other one",
        "screen_commands:vim",
        scope=Scope.SCREEN,
        accepts=("on|off",),
        keywords=("vi", "modal", "keys", "editing"),
    ),
    CommandSpec(
        "thinking",
        "Choose how much of the reasoning shows; alone: the next setting",
        "screen_commands:thinking",
        scope=Scope.SCREEN,
        accepts=("|".join(choices("thinking")),),
        keywords=("reasoning", "thoughts"),
        values="screen_commands:thinking_values",
    ),
    CommandSpec(
        "doctor",
        "Check what Forge needs: terminal, settings, keys, endpoint, sandbox",
        "doctor_command:doctor",
        aliases=("status",),
        keywords=("diagnose", "problem", "health", "check", "report", "bug", "version"),
        working="Checking terminal, settings, endpoint, sandbox and disk …",
    ),
    CommandSpec(
        "keys",
        "List the keys with their ids, those that work now first",
        "screen_commands:show_keys",
        scope=Scope.SCREEN,
        accepts=("TEXT...",),
        keywords=("keyboard", "shortcuts", "bindings", "terminal-setup", "keymap"),
        is_open=True,
    ),
    CommandSpec(
        "raw",
        "Show the last answer as Markdown source, or rendered again",
        "screen_commands:raw",
        scope=Scope.SCREEN,
        keywords=("markdown", "source"),
    ),
    CommandSpec(
        "undo",
        "Undo what the last turn did to files",
        "undo_commands:undo",
        accepts=("all", "with PATH...", "list"),
        keywords=("revert", "back"),
        tier=Tier.IDLE,
    ),
    CommandSpec(
        "diff",
        "Show the changes of the last turn, or of the working tree",
        "session_commands:diff",
        accepts=("turn|worktree",),
        keywords=("changes", "git", "patch", "review"),
    ),
    CommandSpec("redo", "Redo the last undo", "undo_commands:redo", tier=Tier.IDLE),
    CommandSpec(
        "rewind",
        "Go back to an earlier message: the conversation, the files, or both",
        "rewind_command:rewind",
        accepts=("N", "N chat|files|fork", "N summary [FOCUS...]", "undo"),
        keywords=("checkpoint", "restore", "back", "branch"),
        tier=Tier.IDLE,
    ),
    CommandSpec(
        "todo", "Show the model's tasks", "session_commands:todo", aliases=("todos",), keywords=("plan",)
    ),
    CommandSpec(
        "plan",
        "Show the plan of plan mode; approve it, or drop it",
        "plan_command:plan",
        accepts=("approve [edits]", "drop"),
        keywords=("steps", "proposal"),
    ),
    CommandSpec(
        "jobs",
        "Show the commands running in the background, or stop one",
        "session_commands:jobs",
        accepts=("stop N",),
        aliases=("bashes", "tasks"),
        keywords=("background", "ps", "kill", "stop"),
    ),
    CommandSpec(
        "permissions",
        "List, add, remove and test permission rules",
        "permission_commands:permissions",
        accepts=("add allow|ask|deny RULE...", "remove RULE...", "test COMMAND..."),
        keywords=("rules", "allow", "deny", "approvals", "allowed-tools"),
        advice="A rule is tool(pattern): bash(pytest:*), edit(src/**), read(.env).",
    ),
    CommandSpec(
        "mode",
        "Show or change the permission mode",
        "permission_commands:mode",
        accepts=("|".join(PermissionMode),),
        keywords=("plan", "auto", "yolo"),
        values="permission_commands:mode_values",
    ),
    CommandSpec(
        "sandbox",
        "Show the state of the sandbox, and how to change it",
        "permission_commands:sandbox",
        keywords=("bwrap", "network"),
        advice="The sandbox is set at the start: --sandbox auto, strict or off.",
    ),
    CommandSpec(
        "add-dir",
        "Work in a further folder too, by the same rules; alone: list them",
        "folder_commands:add_dir",
        accepts=("DIR...",),
        keywords=("folder", "directory", "workspace"),
        tier=Tier.IDLE,
        is_open=True,
        values="folder_commands:folder_values",
    ),
    CommandSpec(
        "trust",
        "Show or change whether this folder's rules and instructions apply",
        "trust_command:trust",
        accepts=("yes|no",),
        keywords=("agents.md", "project"),
    ),
    CommandSpec(
        "afk",
        "Away mode: deny requests for approval instead of asking",
        "session_commands:afk",
        accepts=("on|off",),
        aliases=("away",),
    ),
    CommandSpec(
        "cost",
        "Show tokens and cost, by model and turn",
        "cost_command:cost",
        aliases=("usage", "stats"),
        keywords=("tokens", "price"),
    ),
    CommandSpec(
        "compact",
        "Shorten the conversation that the model is sent; the screen keeps all",
        "compact_command:compact",
        accepts=("fast|show|undo", "FOCUS..."),
        keywords=("summarise", "summarize", "window", "tokens"),
        tier=Tier.IDLE,
    ),
    CommandSpec(
        "budget",
        "Show or change the limits of cost, tokens, calls and time",
        "budget_command:budget",
        accepts=("cost|tokens|calls|time|day|month AMOUNT", "turn cost|tokens|time AMOUNT"),
        aliases=("limit",),
        keywords=("cost", "spend", "cap", "money"),
        advice="An amount is 2.50, 200k or 30m; off removes the limit.",
    ),
    CommandSpec(
        "context",
        "Show what fills the context window and what it costs; drop parts",
        "context_command:context",
        accepts=("drop results", "drop N...", "restore"),
        keywords=("tokens", "window"),
    ),
    CommandSpec(
        "memory",
        "List the instruction files that count; add a line, or edit one",
        "memory_command:memory",
        accepts=("add TEXT...", "edit [FILE...]"),
        keywords=("agents.md", "instructions", "rules"),
        is_open=True,
        values="memory_command:memory_values",
    ),
    CommandSpec(
        "init",
        "Write AGENTS.md for this project; fast: from its manifests, no model",
        "init_command:init",
        accepts=("fast",),
        keywords=("agents.md", "instructions", "setup"),
        tier=Tier.IDLE,
    ),
    CommandSpec(
        "copy",
        "Copy an answer as Markdown (the last is 1), or a block of its code",
        "screen_commands:copy",
        scope=Scope.SCREEN,
        accepts=("N", "[N] code [K]"),
        keywords=("clipboard", "yank"),
    ),
    CommandSpec(
        "editor",
        "Edit the message in your editor ($VISUAL or $EDITOR)",
        "screen_commands:edit_message",
        scope=Scope.SCREEN,
        keywords=("vi", "nano", "write"),
    ),
    CommandSpec(
        "queue",
        "List the messages that wait: edit, delete, reorder, send now",
        "screen_commands:list_queue",
        scope=Scope.SCREEN,
        keywords=("steer", "waiting", "pending"),
    ),
    CommandSpec(
        "plain",
        "Continue this session as plain text, for screen readers",
        "screen_commands:continue_plain",
        scope=Scope.SCREEN,
        keywords=("accessible", "text", "screen reader"),
        ends_app=True,
        tier=Tier.IDLE,
    ),
    CommandSpec(
        "exit",
        "Leave Forge",
        "screen_commands:leave",
        scope=Scope.SCREEN,
        aliases=("quit", "q"),
        keywords=("bye",),
        ends_app=True,
    ),
)

_BY_NAME = {name: spec for spec in SPECS for name in (spec.name, *spec.aliases)}


def find(name: str) -> CommandSpec | None:
    """Return the command of this name or alias, without the slash; case is ignored."""
    return _BY_NAME.get(name.lower())


def suggest(prefix: str, use: Callable[[str], float] = lambda name: 0.0) -> list[CommandSpec]:
    """Return the commands that match what was typed after the slash, best first: the exact name, then by
    prefix of the name, of an alias, of a keyword, then those that contain the letters in order.

    Of those that match equally, the ones with more `use` come first.
    """
    typed = prefix.lower()
    ranked = [(rank, -use(spec.name), spec) for spec in SPECS if (rank := _rank(spec, typed)) is not None]
    return [spec for _, _, spec in sorted(ranked, key=lambda row: row[:2])]


def nearest(name: str) -> CommandSpec | None:
    """Return the command that another name is known to mean, or whose name is most similar to it; None if
    none is close."""
    meant = next((spec for spec in SPECS if name.lower() in spec.keywords), None)
    if meant is not None:
        return meant
    close = difflib.get_close_matches(name.lower(), _BY_NAME, n=1, cutoff=0.65)  # "mcp" is not like "copy"
    if close:
        return _BY_NAME[close[0]]
    return next((spec for spec in suggest(name) if _rank(spec, name.lower()) != 4), None)  # not scattered


def _rank(spec: CommandSpec, typed: str) -> int | None:
    letters = iter(spec.name)
    matches = (
        typed in (spec.name, *spec.aliases),
        spec.name.startswith(typed),
        any(alias.startswith(typed) for alias in spec.aliases),
        any(word.startswith(typed) for word in spec.keywords),
        all(letter in letters for letter in typed),  # scattered
    )
    return matches.index(True) if True in matches else None
