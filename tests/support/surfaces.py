"""Every place of the screen that shows foreign text, and how a text gets there."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, cast

from textual import events
from textual.keys import _character_to_key, key_to_character
from textual.pilot import Pilot
from textual.widget import Widget

from forge_core.approval import Question, QuestionOption, QuestionRequest
from forge_core.context.ledger import Item, Kind
from forge_core.events import AgentEvent, Error, LLMChunk, Notice, Permission, ToolProgress
from forge_core.llm.models import Message
from forge_core.result import FileDiff
from forge_core.tools.builtin.todo import TodoItem, TodoStatus
from forge_core.workspace.change_source import (
    ChangedFile,
    ChangeList,
    ChangeStatus,
    Counts,
    FilePatch,
    header,
)
from forge_tui.screens.chat.attention import Attention
from forge_tui.terminal.clipboard import Route
from forge_tui.widgets.activity import Working
from forge_tui.widgets.blockview.block_layout import TextPosition
from forge_tui.widgets.blockview.selection import TextSelection, end_of
from tests.support.chat_app import DEADLINE_S, ChatApp, command_request, edit_request
from tests.support.output_stream import Stream, check_line, copied
from tests.support.scripted_session import USAGE
from tests.support.tool_events import tool_start
from tests.support.transcripts import call_ended, said, tool_ended, tool_started, turn_ended

_POLL_S = 0.001
_QUIET_POLLS = 3
LAST_LINES = 200
NOTICED = ({"TERM_PROGRAM": "iTerm.app"}, {"TERM": "xterm-kitty"}, {"TERM": "foot"})
"""Terminals that show notices, each by a sequence of its own."""


class Stage:
    """A running app that texts are put into."""

    def __init__(self, pilot: Pilot[None], *, shows: bool) -> None:
        assert isinstance(pilot.app, ChatApp)
        self.pilot = pilot
        self.app = pilot.app
        self.stream = Stream(self.app, shows)
        self.calls = 0

    def call(self) -> str:
        self.calls += 1
        return f"call-{self.calls}"

    def apply(self, *parts: AgentEvent) -> None:
        for part in parts:
            self.app.chat.transcript.apply(part)

    async def painted(self) -> str:
        """Lets everything be painted and checks it; the screen's text, with `shows`, as a terminal has it."""
        await self.until(lambda: True)
        assert self.app.crash is None
        return self.stream.check()

    async def until(self, condition: Callable[[], object]) -> None:
        """Lets the app work until nothing is left to do and `condition` holds; fails after a deadline."""
        deadline, quiet = time.monotonic() + DEADLINE_S, 0
        while quiet < _QUIET_POLLS or not condition():
            assert time.monotonic() < deadline, "never came to rest"
            await asyncio.sleep(_POLL_S)
            quiet = 0 if self._is_busy() else quiet + 1

    async def settled(self) -> None:
        """The same for the scroll bar, which follows in steps while the transcript grows."""
        transcript = cast("Any", self.app.chat.transcript)
        await self.until(lambda: transcript._scrollbar_handle is None)

    def _is_busy(self) -> bool:
        return any(self.work())

    def work(self) -> Iterator[str]:
        """What is left to be done, in words."""
        screen, transcript = self.app.screen, cast("Any", self.app.chat.transcript)
        widgets = list(screen.walk_children(Widget, with_self=True))
        bar = transcript.vertical_scrollbar
        for node in (self.app, *widgets, bar):
            if not node._message_queue.empty():
                yield f"messages for {node}"
        if bar._repaint_required and bar in screen._compositor.visible_widgets:
            yield f"a repaint of {bar}"
        yield from (f"a repaint of {widget}" for widget in screen._dirty_widgets)
        if screen._layout_required or screen._repaint_required or screen._callbacks:
            yield "the screen"
        if transcript._flush_handle is not None:
            yield "what has come"

    async def press(self, *keys: str) -> None:
        for key in keys:
            character = key_to_character(key)
            self.app.post_message(events.Key(key, character))
            await self.until(lambda: True)

    async def type(self, text: str) -> None:
        for character in text:
            self.app.post_message(events.Key(_character_to_key(character), character))
        await self.until(lambda: True)

    async def copied(self) -> str:
        """Waits for what is to be put into the clipboard, and gives it."""
        await self.until(lambda: copied(self.stream.unread))
        [text] = copied(self.stream.unread)
        await self.painted()
        return text

    async def leafed(self, most: int = 1000) -> str:
        """Unfolds all, and checks each page of the transcript from its end; the text of all of them."""
        chat = self.app.chat
        await self.painted()
        chat.transcript.toggle_cards()
        await self.painted()
        chat.action_end(1)
        pages = [await self.painted()]
        while chat.transcript.scroll_y > 0 and len(pages) < most:
            chat.transcript.page(-1)
            pages.append(await self.painted())
        return "\n".join(reversed(pages))


