"""The arguments of the commands for saved sessions."""

from __future__ import annotations

import argparse

from forge_core.config.usage_by import UsageBy


def add_sessions(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(
        dest="action", metavar="ACTION", parser_class=type(parser), prog="forge sessions"
    )
    parser.set_defaults(action="list", cwd=None, json=False)
    listing = actions.add_parser("list", help="list the sessions, the last used one first")
    listing.add_argument("-C", "--cwd", metavar="DIR", help="only those of this folder")
    show = actions.add_parser("show", help="print the conversation of a session")
    rename = actions.add_parser("rename", help="give a session a title")
    delete = actions.add_parser("delete", help="delete sessions with their outputs and undo data")
    prune = actions.add_parser("prune", help="delete all sessions that have not been used for some days")
    prune.add_argument(
        "--days",
        metavar="N",
        help="delete those unused for more than N days (default: the setting keep_days)",
    )
    prune.add_argument("-n", "--dry-run", action="store_true", help="list them, and delete nothing")
    export = actions.add_parser("export", help="write a session as Markdown, HTML, JSON or JSON lines")
    for one in (show, rename, export):
        one.add_argument("id", metavar="ID", help="the session's id, its beginning, or its title")
    rename.add_argument("title", metavar="TITLE")
    delete.add_argument("ids", metavar="ID", nargs="+", help="the session's id, its beginning, or its title")
    export.add_argument(
        "-o", "--output", metavar="FILE", help="write to this file (default: standard output)"
    )
    export.add_argument(
        "--format",
        type=lambda name: "markdown" if name == "md" else name,
        choices=("markdown", "html", "json", "jsonl"),
        help="default: what the name of the file says, else markdown",
    )
    for one in (listing, show, rename, delete, prune):
        one.add_argument("--json", action="store_true", help="print JSON")


def add_replay(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "id", metavar="SESSION", help="the session's id, its beginning, its title, or a .jsonl file"
    )
    parser.add_argument(
        "--speed",
        type=_speed,
        default=1.0,
        metavar="N",
        help='how many times faster than it was (default: 1); 0 or "max" shows everything at once',
    )
    parser.add_argument("--until", type=_count, metavar="N", help="end after the turn of the Nth message")


def _speed(text: str) -> float | None:
    """Return a speed; None for one without waiting."""
    try:
        speed = 0.0 if text == "max" else float(text)
    except ValueError:
        speed = -1.0
    if not 0 <= speed < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number from 0 on nor 'max'")
    return speed or None


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    return int(text)


def add_usage(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `forge usage`."""
    parser.add_argument(
        "--since",
        metavar="D",
        help="count from this day on: 2026-11-01, 2026-11, or 30d and 4w for the last days or weeks",
    )
    parser.add_argument("--by", choices=[*map(str, UsageBy)], help="print a table with a row for each")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON")
    form.add_argument("--csv", action="store_true", help="print comma-separated values")
