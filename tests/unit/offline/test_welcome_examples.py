"""What the welcome offers, the offline model does."""

from __future__ import annotations

from pathlib import Path

import pytest

from forge_tui.widgets.welcome.welcome_text import examples
from tests.unit.offline.driver import Talk


@pytest.mark.slow
async def test_every_example_of_the_welcome_is_handled(tmp_path: Path, talk: Talk) -> None:
    offered = set(examples(talk.folder))
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / ".git").mkdir()
    offered.update(examples(tmp_path / "empty"))
    assert len(offered) == 5
    for request in offered:
        words = await talk(request)
        assert talk.calls and "`help` shows" not in words, request