Show: TypeAlias = Callable[[Stage, str], None]
"""Puts a text into the transcript."""
Visit: TypeAlias = Callable[[Stage, Sequence[str]], Awaitable[str]]
"""Puts texts somewhere, gives what the screen shows then, and takes them away again."""


def _events(make: Callable[[str, str], Sequence[AgentEvent]]) -> Show:
    return lambda stage, text: stage.apply(*make(stage.call(), text))


def _nested(call: str, text: str) -> list[AgentEvent]:
    inner = f"{call}.1"
    return [
        tool_started("task", call, description=text, prompt=text),
        tool_start(inner, "grep", {"pattern": text, "path": text}, parent_id=call),
        tool_ended("grep", text, call_id=inner, parent_id=call, summary=text),
        tool_ended("task", text, call_id=call, summary=text),
        turn_ended(),
    ]


def _grouped(call: str, text: str) -> list[AgentEvent]:
    made: list[AgentEvent] = []
    for number in range(3):
        inner = f"{call}.{number}"
        made += [
            tool_started("read", inner, path=text),
            tool_ended("read", text, call_id=inner, summary=text),
        ]
    return made


def _patch(text: str) -> str:
    return f"@@ -1,2 +1,2 @@ {text}\n-{text}\n+{text}!\n {text}\n"


SHOWN: Mapping[str, Show] = {
    "answer": _events(lambda call, text: [said(text), call_ended()]),
    "answer in pieces": _events(lambda call, text: [*map(said, text), call_ended()]),
    "fence": _events(lambda call, text: [said(f"```{text}\n{text}\n"), call_ended()]),
    "table": _events(lambda call, text: [said(f"|a|b|\n|-|-|\n|{text}|{text}|\n"), call_ended()]),
    "link": _events(lambda call, text: [said(f"[{text}](https://e.example/{text}) <{text}>"), call_ended()]),
    "reasoning": _events(lambda call, text: [LLMChunk(text=text, kind="reasoning"), call_ended()]),
    "target": _events(lambda call, text: [tool_started("read", call, path=text)]),
    "tool name": _events(lambda call, text: [tool_started(text, call, argument=text, **{text: text})]),
    "live tail": _events(
        lambda call, text: [
            tool_started("bash", call, command=text, description=text),
            ToolProgress(call_id=call, text=text),
        ]
    ),
    "output": _events(
        lambda call, text: [
            tool_started("bash", call, command="x"),
            tool_ended("bash", f"{text}\n{text}", call_id=call, summary=text, aside=text),
        ]
    ),
    "failure": _events(
        lambda call, text: [
            tool_started("edit", call, path="x"),
            tool_ended("edit", text, call_id=call, success=False, outcome="failed"),
            turn_ended("error"),
        ]
    ),
    "paged output": _events(
        lambda call, text: [
            tool_started("bash", call, command="x"),
            tool_ended("bash", f"{text}\n" * 300, call_id=call),
        ]
    ),
    "diff": _events(
        lambda call, text: [
            tool_started("edit", call, path=text),
            tool_ended("edit", "x", call_id=call, diffs=(FileDiff(text, _patch(text), 1, 1),) * 2),
        ]
    ),
    "denied": _events(
        lambda call, text: [
            tool_started("bash", call, command=text),
            Permission(call_id=call, decision="deny", rule=text, by="rule"),
            tool_ended("bash", text, call_id=call, success=False, outcome="denied"),
        ]
    ),
    "nested calls": _events(_nested),
    "grouped calls": _events(_grouped),
    "notice": _events(lambda call, text: [Notice(level="warning", text=text)]),
    "error": _events(lambda call, text: [Error(error=text, kind=text, recoverable=True)]),
    "message": lambda stage, text: stage.app.chat.transcript.add_user(text),
    "text of a command": lambda stage, text: stage.app.chat.show_text(text, text),
    "complaint": lambda stage, text: stage.app.chat.complain(text),
}
"""What stands in the transcript, by name."""


