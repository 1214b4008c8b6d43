"""The official conformance suite of MCP for clients: every scenario, with `client.py` as the client.

It needs Node 22 or newer and the package `@modelcontextprotocol/conformance`; `.ci/mcp-conformance` installs both and
runs these tests.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SUITE = os.environ.get("MCP_CONFORMANCE", "")
"""The file dist/index.js of the package."""
NODE = os.environ.get("NODE") or shutil.which("node") or ""
SCENARIOS = [
    "initialize",
    "tools_call",
    "elicitation-sep1034-client-defaults",
    "sse-retry",
    "auth/metadata-default",
    "auth/metadata-var1",
    "auth/metadata-var2",
    "auth/metadata-var3",
    "auth/basic-cimd",
    "auth/scope-from-www-authenticate",
    "auth/scope-from-scopes-supported",
    "auth/scope-omitted-when-undefined",
    "auth/scope-step-up",
    "auth/scope-retry-limit",
    "auth/token-endpoint-auth-basic",
    "auth/token-endpoint-auth-post",
    "auth/token-endpoint-auth-none",
    "auth/pre-registration",
    "auth/2025-03-26-oauth-metadata-backcompat",
    "auth/2025-03-26-oauth-endpoint-fallback",
    "auth/resource-mismatch",
    "auth/offline-access-scope",
    "auth/offline-access-not-supported",
    "auth/client-credentials-jwt",
    "auth/client-credentials-basic",
    "auth/cross-app-access-complete-flow",
]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (SUITE and NODE),
        reason="MCP_CONFORMANCE (dist/index.js of @modelcontextprotocol/conformance) or NODE is not set: "
        ".ci/mcp-conformance installs both",
    ),
]


def run(*arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [NODE, SUITE, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    return done.returncode, done.stdout + done.stderr


def test_every_scenario_of_the_suite_is_run() -> None:
    status, listed = run("list", "--client")

    assert status == 0
    assert re.findall(r"^ +- (\S+)", listed, re.MULTILINE) == SCENARIOS


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_client_conforms(scenario: str, tmp_path: Path) -> None:
    status, report = run(
        *("client", "--scenario", scenario, "--output-dir", str(tmp_path)),
        *("--command", f"{sys.executable} {HERE / 'client.py'}"),
        *("--expected-failures", str(HERE / "expected_failures.yml")),
    )

    assert status == 0, report
