"""What hooks print, in Forge's log."""

from __future__ import annotations

from pathlib import Path

from forge_core.extensions.hooks.hook_events import HookEvent
from forge_core.extensions.hooks.hook_runner import Occasion
from forge_core.redact import MASK, Redactor
from forge_core.store.log import close_log, open_log
from tests.support.hooks import HookBench, answering, declared

KEY = "Zq7+wV/2mN9xKp4tRb8yLc3d"
QUIET = [
    declared("SessionStart", "echo 'for the model'"),
    declared("Stop", answering({"systemMessage": "an answer"})),
    declared("Stop", "true"),
]


async def logged(folder: Path, level: str, *hooks: dict[str, object]) -> str:
    folder.mkdir(exist_ok=True)
    logger = open_log(folder / "logs/forge.log", level, "forge.test", Redactor((KEY,)))
    bench = HookBench.of(folder, *hooks, logger=logger)
    for event in (HookEvent.SESSION_START, HookEvent.STOP):
        await bench.runner.run(event, Occasion({}))
    close_log(logger)
    path = folder / "logs/forge.log"
    return path.read_text() if path.exists() else ""


async def test_what_a_hook_prints_is_in_the_log(tmp_path: Path) -> None:
    failing = f"echo out; printf 'one\\033[31m {KEY}\\n2026-01-01 ERROR two\\n' >&2; exit 3"
    late = declared("Stop", "echo still >&2; sleep 600", timeout=0.3)
    text = await logged(tmp_path / "all", "info", declared("Stop", failing), late, *QUIET)

    assert (tmp_path / "all/logs/forge.log").stat().st_mode & 0o777 == 0o600
    entries = [line for line in text.splitlines() if not line.startswith("  ")]
    assert sorted(entry.partition(" WARNING ")[2] for entry in entries) == [
        "forge.test hook Stop:echo: it did not end within 0.3 s",
        "forge.test hook Stop:echo: it exited with 3: 2026-01-01 ERROR two",
    ]
    assert f"\n  stderr: one␛[31m {MASK}\n  stderr: 2026-01-01 ERROR two\n  stdout: out\n" in text
    assert "\n  stderr: still\n" in text


async def test_what_hooks_print_that_succeed_is_in_the_log_of_level_info(tmp_path: Path) -> None:
    hook = declared("Stop", "echo formatted; echo 1 file >&2")
    text = await logged(tmp_path / "info", "info", hook)
    assert text.endswith("INFO forge.test hook Stop:echo: ok\n  stderr: 1 file\n  stdout: formatted\n")
    assert await logged(tmp_path / "warning", "warning", hook) == ""


async def test_the_log_holds_the_last_64_kb_of_a_hook(tmp_path: Path) -> None:
    line = "head -c 3000000 /dev/zero | tr '\\0' x | fold -w 99 >&2; echo >&2; echo end >&2"
    text = await logged(tmp_path, "info", declared("Stop", line))
    assert 60_000 < len(text) < 80_000
    assert text.endswith("\n  stderr: end\n")
