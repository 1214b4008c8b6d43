"""Completion of `forge` in shells, and its manual page."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from forge_core.sanitize import safe_text
from forge_tui.arguments import SHELLS, build_parser
from forge_tui.cli import main
from forge_tui.cli_reference.completion import Candidates, CompletionItem, candidates, script
from forge_tui.cli_reference.man_page import man_page

SESSIONS = (CompletionItem("20260101-101010-abcdef", "a title"), CompletionItem("20260202-101010-abcdef"))
SOURCES = {
    "ID": lambda: SESSIONS,
    "SETTING": lambda: [CompletionItem("theme"), CompletionItem("model")],
    "MODEL": lambda: [CompletionItem("offline")],
}
FORGE = Path(sys.executable).with_name("forge")


def complete(*words: str) -> tuple[list[str], str]:
    found = candidates(build_parser(), words, SOURCES, default="chat")
    return [item.value for item in found.items], found.paths


@pytest.mark.parametrize(
    ("words", "values", "paths"),
    [
        (("se",), ["sessions"], "folders"),
        (("chat", ""), [], "folders"),
        (("--the",), [], ""),
        (("--ver",), ["--version"], ""),
        (("chat", "--the",), ["--theme"], ""),
        (("--model", "off"), ["offline"], ""),
        (("-m", "off"), ["offline"], ""),
        (("--model", "offline", "--eff"), ["--effort"], ""),
        (("chat", "--model=off"), ["--model=offline"], ""),
        (("chat", "--model", "=", "off"), ["offline"], ""),
        (("chat", "--model", "="), ["offline"], ""),
        (("chat", "--sandbox", "s"), ["strict"], ""),
        (("chat", "--allow", "x", "--allo"), ["--allow"], ""),
        (("chat", "--", "--eff"), [], "folders"),
        (("chat", ".", ""), [], ""),
        (("chat", "-r", "2026010"), ["20260101-101010-abcdef"], ""),
        (("chat", "-r", "--fo"), ["--fork", "--fork-session"], ""),
        (("run", "-C", "x"), [], "folders"),
        (("run", "-f", "x"), [], "files"),
        (("run", "--output", ""), ["text", "json", "stream-json"], ""),
        (("sessions", "ex"), ["export"], ""),
        (("sessions", "export", "20260202"), ["20260202-101010-abcdef"], ""),
        (("sessions", "export", "x", "--format", "j"), ["json", "jsonl"], ""),
        (("sessions", "delete", "x", "20260202"), ["20260202-101010-abcdef"], ""),
        (("sessions", "list", "-C", ""), [], "folders"),
        (("config", "get", "th"), ["theme"], ""),
        (("chat", "--approve", ""), [], ""),
        (("mcp", "add", ""), [], ""),
        (("completion", ""), ["bash", "zsh", "fish"], ""),
        (("nothing", "--no-such", "x", "\x1b"), [], ""),
    ],
)  # fmt: skip
def test_completes(words: tuple[str, ...], values: list[str], paths: str) -> None:
    assert complete(*words) == (values, paths)


def test_every_option_and_command_is_completed() -> None:
    shown = {
        item.value: item.help for item in candidates(build_parser(), ["chat", "-"], SOURCES, "chat").items
    }
    assert {"--prompt", "-p", "--theme", "--allow", "--continue"} <= shown.keys()
    assert all(shown.values())
    assert "--theme" not in complete("run", "-")[0]  # hidden there
    assert set(complete("")[0]) >= {"chat", "run", "sessions", "completion", "man", "tau2"}


def test_hostile_titles_are_printed_in_one_line_without_controls() -> None:
    printed = Candidates([CompletionItem("x", "a\nb\tc\x1b[31m" + "x" * 500)], "files").printed()
    assert printed.count("\n") == 2 and printed.count("\t") == 1 and len(printed) < 150
    assert safe_text(printed) == printed


def test_the_program_prints_the_script_of_each_shell_and_candidates(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for shell in SHELLS:
        assert main(["completion", shell]) == 0
        assert capsys.readouterr().out == script(shell)
    assert main(["completion", "--words", "chat", "--sandbox", "o"]) == 0
    assert capsys.readouterr().out == "\noff\t\n"
    assert main(["completion", "--words", "config", "get", "sessions_k"]) == 0
    assert capsys.readouterr().out.split("\t")[0].split() == ["sessions_keep_days"]
    assert main(["completion", "--words", "--model", "offl"]) == 0
    assert capsys.readouterr().out.split("\t")[0].split() == ["offline"]
    assert main(["completion", "--words", "--theme", "forge-d"]) == 0
    assert "forge-dark\t\n" in capsys.readouterr().out


def test_sessions_are_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORGE_HOME", str(tmp_path / "none"))
    assert main(["completion", "--words", "replay", ""]) == 0
    assert capsys.readouterr().out == "\n"
    assert not (tmp_path / "none").exists()


BASH = """
source /dev/stdin <<< "$({forge} completion bash)"
try() {{ COMP_WORDS=(forge "$@"); COMP_CWORD=$#; COMPREPLY=(); _forge {forge} "${{@: -1}}" prev 2>/dev/null; echo "${{COMPREPLY[*]}}"; }}
try sess; try chat --sandbox ""; try chat sub; try run -f ""
"""
ZSH = """
autoload -Uz compinit; compinit -u -D
compadd() {{ shift 4; print -r -- "$@"; }}; _files() {{ print -r -- FILES "$@"; }}
eval "$({forge} completion zsh)"
try() {{ local -a words; words=({forge} "$@"); local CURRENT=$#words; _forge; }}
try chat --sandbox ''; try sess; try run -f x
"""
FISH = """
{forge} completion fish | source
complete -C 'forge chat --sandbox '; complete -C 'forge sess'; complete -C 'forge run -f one.t'
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shell", "arguments", "program", "shown"),
    [
        ("bash", ["--norc"], BASH, ["sessions", "auto strict off", "sub folder", "one.txt"]),
        ("zsh", ["-f"], ZSH, ["auto strict off", "sessions", "FILES -/", "FILES"]),
        ("fish", ["--no-config"], FISH, ["auto", "off", "strict", "sessions\tlist", "one.txt"]),
    ],
)
def test_a_real_shell_completes(
    shell: str, arguments: list[str], program: str, shown: list[str], tmp_path: Path
) -> None:
    if (found := shutil.which(shell)) is None:
        pytest.skip(f"{shell} is not installed")
    (tmp_path / "sub folder").mkdir()
    (tmp_path / "one.txt").touch()
    checked = subprocess.run([found, "-n"], input=script(shell), capture_output=True, text=True, timeout=60)
    assert (checked.returncode, checked.stderr) == (0, "")
    environment = {**os.environ, "HOME": str(tmp_path), "FORGE_HOME": str(tmp_path / "forge"),
                   "PATH": f"{FORGE.parent}:{os.environ['PATH']}"}  # fmt: skip
    ended = subprocess.run(
        [found, *arguments, "-c", program.format(forge=FORGE)],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    for text in shown:
        assert text in ended.stdout, (ended.stdout, ended.stderr)


def test_the_manual_page_has_every_command_and_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["man"]) == 0
    page = capsys.readouterr().out
    for text in (
        r"forge sessions export",
        r"\fB\-\-max\-cost\fR \fIUSD\fR",
        "FORGE_MODEL",
        r"\fB\-\-json\-schema\fR",
    ):
        assert text in page
    if shutil.which("groff"):
        ended = subprocess.run(
            ["groff", "-man", "-Tascii", "-ww", "-z"], input=page, capture_output=True, text=True, timeout=60
        )
        assert (ended.returncode, ended.stderr) == (0, "")


def test_the_manual_page_shows_texts_literally() -> None:
    page = man_page(build_parser(), "1.0", {"X": ".it's \\fB-x `y` ~ ^"})
    assert r"\&.it's \efB\-x \(gay\(ga \(ti \(ha" in page
