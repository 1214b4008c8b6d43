"""The parts of an argument parser.

argparse has no public way to list them: `_actions` holds the arguments, a `_SubParsersAction` among
them the commands, and its `_get_subactions` returns these with their help.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple


class Subcommand(NamedTuple):
    name: str
    help: str
    parser: argparse.ArgumentParser


def arguments(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return the options and operands; one of them may stand for the commands."""
    return parser._actions


def options(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return the options that help shows."""
    return [one for one in arguments(parser) if one.option_strings and one.help != argparse.SUPPRESS]


def operands(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return the positional arguments."""
    return [one for one in arguments(parser) if not one.option_strings]


def subcommands(parser: argparse.ArgumentParser) -> list[Subcommand]:
    """Return the commands of a parser; an empty list if it has none."""
    return [
        Subcommand(command.dest, command.help or "", action.choices[command.dest])
        for action in operands(parser)
        if isinstance(action, argparse._SubParsersAction)
        for command in action._get_subactions()
    ]


def metavar(action: argparse.Action) -> str:
    """Return what stands for an argument's value in help."""
    if isinstance(action.metavar, str):
        return action.metavar
    if action.choices is not None:
        return "{" + ",".join(map(str, action.choices)) + "}"
    return action.dest.upper()


def help_text(action: argparse.Action) -> str:
    """Return the help as it is shown."""
    return (action.help or "").replace("%%", "%")
