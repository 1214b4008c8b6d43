"""The options of the command line."""

from __future__ import annotations

import argparse
import os
import sys

from forge_core.config.checks import OneOf, yes_or_no
from forge_core.config.permission_mode import PermissionMode
from forge_core.config.settings import SETTINGS
from forge_core.exit_codes import ExitCode
from forge_tui.session_arguments import add_replay, add_sessions, add_usage

TYPE_CHECKING = False  # importing typing for it would cost 10 ms
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import IO, Any, NoReturn

COMMANDS = (
    "chat",
    "run",
    "batch",
    "sessions",
    "replay",
    "usage",
    "config",
    "auth",
    "hooks",
    "mcp",
    "doctor",
    "completion",
    "man",
    "tau2",
    "acp",
)
SHELLS = ("bash", "zsh", "fish")
"""Those with completion of `forge`."""
PIPE_WAIT_S = 3.0
SHORT_COMMANDS = {
    "resume": ("chat", "--resume"),
    "continue": ("chat", "--continue"),
    "login": ("auth", "login"),
    "logout": ("auth", "logout"),
}
"""Words in the place of a command, and what they are short for."""
OTHER_OPTIONS = {
    "--allowedTools": "--allow",
    "--allowed-tools": "--allow",
    "--disallowedTools": "--deny",
    "--disallowed-tools": "--deny",
    "--debug": "--log-level debug",
    "--verbose": "--log-level debug",
    "--yolo": "--permission-mode yolo",
}
"""Options of other programs, and those of Forge that do the same."""


class _Parser(argparse.ArgumentParser):
    def __init__(self, **options: Any) -> None:
        super().__init__(formatter_class=_formatter, **options)

    def error(self, message: str) -> NoReturn:
        from forge_core.sanitize import safe_line

        self.print_usage(sys.stderr)
        # argparse's own code 2 is ExitCode.PROVIDER here.
        self.exit(ExitCode.USAGE, f"{self.prog}: {safe_line(message)}\n")


def parse(arguments: Sequence[str], *, is_terminal: bool = True) -> argparse.Namespace | int:
    """Return the parsed options, or the exit code after help, version or a usage error.

    `is_terminal`: whether standard output is one. Otherwise `forge -p TEXT` prints the answer.
    """
    try:
        words = _with_default_command(list(arguments), is_terminal=is_terminal)
        parser = build_parser(words[0])
        # Of a command with a "--" of its own, argparse would remove that one too.
        end = words.index("--") + 2 if words[:2] == ["mcp", "add"] and "--" in words else len(words)
        options, unknown = parser.parse_known_args(words[:end])
        if unknown:
            parser.error(_unknown_option(unknown, words[0]))
        if words[end:]:
            options.target += words[end:]
        if options.command == "run" and options.prompt_option is not None:
            if options.prompt is not None:
                parser.error(f"There are two prompts: {options.prompt!r} and that of --prompt")
            options.prompt = options.prompt_option
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else 0
    if options.command == "chat" and options.prompt is None and _is_message(options.path or ""):
        options.path, options.prompt = None, options.path
    return options


