"""`forge doctor`: what it reports about each part, and that no key is ever shown."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from forge_core.commands import diagnosis
from forge_core.commands.diagnosis import diagnose, report
from forge_core.commands.findings import Finding, Level
from forge_core.config.forge_config import Endpoint, ForgeConfig
from forge_core.headless.doctor import run_doctor
from forge_core.mcp.server_files import load_servers
from forge_core.mcp.servers import ServerStatus
from forge_core.mcp.sign_in_store import SavedSignIn, SignInStore
from forge_core.mcp.wire import ServerReport, ServerState
from forge_core.runtime import load_session_config
from forge_core.text_width import cell_len
from tests.support.sse_server import PREFIX, SseServer, error_reply, json_reply

KEY = "Zq7+wV/2mN9xKp4tRb8yLc3d"


def config_for(folder: Path, **changes: object) -> ForgeConfig:
    config = load_session_config(folder, flags={"model": "offline"})
    return dataclasses.replace(config, state_dir=folder / "state", **changes)  # type: ignore[arg-type]


def found(config: ForgeConfig | None, section: str, name: str, problem: str = "") -> Finding:
    findings = [one for one in diagnose(config, problem, colours="true") if one.section == section]
    return next(one for one in findings if one.name == name)


def test_every_section_has_a_finding_and_each_fault_its_advice(tmp_path: Path) -> None:
    findings = list(diagnose(config_for(tmp_path), "", colours="true"))
    sections = list(dict.fromkeys(one.section for one in findings))
    assert sections == [
        *("Environment", "Terminal", "Settings", "Keys", "Endpoint", "Sandbox", "Git", "Extensions", "Disk")
    ]
    assert all(one.advice for one in findings if one.level is not Level.OK)


def test_an_endpoint_that_answers_is_reported_with_its_models(tmp_path: Path) -> None:
    with SseServer(routes={"GET /models": json_reply({"data": [{"id": "a"}, {"id": "b"}]})}) as server:
        config = config_for(tmp_path, endpoint=Endpoint("custom", server.base_url, KEY, "FORGE_API_KEY"))
        finding = found(config, "Endpoint", "connection")
    assert finding.level is Level.OK
    assert finding.text.startswith("reached; 2 models (")


def test_an_endpoint_without_a_list_of_models_is_reached(tmp_path: Path) -> None:
    routes = {"POST /chat/completions": error_reply(400, "messages are missing")}
    with SseServer(routes=routes) as server:
        config = config_for(tmp_path, endpoint=Endpoint("custom", server.base_url, KEY, "FORGE_API_KEY"))
        finding = found(config, "Endpoint", "connection")
    assert finding.level is Level.OK
    assert "does not list its models" in finding.text


@pytest.mark.parametrize("status", [404, 405])
def test_a_path_at_which_nothing_answers_is_a_problem(tmp_path: Path, status: int) -> None:
    routes = {"POST /chat/completions": error_reply(status, "no such path")}
    with SseServer(routes=routes) as server:
        url = server.base_url.replace("http://", "http://me:secret@")
        config = config_for(tmp_path, endpoint=Endpoint("custom", url, KEY, "FORGE_API_KEY"))
        finding = found(config, "Endpoint", "connection")
    assert finding.level is Level.PROBLEM
    assert finding.text.startswith(f"127.0.0.1:{server.port} was reached, but has neither models nor ")
    assert f"below {PREFIX!r}: the path looks wrong" in finding.text
    assert "ends in /v1" in finding.advice


def test_the_path_at_which_the_endpoint_does_answer_is_named(tmp_path: Path) -> None:
    nothing = error_reply(404, "no such path")
    routes = {
        "POST /api/chat/completions": nothing,
        "GET /api/models": nothing,
        "GET /models": json_reply({"data": [{"id": "a"}]}),
    }
    with SseServer(routes=routes) as server:
        url = server.base_url.removesuffix("/v1")
        config = config_for(tmp_path, endpoint=Endpoint("custom", url, KEY, "FORGE_API_KEY"))
        finding = found(config, "Endpoint", "connection")
    assert finding.level is Level.PROBLEM
    assert finding.advice == f"{server.base_url} answers: use it as the base URL."


def test_a_key_that_is_refused_beside_a_missing_list_of_models_is_reported(tmp_path: Path) -> None:
    routes = {"POST /chat/completions": error_reply(401, "bad key")}
    with SseServer(routes=routes) as server:
        config = config_for(tmp_path, endpoint=Endpoint("custom", server.base_url, KEY, "FORGE_API_KEY"))
        finding = found(config, "Endpoint", "connection")
    assert finding.level is Level.PROBLEM
    assert "Check the key" in finding.advice


def test_an_endpoint_out_of_reach_is_a_problem_with_advice(tmp_path: Path) -> None:
    config = config_for(tmp_path, endpoint=Endpoint("custom", "http://127.0.0.1:9/v1", KEY, "FORGE_API_KEY"))
    finding = found(config, "Endpoint", "connection")
    assert finding.level is Level.PROBLEM
    assert "--model offline" in finding.advice


def test_settings_that_cannot_be_loaded_leave_the_other_facts(capsys: pytest.CaptureFixture[str]) -> None:
    code = run_doctor(None, "FORGE_SANDBOX: sandbox is 'bad'", colours="none", as_json=False)
    printed = capsys.readouterr().out
    assert code == 1
    assert "FORGE_SANDBOX: sandbox is 'bad'" in printed
    assert "python" in printed
    assert printed.endswith("1 problem found.\n") or "1 problem and" in printed


def test_no_key_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORGE_API_KEY", KEY)
    monkeypatch.setenv("GROQ_API_KEY", KEY[::-1])
    url = f"http://me:{KEY}@127.0.0.1:9/v1"
    config = config_for(tmp_path, endpoint=Endpoint("custom", url, KEY, "FORGE_API_KEY"))
    for as_json in (False, True):
        run_doctor(config, "", colours="true", as_json=as_json)
        printed = capsys.readouterr().out
        assert KEY not in printed
        assert KEY[::-1] not in printed
        assert "FORGE_API_KEY" in printed


def test_the_json_report_holds_the_same_findings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_doctor(config_for(tmp_path), "", colours="true", as_json=True)
    whole = json.loads(capsys.readouterr().out)
    assert {one["section"] for one in whole["findings"]} >= {"Sandbox", "Disk"}
    assert set(whole["findings"][0]) == {"section", "name", "text", "level", "advice"}


def test_a_folder_that_cannot_hold_sessions_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = config_for(tmp_path)
    monkeypatch.setattr(diagnosis.os, "access", lambda path, mode, **options: False)
    assert found(config, "Disk", "state").level is Level.PROBLEM


def test_a_machine_without_git_gets_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    finding = found(config_for(tmp_path), "Git", "program")
    assert (finding.level, finding.text) == (Level.WARNING, "not found")


def test_extensions_are_counted_and_their_problems_named(tmp_path: Path) -> None:
    for number in range(400):
        folder = tmp_path / f"own/skills/skill-{number:03}"
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(f"---\ndescription: {'many words ' * 60}\n---\n")
    folder = tmp_path / ".claude/skills/skill-000"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: skill-000\n---\n")
    for place in (tmp_path / "own", tmp_path / ".claude"):
        (place / "commands").mkdir()
        (place / "commands/a.md").write_text("Do it.")
    own = (tmp_path / "own",)
    config = config_for(tmp_path, own_extensions=own, is_trusted=True, context_window=100_000)

    findings = [one for one in diagnose(config, "", colours="") if one.section == "Extensions"]

    assert [(one.name, one.text.replace(str(tmp_path), "")) for one in findings] == [
        ("commands", "1 in use; shadowed: user:a"),
        ("skills", "400 in use"),
        (
            "skill list",
            "the descriptions of 400 of 400 skills are left out, so that the list takes at most 2% of the "
            "model's window",
        ),
        ("problem", "/.claude/skills/skill-000/SKILL.md was skipped: it has no description."),
    ]
    assert not (config.state_dir / "accepted").exists()


def test_sizes_are_counted_by_kind(tmp_path: Path) -> None:
    sessions = tmp_path / "state" / "sessions"
    for name, size in {"a.jsonl": 10, "a/undo/blobs/0": 20, "a/outputs/1.txt": 40}.items():
        path = sessions / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * size)
    sizes = diagnosis.stored_sizes(tmp_path / "state")
    assert (sizes["sessions"], sizes["undo data"], sizes["outputs"]) == (10, 20, 40)


def test_the_report_fits_80_columns_and_shows_no_control_character() -> None:
    finding = Finding("Section", "name", "wide 漢字 \x1b[31m " + "word " * 60, Level.WARNING, "do " * 60)
    text = report([finding])
    assert all(cell_len(line) <= 80 for line in text.splitlines())
    assert "\x1b" not in text
    assert text.endswith("1 warning found.")


def test_the_mcp_servers_are_listed_and_none_is_started(tmp_path: Path) -> None:
    def write(path: Path, servers: dict[str, Any]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"mcpServers": servers}))

    touch = {"command": "touch", "args": [str(tmp_path / "ran")]}
    own = {
        "good": touch,
        "gone": {"command": "no-such-program"},
        "unset": {"command": "true", "env": {"A": "${NOT_SET}"}},
        "off": {**touch, "disabled": True},
        "docs": {"url": "http://127.0.0.1:9/mcp"},
        "bad name": touch,
        "tools": touch,
    }
    write(tmp_path / "own/mcp.json", own)
    write(tmp_path / ".mcp.json", {"tools": touch, "new": touch})
    config = config_for(
        tmp_path, own_extensions=(tmp_path / "own",), config_dir=tmp_path / "own", is_trusted=True
    )
    SignInStore(config.state_dir, "http://127.0.0.1:9/mcp").write(SavedSignIn(challenge_status=401))
    mine = str(tmp_path / "own/mcp.json")

    def of_servers(**options: Any) -> list[Finding]:
        every = diagnose(config, "", colours="", **options)
        return [one for one in every if one.section == "MCP servers"]

    assert [(one.name, one.level, one.text, one.advice) for one in of_servers()] == [
        ("good", Level.OK, f"enabled, in {mine}", ""),
        (
            "gone",
            Level.WARNING,
            f"enabled, in {mine}: its program 'no-such-program' was not found",
            f"Install it, or correct the command in {mine}.",
        ),
        (
            "unset",
            Level.WARNING,
            f"cannot be used, in {mine}: the environment variable NOT_SET is not set",
            f"Correct its entry in {mine}.",
        ),
        ("off", Level.OK, f"disabled, in {mine}", ""),
        ("docs", Level.WARNING, f"enabled, in {mine}: it needs a sign-in", "forge mcp login docs"),
        ("tools", Level.OK, f"overridden, in {mine}: .mcp.json declares the same name", ""),
        (
            "bad name",
            Level.WARNING,
            f"cannot be used, in {mine}: its name must be 1 to 32 letters, digits, '-' or '_'",
            f"Correct its entry in {mine}.",
        ),
        ("tools", Level.WARNING, "pending approval, in .mcp.json", "forge mcp approve tools"),
        ("new", Level.WARNING, "pending approval, in .mcp.json", "forge mcp approve new"),
    ]
    assert not (tmp_path / "ran").exists()

    entry = next(one for one in load_servers(config).servers if one.name == "good")
    failed = ServerStatus(entry, ServerReport(state=ServerState.FAILED, error="exited with code 3"))
    [good] = [one for one in of_servers(servers={"good": failed}) if one.name == "good"]
    assert good.text == f"failed, in {mine}: exited with code 3"
    assert good.advice == "/mcp restart good starts it again."
