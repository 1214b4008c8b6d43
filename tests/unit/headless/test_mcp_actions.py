"""`forge mcp` as it is typed: files are changed, and what is printed is safe."""

from __future__ import annotations

import json
import re
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from forge_core.exit_codes import ExitCode
from forge_core.extensions.approvals import how_they_run
from forge_core.headless.mcp_actions import run_action
from forge_core.mcp.approved_servers import ServerApprovals
from forge_core.runtime import load_session_config
from forge_core.sanitize import safe_text
from forge_tui.arguments import parse
from forge_tui.cli import main

SERVER = str(Path(__file__).parents[2] / "support" / "mcp_server.py")
SECRET = "ghp_abcdefghijklmnopqrstuvwxyz0123"


class Cli:
    """The program in a folder of its own."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.user_file = root / "forge/config/mcp.json"
        self.folder = root / "work"
        self.project_file = self.folder / ".mcp.json"
        self._capsys = capsys
        self.err = ""

    def run(self, *words: str, code: int = ExitCode.COMPLETE) -> str:
        """Run `forge mcp …` and return what it has printed."""
        found = main(["mcp", *words])
        out = self.printed()
        assert found == code, out + self.err
        return out

    def printed(self) -> str:
        out, self.err = self._capsys.readouterr()
        assert safe_text(out) == out
        return out

    def fails(self, *words: str) -> str:
        """Return why `forge mcp …` has failed."""
        self.run(*words, code=ExitCode.USAGE)
        return self.err

    def write(self, path: Path, **servers: Any) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"mcpServers": servers}))

    def read(self, path: Path) -> Any:
        return json.loads(path.read_text())["mcpServers"]


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    (tmp_path / "work").mkdir()
    monkeypatch.setenv("FORGE_HOME", str(tmp_path / "forge"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CODEX_HOME", raising=False)
    monkeypatch.chdir(tmp_path / "work")
    return Cli(tmp_path, capsys)


@pytest.mark.parametrize(
    ("words", "entry"),
    [
        (
            ["one", "--", "npx", "-y", "pkg", "--", "-x"],
            {"command": "npx", "args": ["-y", "pkg", "--", "-x"]},
        ),
        (["one", "x", "a"], {"command": "x", "args": ["a"]}),
        (
            ["-e", "LOG=a=b", "one", "-e", "TOKEN", "--", "x"],
            {"command": "x", "args": [], "env": {"LOG": "a=b", "TOKEN": "${TOKEN}"}},
        ),
        (["one", "https://a.example/mcp"], {"type": "http", "url": "https://a.example/mcp"}),
        (
            ["--transport", "sse", "one", "${BASE}/sse", "-H", "X-Key: ${KEY}"],
            {"type": "sse", "url": "${BASE}/sse", "headers": {"X-Key": "${KEY}"}},
        ),
    ],
)
def test_a_server_is_added_to_the_users_file(cli: Cli, words: list[str], entry: Any) -> None:
    out = cli.run("add", *words)

    assert cli.read(cli.user_file) == {"one": entry}
    assert stat.S_IMODE(cli.user_file.stat().st_mode) == 0o600
    assert out.startswith(f"Added one to {'~/forge/config/mcp.json'}.\n") and "forge mcp test one" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["add", "one"], "required: URL|COMMAND"),
        (["add", "one", "npx", "-y", "pkg"], "There is no option '-y' in this place"),
        (["add", "a b", "x"], "'a b' was not added: its name must be 1 to 32 letters"),
        (["add", "forge", "x"], "its name is reserved"),
        (["add", "-e", "A-B=1", "one", "x"], "-e takes NAME=VALUE"),
        (["add", "-H", "A: b", "one", "x"], "-H is for servers with a URL"),
        (["add", "-e", "A=b", "one", "https://a"], "takes no arguments and no variables"),
        (["add", "-H", "A b", "one", "https://a"], "-H takes 'NAME: VALUE'"),
        (["add", "-t", "http", "one", "ftp://a"], "it must begin with http:// or https://"),
        (["add-json", "one", "{"], "line 1, column 2 is not JSON"),
        (["add-json", "one", '{"command": 1}'], "command is not a text"),
        (["add", "--scope", "session", "one", "x"], "invalid choice: 'session'"),
    ],
)
def test_what_cannot_be_added_says_why(cli: Cli, words: list[str], message: str) -> None:
    assert message in cli.fails(*words)
    assert not cli.user_file.exists()


def test_a_broken_file_is_never_overwritten(cli: Cli) -> None:
    cli.project_file.write_text('{"mcpServers": {')
    for words in (["add", "-s", "project", "one", "x"], ["remove", "-s", "project", "one"]):
        cli.fails(*words)
        assert ".mcp.json was not" in cli.err
    assert cli.project_file.read_text() == '{"mcpServers": {'
    assert cli.run("list") == "" and "Servers in .mcp.json were not read" in cli.err
    assert "Servers in .mcp.json were not read" in cli.run("test", code=ExitCode.USAGE)
    cli.project_file.unlink()
    assert cli.run("test") == "There are no MCP servers to test.\n"


def test_a_name_is_never_overwritten_and_the_nearest_is_named(cli: Cli) -> None:
    cli.run("add-json", "github", '{"command": "x"}')
    assert "declares a server 'github' already" in cli.fails("add", "github", "y")
    for action in ("get", "remove", "approve", "test"):
        assert "no MCP server 'gihub'. Did you mean 'github'?" in cli.fails(action, "gihub")
    cli.run("add", "--scope", "project", "github", "x")
    assert "both declare 'github'. Add --scope user or --scope project" in cli.fails("remove", "github")
    assert cli.run("remove", "github", "--scope", "user") == "Removed github from ~/forge/config/mcp.json.\n"
    cli.run("remove", "github")
    assert cli.read(cli.user_file) == cli.read(cli.project_file) == {}


def test_lists_mask_secrets_and_expand_nothing(cli: Cli) -> None:
    cli.write(
        cli.user_file,
        mine={
            "command": "npx",
            "args": ["--token", SECRET, "a\x1b]0;evil\x07 b"],
            "env": {"API_KEY": "abc", "REF": "${HOME}"},
        },
        url={
            "url": f"https://u:pw@a.example/{SECRET}?key=abc",
            "headers": {"Authorization": f"Bearer {SECRET}"},
        },
        off={"command": "x", "disabled": True},
    )
    cli.user_file.write_text(cli.user_file.read_text().replace('"off"', '"b\\u001b c": 1, "off"'))

    out = cli.run("list")

    assert [line.split()[0] for line in out.splitlines() if line[0] != " "] == [
        "mine",
        "url",
        "off",
        "b\u241b",
    ]
    assert "'a\u241b]0;evil\u2407 b'" in out and "cannot be used" in out and "disabled" in out
    texts = [out, cli.run("get", "mine"), cli.run("get", "url"), cli.run("list", "--json")]
    texts += [cli.run("get", "mine", "--json")]
    for text in texts:
        assert not any(secret in text for secret in (SECRET, "abc", "pw@", str(cli.folder.parent) + "\n"))
    assert "  env        REF=${HOME}\n" in texts[1] and "  variables  HOME\n" in texts[1]
    assert json.loads(texts[4])["plain_secrets"] == ["env.API_KEY", "args"]
    assert [one["name"] for one in json.loads(texts[3])] == ["mine", "url", "off", "b\u241b c"]


def test_secrets_are_pointed_out_when_a_server_is_added(cli: Cli) -> None:
    out = cli.run("add", "-s", "project", "-e", "API_KEY=abc", "one", "x")
    assert "env.API_KEY holds a secret in plain text, which others may read." in out
    assert "write ${API_KEY} instead" in out


def test_the_script_of_a_server_is_approved_as_it_was_shown(cli: Cli) -> None:
    (cli.folder / "run.py").write_text("print(1)\n")
    entry = {"command": "python", "args": ["run.py", "a\u202eb"], "env": {"NODE_OPTIONS": "${OPTIONS:-}"}}
    cli.write(cli.project_file, one={**entry, "cwd": "sub"}, mine=entry)
    cli.write(cli.user_file, own={"command": "x"})
    answers: list[str] = []

    def approve(*words: str, answer: bool | None = None) -> int:
        def confirm(question: str) -> bool:
            answers.append(question)
            assert answer is not None
            return answer

        options = parse(["mcp", "approve", *words, "--trust"])
        assert not isinstance(options, int)
        code = run_action(options, load_session_config(trust=True), confirm)
        cli.printed()
        return code

    assert "the folder is not trusted" in cli.fails("approve", "one")
    assert "there is no terminal to ask. Add --yes" in cli.fails("approve", "one", "--trust")
    assert approve("one", answer=False) == ExitCode.UNFINISHED
    assert "pending approval" in cli.run("list", "--trust")
    assert approve("one", answer=True) == ExitCode.COMPLETE
    assert answers == ["Approve it?"] * 2

    out = cli.run("approve", "one", "--trust")
    assert out == (
        "one, in .mcp.json\n"
        "  python run.py 'a\\u202eb'\n"
        "  with NODE_OPTIONS=${OPTIONS:-}\n"
        "  in the folder sub\n"
        "It is given the values of OPTIONS.\n"
        "It runs as you, outside the sandbox of commands, whenever a session starts here.\n"
        "It is approved already.\n"
    )
    (cli.folder / "run.py").write_text("print(2)\n")
    assert "one: changed" in cli.run("get", "one", "--trust")
    out = cli.run("approve", "one", "--trust", "--yes")
    assert "Changed since you decided about it:\n  run.py has changed:\n" in out and "  +print(2)\n" in out
    assert "one: approved" in cli.run("get", "one", "--trust")
    assert "own needs no approval" in cli.run("approve", "own")


def test_a_server_in_the_sandbox_is_approved_as_such(cli: Cli) -> None:
    cli.write(
        cli.project_file,
        one={"command": "x", "sandbox": "strict"},
        two={"command": "y"},
        web={"url": "https://h/mcp"},
    )
    approvals = ServerApprovals.load(load_session_config(trust=True))
    one, two, web = approvals.shown
    assert "inside the sandbox, without network" in one.lines
    assert how_they_run([one]).startswith("They run inside the sandbox.")
    assert how_they_run([two]).startswith("They run as you, outside the sandbox.")
    assert how_they_run([one, two, web]).startswith("They run as you, outside the sandbox unless it says so.")
    assert how_they_run([web]).startswith("Forge starts nothing,")

    out = cli.run("approve", "one", "--trust", "--yes")
    assert "inside the sandbox of commands and without network, whenever a session starts here" in out
    assert "  sandbox  strict\n" in cli.run("get", "one", "--trust")
    cli.write(cli.project_file, one={"command": "x", "sandbox": "keys"})
    [one] = ServerApprovals.load(load_session_config(trust=True)).shown
    assert "without a view of Forge's own folders" in one.lines and not one.is_sandboxed
    cli.write(cli.project_file, one={"command": "x"})
    assert 'sandbox was "strict", is not set' in cli.run("approve", "one", "--trust", "--yes")


def test_servers_of_other_programs_are_imported(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    home, reading = cli.folder.parent, {"command": "x", "args": []}
    claude = {"mcpServers": {"git": reading, "ws": {"type": "ws", "url": "ws://a"}, "taken": reading}}
    (home / ".claude.json").write_text(json.dumps(claude))
    (home / ".codex").mkdir()
    (home / ".codex/config.toml").write_text('[mcp_servers.git]\ncommand = "other"\n')
    (cli.folder / ".vscode").mkdir()
    (cli.folder / ".vscode/mcp.json").write_text(
        '{"servers": {"team": {"command": "y", "env": {"KEY": "abc"}}}}'
    )
    (cli.folder / ".cursor").mkdir()
    (cli.folder / ".cursor/mcp.json").write_text("{")
    cli.write(cli.user_file, taken={"command": "mine"})

    assert "there is no terminal to ask" in cli.fails("import")
    assert "No other program has a server 'gi'" in cli.fails("import", "gi")
    assert not cli.project_file.exists()
    out = cli.run("import", "--yes")

    assert cli.read(cli.user_file) == {"taken": {"command": "mine"}, "git": reading}
    assert cli.read(cli.project_file) == {"team": {"command": "y", "env": {"KEY": "abc"}}}
    taken = "~/forge/config/mcp.json has a server of this name"
    assert f"taken, from ~/.claude.json: not imported: {taken}\n" in out
    assert f"git, from ~/.codex/config.toml: not imported: {taken}\n" in out
    assert "ws, from ~/.claude.json: not imported: its type is 'ws'" in out
    assert "team, from .vscode/mcp.json: \n  command  y\n  env      KEY=[redacted]\n" in out
    assert "env.KEY holds a secret in plain text" in out
    assert out.endswith(
        "Wrote 1 to ~/forge/config/mcp.json and 1 to .mcp.json. `forge mcp list` lists the servers.\n"
    )
    assert ".cursor/mcp.json was not read" in cli.err
    assert cli.run("import", "--yes").endswith("There is nothing to import.\n")


def test_names_of_servers_are_completed(cli: Cli, capsys: pytest.CaptureFixture[str]) -> None:
    cli.write(cli.user_file, mine={"command": "x"})
    cli.write(cli.project_file, theirs={"command": "x"})
    assert main(["completion", "--words", "mcp", "get", ""]) == 0
    assert capsys.readouterr().out == "\nmine\t~/forge/config/mcp.json\ntheirs\t.mcp.json\n"
    assert main(["completion", "--words", "mcp", "test", "mine", "t"]) == 0
    assert capsys.readouterr().out == "\ntheirs\t.mcp.json\n"


@pytest.mark.parametrize("words", [["list"], []])
def test_nothing_is_listed_while_safe_is_on(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    cli.write(cli.user_file, mine={"command": "x"})
    monkeypatch.setenv("FORGE_SAFE", "1")
    assert cli.run(*words).startswith("There are no MCP servers while the setting safe is on.")


def test_one_screen_says_what_is_wrong_with_each_server(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_TOKEN", "canary-12345")
    python = {"command": sys.executable}
    cli.write(
        cli.user_file,
        good={**python, "args": ["-S", SERVER, "pages", "chatty"], "env": {"API_TOKEN": "${BENCH_TOKEN}"}},
        exits={**python, "args": ["-S", SERVER, "exits"]},
        gone={"command": "mcp-server-that-is-not-installed"},
        refused={"url": "http://127.0.0.1:9/mcp"},
        unset={"url": "https://a.example/${NOT_SET}"},
        socket={"type": "ws", "url": "ws://a.example"},
        off={**python, "args": ["-S", SERVER], "disabled": True},
    )
    cli.write(cli.project_file, theirs={**python, "args": ["-S", SERVER]})

    out = cli.run("test", "--trust", code=ExitCode.USAGE)

    assert len(out.splitlines()) <= 24
    blocks = re.split(r"\n(?! )", out)
    found = {block.partition(":")[0]: block.partition(": ")[2] for block in blocks}
    assert found["good"].startswith("ready: bench 1.0, protocol 2025-11-25\n  11 tools (about ")
    assert re.search(
        r"tokens\), 1 prompt, 1 resource\n  initialized in \d+ ms, listed in \d+ ms", found["good"]
    )
    assert found["good"].endswith("\n  stderr: the token is [redacted]\u241b[31m")
    assert found["exits"].startswith("failed: exited with code 3 before answering: fatal: not a repository\n")
    assert "mcp-server-that-is-not-installed: No such file or directory" in found["gone"]
    assert found["refused"].startswith("failed: no connection to 127.0.0.1:9: Connection refused")
    assert found["unset"] == "cannot be used: the environment variable NOT_SET is not set"
    assert found["socket"].startswith("cannot be used: its type is 'ws': Forge does not speak WebSocket")
    assert found["theirs"] == "not started: pending approval (forge mcp approve theirs)"
    assert "off" not in found
    assert re.search(r"^1 of 7 work\. The bridge started in [\d,]+ ms and ended in [\d,]+ ms\.$", out, re.M)


def test_named_servers_are_tested_and_approved_for_the_test(cli: Cli) -> None:
    entry = {"command": sys.executable, "args": ["-S", SERVER]}
    cli.write(cli.project_file, theirs=entry, off={**entry, "disabled": True})

    out = cli.run("test", "--trust", "--approve", "theirs", "--approve", "off", "theirs", "off")

    assert out.count(": ready: bench 1.0") == 2
    assert "pending approval" in cli.run("list", "--trust")
