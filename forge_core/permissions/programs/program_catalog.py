"""What Forge knows about each program, in one record for the parser, the guard, the rules and plain reading.

To teach Forge a program, add or extend its record in `records`. The tables here are made from them, one for
each question; nothing else names programs, apart from what only one program has (git in
`git_command_line.py`, the expressions of find and test where they are read).
"""

from __future__ import annotations

import re

from forge_core.permissions.programs.records import development, reading, running, system
from forge_core.permissions.programs.records.program import Trait
from forge_core.permissions.programs.word_sets import table

RECORDS = (*running.RECORDS, *reading.RECORDS, *system.RECORDS, *development.RECORDS)
_NAMED = tuple((name, one) for one in RECORDS for name in one.names.split())


def _having(*traits: Trait) -> frozenset[str]:
    return frozenset(name for name, one in _NAMED if not set(traits).isdisjoint(one.traits))


SHELLS = _having("shell")
"""Programs whose arguments or input are shell text."""
INTERPRETERS = _having("interpreter")
"""What may run programs by a text among its arguments, in a language of its own."""
RUNS_INPUT = _having("shell", "interpreter", "runs_input")
"""Programs that may run what they read from their input."""
RUNS_ITS_FILE = _having("shell", "interpreter", "runs_its_file") - _having(
    "filter", "script_after_subcommand"
)
"""Programs whose first operand is a script."""
EDITORS = _having("edits")
"""Interpreters whose operands are the files that they edit."""
FILTERS = _having("filter")
"""Interpreters of which only the values of options are files with programs."""
WRAPPERS = {name: one.wrapper for name, one in _NAMED if one.wrapper is not None}
"""Programs and keywords that run the command behind them."""
HARMLESS_WRAPPERS = _having("harmless_wrapper")
"""They run what follows and do nothing else."""
FEEDERS = _having("adds_arguments")
"""They add names to the command that are not in the line."""
INPUT_FEEDERS = FEEDERS - {"find"}
"""They take these names from their input."""
SCRIPT_OPTIONS = {name: re.compile(one.script_options) for name, one in _NAMED if one.script_options}
"""Program → its options whose value is run."""
NEVER_RUN = _having("runs_nothing")
"""Programs that never run what their words name: a word that one of them mentions is no command."""
WITH_SUBCOMMANDS = _having("has_subcommands")
"""Programs whose first word is a subcommand of their own."""
SCRIPT_RUNNERS = _having("runs_scripts")
"""Programs that run scripts of the project by name."""
MULTICALL = _having("multicall")
"""Programs that are whatever the link that leads to them is called."""

READERS = {name: one.read_only for name, one in _NAMED if one.read_only is not None}
"""Programs that only read, with the exact arguments that each may be given. `echo true false : [ test [[ ps
find git` are looked at in ways of their own."""
HAS_OUTPUT_OPERAND = frozenset(
    name for name, spec in READERS.items() if spec.operands == "paths" and spec.most == 1
) - {"cd"}
"""They write the second file that they are given."""
PRINTERS = _having("only_prints")
"""No word can make them do more than print."""
HARMLESS_TO_ALL = PRINTERS | {name for name, one in READERS.items() if one.is_free}
"""Whatever file names a glob gives them, no option is among them that does more than read."""
GLUE = _having("glue")
"""They move about, compare or print between other commands."""
VERSIONS = {name: table(one.version) for name, one in _NAMED if one.version}
"""Programs that may be asked for their version, how exactly. Not those that load the folder's own code, or a
copy of themselves that it names, before they answer: pytest, yarn, pnpm, poetry, dotnet, terraform."""
LISTINGS = frozenset((name, word) for name, one in _NAMED for word in one.listings.split())
"""Program and subcommand that only list what is installed."""
READS_FOLDERS = _having("reads_folders")
"""They go through whole folders by themselves."""
RECURSIVE = {name: re.compile(one.recursive_options) for name, one in _NAMED if one.recursive_options}
"""Program → its options with which it goes through folders."""
SEARCHES = {name: re.compile(one.hidden_file_options) for name, one in _NAMED if one.hidden_file_options}
"""Program → its options with which it reads files that are not named, hidden ones too."""
ARCHIVERS = _having("copies_folders")
"""They read all files in the folders that they are given."""

