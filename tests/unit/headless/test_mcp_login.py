"""`forge mcp login` and `logout` as programs, with a server that wants a sign-in."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import pty
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from forge_core.exit_codes import ExitCode
from forge_core.headless.mcp_login import can_open_browser
from forge_core.headless.pasted_lines import PastedLines
from tests.support.mcp_oauth_server import OAuthMcpServer

FORGE = [sys.executable, "-m", "forge_tui.cli", "mcp"]
BROWSER = f"{sys.executable} {Path(__file__).parents[2] / 'support' / 'fetch_page.py'} %s"


@pytest.fixture
def server() -> Iterator[OAuthMcpServer]:
    with OAuthMcpServer() as server:
        yield server


@pytest.fixture
def environment(tmp_path: Path, server: OAuthMcpServer) -> dict[str, str]:
    settings = tmp_path / "forge/config/mcp.json"
    settings.parent.mkdir(parents=True)
    servers = {
        "docs": {"type": "http", "url": server.url},
        "git": {"command": "git-server"},
        "off": {"url": "http://127.0.0.1:1/${NOT_SET}"},
    }
    settings.write_text(json.dumps({"mcpServers": servers}))
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SSH_")}
    return kept | {"FORGE_HOME": str(tmp_path / "forge"), "HOME": str(tmp_path), "BROWSER": BROWSER}


def forge(*words: str, environment: dict[str, str], **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*FORGE, *words],
        env=environment,
        cwd=environment["HOME"],
        capture_output=True,
        text=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
    )


def test_the_browser_signs_in_and_logout_forgets_it(
    server: OAuthMcpServer, environment: dict[str, str]
) -> None:
    signed_in = forge("login", "docs", environment=environment)
    listed = forge("get", "docs", "--json", environment=environment)
    tested = forge("test", "docs", environment=environment)
    signed_out = [forge("logout", "docs", environment=environment).stdout for _ in range(2)]
    without = forge("test", "docs", environment=environment)

    assert signed_in.returncode == ExitCode.COMPLETE, signed_in.stderr
    assert "Sign in to docs at 127.0.0.1:" in signed_in.stdout
    assert (
        "Signed in to docs (loopback). It grants: read. Kept in a file that only you can read"
        in signed_in.stdout
    )
    assert "1 of 1 work" in tested.stdout
    assert signed_out == ["Signed out of docs.\n", "There is no sign-in to docs.\n"]
    assert "needs sign-in" in without.stdout and "forge mcp login docs" in without.stdout
    printed = signed_in.stdout + signed_in.stderr + listed.stdout + tested.stdout
    assert [one for one in (*server.tokens, *server.renewal_tokens) if one in printed] == []


def test_without_a_browser_the_address_is_pasted(server: OAuthMcpServer, environment: dict[str, str]) -> None:
    with subprocess.Popen(
        [*FORGE, "login", "docs", "--no-browser"],
        env=environment,
        cwd=environment["HOME"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        url = next(line.strip() for line in process.stdout if line.startswith("http"))
        parts = urlsplit(url)
        elsewhere = http.client.HTTPConnection(parts.netloc)
        elsewhere.request("GET", f"{parts.path}?{parts.query}")
        address = elsewhere.getresponse().headers["location"]
        elsewhere.close()
        process.stdin.write(f"what?\n{address}\n")
        process.stdin.flush()
        printed = process.stdout.read()

    assert process.returncode == ExitCode.COMPLETE
    assert "This address does not end the sign-in." in printed
    assert "Signed in to docs" in printed


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("dogs", "There is no MCP server 'dogs'. Did you mean 'docs'?"),
        ("git", "The server 'git' is a program; only servers with a URL have a sign-in."),
        ("off", "NOT_SET"),
    ],
)
def test_what_has_no_sign_in_says_so(environment: dict[str, str], name: str, reason: str) -> None:
    for action in ("login", "logout"):
        failed = forge(action, name, environment=environment)

        assert failed.returncode == ExitCode.USAGE
        assert reason in failed.stderr


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"DISPLAY": ":0"}, True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, True),
        ({"BROWSER": "firefox"}, True),
        ({}, sys.platform == "darwin"),
        ({"DISPLAY": ":0", "SSH_CONNECTION": "1 2 3 4"}, False),
    ],
)
def test_a_browser_is_opened_where_the_user_sees_it(environ: dict[str, str], expected: bool) -> None:
    assert can_open_browser(environ) is expected


async def test_a_pasted_line_may_be_longer_than_a_terminal_edits(monkeypatch: pytest.MonkeyPatch) -> None:
    controller, terminal = pty.openpty()
    before = termios.tcgetattr(terminal)
    with os.fdopen(terminal, "r") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        with PastedLines.open() as lines:
            address = "http://127.0.0.1:1/callback?code=" + "x" * 9_000

            def paste() -> None:
                data = f"zz\x7f\x7f{address}\n".encode()
                while data:
                    data = data[os.write(controller, data[:1_000]) :]

            pasting = asyncio.create_task(asyncio.to_thread(paste))
            assert await asyncio.wait_for(lines.next(), 30) == address
            await pasting
        assert termios.tcgetattr(terminal) == before
    os.close(controller)
