"""How hooks run, and which of several answers counts."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from forge_core.extensions.hooks.hook_events import HookEvent
from forge_core.extensions.hooks.hook_process import read_exports
from forge_core.extensions.hooks.hook_runner import HookVerdict, Occasion
from forge_core.permissions.verdict import Decision
from tests.support.hooks import HookBench, answering, declared

PRE, START, STOP = HookEvent.PRE_TOOL_USE, HookEvent.SESSION_START, HookEvent.STOP
MakeBench = Callable[..., HookBench]


def permission(decision: str, reason: str = "", **fields: object) -> str:
    specific = {
        "hookEventName": "PreToolUse",
        "permissionDecision": decision,
        "permissionDecisionReason": reason,
        **fields,
    }
    return answering({"hookSpecificOutput": specific})


@pytest.mark.parametrize(
    ("decisions", "of_project", "expected"),
    [
        (("allow", "ask", "deny"), "", Decision.DENY),
        (("allow", "ask"), "", Decision.ASK),
        (("allow", "allow"), "", Decision.ALLOW),
        ((), "allow", None),
        ((), "ask", Decision.ASK),
        ((), "deny", Decision.DENY),
        (("allow",), "ask", Decision.ASK),
        (("allow",), "allow", Decision.ALLOW),
    ],
)
async def test_the_strictest_counts_and_a_project_only_tightens(
    bench: MakeBench, decisions: tuple[str, ...], of_project: str, expected: Decision | None
) -> None:
    own = [declared("PreToolUse", permission(one, f"because {one}")) for one in decisions]
    project = declared("PreToolUse", permission(of_project, "project")) if of_project else None

    verdict = await bench(*own, project=project).runner.run(PRE, Occasion({}))

    assert verdict.decision is expected
    if decisions and expected is not None and not of_project:
        assert verdict.reason == f"because {expected}"


async def test_a_hook_reads_one_object_and_knows_where_the_project_is(
    bench: MakeBench, tmp_path: Path
) -> None:
    line = (
        'cat > seen.json; echo "$CLAUDE_PROJECT_DIR:$FORGE_PROJECT_DIR:$PWD:${CLAUDE_ENV_FILE-none}" > where'
    )
    made = bench(declared("Stop", line))

    await made.runner.run(STOP, Occasion({"session_id": "s", "text": "é \ud800"}))

    seen = json.loads((made.folder / "seen.json").read_text())
    assert seen == {"session_id": "s", "text": "é ?", "hook_event_name": "Stop"}
    assert (made.folder / "where").read_text().strip() == ":".join([str(made.folder)] * 3 + ["none"])


async def test_a_hook_has_no_terminal_no_secret_and_a_group_of_its_own(
    bench: MakeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-secret")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector.example")
    made = bench(
        declared("Stop", "env > env.txt; (: </dev/tty) 2>/dev/null && echo tty; ps -o pgid= -p $$ > group")
    )

    verdict = await made.runner.run(STOP, Occasion({}))

    environment = (made.folder / "env.txt").read_text()
    assert "sk-secret" not in environment
    assert "OTEL_" not in environment
    assert int((made.folder / "group").read_text()) != os.getpgrp()
    assert verdict == HookVerdict()


async def test_equal_hooks_run_once_and_different_ones_together(bench: MakeBench) -> None:
    line = "echo x >> runs"
    # Each waits for the other: they end only if they run at the same time.
    meet = "mkfifo {0} 2>/dev/null; echo > {0} & cat {1}.ready 2>/dev/null; touch {0}.ready; until [ -e {1}.ready ]; do sleep 0.02; done"
    made = bench(
        declared("Stop", line),
        declared("Stop", line),
        declared("Stop", meet.format("a", "b")),
        declared("Stop", meet.format("b", "a")),
        project=declared("Stop", line),
    )

    async with asyncio.timeout(20):
        await made.runner.run(STOP, Occasion({}))

    assert (made.folder / "runs").read_text() == "x\n"
    assert made.texts == []


async def test_a_timeout_and_a_cancellation_end_the_whole_group(bench: MakeBench) -> None:
    line = "(trap '' TERM; mkfifo alive; echo $$ > pid; exec 3<>alive; sleep 600) & wait"
    made = bench(declared("Stop", line, timeout=0.5))
    await made.runner.run(STOP, Occasion({}))
    assert made.texts == ["Hook broken: Stop:trap: it did not end within 0.5 s."]
    await no_reader(made.folder / "alive")

    other = bench_of(made.folder / "other", line)
    running = asyncio.create_task(other.runner.run(STOP, Occasion({})))
    while not (other.folder / "pid").exists():
        await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await no_reader(other.folder / "alive")


def bench_of(base: Path, *lines: str) -> HookBench:
    (base / "project").mkdir(parents=True)
    return HookBench.of(base / "project", *(declared("Stop", line) for line in lines))


async def no_reader(fifo: Path) -> None:
    """Wait until no process holds a FIFO open: a killed one closes it when the kernel gets to it."""
    assert stat.S_ISFIFO(fifo.stat().st_mode)
    async with asyncio.timeout(20):
        while True:
            try:
                os.close(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
            except OSError:
                return
            await asyncio.sleep(0.01)


async def test_a_child_in_the_background_neither_delays_nor_survives_the_session(bench: MakeBench) -> None:
    made = bench(
        declared("Stop", "mkfifo alive; setsid sh -c 'exec 3<>alive; touch up; sleep 600' & echo done")
    )
    async with asyncio.timeout(20):
        await made.runner.run(STOP, Occasion({}))
        while not (made.folder / "up").exists():
            await asyncio.sleep(0.01)
    await made.runner.processes.kill_rest()
    await no_reader(made.folder / "alive")


async def test_output_is_bounded_and_unread_input_does_not_matter(bench: MakeBench) -> None:
    made = bench(
        declared("SessionStart", "head -c 5000000 /dev/zero | tr '\\0' x"),
        declared("SessionStart", "head -c 5000000 /dev/zero | tr '\\0' y >&2; echo end >&2; exit 3"),
    )
    async with asyncio.timeout(30):
        verdict = await made.runner.run(START, Occasion({"prompt": "x" * 3_000_000}))
    assert verdict.context == "x" * 10_000
    assert len(made.texts) == 1
    assert made.texts[0].endswith("yend.")


async def test_a_failure_is_reported_once_and_red_until_it_is_fixed(bench: MakeBench) -> None:
    made = bench(declared("Stop", "./check.sh"))
    [hook] = made.runner.hooks
    for _ in range(2):
        await made.runner.run(STOP, Occasion({}))
    assert made.texts == ["Hook broken: Stop:check.sh: the script './check.sh' does not exist."]
    assert made.runner.broken == ["Stop:check.sh"]
    assert (made.runner.statistics(hook).runs, made.runner.statistics(hook).last) == (
        2,
        "the script './check.sh' does not exist",
    )

    (made.folder / "check.sh").write_text("#!/bin/sh\nexit 0\n")
    await made.runner.run(STOP, Occasion({}))
    assert made.texts[1:] == ["Hook broken: Stop:check.sh: it cannot be executed."]

    (made.folder / "check.sh").chmod(0o755)
    await made.runner.run(STOP, Occasion({}))
    assert made.runner.broken == []
    assert made.runner.statistics(hook).last == "ok"
    assert made.runner.statistics(hook).median_ms is not None


async def test_a_message_of_a_hook_is_for_the_user(bench: MakeBench) -> None:
    made = bench(declared("Stop", answering({"systemMessage": "3 files\x1b[31m", "suppressOutput": True})))
    assert await made.runner.run(STOP, Occasion({})) == HookVerdict()
    assert [(one.level, one.text) for one in made.notices] == [("warning", "Stop:cat: 3 files␛[31m")]


async def test_arguments_run_without_a_shell(bench: MakeBench) -> None:
    made = bench(
        declared("SessionStart", "printf", args=["%s|", "a b", "$HOME", ";x"]),
        declared("SessionStart", "./gone", args=[]),
        declared("SessionStart", "no-such-program", args=["x"]),
    )
    verdict = await made.runner.run(START, Occasion({}))
    assert verdict.context == "a b|$HOME|;x|"
    assert sorted(made.texts) == [
        "Hook broken: SessionStart:gone: the script './gone' does not exist.",
        "Hook broken: SessionStart:no-such-program: the command was not found.",
    ]


async def test_an_async_hook_delays_nothing_and_decides_nothing(bench: MakeBench) -> None:
    line = "until [ -e go ]; do sleep 0.02; done; touch done; exit 2"
    made = bench(declared("PreToolUse", line, **dict[str, Any]({"async": True})))
    assert await made.runner.run(PRE, Occasion({})) == HookVerdict()
    (made.folder / "go").touch()
    async with asyncio.timeout(20):
        while not (made.folder / "done").exists():
            await asyncio.sleep(0.01)
    await made.runner.aclose()


async def test_the_user_is_told_which_hook_takes_long(bench: MakeBench) -> None:
    made = bench(declared("Stop", "until [ -e go ]; do sleep 0.02; done"), declared("Stop", "true"))
    told: list[str] = []

    def on_slow(text: str) -> None:
        told.append(text)
        (made.folder / "go").touch()

    await made.runner.run(STOP, Occasion({}), on_slow=on_slow)
    assert told == ["Waiting for the hook Stop:until …"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("export A=1", {"A": "1"}),
        ("export A='x y' \n export B=\"$A z\"", {"A": "x y", "B": "x y z"}),
        ('export PATH="$PATH:./bin"', {"PATH": "/usr/bin:./bin"}),
        ("export A='$PATH'", {"A": "$PATH"}),
        ("export A=${UNKNOWN}x", {"A": "x"}),
        ("export A=", {"A": ""}),
        ("A=1\necho hi\nrm -rf /\nexport 9A=1\nexport A B", {}),
        ("export A=$(touch x)\nexport B=`touch x`\nexport C='open\nexport D=a b", {}),
    ],
)
def test_exports_are_read_and_never_run(tmp_path: Path, text: str, expected: dict[str, str]) -> None:
    (tmp_path / "file").write_text(text)
    assert read_exports(tmp_path / "file", {"PATH": "/usr/bin"}) == expected


async def test_session_start_exports_variables_for_commands(bench: MakeBench) -> None:
    made = bench(declared("SessionStart", 'echo "export NODE_ENV=test" >> "$CLAUDE_ENV_FILE"'))
    await made.runner.run(START, Occasion({}))
    assert made.runner.processes.variables == {"NODE_ENV": "test"}


@pytest.mark.parametrize(
    "command",
    [
        "mkfifo $D/pipe; mv $D/pipe $CLAUDE_ENV_FILE",
        "ln -sf /dev/zero $CLAUDE_ENV_FILE",
        "rm -r $D; touch $D",
        "rm -r $D",
    ],
)
async def test_a_file_for_exports_that_a_hook_has_replaced_is_not_read(
    bench: MakeBench, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    made = bench(declared("SessionStart", f'D=$(dirname "$CLAUDE_ENV_FILE"); {command}; echo told'))
    async with asyncio.timeout(20):
        verdict = await made.runner.run(START, Occasion({}))
    assert verdict.context == "told"
    assert made.runner.processes.variables == {}
