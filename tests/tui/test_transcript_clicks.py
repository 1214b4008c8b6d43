"""Clicks on an answer that copy: the language of a block of code."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

from forge_core.config.forge_config import ForgeConfig
from tests.support.chat_app import ChatApp, make_app, ready, shown, until

pytestmark = pytest.mark.slow

CODE = "\n".join(f"x = {number}" for number in range(100))
ANSWER = f"""```python
first = 1
```

- in a list

  ```bash
  ls -l
  ```

```rust
{CODE}
```

    indented

```toml
last = true
```
"""


async def click(pilot: Pilot[None], app: ChatApp, word: str) -> None:
    """Click on the last letter of a word that is shown once."""
    rows = shown(app).splitlines()
    y = next(y for y, row in enumerate(rows) if word in row)
    await pilot.click(offset=(rows[y].index(word) + len(word) - 1, y))
    await pilot.pause()


@pytest.mark.parametrize(
    ("label", "code"),
    [("python", "first = 1"), ("bash", "ls -l"), ("rust", CODE), ("toml", "last = true")],
    ids=["plain", "in a list", "in pieces", "the last"],
)
async def test_a_click_on_the_language_copies_the_block(config: ForgeConfig, label: str, code: str) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 150)) as pilot:
        await ready(pilot)
        app.chat.welcome.display = False
        app.chat.transcript.add_markdown(ANSWER)
        await until(pilot, lambda: "toml" in shown(app))
        await click(pilot, app, label)
        assert app.clipboard == code
        await until(pilot, lambda: f"Copied {len(code)} characters" in shown(app))


async def test_a_click_on_code_copies_nothing(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 150)) as pilot:
        await ready(pilot)
        app.chat.welcome.display = False
        app.chat.transcript.add_markdown(ANSWER)
        await until(pilot, lambda: "toml" in shown(app))
        await click(pilot, app, "last")
        assert app.clipboard == ""