DELETERS = _having("deletes")
OVERWRITERS = _having("overwrites")
"""They overwrite every file that they are given."""
GUARDED = _having("deletes", "guarded")
"""Programs that the guard looks for among the words of commands that it does not know."""
REMOTES = {name: one.remote for name, one in _NAMED if one.remote is not None}
"""Programs that run a command elsewhere."""
FATAL = {name: one.fatal for name, one in _NAMED if one.fatal is not None}
"""Program → what of it the guard denies always. `mkfs` and `fsck` stand for `mkfs.ext4` and the like."""
DESTRUCTIVE = _having("destructive")
"""They delete, change rights, end processes or act as another user: the answer offered first is no."""
DESTRUCTIVE_WORDS = {name: table(one.destructive_words) for name, one in _NAMED if one.destructive_words}
NETWORK_PROGRAMS = _having("network")
FILE_NAMERS = _having("names_files")
"""They put a file under a name that the line chooses."""
FILE_WRITERS = FILE_NAMERS | OVERWRITERS | _having("writes_files")
"""They write, create or rename files that their words name."""
WRITING_OPTIONS = {name: re.compile(one.writing_options) for name, one in _NAMED if one.writing_options}
"""Program → its options with which it does so."""
DECLARERS = _having("declares")
"""Builtins whose words set variables."""

CHECKERS = _having("checker")
"""They read, check, compile or rewrite the files that they are given, and run none of them."""
REWRITERS = _having("rewrites")
"""Checkers that rewrite the files that they are given, unless an option says otherwise."""
WITH_SHORT_CONFIG_OPTIONS = _having("short_config_options")
"""Checkers that also take a file of settings by a short option."""
ONLY_INSIDE = _having("only_inside")
"""A rule for one of these covers no operand outside of the folder."""
LONG_OPTIONS_WITH_ONE_DASH = _having("long_options_with_one_dash")
RISKY_OPTIONS = {
    name: table(one.risky_options or "")
    for name, one in _NAMED
    if one.risky_options is not None or one.read_only is not None
}
"""Program → its options that run a program, write a file or change the system."""
RISKY_OPTIONS_OF_OTHERS = table("-o -O -c")
"""Short options that do so in many of the other programs."""
RISKY_EVERYWHERE = table(
    "--output --output-file --output-dir --output-directory --exec --exec-batch --ext-diff --textconv"
    " --upload-pack --receive-pack --pre --open-files-in-pager --toolexec --to-command --checkpoint-action"
    " --use-compress-program --compress-program --script-shell --eval --rsh --config --config-file"
    " --config-env --exec-path --rootdir --basetemp --confcutdir --python-executable --install-types"
    " --manifest-path --target-dir --prefix --makefile --file --directory --in-place --hostname-bin --git-dir"
    " --work-tree --no-index --force-with-lease --junit-xml --junitxml --pastebin --report-log"
    " --override-ini --pdbcls --plugins --inifile --cov-config --tx --log-file --html --benchmark-json"
    " --node-options --userconfig --globalconfig --rcfile --show-signature --search-zip --files0-from"
)
"""Long options that do so, or that read what a rule does not name, in some program: they ask for all."""
HARMLESS_BEGINNINGS = table(
    "--cov --check --target --install --report --work --python --manifest --in --out-dir"
)
"""Options in their own right that happen to begin a risky one."""
RISKY_WORDS = {
    name: (re.compile(one.risky_words.pattern), one.risky_words.meaning)
    for name, one in _NAMED
    if one.risky_words is not None
}
"""Program → words that are none of these options and do so too, and what they are."""
FOLLOWS_LINKS = {name: re.compile(one.following_options) for name, one in _NAMED if one.following_options}
"""Program → its options with which it follows the links that it meets in folders."""
FOLLOWING_OPTIONS = re.compile("--dereference(?:-recursive)?|--follow-(?:sym)?links|--copy-links")
"""The options of other programs that do so, as far as their names say it."""
FIND_RUNNERS = table("-exec -execdir -ok -okdir")
"""Options of find that run a command."""
FD_RUNNERS = table("-x -X --exec --exec-batch")