def build_parser(command: str = "") -> argparse.ArgumentParser:
    """Return the parser of the whole command line, or one for the line that uses `command`: the arguments of
    `forge batch`, `forge mcp` and `forge acp` are in that only if it is theirs."""
    from forge_core import __version__

    parser = _Parser(
        prog="forge",
        description="Forge: an interactive coding assistant for the terminal.",
        epilog='`forge FOLDER` and `forge "a message"` are short for `forge chat …`. Text with a blank in it '
        "that names no folder is a message; a message of one word goes after -p.",
    )
    parser.add_argument("-V", "-v", "--version", action="version", version=f"forge {__version__}")
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", parser_class=_Parser, prog="forge"
    )  # without prog, argparse formats a usage line to find it: 5 ms
    chat = commands.add_parser("chat", help="open the assistant in a folder (the default)")
    chat.add_argument(
        "path",
        nargs="?",
        metavar="PATH",
        help="the folder to work in (default: here); text with a blank that names no folder is a message",
    )
    chat.add_argument("-p", "--prompt", metavar="TEXT", help="send this message first")
    chat.add_argument(
        "--plain", action="store_true", help="lines of text only, for screen readers and dumb terminals"
    )
    _add_worktree(chat)
    _add_resuming(chat, picks=True)
    _add_common(chat)
    _add_run(commands.add_parser("run", help="answer one prompt without a screen"))
    batch = commands.add_parser("batch", help="run many prompts, each in a worktree of its own")
    if command in ("", "batch"):
        from forge_tui.batch_arguments import add_batch

        add_batch(batch)
    add_sessions(commands.add_parser("sessions", help="list, show, rename, export or delete saved sessions"))
    add_replay(commands.add_parser("replay", help="play a saved session on the screen, without a model"))
    add_usage(commands.add_parser("usage", help="show the tokens and the cost of all sessions, by day"))
    _add_config(commands.add_parser("config", help="list, read and change settings"))
    _add_auth(commands.add_parser("auth", help="save the API key of an endpoint, or remove it"))
    _add_hooks(commands.add_parser("hooks", help="list hooks, or run those of an event as a test"))
    mcp = commands.add_parser("mcp", help="declare, list, approve and test MCP servers")
    if command in ("", "mcp"):  # they would cost every start 1 ms
        from forge_tui.mcp_arguments import add_mcp

        add_mcp(mcp)
    _add_doctor(commands.add_parser("doctor", help="check the installation, the settings and the endpoint"))
    _add_completion(
        commands.add_parser("completion", help="print the script that makes a shell complete forge")
    )
    commands.add_parser("man", help="print the manual page: forge man | man -l -")
    acp = commands.add_parser("acp", help="serve an editor that speaks the Agent Client Protocol")
    if command in ("", "acp"):
        _add_common(acp)
    # only for the list of commands: its arguments are passed to tau2 without being parsed
    commands.add_parser("tau2", help="tau2-bench's command line, with Forge's agent in it", add_help=False)
    return parser


def config_flags(options: argparse.Namespace) -> dict[str, Any]:
    """Return what the command line sets, unchecked, by the name of the setting; None if it sets nothing."""
    return {name: getattr(options, name) or None for name, setting in SETTINGS.items() if setting.option}


def read_prompt(options: argparse.Namespace, stdin: IO[str] | None = None) -> str:
    """Return the prompt of `forge run`: its argument, followed by piped input; a file; or standard input.

    Raises:
        ConfigError: there is none, or the file cannot be read.
    """
    from forge_core.errors import ConfigError

    stdin = sys.stdin if stdin is None else stdin
    if options.input == "stream-json":
        if options.output != "stream-json" or options.prompt or options.file or options.json_schema:
            raise ConfigError(
                "--input stream-json takes all messages from standard input: add --output stream-json, and "
                "leave out the prompt, --file and --json-schema."
            )
        return ""
    if options.file is not None:
        text = _read_file(options.file)
    elif options.prompt not in (None, "-"):
        piped = "" if stdin.isatty() or not _has_input(stdin) else stdin.read()
        text = f"{options.prompt}\n\n{piped}" if piped.strip() else options.prompt
    elif stdin.isatty():
        raise ConfigError('No prompt. Use: forge run "your request", -f FILE, or pipe it in.')
    else:
        text = stdin.read()
    if not text.strip():
        raise ConfigError("The prompt is empty.")
    return text.strip()


def _has_input(stdin: IO[str]) -> bool:
    """Return whether input arrives within PIPE_WAIT_S: a silent pipe must not block the run."""
    import select

    try:
        return bool(select.select([stdin], [], [], PIPE_WAIT_S)[0])
    except (OSError, ValueError):
        return False


def _read_file(path: str) -> str:
    from forge_core.errors import ConfigError

    try:
        with open(path, encoding="utf-8-sig") as file:  # noqa: PTH123 (pathlib would double the time of --help)
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"The prompt file {path!r} cannot be read: {error}.") from error


def _add_run(run: argparse.ArgumentParser) -> None:
    run.add_argument("prompt", nargs="?", help='the prompt; "-" or nothing: standard input')
    run.add_argument(
        "-p", "--prompt", dest="prompt_option", metavar="TEXT", help="the prompt too, as in `forge chat -p`"
    )
    run.add_argument("-f", "--file", help="read the prompt from a file")
    outputs, inputs = ("text", "json", "stream-json"), ("text", "stream-json")
    run.add_argument("--output", "--output-format", choices=outputs, default="text", help="what stdout holds")
    run.add_argument(
        "--input", "--input-format", choices=inputs, default="text", help="what standard input holds"
    )
    run.add_argument(
        "--json-schema", metavar="FILE", help="the JSON schema of the final answer, in a file or as text"
    )
    run.add_argument("--output-dir", metavar="DIR", help="write events, result, cost and patch there")
    run.add_argument(
        "--require-mcp",
        action="append",
        default=[],
        metavar="NAME",
        help="send nothing unless this MCP server has connected; repeatable",
    )
    run.add_argument("--hermetic", action="store_true", help="ignore your own settings file and saved rules")
    run.add_argument("-C", "--cwd", metavar="DIR", help="the folder to work in (default: here)")
    _add_worktree(run)
    _add_resuming(run, picks=False)
    _add_common(run)