async def status_bar(stage: Stage, texts: Sequence[str]) -> str:
    chat, shown = stage.app.chat, []
    before = chat.status_bar.figures
    for text in texts:
        chat.status_bar.figures = replace(before, model=text, branch=text, folder=text)
        shown.append(await stage.painted())
    chat.status_bar.figures = before
    return "\n".join(shown)


async def welcome(stage: Stage, texts: Sequence[str]) -> str:
    chat, shown = stage.app.chat, []
    before = chat.welcome.figures
    chat.transcript.clear_blocks()
    chat.welcome.display = True
    for text in texts:
        chat.welcome.figures = replace(before, model=text, folder=text)
        shown.append(await stage.painted())
    chat.welcome.figures = before
    chat.welcome.display = False
    return "\n".join(shown)


async def todo_panel(stage: Stage, texts: Sequence[str]) -> str:
    chat = stage.app.chat
    todos = [TodoItem(text, status, text) for text in texts for status in TodoStatus]
    shown = []
    for start in range(0, len(todos), 5):
        chat.todos.show(todos[start : start + 5])
        chat.activity.working = Working(stage.app.clock())
        chat.activity.show_doing(chat.todos.doing)
        shown.append(await stage.painted())
    chat.todos.show(())
    chat.activity.show_doing("")
    chat.activity.working = None
    return "\n".join(shown)


async def activity_line(stage: Stage, texts: Sequence[str]) -> str:
    chat, shown = stage.app.chat, []
    for text in texts:
        chat.activity.note(text)
        shown.append(await stage.painted())
        chat.activity.note("")
        chat.activity.working = Working(stage.app.clock())
        chat.activity.show_doing(text)
        chat.activity.show_queue(text)
        shown.append(await stage.painted())
        chat.activity.show_doing("")
        chat.activity.show_queue("")
        chat.activity.working = None
    return "\n".join(shown)


async def composer(stage: Stage, texts: Sequence[str]) -> str:
    shown = []
    stage.stream.has_own_text = True
    for text in texts:
        await stage.app.on_event(events.Paste(text))
        shown.append(await stage.painted())
        stage.app.chat.composer.take()
    await stage.painted()
    stage.stream.has_own_text = False
    return "\n".join(shown)


async def completion(stage: Stage, texts: Sequence[str]) -> str:
    chat: Any = stage.app.chat
    session: Any = stage.app.scripted
    from forge_core.session.status import ModelChoice

    session.models.known = lambda: [ModelChoice(text, text) for text in texts]
    await stage.type("/model ")
    await stage.until(lambda: chat.popup.is_open)
    shown = [await stage.painted()]
    for _ in texts:
        await stage.press("down")
        shown.append(await stage.painted())
    await stage.press("tab")
    shown.append(await stage.painted())
    await stage.press("escape")
    chat.composer.take()
    return "\n".join(shown)


async def find_bar(stage: Stage, texts: Sequence[str]) -> str:
    stage.apply(*(part for text in texts for part in (said(text + "\n\n"), call_ended())))
    await stage.painted()
    shown = []
    for text in texts:
        await stage.press("ctrl+f")
        await stage.app.on_event(events.Paste(text))
        shown.append(await stage.painted())
        await stage.press("enter", "enter")
        shown.append(await stage.painted())
        await stage.press("escape")
    return "\n".join(shown)


