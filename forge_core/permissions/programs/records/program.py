"""What the record of a program holds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from forge_core.permissions.programs.argument_spec import ArgumentSpec

Trait: TypeAlias = Literal[
    "adds_arguments",
    "checker",
    "copies_folders",
    "declares",
    "deletes",
    "destructive",
    "edits",
    "filter",
    "glue",
    "guarded",
    "harmless_wrapper",
    "interpreter",
    "long_options_with_one_dash",
    "multicall",
    "names_files",
    "network",
    "only_inside",
    "only_prints",
    "overwrites",
    "reads_folders",
    "rewrites",
    "has_subcommands",
    "runs_input",
    "runs_its_file",
    "runs_nothing",
    "runs_scripts",
    "script_after_subcommand",
    "shell",
    "short_config_options",
    "writes_files",
]
"""A fact about a program; each is documented at the table that is made from it in
`program_catalog.py`."""


@dataclass(frozen=True, slots=True)
class Wrapper:
    """How a program that runs another command is called."""

    value_options: str = ""
    """Its options that take the next word as their value, separated by blanks."""
    operands: int = 0
    """The number of its operands before the command."""


@dataclass(frozen=True, slots=True)
class RiskyWords:
    """Words that are no options of a known name, and that ask despite a rule for the program."""

    pattern: str
    """Searched for in each word."""
    meaning: str
    """What such words are, for the user."""


@dataclass(frozen=True, slots=True)
class Fatal:
    """Arguments with which a program destroys something or stops the machine; with others it shows, checks or
    creates."""

    arguments: re.Pattern[str]
    """Searched for in the arguments, joined by blanks."""
    effect: str


@dataclass(frozen=True, slots=True)
class Remote:
    """How a program that runs a command on another host, in another machine or in a container that exists
    already is called. Lists of words are separated by blanks."""

    letters: str = ""
    """Its one-letter options that take a value."""
    options: str = ""
    """Its long options that take the next word as their value."""
    subcommand: str = ""
    """Comes before the host, if it is needed to run something there."""
    operands: int = 1
    """How many words name the host or the container."""
    text_options: str = ""
    """Options whose value is the command; no operand is then."""
    joins_words: bool = False
    """A shell over there reads the words, joined by blanks; otherwise they are run as they are."""


@dataclass(frozen=True, slots=True)
class Program:
    """The record of one program, or of several that are alike. Lists of words are separated by blanks."""

    names: str
    traits: tuple[Trait, ...] = ()
    wrapper: Wrapper | None = None
    read_only: ArgumentSpec | None = None
    """The exact arguments with which it only reads."""
    version: str = ""
    """The arguments, each by itself, for which it prints its version and does nothing else."""
    listings: str = ""
    """Subcommands that only list what is installed; plain names may follow."""
    script_options: str = ""
    """A pattern for the options whose value it runs as a command."""
    risky_options: str | None = None
    """Its options that run a program, write a file or change the system, so that they ask despite a rule for
    the program; None when they are not known."""
    risky_words: RiskyWords | None = None
    """Other words among its arguments that do so."""
    following_options: str = ""
    """A pattern for the options with which it goes through folders and follows the links in them."""
    destructive_words: str = ""
    """Subcommands that delete, rewrite or publish."""
    recursive_options: str = ""
    """A pattern for the options with which it goes through folders."""
    writing_options: str = ""
    """A pattern for the options with which it writes files that its words name."""
    hidden_file_options: str = ""
    """A pattern for the options with which a search reads files that are not named, hidden ones too."""
    remote: Remote | None = None
    """How it runs a command elsewhere."""
    fatal: Fatal | None = None
    """What of it the guard denies in every mode."""
