"""Secrets in entries are masked, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from forge_core.mcp.literal_secrets import MaskedEntry, mask_entry, masked_value
from forge_core.mcp.server_files import ServerEntry, ServerScope, ServerSource, read_entry

RANDOM = "a8F3kQ92LmZx7Tq4RvB1"


def shown(entry: dict[str, Any]) -> MaskedEntry:
    found = read_entry("one", entry, ServerSource(Path("/m.json"), ServerScope.USER, Path("/"), ""))
    assert isinstance(found, ServerEntry), found
    return mask_entry(found)


@pytest.mark.parametrize(
    ("name", "value", "masked"),
    [
        ("API_KEY", "abc", "[redacted]"),
        ("GITHUB_PAT", "abc", "[redacted]"),
        ("DB_PASSWORD", "1234", "[redacted]"),
        ("Authorization", "Bearer abc", "Bearer [redacted]"),
        ("Authorization", "Bearer ${TOKEN}", "Bearer ${TOKEN}"),
        ("Authorization", "Basic ${USER}:${PASS}", "Basic ${USER}:${PASS}"),
        ("Authorization", "Bearer ${TOKEN:-abc}", "Bearer ${TOKEN:-[redacted]}"),
        ("X-Api-Key", "${A}abc", "${A}[redacted]"),
        ("LOG", "${LOG:-info}", "${LOG:-info}"),
        ("USE_TOKEN", "true", "true"),
        ("GIT_AUTHOR_NAME", "Ada", "Ada"),
        ("COMPATIBLE", "all", "all"),
        ("API_KEY_FILE", "/home/ada/key", "/home/ada/key"),
        ("X", RANDOM, "[redacted]"),
        ("X", "sk-or-v1-abcdef0123456789", "[redacted]"),
        ("X", "a-long-name-of-a-project-2", "a-long-name-of-a-project-2"),
        ("DATABASE", "postgres://ada:pw@db.example/x", "postgres://[redacted]@db.example/x"),
        ("DATABASE", "postgres://${USER}:${PW}@db/x", "postgres://${USER}:${PW}@db/x"),
    ],
)
def test_values_are_masked_by_their_names_and_shapes(name: str, value: str, masked: str) -> None:
    assert masked_value(name, value) == masked


@pytest.mark.parametrize(
    ("url", "masked"),
    [
        ("https://mcp.example.com/mcp", "https://mcp.example.com/mcp"),
        (f"https://{RANDOM}.run.app/s/{RANDOM}/mcp", f"https://{RANDOM}.run.app/s/[redacted]/mcp"),
        ("https://a.example/m?api_key=abc&region=eu#x", "https://a.example/m?api_key=[redacted]&region=eu#x"),
        ("https://a.example/m?api_key=${KEY}", "https://a.example/m?api_key=${KEY}"),
        ("https://u:p@a.example/", "https://[redacted]@a.example/"),
        ("${BASE}/mcp", "${BASE}/mcp"),
    ],
)
def test_urls_keep_their_host_and_lose_their_secrets(url: str, masked: str) -> None:
    found = shown({"url": url})
    assert found.url == masked
    assert found.secrets == ([] if url == masked else ["url"])


def test_arguments_and_fields_are_masked_and_named() -> None:
    args = {
        "-y": "-y",
        "pkg@2026.8.31": "pkg@2026.8.31",
        "--api-key": "--api-key",
        "abc": "[redacted]",
        "--token=abc": "--token=[redacted]",
        "KEY=x": "KEY=[redacted]",
        "s://u:p@h": "s://[redacted]@h",
        "Authorization: Bearer abc": "Authorization: Bearer [redacted]",
        "--root": "--root",
        "/srv": "/srv",
        "https://a.example/x": "https://a.example/x",
    }
    found = shown({"command": "npx", "args": [*args], "env": {"API_KEY": "abc", "LOG": "info"}})

    assert found.args == [*args.values()]
    assert found.environment == {"API_KEY": "[redacted]", "LOG": "info"}
    assert found.secrets == ["env.API_KEY", "args"]


def test_the_time_does_not_grow_faster_than_the_text() -> None:
    shown({"command": "x", "args": ["a" * 300_000 + "://", "@" * 300_000, "a=" * 300_000, "${" * 300_000]})
