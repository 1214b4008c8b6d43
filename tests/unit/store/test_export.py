"""Saved sessions as documents: complete, safe to open, and the same parts in each format."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest

from forge_core.errors import ConfigError
from forge_core.events import Error, LLMChunk, Notice, ToolEnd, ToolStart
from forge_core.redact import Redactor
from forge_core.result import FileDiff
from forge_core.store.export import exported, write_export
from forge_core.store.journal import Journal
from forge_core.store.saved_session import SavedSession, load_session

HOSTILE = (
    '<script>alert(1)</script>\x1b[31m ``` [x](javascript:alert(1)) ![i](https://evil.example/x.png) "q"'
)
KEY = "Zq7+wV/2mN9xKp4tRb8yLc3d"


@pytest.fixture
def saved(tmp_path: Path) -> SavedSession:
    path = tmp_path / "20261123-000000-abcdef.jsonl"
    journal = Journal(path, Redactor())
    journal.record("session", {"id": path.stem, "working_dir": "/w", "provider": "custom"})
    journal.record("user", {"text": f"Fix it\n{HOSTILE}", "model": "a/b", "mode": "ask"})
    journal.event(LLMChunk(text=f"thinking {HOSTILE}", kind="reasoning"))
    journal.event(LLMChunk(text=f"# Done\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n{HOSTILE}\n"))
    journal.event(ToolStart(call_id="c1", name="edit", arguments={}, title="Edit", target=f"a.py {HOSTILE}"))
    diff = FileDiff("a.py", "@@ -1 +1 @@\n-old\n+new <b>", 1, 1)
    journal.event(
        ToolEnd(call_id="c1", name="edit", result="ok", success=True, duration_s=0.1, diffs=(diff,))
    )
    journal.event(ToolStart(call_id="c2", name="bash", arguments={"command": "ls"}, title="Run", target="ls"))
    journal.event(
        ToolEnd(call_id="c2", name="bash", result=HOSTILE, success=False, duration_s=0.1, summary="exit 1")
    )
    journal.event(Notice(level="warning", text=HOSTILE))
    journal.event(Error(error="It broke", kind="ServerError", recoverable=True))
    journal.record("reset", {})
    journal.record("user", {"text": "After the reset", "model": "a/b", "mode": "ask"})
    journal.close()
    return load_session(path)


class Page(HTMLParser):
    """Collects the elements and the attributes of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs


def test_the_html_page_runs_and_loads_nothing(saved: SavedSession) -> None:
    text = exported(saved, "html", Redactor())
    page = Page(text)
    assert "script" not in page.tags
    assert not {"iframe", "object", "embed", "link", "base", "form", "b"} & set(page.tags)
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert not [value for name, value in page.attributes if name == "href" and "javascript" in (value or "")]
    assert "default-src 'none'" in text
    assert "\x1b" not in text


def test_the_html_page_has_every_part(saved: SavedSession) -> None:
    text = exported(saved, "html", Redactor())
    tags = Page(text).tags
    assert tags.count("h2") == 2
    assert tags.count("details") == 3
    assert "table" in tags
    assert "hr" in tags
    assert '<span class="added">+new &lt;b&gt;</span>' in text
    assert '<summary class="failed">Run' in text
    assert "alert(1)" in text
    assert '<p class="error">It broke</p>' in text


def test_markdown_has_every_part_and_its_fences_hold(saved: SavedSession) -> None:
    text = exported(saved, "markdown", Redactor())
    for part in ("# Fix it", "/w", "*Reasoning*", "| 1 | 2 |", "**Edit**", "+new <b>", "exit 1", "After the"):
        assert part in text
    assert "````text" in text  # the output has a fence of three


def test_json_lines_are_the_records(saved: SavedSession) -> None:
    lines = [json.loads(line) for line in exported(saved, "jsonl", Redactor()).splitlines()]
    assert lines == saved.records
    whole = json.loads(exported(saved, "json", Redactor()))
    assert (whole["records"], whole["turns"]) == (saved.records, 2)


@pytest.mark.parametrize("form", ["markdown", "html", "json", "jsonl"])
def test_a_key_that_is_known_now_is_redacted(tmp_path: Path, form: str) -> None:
    path = tmp_path / "20261123-000000-abcdef.jsonl"
    journal = Journal(path, Redactor())
    journal.record("session", {"id": path.stem})
    journal.record("user", {"text": f"my key is {KEY}"})
    journal.close()
    assert KEY not in exported(load_session(path), form, Redactor((KEY,)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "start"), [("a.md", "# "), ("a.html", "<!DOCTYPE"), ("a.json", "{"), ("a", "# ")]
)
def test_the_name_of_the_file_decides_the_format(
    saved: SavedSession, tmp_path: Path, name: str, start: str
) -> None:
    write_export(saved, tmp_path / name, Redactor())
    assert (tmp_path / name).read_text().startswith(start)


def test_a_file_that_exists_is_not_replaced(saved: SavedSession, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("mine")
    with pytest.raises(ConfigError, match="File exists"):
        write_export(saved, tmp_path / "a.md", Redactor())
    assert (tmp_path / "a.md").read_text() == "mine"
