"""Completion of `forge` in bash, zsh and fish.

At every Tab the scripts ask the installed program, which takes about 0.1 s: `forge completion --words WORD…`
prints the candidates for the last of the words after `forge`. So completion cannot differ from the parser,
and knows the sessions. Generators such as shtab write static scripts, and none for fish.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from forge_core.sanitize import safe_line
from forge_tui.cli_reference import parser_parts

_LONGEST = 100
_FILES, _FOLDERS = "files", "folders"
_PATHS = {"FILE": _FILES, "DIR": _FOLDERS, "PATH": _FOLDERS}
"""Metavariable → the paths that the shell completes."""


class CompletionItem(NamedTuple):
    value: str
    help: str = ""


ValueSources: TypeAlias = Mapping[str, Callable[[], Iterable[CompletionItem]]]
"""Metavariable → what returns its values, called when they are needed."""


class Candidates(NamedTuple):
    """What may take the place of a word."""

    items: Sequence[CompletionItem] = ()
    paths: str = ""
    """ "files" or "folders" if the shell completes these too."""

    def printed(self) -> str:
        """Return the kind of paths in a line, then a line per item: its value, a tab, its help."""
        lines = (f"{safe_line(item.value)}\t{safe_line(item.help)[:_LONGEST]}" for item in self.items)
        return "\n".join((self.paths, *lines)) + "\n"


def candidates(
    parser: argparse.ArgumentParser, words: Sequence[str], sources: ValueSources, default: str
) -> Candidates:
    """Return what may take the place of the last word; `default` is the command where none is named."""
    *before, current = words or [""]
    place = _Place(parser)
    if before and before[0] not in place.commands:
        place = _Place(place.commands[default].parser)
    for word in before:
        place.pass_word(word)
    if place.option is not None and (place.option.nargs != "?" or not current.startswith("-")):
        return _values(place.option, "" if current == "=" else current, sources)
    if place.has_options and current.startswith("-"):
        name, equals, value = current.partition("=")
        if equals and (option := place.options.get(name)) is not None:
            found = _values(option, value, sources).items
            return Candidates([CompletionItem(f"{name}={one.value}", one.help) for one in found])
        return Candidates(_matching(current, place.option_items()))
    if place.commands:
        commands = (CompletionItem(one.name, one.help) for one in place.commands.values())
        # The default command takes a folder.
        return Candidates(_matching(current, commands), _FOLDERS if place.parser is parser else "")
    operand = place.operand()
    return Candidates() if operand is None else _values(operand, current, sources)


class _Place:
    """How far the words have come: the parser of the command, and what it takes next."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self._enter(parser)

    def _enter(self, parser: argparse.ArgumentParser) -> None:
        self.parser = parser
        self.option: argparse.Action | None = None
        """The option whose value comes next."""
        self.has_options = True
        """False after `--`."""
        self.options = {name: one for one in parser_parts.options(parser) for name in one.option_strings}
        self.commands = {one.name: one for one in parser_parts.subcommands(parser)}
        self._operands = parser_parts.operands(parser)
        self._index = 0

    def pass_word(self, word: str) -> None:
        option, self.option = self.option, None
        if option is not None and word == "=":  # bash separates it
            self.option = option
        elif option is not None and not (option.nargs == "?" and word.startswith("-")):
            return
        elif self.has_options and word == "--":
            self.has_options = False
        elif self.has_options and word.startswith("-") and word != "-":
            name, equals, _ = word.partition("=")
            found = self.options.get(name)
            self.option = None if equals or found is None or found.nargs == 0 else found
        elif self.commands:
            if word in self.commands:
                self._enter(self.commands[word].parser)
        elif (operand := self.operand()) is not None and operand.nargs not in ("+", "*"):
            self._index += 1

    def option_items(self) -> Iterable[CompletionItem]:
        return (CompletionItem(name, parser_parts.help_text(one)) for name, one in self.options.items())

    def operand(self) -> argparse.Action | None:
        """Return the positional argument that comes next."""
        return self._operands[self._index] if self._index < len(self._operands) else None


def _values(action: argparse.Action, current: str, sources: ValueSources) -> Candidates:
    kind = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    if action.choices is not None:
        values: Iterable[CompletionItem] = (CompletionItem(str(one)) for one in action.choices)
    else:
        values = sources[kind]() if kind in sources else ()
    return Candidates(_matching(current, values), _PATHS.get(kind, ""))


def _matching(current: str, items: Iterable[CompletionItem]) -> list[CompletionItem]:
    return [one for one in items if one.value.startswith(current)]


def script(shell: str) -> str:
    """Return what makes a shell complete `forge`."""
    return _SCRIPTS[shell]


_BASH = r"""# bash completion of forge: eval "$(forge completion bash)"
_forge() {
    local lines line kind="" value
    COMPREPLY=()
    mapfile -t lines < <("$1" completion --words "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null </dev/null)
    for line in "${lines[@]:1}"; do
        printf -v value '%q' "${line%%$'\t'*}"
        COMPREPLY+=("$value")
    done
    case ${lines[0]-} in
        files) kind=-f ;;
        folders) kind=-d ;;
    esac
    if [[ -n $kind ]]; then
        compopt -o filenames
        mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen "$kind" -- "$2")
    fi
}
complete -F _forge forge
"""
_ZSH = r"""#compdef forge
# zsh completion of forge: eval "$(forge completion zsh)" after compinit, or this file as _forge in $fpath
_forge() {
    local -a lines values shown
    local line value help
    lines=("${(@f)$("${words[1]}" completion --words "${(@)words[2,CURRENT]}" 2>/dev/null </dev/null)}")
    for line in "${(@)lines[2,-1]}"; do
        value=${line%%$'\t'*}
        help=${line#*$'\t'}
        [[ -n $value ]] || continue
        values+=("$value")
        shown+=("$value${help:+  -- $help}")
    done
    (( $#values )) && compadd -l -d shown -- "${(@)values}"
    case $lines[1] in
        files) _files ;;
        folders) _files -/ ;;
    esac
}
if [[ ${funcstack[1]-} == _forge ]]; then
    _forge "$@"
else
    compdef _forge forge
fi
"""
_FISH = r"""# fish completion of forge: forge completion fish | source
function __forge_candidates
    set -l words (commandline -opc) (commandline -ct)
    set -l lines ($words[1] completion --words $words[2..-1] 2>/dev/null </dev/null)
    printf '%s\n' $lines[2..-1]
    switch "$lines[1]"
        case files
            __fish_complete_path $words[-1]
        case folders
            __fish_complete_directories $words[-1]
    end
end
complete -c forge -f -a '(__forge_candidates)'
"""
_SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}
