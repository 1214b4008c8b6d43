"""The example of docs/extending.md works."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from forge_core.config.permission_mode import PermissionMode
from forge_core.extensions.hooks.hook_events import HookEvent
from tests.package_shape import ROOT
from tests.support.hooks import HookBench
from tests.unit.extensions.hooks.test_call_hooks import Call

PAGE = (ROOT / "docs/extending.md").read_text()


async def test_the_example_denies_a_push_and_formats(tmp_path: Path) -> None:
    found = re.search(r"<!-- example: hooks -->\n\n```json\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    project = tmp_path / "project"
    script = project / ".claude/hooks/format.sh"
    script.parent.mkdir(parents=True)
    script.write_text("#!/bin/sh\nsed -i 's/ *$//' a.py\n")
    script.chmod(0o755)
    run = Call(HookBench.of(project, json.loads(found[1])), {"mode": PermissionMode.YOLO})

    pushed = await run("bash", command="cd . && git push origin main")
    assert "Ask before you push." in str(pushed.error)
    assert (await run("write", file_path="a.py", content="a = 1   \n")).success
    assert (project / "a.py").read_text() == "a = 1\n"
    assert run.bench.texts == []


@pytest.mark.parametrize("event", list(HookEvent))
def test_every_event_is_in_the_page(event: HookEvent) -> None:
    assert f"`{event}`" in PAGE
