"""The arguments of `forge mcp`."""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing for it would cost 10 ms
if TYPE_CHECKING:
    import argparse

_ADD_USAGE = "forge mcp add [OPTION]... NAME (URL | -- COMMAND [ARGUMENT]...)"


def add_mcp(parser: argparse.ArgumentParser) -> None:
    """Add the actions of `forge mcp` to its parser."""
    actions = parser.add_subparsers(
        dest="action", metavar="ACTION", parser_class=type(parser), prog="forge mcp"
    )
    parser.set_defaults(action="list", cwd=None, trust=False, json=False)
    listing = actions.add_parser("list", help="list all servers with their states; starts nothing")
    get = actions.add_parser("get", help="show a server and its state; starts nothing")
    add = actions.add_parser("add", usage=_ADD_USAGE, help="declare a server by its URL or its command")
    add_json = actions.add_parser("add-json", help="declare a server by its entry as JSON")
    remove = actions.add_parser("remove", help="remove a server from the file that declares it")
    approve = actions.add_parser("approve", help="show what a server of the project runs, and approve it")
    test = actions.add_parser("test", help="start servers, and print what they offer or what is wrong")
    importing = actions.add_parser(
        "import", help="take over servers of Claude Code, Codex, VS Code and Cursor"
    )
    login = actions.add_parser("login", help="sign in to a server with a URL, in the browser")
    logout = actions.add_parser("logout", help="remove the sign-in to a server")
    _add_signing_in(login, logout)
    _add_names(listing, get, add, add_json, remove, approve, test, importing)
    _add_declaring(add, add_json, remove)
    for one in (listing, get):
        one.add_argument("--json", action="store_true", help="print JSON, secrets masked")
    for one in (approve, importing):
        one.add_argument("-y", "--yes", action="store_true", help="agree without being asked")
    for one in (listing, get, approve, test):
        one.add_argument("--trust", action="store_true", help="count an untrusted folder's servers too")
    for one in (listing, get, test):
        one.add_argument(
            "--mcp-config", action="append", metavar="FILE", help="count this file's servers too"
        )
    test.add_argument(
        "--approve", action="append", metavar="SERVER", help="approve a server of the project for this test"
    )
    for one in (listing, get, add, add_json, remove, approve, test, importing):
        one.add_argument("-C", "--cwd", metavar="DIR", help="the folder to work in (default: here)")


def _add_signing_in(login: argparse.ArgumentParser, logout: argparse.ArgumentParser) -> None:
    login.add_argument(
        "--no-browser", action="store_true", help="print the URL, for a browser on another machine"
    )
    for one in (login, logout):
        one.add_argument("name", metavar="SERVER", help="the name of the server")
        one.add_argument("--trust", action="store_true", help="count an untrusted folder's servers too")
        one.add_argument("-C", "--cwd", metavar="DIR", help="the folder to work in (default: here)")
    login.add_argument(
        "--approve",
        action="append",
        metavar="SERVER",
        help="approve a server of the project for this sign-in",
    )
    for one in (login, logout):
        one.add_argument(
            "--mcp-config", action="append", metavar="FILE", help="count this file's servers too"
        )


def _add_names(
    listing: argparse.ArgumentParser,
    get: argparse.ArgumentParser,
    add: argparse.ArgumentParser,
    add_json: argparse.ArgumentParser,
    remove: argparse.ArgumentParser,
    approve: argparse.ArgumentParser,
    test: argparse.ArgumentParser,
    importing: argparse.ArgumentParser,
) -> None:
    for one in (get, remove, approve):
        one.add_argument("name", metavar="SERVER", help="the name of the server")
    for one in (add, add_json):
        one.add_argument("name", metavar="NAME", help="1 to 32 letters, digits, '-' or '_'")
    add.add_argument(
        "target", metavar="URL|COMMAND", nargs="+", help="a URL; or a command and its arguments, after --"
    )
    add_json.add_argument("json_text", metavar="JSON", help="the entry, as in the files")
    test.add_argument("names", metavar="SERVER", nargs="*", help="default: all that a session would start")
    importing.add_argument("names", metavar="NAME", nargs="*", help="default: all that are found")


def _add_declaring(
    add: argparse.ArgumentParser, add_json: argparse.ArgumentParser, remove: argparse.ArgumentParser
) -> None:
    scopes = ("user", "project")
    add.add_argument(
        "-t",
        "--transport",
        choices=("stdio", "http", "sse"),
        help="default: http for a URL, stdio for a command",
    )
    add.add_argument(
        *("-e", "--env"),
        action="append",
        metavar="NAME=VALUE",
        help="a variable for the command; NAME alone passes on yours; repeatable",
    )
    add.add_argument(
        *("-H", "--header"), action="append", metavar="'NAME: VALUE'", help="a header for the URL; repeatable"
    )
    for one in (add, add_json):
        one.add_argument(
            "-s", "--scope", choices=scopes, default="user", help="whose file it goes to (default: user)"
        )
    remove.add_argument("-s", "--scope", choices=scopes, help="whose file, if both declare the name")
