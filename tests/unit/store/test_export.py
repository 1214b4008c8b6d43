"""Saved sessions as documents: complete, safe to open, and the same parts in each format."""

from __future__ import annotations

import json
import re
from html import escape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from forge_core.errors import ConfigError
from forge_core.events import Compaction, Error, LLMChunk, Notice, ToolEnd, ToolStart
from forge_core.redact import Redactor
from forge_core.result import FileDiff
from forge_core.store.export import ExportFormat, exported, write_export
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
    diff = FileDiff("a.py", "@@ -1 +1 @@\n-old\n+new <b>\n-last\n@@ -9 +9 @@\n a", 1, 2)
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
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in ("meta", "hr", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_html_page_runs_and_loads_nothing(saved: SavedSession) -> None:
    text = exported(saved, "html", Redactor())
    page = Page(text)
    assert "script" not in page.tags
    assert not {"iframe", "object", "embed", "link", "base", "form", "b"} & set(page.tags)
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert not [value for name, value in page.attributes if name == "href" and "javascript" in (value or "")]
    assert "default-src 'none'" in text
    assert "\x1b" not in text


def test_every_element_of_the_html_page_is_closed_in_its_place(saved: SavedSession) -> None:
    assert Page(exported(saved, "html", Redactor())).open == []


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


@pytest.mark.parametrize("key", ["a&b<c>d'e\"f&g", "Zq7*wV*2mN9_xKp4_tR", "Zq7~~wV~~2mN9`x`Kp4"])
@pytest.mark.parametrize("form", ["markdown", "html", "json", "jsonl"])
def test_a_key_that_a_format_writes_differently_is_redacted(tmp_path: Path, form: str, key: str) -> None:
    path = tmp_path / "20261123-000000-abcdef.jsonl"
    journal = Journal(path, Redactor())
    journal.record("session", {"id": path.stem})
    journal.record("user", {"text": f"user {key}"})
    for text in (key[:5], key[5:]):
        journal.event(LLMChunk(text=text))
        journal.event(LLMChunk(text=text, kind="reasoning"))
    journal.event(ToolStart(call_id="c", name="bash", arguments={}, title="Run", target=f"echo {key}"))
    journal.event(ToolEnd(call_id="c", name="bash", result=key, success=True, duration_s=0.1, summary=key))
    journal.event(Notice(level="warning", text=key))
    journal.close()
    text = exported(load_session(path), form, Redactor((key,)))  # type: ignore[arg-type]
    words = re.sub(r"<[^>]*>", "", text) if form == "html" else text
    for shown in (key, escape(key), re.sub("[*_~`]", "", key)):
        assert shown not in words


def test_images_are_links_and_no_address_is_passed_on(saved: SavedSession) -> None:
    text = exported(saved, "html", Redactor())
    assert "img" not in Page(text).tags
    assert '<a href="https://evil.example/x.png">i</a>' in text
    for rule in ("base-uri 'none'", "form-action 'none'", '<meta name="referrer" content="no-referrer">'):
        assert rule in text


def test_the_heading_of_a_diff_is_no_removed_line(saved: SavedSession) -> None:
    text = exported(saved, "html", Redactor())
    assert "<pre>--- a.py\n" in text and '<span class="removed">-old</span>' in text
    assert '<span class="removed">-last</span>\n@@ -9' in text


def test_compactions_and_calls_that_never_ended_are_exported(tmp_path: Path) -> None:
    path = tmp_path / "20261123-000000-abcdef.jsonl"
    journal = Journal(path, Redactor())
    journal.record("session", {"id": path.stem})
    journal.record("user", {"text": "one"})
    journal.event(Compaction(before=9000, after=3000))
    journal.event(ToolStart(call_id="c", name="bash", arguments={}, title="Run", target="sleep 99"))
    journal.record("user", {"text": "two"})
    journal.event(ToolStart(call_id="c", name="bash", arguments={}, title="Run", target="make"))
    journal.close()
    text = exported(load_session(path), "markdown", Redactor())
    assert "> Conversation summarised: ~9,000 → ~3,000 tokens" in text
    assert text.index("**Run** `sleep 99` (not finished)") < text.index("## two")
    assert "**Run** `make` (not finished)" in text


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
    with pytest.raises(ConfigError, match=r"exists already\. Choose another name, or delete it"):
        write_export(saved, tmp_path / "a.md", Redactor())
    assert (tmp_path / "a.md").read_text() == "mine"


@pytest.mark.parametrize("form", ["markdown", "html"])
def test_a_plan_that_was_presented_is_exported_as_an_answer(tmp_path: Path, form: ExportFormat) -> None:
    path = tmp_path / "20261123-000000-abcdef.jsonl"
    journal = Journal(path, Redactor())
    journal.record("session", {"id": path.stem, "working_dir": "/w", "provider": "custom"})
    journal.event(ToolStart(call_id="c1", name="exit_plan_mode", arguments={}, title="Present the plan"))
    journal.event(
        ToolEnd(
            call_id="c1",
            name="exit_plan_mode",
            result="ok",
            success=True,
            duration_s=0.1,
            document=f"Read {KEY}",
        )
    )
    journal.close()
    text = exported(load_session(path), form, Redactor((KEY,)))
    assert "Read" in text and KEY not in text
