"""Paths as links to the editor: what counts as a mention, the URL, and how a link is shown and clicked."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from textual.pilot import Pilot

from forge_core.config.settings import EditorLinksSetting
from forge_tui.terminal.editor_links import EditorLinks, PathMention, find_mentions, link_url, opener_of
from tests.support.chat_app import ChatApp, make_app, make_config, ready, shown, until
from tests.support.transcripts import call_ended, said, tool_ended, tool_started


def mentioned(text: str) -> list[tuple[str, PathMention]]:
    return [(text[start:end], mention) for start, end, mention in find_mentions(text)]


@pytest.mark.parametrize(
    ("text", "shown", "path", "line"),
    [
        ("see src/app.py.", "src/app.py", "src/app.py", 0),
        ("(src/app.py:3)", "src/app.py:3", "src/app.py", 3),
        ("app.py:3:5: error", "app.py:3:5", "app.py", 3),
        ("lib/x.ts:10-20", "lib/x.ts:10", "lib/x.ts", 10),
        ("docs/a.md#L4", "docs/a.md#L4", "docs/a.md", 4),
        ('File "src/app.py", line 13, in x', "src/app.py", "src/app.py", 13),
        ("tests/a.py::test_x", "tests/a.py", "tests/a.py", 0),
        ("src/app.py:3abc", "src/app.py", "src/app.py", 0),
        ("/work/app.py", "/work/app.py", "/work/app.py", 0),
        ("Makefile:3", "Makefile:3", "Makefile", 3),
    ],
)
def test_a_path_is_found_with_its_line(text: str, shown: str, path: str, line: int) -> None:
    assert mentioned(text) == [(shown, PathMention(path, line))]


@pytest.mark.parametrize("text", ["https://example.org/a.py:3", "version 3.14", "plain words", "mail@a", ""])
def test_addresses_numbers_and_words_are_no_paths(text: str) -> None:
    assert mentioned(text) == []


@pytest.mark.parametrize(
    ("kind", "url"),
    [
        ("file", "file://host/w/a%20b.py"),
        ("vscode", "vscode://file/w/a%20b.py:3"),
        ("cursor", "cursor://file/w/a%20b.py:3"),
        ("zed", "zed://file/w/a%20b.py:3"),
        ("idea", "idea://open?file=%2Fw%2Fa%20b.py&line=3"),
    ],
)
def test_each_editor_has_its_url(kind: EditorLinksSetting, url: str) -> None:
    assert link_url(kind, Path("/w/a b.py"), 3, "host") == url


@pytest.mark.parametrize("kind", ["file", "vscode", "idea"])
def test_no_name_of_a_file_can_end_a_url_or_a_control_sequence(kind: EditorLinksSetting) -> None:
    name = "a\x1b\\]8;;\x07&line=9?x#y;\udcff日.py"
    url = link_url(kind, Path("/w", name), 0, "h\x1b;o/st")
    assert url.isascii() and url.isprintable()
    assert not set(url.partition("://")[2].replace("open?file=", "")) & set("\\;?#& \x1b\x07")


def test_only_files_inside_the_workspace_have_a_link(tmp_path: Path) -> None:
    work, outside, added = (tmp_path / name for name in ("work", "outside", "added"))
    for folder in (work / "src", outside, added):
        folder.mkdir(parents=True)
        (folder / "a.py").write_text("")
    (work / "leads-out.py").symlink_to(outside / "a.py")
    (work / "leads-in.py").symlink_to(work / "src" / "a.py")
    links = EditorLinks("vscode", work, lambda: [added])
    names = ["src/a.py:2", "leads-in.py", "leads-out.py", "../outside/a.py", f"{outside}/a.py", "src/b.py"]
    names += ["src/", f"{added}/a.py", f"{work}/src/a.py", "src/../../outside/a.py"]
    found = links.of("\n".join(names))
    assert [mention.text for mention in found] == [
        "src/a.py:2",
        "leads-in.py",
        f"{added}/a.py",
        f"{work}/src/a.py",
    ]
    assert found[PathMention("src/a.py", 2)] == f"vscode://file{work}/src/a.py:2"


@pytest.mark.parametrize(
    ("url", "environ", "opens"),
    [
        ("vscode://file/w/a.py", {"DISPLAY": ":0"}, True),
        ("vscode://file/w/a.py", {}, False),
        ("vscode://file/w/a.py", {"DISPLAY": ":0", "SSH_TTY": "/dev/pts/1"}, False),
        ("file://h/w/a.py", {"DISPLAY": ":0"}, False),
        ("https://example.org", {"DISPLAY": ":0"}, False),
    ],
)
def test_only_urls_of_an_editor_on_this_machine_are_opened(
    url: str, environ: Mapping[str, str], opens: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    command = opener_of(url, environ, lambda name: f"/usr/bin/{name}")
    assert command == (("/usr/bin/xdg-open", url) if opens else ())


def links_shown(app: ChatApp) -> dict[str, str]:
    """The texts in view that are links, with their URLs."""
    rows = app.chat.transcript.frame.rows
    return {
        segment.text: segment.style.link
        for row in rows
        for segment in row.segments
        if segment.style is not None and segment.style.link
    }


def in_folder(folder: Path, kind: EditorLinksSetting = "file") -> ChatApp:
    """An app in a folder with the file src/app.py."""
    (folder / "src").mkdir()
    (folder / "src" / "app.py").write_text("x = 1\n")
    return make_app(make_config(folder, working_dir=folder, editor_links=kind))


async def open_chat(pilot: Pilot[None], app: ChatApp) -> None:
    await ready(pilot)
    app.chat.welcome.display = False


async def click(pilot: Pilot[None], app: ChatApp, word: str, *, control: bool = False) -> None:
    rows = shown(app).splitlines()
    y = next(y for y, row in enumerate(rows) if word in row)
    await pilot.click(offset=(rows[y].index(word) + 1, y), control=control)


async def test_paths_in_answers_and_cards_become_links_when_the_answer_has_ended(tmp_path: Path) -> None:
    app = in_folder(tmp_path, "zed")
    root = f"zed://file{tmp_path}"
    async with app.run_test(size=(100, 40)) as pilot:
        await open_chat(pilot, app)
        transcript = app.chat.transcript
        transcript.apply(tool_started("read", "1", file_path="src/app.py"))
        transcript.apply(tool_ended("read", "x = 1", call_id="1"))
        transcript.apply(tool_started("bash", "2", command="mypy"))
        transcript.apply(tool_ended("bash", "src/app.py:7: error\nsrc/no.py:7: error", call_id="2"))
        transcript.apply(said("See `src/app.py:3`, src/gone.py:1\n\n| a |\n|---|\n| src/app.py |\n"))
        transcript.apply(call_ended())
        await until(pilot, lambda: len(links_shown(app)) == 3)
        assert links_shown(app) == {
            "src/app.py": f"{root}/src/app.py",
            "src/app.py:7": f"{root}/src/app.py:7",
            "src/app.py:3": f"{root}/src/app.py:3",
        }


async def test_an_open_answer_is_not_looked_through(tmp_path: Path) -> None:
    app = in_folder(tmp_path)
    async with app.run_test(size=(100, 30)) as pilot:
        await open_chat(pilot, app)
        transcript = app.chat.transcript
        transcript.apply(said("See src/app.py:3\n\nand "))
        await until(pilot, lambda: len(transcript.model.blocks) == 2)
        transcript._begin_linking()
        assert not transcript._is_linking
        transcript.apply(call_ended())
        await until(pilot, lambda: "src/app.py:3" in links_shown(app))
        assert links_shown(app)["src/app.py:3"].startswith("file://")


async def test_a_click_copies_what_cannot_be_opened(tmp_path: Path) -> None:
    app = in_folder(tmp_path)
    async with app.run_test(size=(100, 30)) as pilot:
        await open_chat(pilot, app)
        app.chat.transcript.add_markdown("See src/app.py:3 and https://example.org/page")
        await until(pilot, lambda: "src/app.py:3" in links_shown(app))
        await click(pilot, app, "src/app.py")
        await until(pilot, lambda: app.clipboard == "src/app.py:3")
        await until(pilot, lambda: "Copied 12 characters" in shown(app))
        await click(pilot, app, "https://")
        await until(pilot, lambda: app.clipboard == "https://example.org/page")
        before = app.clipboard
        await click(pilot, app, "See")
        assert app.clipboard == before


async def test_a_click_on_a_link_in_a_card_unfolds_it_and_with_ctrl_follows_the_link(tmp_path: Path) -> None:
    app = in_folder(tmp_path)
    async with app.run_test(size=(100, 30)) as pilot:
        await open_chat(pilot, app)
        app.chat.transcript.apply(tool_started("read", "1", file_path="src/app.py"))
        app.chat.transcript.apply(tool_ended("read", "in the file", call_id="1"))
        await until(pilot, lambda: "src/app.py" in links_shown(app))
        await click(pilot, app, "src/app.py", control=True)
        await until(pilot, lambda: app.clipboard == "src/app.py")
        assert "in the file" not in shown(app)
        await click(pilot, app, "src/app.py")
        await until(pilot, lambda: "in the file" in shown(app))


@pytest.mark.skipif(sys.platform != "linux", reason="the opener has another name elsewhere")
async def test_a_click_opens_the_line_in_the_chosen_editor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs, opened = tmp_path / "bin", tmp_path / "opened"
    programs.mkdir()
    (programs / "xdg-open").write_text(f'#!/bin/sh\nprintf %s "$1" > {opened}\n')
    (programs / "xdg-open").chmod(0o755)
    for name in ("SSH_TTY", "SSH_CONNECTION", "SSH_CLIENT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setenv("PATH", str(programs))
    work = tmp_path / "work"
    work.mkdir()
    app = in_folder(work, "vscode")
    async with app.run_test(size=(100, 30)) as pilot:
        await open_chat(pilot, app)
        app.chat.transcript.add_markdown("See src/app.py:3")
        await until(pilot, lambda: "src/app.py:3" in links_shown(app))
        await click(pilot, app, "src/app.py")
        await until(pilot, lambda: "Opened src/app.py:3" in shown(app))
        assert opened.read_text() == f"vscode://file{work}/src/app.py:3"
        assert app.clipboard == ""


async def test_without_the_setting_no_path_is_a_link(tmp_path: Path) -> None:
    app = in_folder(tmp_path, "off")
    async with app.run_test(size=(100, 30)) as pilot:
        await open_chat(pilot, app)
        app.chat.transcript.add_markdown("See src/app.py:3")
        await until(pilot, lambda: "src/app.py" in shown(app))
        assert app.chat.transcript._links_handle is None
        assert links_shown(app) == {}
