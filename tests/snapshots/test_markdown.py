"""How answers and reasoning look: a page per kind of Markdown, and each way of showing them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from textual.pilot import Pilot

from forge_core.events import LLMChunk, LLMStart
from tests.snapshots.test_snapshots import Before, Compare, after
from tests.support.chat_app import ChatApp, make_app, make_config, until
from tests.support.scripted_session import Step, answer, end_of_turn

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the pictures are Python 3.11's"),
]

PAGES = {
    "prose": """# First level

Text with **bold**, *emphasis*, ***both***, ~~struck out~~ and `code`. A line end
is one here.

## Second level

### Third level

#### Fourth level

> A quote with **bold** text,
> > and a quote in it.

***

See [the guide](https://example.org/guide), https://example.org/bare?q=1 (and so on), <mail@example.org>,
![a diagram](https://example.org/d.png), <b>no HTML</b>, $E = mc^2$ and a note[^1].
""",
    "lists": """- one
- two, which is long enough to be wrapped in the window it stands in, so that its second row hangs below
  - nested
    - deeper
- [ ] open
- [x] done

9. nine

   a paragraph of its own

   ```python
   x = 1
   ```
10. ten
    > quoted in an item
""",
    "tables": """| fits | right | middle |
|---|--:|:-:|
| a | 1 | x |
| 日本語 | 22 | `code` |

| option | what it does | since |
|---|---|---|
| `--sandbox strict` | Starts only where a full sandbox can be built, and says what is missing otherwise | 0.1 |
| `--theme NAME` | Chooses the looks; see **themes** | 0.1 |
""",
    "code": """```python
class Engine:
    \"\"\"Runs.\"\"\"

    def start(self, speed: float = 1.5) -> None:  # at once
        print(f"on at {speed}")
```

```
no language, and a line that is too long for the window: ________________________________________ end
```

    indented code
""",
    "scripts": """混ぜる文章は、語のあいだに空白がなくても、行の終わりで折り返される。全角の記号も、二つの升目を使う。

Family 👨\u200d👩\u200d👧, heart ❤\ufe0f, flag 🇪🇺, café, e\u0301tude.

عربي: هذا نص عربي فيه **كلمة مهمة** ورابط https://example.org/ar

עברית: זה טקסט *מודגש* ו־`code` בתוכו.

- 一つ目
- שני
""",
}


def picture(app: ChatApp, compare: Compare, before: Before, size: tuple[int, int] = (80, 32)) -> bool:
    return compare(app, terminal_size=size, run_before=before)


@pytest.mark.parametrize("page", PAGES)
def test_page(snap_compare: Compare, tmp_path: Path, page: str) -> None:
    assert picture(make_app(make_config(tmp_path), [answer(PAGES[page])]), snap_compare, after("show"))


def test_page_light(snap_compare: Compare, tmp_path: Path) -> None:
    app = make_app(make_config(tmp_path, theme="forge-light"), [answer(PAGES["prose"])])
    assert picture(app, snap_compare, after("show"))


def test_tables_narrow(snap_compare: Compare, tmp_path: Path) -> None:
    app = make_app(make_config(tmp_path), [answer(PAGES["tables"])])
    assert picture(app, snap_compare, after("show"), (30, 36))


def test_raw(snap_compare: Compare, tmp_path: Path) -> None:
    async def run(pilot: Pilot[None]) -> None:
        await after("show")(pilot)
        await pilot.press("alt+r")
        await pilot.pause()

    assert picture(make_app(make_config(tmp_path), [answer(PAGES["lists"])]), snap_compare, run)


THOUGHT = "The person wants the entry point.\n" + "".join(f"Look at place {n}.\n" for n in range(8))


@pytest.mark.parametrize("thinking", ["folded", "full", "hidden"])
def test_reasoning(snap_compare: Compare, tmp_path: Path, thinking: str) -> None:
    steps: list[Step] = [
        LLMStart(iteration=1, model="test/model", timestamp=100.0),
        LLMChunk(text=THOUGHT, kind="reasoning", timestamp=100.0),
        LLMChunk(text="It is `main`.", timestamp=112.0),
        end_of_turn(),
    ]
    app = make_app(make_config(tmp_path, thinking=thinking), [steps])
    assert picture(app, snap_compare, after("where does it start?"), (80, 24))


def test_reasoning_that_comes(snap_compare: Compare, tmp_path: Path) -> None:
    app = make_app(make_config(tmp_path), [])

    async def run(pilot: Pilot[None]) -> None:
        await until(pilot, lambda: app.session is not None)
        app.chat.welcome.display = False
        app.chat.transcript.apply(LLMChunk(text=THOUGHT, kind="reasoning", timestamp=100.0))
        await until(pilot, lambda: bool(app.chat.transcript.model.blocks))

    assert picture(app, snap_compare, run, (80, 24))