async def permission(stage: Stage, texts: Sequence[str]) -> str:
    shown = []
    for text in texts:
        diff = FileDiff(text, _patch(text), 1, 1)
        for request in (
            command_request(
                text, tool=text, reason=text, session_rule=text, always_rule=text, details={text: text}
            ),
            edit_request(target=text, diffs=(diff, diff), reason=text),
        ):
            waiting = asyncio.ensure_future(stage.app.chat.prompts.ask(request))
            await stage.until(lambda: stage.app.chat.query("#permission"))
            shown.append(await stage.painted())
            stage.app.clock.pass_(1)
            await stage.press("ctrl+e")
            shown.append(await stage.painted())
            await stage.press("pagedown", "q")
            waiting.cancel()
            await asyncio.wait([waiting])
            await stage.until(lambda: not stage.app.chat.query("#permission"))
    return "\n".join(shown)


async def questions(stage: Stage, texts: Sequence[str]) -> str:
    shown = []
    for text in texts:
        options = (QuestionOption(text, text), QuestionOption("b", text))
        request = QuestionRequest(
            text, tuple(Question(text, text, options, several) for several in (True, False))
        )
        waiting = asyncio.ensure_future(stage.app.chat.prompts.ask(request))
        await stage.until(lambda: stage.app.chat.query("#questions"))
        shown.append(await stage.painted())
        stage.app.clock.pass_(1)
        for key in ("1", "tab", "1", "x", "escape", "tab", "x"):
            await stage.press(key)
            shown.append(await stage.painted())
        waiting.cancel()
        await asyncio.wait([waiting])
        await stage.until(lambda: not stage.app.chat.query("#questions"))
    return "\n".join(shown)


async def theme_picker(stage: Stage, texts: Sequence[str]) -> str:
    from forge_tui.screens.panels.theme_picker import ThemePicker

    stage.app.push_screen(ThemePicker(texts, texts[0], lambda name: None))
    await stage.until(lambda: len(stage.app.screen_stack) == 2)
    shown = [await stage.painted()]
    await stage.press("escape")
    return shown[0]


async def figures(stage: Stage, texts: Sequence[str]) -> str:
    """/context and /cost."""
    session: Any = stage.app.scripted
    session.items = tuple(
        item
        for text in texts
        for item in (
            Item(Kind.TOOLS, 700, text),
            Item(Kind.INSTRUCTIONS, 900, text),
            Item(Kind.USER, 800, turn=1, message=Message.user(text)),
        )
    )
    for turn, text in enumerate(texts, 1):
        session.sent.append(text)
        session.book.turn = turn
        session.book.add(USAGE, text)
    for command in ("context", "cost"):
        stage.app.chat.run_by_name(command)
        await stage.painted()
    session.items = ()
    session.sent.clear()
    session.book = type(session.book)()
    return await stage.leafed()