def _add_common(parser: argparse.ArgumentParser) -> None:
    for name, setting in SETTINGS.items():
        if setting.option:
            is_hidden = name == "theme" and parser.prog.endswith((" run", " acp"))
            names = [*filter(None, (setting.short_option, setting.option, setting.alias))]
            summary = argparse.SUPPRESS if is_hidden else setting.summary
            if setting.check is yes_or_no:
                parser.add_argument(*names, dest=name, action="store_true", default=None, help=summary)
                continue
            parser.add_argument(
                *names,
                dest=name,
                action="append" if setting.is_list else "store",
                type=setting.check.meant if isinstance(setting.check, OneOf) else str,
                choices=setting.choices and tuple(map(str, setting.choices)),
                metavar=setting.metavar,
                help=summary,
            )
    parser.add_argument(
        "--dangerously-skip-permissions",
        dest="permission_mode",
        action="store_const",
        const=PermissionMode.YOLO.value,
        help="the same as --permission-mode yolo",
    )
    parser.add_argument(
        "--trust",
        action="store_true",
        help="apply the folder's own rules and instructions, for this session only",
    )
    parser.add_argument(
        "--approve",
        action="append",
        default=[],
        metavar="NAME",
        help="let this hook or MCP server of the folder run, for this session only; repeatable",
    )
    parser.add_argument(
        "--mcp-config",
        action="append",
        default=[],
        metavar="FILE",
        help="start the MCP servers of this file too, for this session only; repeatable",
    )


