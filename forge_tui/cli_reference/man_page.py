"""The manual page forge(1), generated from the parser of the command line."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping

from forge_tui.cli_reference.parser_parts import help_text, metavar, operands, options, subcommands


def man_page(parser: argparse.ArgumentParser, version: str, variables: Mapping[str, str]) -> str:
    """Return the page as roff; `variables` are the environment's, with what each one sets."""
    lines = [
        f'.TH FORGE 1 "" "forge {_text(version)}" "User Commands"',
        ".SH NAME",
        f"forge \\- {_text((parser.description or '').removeprefix('Forge: ').rstrip('.'))}",
        ".SH SYNOPSIS",
        *_synopses("forge", parser),
        ".SH DESCRIPTION",
        _text(parser.epilog or ""),
        ".SH OPTIONS",
        *_arguments(parser),
        ".SH COMMANDS",
    ]
    for name, help_, command in subcommands(parser):
        lines += [f".SS forge {_text(name)}", *_text(help_ + ".").split("\n"), *_arguments(command)]
        for action, action_help, action_parser in subcommands(command):
            lines += [
                ".PP",
                rf"\fBforge {_text(name)} {_text(action)}\fR: {_text(action_help)}.",
                ".RS",
                *_arguments(action_parser),
                ".RE",
            ]
    lines += [
        ".SH ENVIRONMENT",
        *(line for one in variables.items() for line in _entry(_bold(one[0]), one[1])),
    ]
    return "\n".join(line for line in lines if line) + "\n"


def _synopses(name: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    for command in subcommands(parser):
        shown = " ".join(
            rf"[\fI{_text(metavar(one))}\fR]" if one.nargs == "?" else rf"\fI{_text(metavar(one))}\fR"
            for one in operands(command.parser)
        )
        yield rf"\fB{name} {_text(command.name)}\fR [\fIOPTION\fR]... {shown}".rstrip()
        yield ".br"


def _arguments(parser: argparse.ArgumentParser) -> Iterator[str]:
    for operand in () if subcommands(parser) else operands(parser):
        yield from _entry(rf"\fI{_text(metavar(operand))}\fR", help_text(operand))
    for option in options(parser):
        value = rf" \fI{_text(metavar(option))}\fR" if option.nargs != 0 else ""
        if option.nargs == "?":
            value = f" [{value.lstrip()}]"
        yield from _entry(", ".join(map(_bold, option.option_strings)) + value, help_text(option))


def _entry(term: str, text: str) -> Iterable[str]:
    return (".TP", term, _text(text))


def _bold(text: str) -> str:
    return rf"\fB{_text(text)}\fR"


def _text(text: str) -> str:
    """Return a text as roff shows it literally."""
    text = text.replace("\\", r"\e").replace("-", r"\-").replace("`", r"\(ga").replace("^", r"\(ha")
    text = text.replace("~", r"\(ti").replace("…", "...")
    return rf"\&{text}" if text.startswith((".", "'")) else text
