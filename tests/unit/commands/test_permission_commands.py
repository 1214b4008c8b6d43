"""/permissions, /mode, /sandbox and /trust on a real session."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from forge_core.approval import Answer, deny_all
from forge_core.commands.result import CommandNotice, CommandResult, Failure, StatusChange, Text
from forge_core.config.forge_config import Origin
from forge_core.config.permission_mode import PermissionMode
from forge_core.config.save import save_project_rule
from forge_core.config.settings import SandboxSetting
from forge_core.permissions.policy import Decision
from forge_core.permissions.programs.program_catalog import RISKY_EVERYWHERE
from forge_core.permissions.sandbox.sandbox_state import SandboxKind, SandboxState
from forge_core.runtime import build_session, load_session_config
from forge_core.session.session import ForgeSession
from forge_core.tools.base import ExecutionContext
from forge_core.tools.registry import builtin_tools
from forge_core.workspace.trust import is_trusted
from tests.support.commands import run_command
from tests.support.scripted_llm import Call, ScriptedLLM
from tests.support.sessions import Answering, scripted_session


def body(result: CommandResult) -> str:
    assert isinstance(result, Text | StatusChange | CommandNotice), result
    return result.body if isinstance(result, Text) else result.text


def fails(result: CommandResult) -> str:
    assert isinstance(result, Failure), result
    return result.text


def decided(session: ForgeSession, command: str) -> Decision:
    bash = next(tool for tool in builtin_tools() if tool.name == "bash")
    use = bash.describe_use({"command": command}, ExecutionContext(session.config.working_dir))
    return session.policy.decide("bash", use).decision


@pytest.fixture
def session(tmp_path: Path) -> ForgeSession:
    return scripted_session(tmp_path, [["x"]], tools=builtin_tools())


async def test_an_added_rule_applies_immediately_and_in_later_sessions(session: ForgeSession) -> None:
    assert decided(session, "make all") is Decision.ASK
    assert "from now on" in body(await run_command("/permissions add allow bash(make:*)", session))
    assert decided(session, "make all") is Decision.ALLOW
    assert "never runs" in body(await run_command("/permissions add deny bash(make install:*)", session))
    assert decided(session, "make install x") is Decision.DENY
    again = load_session_config(
        session.config.working_dir, environ={"FORGE_HOME": str(session.config.state_dir.parent)}
    )
    assert (again.saved_allow, again.saved_deny) == (("bash(make:*)",), ("bash(make install:*)",))
    assert again.saved_written == ("bash(make:*)",)


async def test_permissions_subcommands_are_case_insensitive(session: ForgeSession) -> None:
    assert "from now on" in body(await run_command("/permissions Add ALLOW bash(make:*)", session))
    assert decided(session, "make all") is Decision.ALLOW
    assert "is removed" in body(await run_command("/permissions REMOVE bash(make:*)", session))


async def test_rules_are_listed_with_mode_sandbox_and_scope(session: ForgeSession) -> None:
    session.policy.allow_for_session("bash(=ls x)")
    await run_command("/permissions add ask read(docs/**)", session)
    text = body(await run_command("/permissions", session))
    assert "Mode     ask" in text
    assert "Sandbox" in text and "Away     no" in text
    lines = [line.split(maxsplit=1) for line in text.splitlines() if "(" in line]
    assert ["session", "bash(=ls x)"] in lines
    assert ["ask", "read(docs/**)  (kept for this folder)"] in lines


async def test_rules_saved_by_older_versions_for_unknown_programs_are_listed_as_void(tmp_path: Path) -> None:
    config = load_session_config(tmp_path)
    for rule in ("bash(pylint:*)", "bash(black:*)"):
        save_project_rule(config.state_dir, tmp_path, rule)
    session = build_session(load_session_config(tmp_path), deny_all)
    text = body(await run_command("/permissions", session))
    assert "covers no command; to allow it: /permissions add allow bash(pylint:*)" in text
    assert "add allow bash(black:*)" not in text
    assert decided(session, "pylint a.py") is Decision.ASK
    await run_command("/permissions add allow bash(pylint:*)", session)
    assert decided(session, "pylint a.py") is Decision.ALLOW


async def test_the_list_says_what_asks_despite_a_rule(session: ForgeSession) -> None:
    assert "asks all the same" not in body(await run_command("/permissions", session))
    session.policy.allow_for_session("bash(black:*)")
    assert "asks all the same" not in body(await run_command("/permissions", session))
    for rule in (
        "bash(sort -u:*)",
        "bash(python -m pytest:*)",
        "bash(uniq:*)",
        "bash(ls:*)",
        "bash(mocha:*)",
    ):
        await run_command(f"/permissions add allow {rule}", session)
    text = body(await run_command("/permissions", session))
    rows = [line.split(maxsplit=1) for line in text.partition("asks all the same:\n")[2].splitlines()]
    assert ["sort", "-T, -o, --compress-program, --output, --temporary-directory"] in rows
    assert ["uniq", "a second file"] in rows
    assert ["mocha", "-O, -c, -o"] in rows
    assert any(row[:1] == ["pytest"] and "-p" in row[1] for row in rows if row)
    assert not any(row[:1] == ["ls"] for row in rows)
    assert "hold inside the folder: a path outside asks" in text
    named = set(re.findall(r"--[a-z]+", text.rpartition("such as")[2]))
    assert named and named <= RISKY_EVERYWHERE
    for command in ("sort -u -T src x", "uniq a b", "mocha -o x", "mocha --exec x", "ls /etc"):
        assert decided(session, command) is Decision.ASK
    for command in ("sort -u x", "uniq a", "mocha -x", "ls -la"):
        assert decided(session, command) is Decision.ALLOW


async def test_a_rule_can_be_removed_and_an_unknown_rule_is_reported(session: ForgeSession) -> None:
    await run_command("/permissions add allow bash(make:*)", session)
    assert "removed" in body(await run_command("/permissions remove bash(make:*)", session))
    assert decided(session, "make all") is Decision.ASK
    assert "no rule" in fails(await run_command("/permissions remove bash(make:*)", session))
    session.policy.allow_for_session("bash(=ls x)")
    assert "for this session" in body(await run_command("/permissions remove bash(=ls x)", session))


@pytest.mark.parametrize(
    "line", ["add", "add allow", "add perhaps bash(x)", "remove", "test", "nonsense", "add allow bash(("]
)
async def test_an_invalid_permissions_command_fails_and_changes_nothing(
    session: ForgeSession, line: str
) -> None:
    fails(await run_command(f"/permissions {line}", session))
    assert session.policy.rules() == ()


@pytest.mark.parametrize("typed", ["git status && rm -rf build", "'git status && rm -rf build'"])
async def test_a_command_is_explained_part_by_part(session: ForgeSession, typed: str) -> None:
    text = body(await run_command(f"/permissions test {typed}", session))
    assert text.startswith("ASK")
    assert "git status" in text and "rm -rf build" in text and "decides" in text


async def test_modes_are_listed_and_changed_but_yolo_only_by_flag(session: ForgeSession) -> None:
    assert "› ask" in body(await run_command("/mode", session))
    assert "Mode plan" in body(await run_command("/mode PLAN", session))
    assert session.status.mode is PermissionMode.PLAN
    assert "--permission-mode" in fails(await run_command("/mode yolo", session))
    assert "accept-edits" in fails(await run_command("/mode never", session))
    assert session.status.mode is PermissionMode.PLAN


async def test_the_sandbox_command_shows_its_state_and_how_to_change_it(session: ForgeSession) -> None:
    text = body(await run_command("/sandbox", session))
    assert text.startswith(session.sandbox.label)
    assert "--sandbox strict" in text


OFF, LANDLOCK, BUBBLEWRAP = SandboxKind.OFF, SandboxKind.LANDLOCK, SandboxKind.BUBBLEWRAP


@pytest.mark.parametrize(
    ("state", "setting", "said", "unsaid"),
    [
        (SandboxState(BUBBLEWRAP), "auto", ["sandbox: on", "/tmp", "no network", "refuses to start"], ["Commands run as you", "plainly"]),
        (SandboxState(SandboxKind.SEATBELT), "auto", ["sandbox: on", "temporary folder", "no network"], ["/tmp of"]),
        (SandboxState(BUBBLEWRAP), "strict", ["Started with `--sandbox strict`"], ["`--sandbox off` does"]),
        (SandboxState(BUBBLEWRAP, "the folder holds your home"), "auto",
         ["weak - the folder holds your home", "plainly only read", "cannot enforce everything", "mode auto too"], ["read-only;"]),
        (SandboxState(LANDLOCK, "bwrap not found"), "auto",
         ["weak - bwrap not found", "Not enforced", ".git/hooks", ".env", "plainly only read", "start Forge again"], ["Commands run as you"]),
        (SandboxState(OFF, "turned off by choice"), "off",
         ["OFF - turned off by choice", "(flag)", "Commands run as you", "plainly only read", "--sandbox auto"],
         ["each one asks", "Once the cause"]),
        (SandboxState(OFF, "bwrap not found (apt install bubblewrap)"), "auto",
         ["apt install bubblewrap", "Commands run as you", "use the network", "start Forge again"], ["by choice", "no network"]),
        (SandboxState(OFF, "user namespaces are forbidden (sysctl kernel.x=1)"), "auto", ["sysctl kernel.x=1"], ["by choice"]),
    ],
)  # fmt: skip
async def test_the_sandbox_command_is_accurate_in_every_state(
    session: ForgeSession, state: SandboxState, setting: SandboxSetting, said: list[str], unsaid: list[str]
) -> None:
    session._environment.sandbox_state = state
    session.config = replace(session.config, sandbox=setting, origins={"sandbox": Origin.FLAG})
    text = body(await run_command("/sandbox", session))
    assert text.startswith(state.label)
    assert [one for one in said if one not in text] == []
    assert [one for one in unsaid if one in text] == []
    session.policy.mode = PermissionMode.YOLO
    text = body(await run_command("/sandbox", session))
    assert "no command asks" in text
    assert "will ask" not in text and "asks you first" not in text and "all other commands" not in text


async def test_mode_auto_without_a_full_sandbox_explains_which_commands_still_ask(
    session: ForgeSession,
) -> None:
    session.policy.sandbox = "off"
    for line in ("/mode auto", "/mode", "/permissions"):
        assert "commands that may write still ask" in body(await run_command(line, session)), line
    session.policy.sandbox = "full"
    assert "runs sandboxed commands" in body(await run_command("/mode auto", session))


async def test_an_added_rule_for_a_script_is_bound_to_its_content_and_the_list_shows_it(
    session: ForgeSession,
) -> None:
    (session.config.working_dir / "build.sh").write_text("echo one")
    added = body(await run_command("/permissions add allow bash(sh build.sh)", session))
    assert "asks again when build.sh changes" in added
    assert "asks again when build.sh changes" in body(await run_command("/permissions", session))
    assert decided(session, "sh build.sh") is Decision.ALLOW
    (session.config.working_dir / "build.sh").write_text("echo two")
    assert decided(session, "sh build.sh") is Decision.ASK


async def trusting(root: Path, **flags: object) -> ForgeSession:
    session = build_session(load_session_config(root, flags=flags), deny_all)
    session._agent.set_llm(ScriptedLLM(replies=[["yes"]]))
    return session


def project(root: Path) -> None:
    (root / ".forge").mkdir()
    (root / ".forge/config.toml").write_text(
        'permission_mode = "accept-edits"\nallow = ["bash(make:*)"]\ndeny = ["read(secrets/**)"]\n'
    )
    (root / "AGENTS.md").write_text("Always answer in verse.")


async def system_prompt(session: ForgeSession) -> str:
    async for _ in session.send("hello"):
        pass
    llm = session._agent.llm
    assert isinstance(llm, ScriptedLLM)
    return str(llm.seen[-1][0].content)


async def test_trust_yes_applies_rules_mode_and_instructions_immediately_and_no_reverts_them(
    tmp_path: Path,
) -> None:
    project(tmp_path)
    session = await trusting(tmp_path)
    try:
        assert "is not trusted" in body(await run_command("/trust", session))
        assert "in verse" not in await system_prompt(session)
        told = body(await run_command("/trust yes", session))
        assert "2 rules" in told and "mode accept-edits" in told and "AGENTS.md" in told
        assert "in verse" in await system_prompt(session)
        assert session.status.mode is PermissionMode.ACCEPT_EDITS
        assert {rule for _, rule in session.policy.rules()} == {"bash(make:*)", "read(secrets/**)"}
        assert is_trusted(session.config)
        assert "is trusted" in body(await run_command("/trust", session))
        await run_command("/trust no", session)
        assert "in verse" not in await system_prompt(session)
        assert session.policy.rules() == ()
        assert session.status.mode is PermissionMode.ASK
    finally:
        await session.aclose()


async def test_trusting_a_folder_keeps_a_mode_chosen_by_the_user(tmp_path: Path) -> None:
    project(tmp_path)
    by_flag = await trusting(tmp_path, permission_mode=PermissionMode.PLAN)
    changed = await trusting(tmp_path)
    try:
        await run_command("/trust yes", by_flag)
        assert by_flag.status.mode is PermissionMode.PLAN
        await run_command("/mode plan", changed)
        await run_command("/trust yes", changed)
        assert changed.status.mode is PermissionMode.PLAN
    finally:
        await by_flag.aclose()
        await changed.aclose()


async def test_trust_reports_that_there_is_nothing_to_trust(tmp_path: Path) -> None:
    session = await trusting(tmp_path)
    assert "contains no settings" in body(await run_command("/trust", session))
    assert "yes or no" in fails(await run_command("/trust maybe", session))
    await session.aclose()


async def test_no_call_asks_while_the_user_is_away_and_prompts_resume_afterwards(tmp_path: Path) -> None:
    person = Answering(Answer.NO)
    call = [Call("write", {"file_path": "a.txt", "content": "x"})]
    session = scripted_session(
        tmp_path, [call, ["done"], call, ["done"]], tools=builtin_tools(), approver=person
    )
    assert "You are away" in body(await run_command("/afk", session))
    async for _ in session.send("go"):
        pass
    assert (person.asked, (tmp_path / "a.txt").exists()) == ([], False)
    assert "Welcome back" in body(await run_command("/afk off", session))
    async for _ in session.send("go"):
        pass
    assert len(person.asked) == 1
    assert "on or off" in fails(await run_command("/afk maybe", session))
    await session.aclose()


async def test_a_grant_for_a_tool_of_a_server_is_listed_with_what_ends_it(session: ForgeSession) -> None:
    config = session.config
    save_project_rule(config.state_dir, config.working_dir, "mcp__git__log", scripts=(("its server", "f"),))
    session.policy.allow_for_session("mcp__git__log", (("its server", "f"),))
    listing = body(await run_command("/permissions", session))
    assert "mcp__git__log  (kept for this folder; asks again when the tool or its server changes)" in listing