def _add_worktree(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(worktree_of=None)
    parser.add_argument(
        "--worktree",
        nargs="?",
        const="",
        metavar="NAME",
        help="work in a git worktree on the branch forge/NAME, new or from before (default: a new one)",
    )


def _add_resuming(parser: argparse.ArgumentParser, *, picks: bool) -> None:
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument(
        "-c", "--continue", dest="continues", action="store_true", help="continue the folder's last session"
    )
    more = "; alone: choose one" if picks else ""
    options: dict[str, Any] = {"nargs": "?", "const": ""} if picks else {}
    chosen.add_argument(
        "-r", "--resume", metavar="ID", help=f"continue the session with this id or title{more}", **options
    )
    parser.add_argument(
        "--fork", "--fork-session", action="store_true", help="continue in a copy; the session stays as it is"
    )


def _add_doctor(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "path",
        nargs="?",
        metavar="PATH",
        help='the folder to work in (default: here); "keys" shows what the terminal sends for each key',
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def _add_completion(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "shell",
        choices=SHELLS,
        help='evaluate it where the shell starts: eval "$(forge completion bash)"',
    )


def _add_config(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(
        dest="action", metavar="ACTION", parser_class=_Parser, prog="forge config"
    )
    parser.set_defaults(action="list", json=False)
    listing = actions.add_parser("list", help="list all settings and where their values come from")
    get = actions.add_parser("get", help="print the value of a setting")
    change = actions.add_parser("set", help="set a value in your own settings file")
    unset = actions.add_parser("unset", help="remove a setting from your own settings file")
    actions.add_parser("path", help="print the path of your own settings file")
    for one in (get, change, unset):
        one.add_argument("name", metavar="SETTING", help="the name of a setting")
    change.add_argument("values", metavar="VALUE", nargs="+", help="the value; several for a list")
    for one in (listing, get):
        one.add_argument("--json", action="store_true", help="print JSON")


def _add_auth(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", parser_class=_Parser, prog="forge auth")
    parser.set_defaults(action="status")
    login = actions.add_parser("login", help="ask for a key without showing it, check it and save it")
    logout = actions.add_parser("logout", help="remove a saved key")
    actions.add_parser("status", help="list the endpoints that have a key")
    for one in (login, logout):
        one.add_argument(
            "url", nargs="?", metavar="URL", help="the endpoint's base URL (default: OpenRouter)"
        )
    login.add_argument("--no-check", action="store_true", help="save it even if it cannot be checked")


def _add_hooks(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", parser_class=_Parser, prog="forge hooks")
    parser.set_defaults(action="list")
    listing = actions.add_parser("list", help="list the hooks, and which wait for approval")
    test = actions.add_parser("test", help="run the hooks of an event, and print what each answers")
    test.add_argument("event", metavar="EVENT", help="the name of the event, for example PreToolUse")
    test.add_argument(
        "file", nargs="?", metavar="FILE", help="JSON that the hooks read (default: an example)"
    )
    for one in (listing, test):
        one.add_argument("-C", "--cwd", metavar="DIR", help="the folder to work in (default: here)")
        one.add_argument("--trust", action="store_true", help="read the hooks of an untrusted folder too")
        one.add_argument("--approve", action="append", default=[], metavar="NAME", help="approve a hook")


def _formatter(prog: str) -> argparse.HelpFormatter:
    """Return a formatter as wide as the terminal.

    argparse creates one for every argument, and would import shutil, with several compression modules, to
    determine the width.
    """
    return argparse.HelpFormatter(prog, width=_help_width())


def _help_width() -> int:
    """Return the columns, less the two that argparse leaves free."""
    columns = os.environ.get("COLUMNS", "")
    try:
        width = int(columns) if columns.isascii() and columns.isdigit() else 0
        return (width or os.get_terminal_size(1).columns or 80) - 2
    except OSError:
        return 78


def _with_default_command(arguments: list[str], *, is_terminal: bool) -> list[str]:
    """Insert the command if the arguments name none, as in `forge PATH` and `forge "a message"`: `chat`, or
    `run` if the answer is to be printed."""
    first = arguments[0] if arguments else ""
    if first in COMMANDS or first in ("-h", "--help", "-V", "-v", "--version"):
        return arguments
    if first and not first.startswith("-") and not _is_message(first) and not os.path.exists(first):  # noqa: PTH110
        if first == "help":
            return [*arguments[1:2], "--help"]
        if first not in SHORT_COMMANDS:
            build_parser().error(_unknown_command(first))
        return [*SHORT_COMMANDS[first], *arguments[1:]]
    if "--print" in arguments:
        arguments.remove("--print")
        return ["run", *arguments]
    has_prompt = any(one in ("-p", "--prompt") or one.startswith("--prompt=") for one in arguments)
    prints = has_prompt and not is_terminal and "--plain" not in arguments
    return ["run" if prints else "chat", *arguments]


def _is_message(text: str) -> bool:
    """Return whether an argument in the place of a folder is a message: it contains a blank, names nothing
    that exists, and does not look like a path."""
    words = text.split()
    if len(words) < 2 or os.path.exists(text):  # noqa: PTH110
        return False
    # "/review the tests" is a command of the session; "/home/ada/My Projct" is a mistyped folder.
    is_absolute = words[0].startswith("/") and "/" in words[0][1:]
    return not (is_absolute or words[0].startswith(("./", "../", "~/")))


def _unknown_command(name: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, COMMANDS, 1)
    hint = f"Did you mean `forge {near[0]}`? " if near else ""
    return (
        f"There is no command or folder {name!r}. {hint}`forge --help` lists the commands; "
        'a message needs quotes, as in: forge "fix the failing test"'
    )


def _unknown_option(words: Sequence[str], command: str) -> str:
    """Return what is wrong with arguments that the command does not take."""
    name = next((word.partition("=")[0] for word in words if word.startswith("-")), "")
    if not name:
        return f"unrecognized arguments: {' '.join(words)}"
    if command == "mcp":
        return (
            f"There is no option {name!r} in this place. The command of a server and its options come after "
            "--, as in: forge mcp add NAME -- npx -y PACKAGE. `forge mcp ACTION --help` lists the options."
        )
    from difflib import get_close_matches

    known = SETTINGS.values()
    options = [*(one.option for one in known if one.option), "--continue", "--resume", "--output", "--trust"]
    near = OTHER_OPTIONS.get(name) or next(iter(get_close_matches(name, options, 1)), "")
    hint = f"Did you mean {near}? " if near else ""
    return f"There is no option {name!r}. {hint}`forge chat --help` and `forge run --help` list the options."
