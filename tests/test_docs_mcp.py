"""The examples of docs/mcp.md: the file, and the session, which is run."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from dataclasses import fields
from pathlib import Path

import pytest

from forge_core.mcp.server_files import ServerEntry, ServerScope, ServerSource, read_source
from forge_core.mcp.server_listing import DeclaredState
from forge_core.runtime import load_session_config
from forge_core.workspace.trust import TrustStore
from forge_tui.cli import main
from tests.generate_docs import ROOT

PAGE = (ROOT / "docs/mcp.md").read_text("utf-8")


def test_the_files_are_read_without_a_warning(tmp_path: Path) -> None:
    texts = re.findall(r"<!-- file: \.mcp\.json -->\n```json\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert texts
    for text in texts:
        (tmp_path / ".mcp.json").write_text(text)
        table = read_source(ServerSource(tmp_path / ".mcp.json", ServerScope.PROJECT, tmp_path, ".mcp.json"))

        assert [one.name for one in table.servers] == [*json.loads(text)["mcpServers"]]
        assert not any(one.warnings for one in table.servers)


def test_all_fields_and_states_are_on_the_page() -> None:
    rows = set(re.findall(r"`([^`]+)`", "".join(re.findall(r"^\| (.*?) \|", PAGE, re.MULTILINE))))
    names = {"always_load": "alwaysLoad", "is_disabled": "disabled", "client": "oauth"}
    names |= {"transport": "type", "environment": "env", "timeout_s": "timeout", "allowed_tools": "tools"}
    names |= {"denied_tools": "tools", "trusts_annotations": "trust_annotations"}
    names |= {"may_sample": "sampling"}
    entry = {one.name for one in fields(ServerEntry)} - {"name", "source", "entry", "warnings"}
    assert {names.get(one, one) for one in entry} | set(DeclaredState) <= rows


def test_the_session_prints_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (session,) = re.findall(
        r"<!-- session: example -->\n```console\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE
    )
    monkeypatch.setenv("FORGE_HOME", str(tmp_path / "forge"))
    (tmp_path / "work/tools").mkdir(parents=True)
    shutil.copy(ROOT / "tests/support/mcp_server.py", tmp_path / "work/tools/server.py")
    monkeypatch.chdir(tmp_path / "work")
    TrustStore(load_session_config().state_dir).decide(tmp_path / "work", True)

    for step in session.split("$ ")[1:]:
        line, _, expected = step.partition("\n")
        assert main(shlex.split(line)[1:]) == 0
        assert _without_figures(capsys.readouterr().out) == _without_figures(expected), line


def _without_figures(text: str) -> str:
    return re.sub(r"[\d,]+ (ms|tokens|tools)", r"N \1", text)
