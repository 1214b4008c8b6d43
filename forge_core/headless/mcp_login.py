"""Signs in to an MCP server from the command line, in a browser on this machine or on another one."""

from __future__ import annotations

import asyncio
import os
import sys
import webbrowser
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from forge_core.errors import ConfigError
from forge_core.exit_codes import ExitCode
from forge_core.headless.mcp_checks import not_started
from forge_core.headless.mcp_output import named_servers
from forge_core.headless.pasted_lines import PastedLines
from forge_core.mcp.bridge_process import BridgeError
from forge_core.mcp.server_launch import LaunchSettings, sign_in_launch
from forge_core.mcp.server_listing import MAY_START, ServerListing
from forge_core.mcp.sign_in import SignedIn, SignInDialog, sign_in
from forge_core.mcp.sign_in_attempt import done_text
from forge_core.mcp.sign_in_store import SignInStore
from forge_core.mcp.wire import ServerLaunch
from forge_core.sanitize import safe_line
from forge_core.tools.shell.environment import network_environment

if TYPE_CHECKING:
    from forge_core.config.forge_config import ForgeConfig


def login(name: str, config: ForgeConfig, settings: LaunchSettings, *, no_browser: bool) -> int:
    """Sign in to a server and return the exit code.

    Raises:
        ConfigError: there is no such server, it must not start, or the sign-in failed.
    """
    server = named_servers(ServerListing.load(config, settings), name)[0]
    if server.entry is None or server.state not in MAY_START:
        raise ConfigError(" ".join(line.strip() for line in not_started(server)))
    launch = sign_in_launch(server.entry, settings)
    opens = not no_browser and can_open_browser(os.environ)
    try:
        result = asyncio.run(_signed_in(launch, server.entry.client.callback_port, opens=opens))
    except BridgeError as error:
        raise ConfigError(f"The sign-in to {name!r} failed: {safe_line(str(error)).rstrip('.')}.") from error
    print(done_text(name, result, SignInStore(config.state_dir, launch.url)))
    if result.problem:
        print(f"forge: {result.problem}", file=sys.stderr)
    return ExitCode.COMPLETE


def logout(name: str, config: ForgeConfig, settings: LaunchSettings) -> int:
    """Remove the sign-in to a server and return the exit code.

    Raises:
        ConfigError: there is no such server, or the sign-in cannot be removed.
    """
    server = named_servers(ServerListing.load(config, settings), name)[0]
    if server.entry is None:
        raise ConfigError(" ".join(line.strip() for line in not_started(server)))
    was_there = SignInStore(config.state_dir, sign_in_launch(server.entry, settings).url).remove()
    print(f"Signed out of {name}." if was_there else f"There is no sign-in to {name}.")
    return ExitCode.COMPLETE


def can_open_browser(environ: Mapping[str, str]) -> bool:
    """Return whether there is a screen on this machine on which the user would see a browser."""
    if any(environ.get(name) for name in ("SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY")):
        return False
    named = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    return sys.platform == "darwin" or any(environ.get(name) for name in named)


async def _signed_in(launch: ServerLaunch, port: int, *, opens: bool) -> SignedIn:
    with PastedLines.open() as pasted:

        async def send_to(url: str) -> None:
            where = safe_line(urlsplit(url).hostname or "")
            print(f"Sign in to {launch.name} at {where}:\n\n{safe_line(url)}\n", flush=True)
            if opens and await asyncio.to_thread(webbrowser.open, url):
                print("The browser has been opened. If it is not there, open the URL yourself.", flush=True)
            print("If the last page cannot be displayed, paste its address here:", flush=True)

        dialog = SignInDialog(send_to, pasted.next, lambda why: print(safe_line(why), flush=True))
        return await sign_in(launch, dialog, network_environment(), port)
