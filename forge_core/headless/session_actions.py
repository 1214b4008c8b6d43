"""`forge sessions`: the saved sessions listed, shown, renamed, exported, deleted and pruned."""

from __future__ import annotations

import io
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forge_core.commands.columns import table
from forge_core.commands.figures import session_cost_text
from forge_core.errors import ConfigError
from forge_core.exit_codes import ExitCode
from forge_core.redact import Redactor
from forge_core.runtime import make_redactor
from forge_core.sanitize import safe_line, safe_text
from forge_core.session.saved_sessions import SavedSessions
from forge_core.store.export import ExportFormat, exported, write_export
from forge_core.store.session_index import SessionSummary
from forge_core.text_width import clip

if TYPE_CHECKING:
    import argparse

    from forge_core.config.forge_config import ForgeConfig

_TITLE_WIDTH = 48
_MAX_DAYS = 100_000
_FOLDER_WIDTH = 32


def run_action(options: argparse.Namespace, config: ForgeConfig) -> int:
    """Do what the options of `forge sessions` say; return the exit code.

    Raises:
        JournalError, ConfigError: with what is wrong and what to do.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a text may not be valid Unicode
    redact = make_redactor(config)
    if options.action == "prune" and options.days is None:
        options.days = _days_kept(config)
    _ACTIONS[options.action](options, SavedSessions(config.state_dir, redact), redact)
    return ExitCode.COMPLETE


def _list(options: argparse.Namespace, sessions: SavedSessions, redact: Redactor) -> None:
    folder = Path(options.cwd).expanduser().resolve() if options.cwd else None
    found = sessions.list(folder, with_agents=True)
    if options.json:
        _print_json([one.as_dict() for one in found])
    elif found:
        print(table([("title", "id", "used", "turns", "cost", "folder"), *map(_row, found)]))
    else:
        print("There are no saved sessions.")


def _row(one: SessionSummary) -> tuple[str, ...]:
    return (
        clip(safe_line(f"↳ {one.agent}: {one.title}" if one.agent else one.title), _TITLE_WIDTH),
        one.id,
        time.strftime("%Y-%m-%d %H:%M", time.localtime(one.updated)),
        str(one.turns),
        session_cost_text(one.cost_usd, one.provider),
        clip(safe_line(one.working_dir), _FOLDER_WIDTH),
    )


def _show(options: argparse.Namespace, sessions: SavedSessions, redact: Redactor) -> None:
    found = sessions.find(options.id)
    form: ExportFormat = "json" if options.json else "markdown"
    _print_document(exported(sessions.load(found.id), form, redact))


def _rename(options: argparse.Namespace, sessions: SavedSessions, redact: Redactor) -> None:
    found = sessions.find(options.id)
    title = sessions.rename(found.id, options.title)
    _report(options, {"id": found.id, "title": title}, f"{found.id} is now {title!r}.")


def _delete(options: argparse.Namespace, sessions: SavedSessions, redact: Redactor) -> None:
    ids = [sessions.find(name).id for name in options.ids]  # all are found before any is deleted
    for session_id in dict.fromkeys(ids):
        sessions.delete(session_id)
        _report(options, {"deleted": session_id}, f"Deleted {session_id}.")


def _prune(options: argparse.Namespace, sessions: SavedSessions, redact: Redactor) -> None:
    moment = time.time() - _days(options.days) * 24 * 3600
    kept: Sequence[str] = ()
    if options.dry_run:
        found = sessions.unused_since(moment)
    else:
        found, kept = sessions.prune(moment)
    verb = "Would delete" if options.dry_run else "Deleted"
    if options.json:
        _print_json(
            {"would_delete" if options.dry_run else "deleted": [one.id for one in found], "kept": [*kept]}
        )
        return
    for one in found:
        print(safe_line(f"{verb} {one.id}  {clip(one.title, _TITLE_WIDTH)}"))
    for reason in kept:
        print(safe_line(reason))
    if not found and not kept:
        print(f"No session has been unused for {options.days} days.")


def _days_kept(config: ForgeConfig) -> str:
    if config.sessions_keep_days is None:
        raise ConfigError("Give --days N, or set keep_days in the table [sessions] of your settings file.")
    return str(config.sessions_keep_days)


def _days(text: str) -> float:
    try:
        days = float(text)
    except ValueError:
        days = -1.0
    if not 0 < days < _MAX_DAYS:
        raise ConfigError(f"--days is {text!r}; it must be a number of days, more than 0.")
    return days


def _export(options: argparse.Namespace, sessions: SavedSessions, redact: Redactor) -> None:
    saved = sessions.load(sessions.find(options.id).id)
    if options.output is None:
        _print_document(exported(saved, options.format or "markdown", redact))
    else:
        write_export(saved, Path(options.output), redact, options.format)


_ACTIONS: dict[str, Callable[[argparse.Namespace, SavedSessions, Redactor], None]] = {
    "list": _list,
    "show": _show,
    "rename": _rename,
    "delete": _delete,
    "prune": _prune,
    "export": _export,
}


def _report(options: argparse.Namespace, values: dict[str, Any], sentence: str) -> None:
    if options.json:
        _print_json(values)
    else:
        print(safe_line(sentence))


def _print_json(value: Sequence[Any] | dict[str, Any]) -> None:
    _print_document(json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def _print_document(text: str) -> None:
    """Print a text as it is, but for what would control a terminal."""
    print(safe_text(text) if sys.stdout.isatty() else text, end="")
