"""`/extensions` and `/reload`: what comes from files of the user and the project."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from forge_core.commands.columns import left_columns
from forge_core.commands.extension_findings import problems_of
from forge_core.commands.extension_names import RenamedDefinition, changes_text, renamed_definitions
from forge_core.commands.result import ApprovePrograms, CommandNotice, CommandResult, Failure, Text
from forge_core.commands.server_page import server_state
from forge_core.config.forge_config import ForgeConfig
from forge_core.errors import ConfigError
from forge_core.extensions.accepted import PendingDefinition
from forge_core.extensions.catalog import project_definitions
from forge_core.extensions.definitions import Definition
from forge_core.extensions.locations import SKILL_FILE, ExtensionKind, ExtensionScope
from forge_core.sanitize import safe_line
from forge_core.session.session import ForgeSession
from forge_core.text_width import cell_len, clip, clip_start
from forge_core.workspace.trust import is_trusted

if TYPE_CHECKING:
    from forge_core.extensions.hooks.hook_files import Hook
    from forge_core.session.session_hooks import SessionHooks

_HEADINGS = {
    ExtensionKind.COMMAND: "Commands",
    ExtensionKind.SKILL: "Skills",
    ExtensionKind.AGENT: "Agents",
    ExtensionKind.STYLE: "Styles",
}
_NAME_CELLS = 24
_HOOK_CELLS = 28
_CELLS = 74
"""A row of the list; so that it fits on 80 columns."""
_ROWS = 30
"""Of one kind; `/extensions WORD` finds the others."""
_SHOWN_PENDING = 10


async def extensions(argument: str, session: ForgeSession) -> CommandResult:
    """List what is in use, what is left out, and what is wrong with the files; with words, what has them."""
    await session.extensions.ready()
    if session.hooks.approvals is None:
        await session.hooks.reload()
    await session.servers.begin()
    blocks = await asyncio.to_thread(lambda: [section(session, argument.lower()) for section in _SECTIONS])
    text = "\n\n".join(block for block in blocks if block)
    return Text(text or _advice(session.config, argument), "Extensions")


async def reload(argument: str, session: ForgeSession) -> CommandResult:
    """Read all files again; `accept` also uses what was left out because it was new or had changed."""
    try:
        before = await (session.extensions.accept() if argument else session.extensions.reload())
    except ConfigError as error:
        return Failure(str(error))
    await session.programs.reload()
    changes = changes_text(before, session.extensions.catalog)
    report = f"Read again: {changes}." if changes else "Read again: nothing has changed."
    pending = _pending(session, "")
    body = f"{report}\n\n{pending}" if pending else report
    if waiting := session.programs.waiting():
        return ApprovePrograms(tuple(waiting), body if pending or changes else "", "Reload")
    return Text(body, "Reload") if pending else CommandNotice(report)


def _in_use(session: ForgeSession, words: str) -> str:
    """Return the names of each kind with their states and files, in the same columns."""
    renamed = {id(one.definition): one for one in renamed_definitions(session.extensions.catalog)}
    found = {kind: rows for kind in ExtensionKind if (rows := _rows(session, kind, words, renamed))}
    lines = iter(_table([row for rows in found.values() for row in rows[:_ROWS]]))
    blocks = []
    for kind, rows in found.items():
        blocks.append("\n".join([_HEADINGS[kind], *islice(lines, len(rows[:_ROWS])), *_more(rows)]))
    return "\n\n".join(blocks)


def _hooks(session: ForgeSession, words: str) -> str:
    """Return the names of declared hooks with their states and files."""
    if not (rows := [*_hook_rows(session.hooks, words)]):
        return ""
    advice = "  New and changed hooks do not run: /hooks approve shows their command lines."
    waiting = [advice] if session.hooks.waiting() and not words else []
    return "\n".join(["Hooks", *_table(rows[:_ROWS]), *_more(rows), *waiting])


def _servers(session: ForgeSession, words: str) -> str:
    """Return the names of declared MCP servers with their states and files."""
    approvals = session.servers.approvals
    rows = [
        (f"  {one.name}", server_state(session, one), one.source.label)
        for one in (() if approvals is None else approvals.table.servers)
        if words in f"{one.name} {one.command_line}".lower()
    ]
    return "\n".join(["MCP servers", *_table(rows[:_ROWS]), *_more(rows)]) if rows else ""


def _table(rows: Sequence[tuple[str, str, str]]) -> list[str]:
    room = _CELLS - sum(max((cell_len(row[at]) for row in rows), default=0) + 2 for at in (0, 1))
    return left_columns([(*row[:2], clip_start(row[2], room)) for row in rows]).split("\n")


def _more(rows: Sequence[object]) -> list[str]:
    return [f"  … and {len(rows) - _ROWS} more: /extensions WORD"] if len(rows) > _ROWS else []


def _rows(
    session: ForgeSession, kind: ExtensionKind, words: str, renamed: Mapping[int, RenamedDefinition]
) -> list[tuple[str, str, str]]:
    """Return name, state and file of what is known of a kind, sorted."""
    catalog, sign = session.extensions.catalog, "/" if kind is ExtensionKind.COMMAND else ""
    found = [
        (one, *_name_and_state(session, one, renamed.get(id(one)), sign)) for one in catalog.of_kind(kind)
    ]
    found += [(one, f"{sign}{one.qualified_name}", "shadowed") for one in catalog.shadowed(kind)]
    found += [
        (one.definition, f"{sign}{one.definition.name}", "new" if one.is_new else "changed")
        for one in catalog.pending
        if one.definition.kind is kind
    ]
    return [
        (f"  {clip(name, _NAME_CELLS)}", state, _place(one, session.config))
        for one, name, state in sorted(found, key=lambda row: row[0].name)
        if words in f"{name} {one.description} {state}".lower()
    ]


def _name_and_state(
    session: ForgeSession, one: Definition, renamed: RenamedDefinition | None, sign: str
) -> tuple[str, str]:
    """Return the name by which a definition is reached, and its state."""
    if renamed is None:
        return f"{sign}{one.name}", _state(session, one)
    if one.kind is ExtensionKind.SKILL:  # the model loads it by its own name
        return one.name, f"by hand {renamed.name}"
    return renamed.name, renamed.reason


def _hook_rows(hooks: SessionHooks, words: str) -> Iterator[tuple[str, str, str]]:
    """Yield name, state and file of the declared hooks, as they were read."""
    for hook in hooks.approvals.table.hooks if hooks.approvals else ():
        state = _hook_state(hooks, hook)
        if words in f"{hook.name} {hook.command_line} {state}".lower():
            yield f"  {clip(hook.name, _HOOK_CELLS)}", state, hook.source.label


def _hook_state(hooks: SessionHooks, hook: Hook) -> str:
    assert hooks.approvals is not None
    if hooks.runner is not None and hook in hooks.runner.hooks and hooks.runner.statistics(hook).is_broken:
        return "broken"
    state, at = hooks.approvals.state(hook), hooks.approvals.approved_at(hook)
    if state is None:
        return "in use"
    return f"approved {_day(at)}" if at is not None else str(state)


def _state(session: ForgeSession, one: Definition) -> str:
    """Return in a few words how a definition that has its name counts."""
    if one.kind is ExtensionKind.SKILL and not (one.is_for_model and one.is_for_user):
        return "only the model" if one.is_for_model else "only by hand" if one.is_for_user else "hidden"
    at = session.extensions.accepted_at(one) if one.scope is ExtensionScope.PROJECT else None
    return "in use" if at is None else f"accepted {_day(at)}"


def _day(at: int) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(at))


def _place(one: Definition, config: ForgeConfig) -> str:
    """Return the file of a definition, or the folder of a skill, as it is displayed."""
    path = one.folder if one.path.name == SKILL_FILE else one.path
    end = "/" if one.path.name == SKILL_FILE else ""
    for folder, prefix in ((config.working_dir, ""), (Path.home(), "~/")):
        if path.is_relative_to(folder):
            return safe_line(f"{prefix}{path.relative_to(folder)}{end}")
    return safe_line(f"{path}{end}")


def _pending(session: ForgeSession, words: str) -> str:
    """Return what is left out until the user accepts it, with what is different."""
    pending = session.extensions.catalog.pending
    if not pending or words:
        return ""
    lines = [line for one in pending[:_SHOWN_PENDING] for line in _pending_lines(one, session.config)]
    if len(pending) > _SHOWN_PENDING:
        lines.append(f"  … and {len(pending) - _SHOWN_PENDING} more")
    return "\n".join(["Left out until you accept them with /reload accept", *lines])


def _pending_lines(one: PendingDefinition, config: ForgeConfig) -> Iterator[str]:
    definition, word = one.definition, "new" if one.is_new else "changed"
    yield clip(f"  {definition.title} is {word}: {_place(definition, config)}", _CELLS)
    shown: Sequence[str] = one.differences
    if one.is_new and definition.description:
        shown = (definition.description,)
    for line in shown:
        yield f"    {line}"


def _problems(session: ForgeSession, words: str) -> str:
    catalog = session.extensions.catalog
    problems = [*catalog.limits, *problems_of(catalog)]
    if not problems or words:
        return ""
    more = [f"  … and {len(problems) - _ROWS} more"] if len(problems) > _ROWS else []
    inside, home = f"{session.config.working_dir}/", f"{Path.home()}/"
    shown = (one.replace(inside, "").replace(home, "~/") for one in problems[:_ROWS])
    return "\n".join(["Problems", *(f"  {one}" for one in shown), *more])


def _left_out(session: ForgeSession, words: str) -> str:
    """Return what of the project does not count, and how to change that."""
    config = session.config
    if config.safe or is_trusted(config) or words:
        return ""
    count = sum(1 for _ in project_definitions(config.working_dir))
    if not count:
        return ""
    files = "1 file of this project is" if count == 1 else f"{count} files of this project are"
    return f"{files} left out, because the folder is not trusted. /trust shows what would count."


def _advice(config: ForgeConfig, words: str) -> str:
    if config.safe:
        return "Everything from files is left out, because Forge was started with --safe."
    if words:
        return f"No definition has {safe_line(words)!r} in its name, description or state."
    return f"No file defines anything yet. Commands go into {safe_line(str(config.config_dir))}/commands."


_SECTIONS: tuple[Callable[[ForgeSession, str], str], ...] = (
    _in_use,
    _hooks,
    _servers,
    _pending,
    _problems,
    _left_out,
)
"""The parts of the list. Each gets the words that were asked for, in lower case, and returns its text; empty
for nothing. They run in a thread."""