class HostileChanges:
    """Files and patches made of these texts."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts

    async def read(self) -> ChangeList:
        status = list(ChangeStatus)
        names = [os.fsdecode(text.encode("utf-8", "surrogatepass")) for text in self._texts]
        files = [
            ChangedFile(name or "x", status[index % len(status)], old_path=name, note=self._texts[index])
            for index, name in enumerate(names)
        ]
        return ChangeList(self._texts[0], tuple(files), self._texts[0])

    async def counts(self, files: Sequence[ChangedFile]) -> AsyncIterator[Mapping[str, Counts]]:
        yield {file.path: Counts(1, 1) for file in files}

    async def patch(self, file: ChangedFile, *, is_whole: bool = False) -> FilePatch:
        return FilePatch(header(file.path, file.old_path) + _patch(file.path))


async def diff_viewer(stage: Stage, texts: Sequence[str]) -> str:
    from forge_tui.screens.diff.screen import DiffScreen

    viewer = DiffScreen(lambda source: HostileChanges(texts), "worktree")
    stage.app.push_screen(viewer)
    await stage.until(lambda: stage.app.screen is viewer and viewer.file is not None)
    shown = [await stage.painted()]
    for _ in texts:
        for key in ("v", "s", "s", "v", "n"):
            await stage.press(key)
            shown.append(await stage.painted())
    await stage.press("q")
    return "\n".join(shown)


async def raw_view(stage: Stage, texts: Sequence[str]) -> str:
    for text in texts:
        stage.apply(said(text), call_ended())
        await stage.painted()
        stage.app.chat.transcript.toggle_raw()
    return await stage.leafed()


async def trust_notice(stage: Stage, texts: Sequence[str]) -> str:
    """What folders bring that nobody has decided about, as it is read from the folders themselves."""
    app: Any = stage.app
    before = app._config
    for text in texts:
        folder = before.state_dir.parent / stage.call()
        (folder / ".forge").mkdir(parents=True)
        text_bytes = text.encode("utf-8", "replace")
        for number in range(3):
            name = b"%d" % number + text_bytes.replace(b"/", b"").replace(b"\0", b"")[:200]
            (folder / ".forge" / os.fsdecode(name)).touch()
        rule = json.dumps(f"bash(x{text_bytes.decode()})", ensure_ascii=False).replace("\x7f", "\\u007f")
        (folder / ".forge" / "config.toml").write_text(f"allow = [{rule}]\n")
        (folder / "AGENTS.md").write_bytes(text_bytes)
        app._config = replace(before, working_dir=folder)
        await app._ask_for_trust()
        notice = app.chat.transcript.model.blocks[-1].find_text()
        assert "sets allow: bash(x" in notice and ".forge/0" in notice and "/trust yes" in notice
    app._config = before
    return await stage.leafed()


async def clipboard(stage: Stage, texts: Sequence[str]) -> str:
    """An answer, its code and a selection of all of it, sent by each way that a terminal takes."""
    app: Any = stage.app
    transcript = app.chat.transcript
    before = app._environment
    taken = []
    for text in texts:
        transcript.clear_blocks()
        stage.apply(said(f"a {text}\n\n```\n{text}\n```\n"), call_ended())
        for kind in ("terminal", "tmux", "screen"):
            app._environment = replace(before, clipboard=lambda folder, kind=kind: Route(kind))
            for command in ("copy", "copy code 1"):
                app.chat.run_by_name(command)
                taken.append(await stage.copied())
            await stage.painted()
            transcript.select(
                TextSelection(
                    TextPosition(0, 0, 0), end_of(transcript.model, len(transcript.model.blocks) - 1)
                )
            )
            await stage.press("ctrl+c")
            taken.append(await stage.copied())
    app._environment = before
    return "\n".join(taken)


async def desktop_notice(stage: Stage, texts: Sequence[str]) -> str:
    """What a terminal without the focus is told when something is asked."""
    app: Any = stage.app
    before = app.chat.attention
    shown = []
    for text in texts:
        for environ in NOTICED:
            app.chat.attention = Attention("auto", environ, app._write)
            app.chat.attention.focus_changed(False)
            app.chat.attention.asked(text)
            await stage.until(lambda: "Forge asks" in stage.stream.unread)
            shown.append(await stage.painted())
    app.chat.attention = before
    return "\n".join(shown)


async def last_lines(stage: Stage, texts: Sequence[str]) -> str:
    """What is printed to the terminal's own screen when the app has left, of everything in turn."""
    chat = stage.app.chat
    printed = []
    figures = chat.status_bar.figures
    for name, show in SHOWN.items():
        chat.transcript.clear_blocks()
        chat.transcript.add_user("\n".join((name, *texts)))
        for text in texts:
            show(stage, text)
        await stage.painted()
        for text in texts:
            chat.status_bar.figures = replace(figures, model=text)
            lines = stage.app.last_lines(LAST_LINES)
            assert len(lines) >= 3  # something, a blank line and the figures
            for line in lines:
                check_line(line, stage.app.size.width)
            stage.stream.seen += sum(map(len, lines))
        printed += lines
    chat.status_bar.figures = figures
    return "\n".join(printed)


VISITED: Mapping[str, Visit] = {
    "status bar": status_bar,
    "welcome": welcome,
    "tasks": todo_panel,
    "activity line": activity_line,
    "composer": composer,
    "completion": completion,
    "find bar": find_bar,
    "permission": permission,
    "questions": questions,
    "theme picker": theme_picker,
    "figures": figures,
    "diff viewer": diff_viewer,
    "raw view": raw_view,
    "trust notice": trust_notice,
    "clipboard": clipboard,
    "desktop notice": desktop_notice,
    "last lines": last_lines,
}
"""What stands elsewhere."""
