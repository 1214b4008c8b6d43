"""A random person at a real app: keys, mouse and resizes, and a look at what has come of them."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias, cast

from textual import events
from textual.geometry import Size
from textual.keys import _character_to_key, key_to_character
from textual.pilot import Pilot
from textual.strip import Strip

from forge_core.approval import Question, QuestionOption, QuestionRequest
from forge_tui.keymap import KEYS, KeyContext
from forge_tui.screens.panels.command_palette import CommandPalette
from tests.support.chat_app import DEADLINE_S, command_request, edit_request
from tests.support.endless_session import EndlessSession
from tests.support.output_stream import check_stream
from tests.support.surfaces import Stage
from tests.support.terminal import Emulator
from tests.support.typist import Typist

Step: TypeAlias = "Callable[[], Awaitable[None]]"

LARGEST = (300, 100)
SIZES = (
    (1, 1, 3, 3),
    (1, 1, 20, 5),
    (20, 5, 200, 60),
    (20, 5, 200, 60),
    (40, 12, 120, 40),
    (200, 60, *LARGEST),
)
"""Least width and height, most width and height."""
LETTERS = "abcdefghijklmnopqrstuvwxyzäß漢.,:;!?()[]{}*#'\"<>=+-_~@"
APART = {"ctrl+d", "ctrl+c", "super+c", "ctrl+p", "f1", "ctrl+f", "up", "down", "home", "end", "enter"}
"""Keys that leave, that give the keys to something else, or that move the cursor: each has a step of its own."""
CHANGING = {
    *("composer.undo", "composer.redo", "chat.stash", "chat.editor", "chat.queue", "chat.jobs"),
    *("chat.paste", "chat.paste_image", "chat.models", "chat.next_model"),
}
"""Keys that change what is typed, that open another program or screen, or that tell of a change of model."""
STEADY = [
    name
    for key in KEYS
    if key.context in (KeyContext.CHAT, KeyContext.COMPOSER) and key.action not in ("newline", "", "escape")
    if not key.action.startswith(("cursor_", "delete_")) and key.id not in CHANGING
    for name in key.keys.split(",")
    if name not in APART
]
"""Keys that change nothing of what is typed."""
NEWLINES = ("shift+enter", "alt+enter", "ctrl+enter", "ctrl+j")
READING = ("up", "down", "pageup", "pagedown", "home", "end", "ctrl+home", "ctrl+end", "f9", "tab")
MOVING = (
    *(
        "home",
        "end",
        "left",
        "right",
        "ctrl+left",
        "ctrl+right",
        "ctrl+a",
        "ctrl+e",
        "shift+home",
        "shift+end",
    ),
    *(
        "shift+left",
        "shift+right",
        "shift+up",
        "shift+down",
        "ctrl+shift+left",
        "ctrl+shift+right",
        "f6",
        "f7",
    ),
)
DELETING = ("ctrl+w", "alt+delete", "ctrl+u", "ctrl+k", "ctrl+shift+k", "ctrl+x")
COMMANDS = (
    *("/theme forge-light", "/theme forge-dark", "/theme", "/thinking", "/thinking full", "/thinking hidden"),
    *("/raw", "/cost", "/context", "/todo", "/jobs", "/copy", "/copy code 1", "/mode plan", "/mode ask"),
    *(
        "/model",
        "/help",
        "/diff",
        "/diff worktree",
        "/afk on",
        "/afk off",
        "/undo",
        "/nonsense x",
    ),
)
REQUESTS: tuple[Any, ...] = (
    command_request("pytest -q 混", always_rule="bash(pytest:*)"),
    command_request("rm -rf x " * 40, is_destructive=True, session_rule=""),
    edit_request(),
    QuestionRequest(
        "q",
        tuple(
            Question(
                f"Which {several}?", "Tab", (QuestionOption("one", "the first"), QuestionOption("b")), several
            )
            for several in (True, False)
        ),
    ),
)


class Storm:
    """One run of it."""

    def __init__(self, pilot: Pilot[None], session: EndlessSession, seed: int) -> None:
        self.chance = random.Random(seed)
        self.stage = Stage(pilot, shows=False)
        self.app = self.stage.app
        self.chat = self.app.chat
        self.session = session
        self.typist = Typist(self.chat.composer)
        self.words = 0
        self.since_resize: list[str] = []
        self.done: list[str] = []
        self.steps = 0
        self.kinds: Counter[str] = Counter()
        """How often each step was made."""
        self.singles: Sequence[Step] = (
            self.move, self.delete, self.undo, self.history, self.click, self.drag, self.overlay, self.palette,
            self.find, self.changes, self.asked, self.asked_over, self.command, self.reset, self.stop,
        )  # fmt: skip

    # What can be done

    def key(self, name: str) -> None:
        self.done.append(name)
        self.app.post_message(events.Key(name, key_to_character(name)))

    def write(self, text: str) -> None:
        self.done.append(repr(text))
        for character in text:
            self.app.post_message(events.Key(_character_to_key(character), character))

    def resize(self) -> None:
        least_width, least_height, width, height = self.chance.choice(SIZES)
        self.resize_to(self.chance.randint(least_width, width), self.chance.randint(least_height, height))

    def resize_to(self, width: int, height: int) -> None:
        size = Size(width, height)
        self.done.append(f"{size.width}x{size.height}")
        self._keep_output()
        self.since_resize.clear()
        cast("Any", self.app._driver)._size = size
        self.app.post_message(events.Resize(size, size))

    def mouse(
        self, kind: type[events.MouseEvent], x: int, y: int, button: int = 1, *, shift: bool = False
    ) -> None:
        self.done.append(f"{kind.__name__} {x},{y}")
        self.app.post_message(kind(None, x, y, 0, 0, button, shift, False, False, x, y))

    def wheel(self) -> None:
        kind = self.chance.choice((events.MouseScrollUp, events.MouseScrollDown))
        self.mouse(kind, *self._somewhere(), button=0)

    def pointer(self) -> None:
        self.mouse(events.MouseMove, *self._somewhere(), button=0)

    def press_mouse(self) -> None:
        """One to three clicks on one place."""
        at = self._somewhere()
        button = self.chance.choice((1, 1, 1, 1, 2, 3))
        is_shifted = self.chance.random() < 0.2
        for _ in range(self.chance.randint(1, 3)):
            self.mouse(events.MouseDown, *at, button, shift=is_shifted)
            self.mouse(events.MouseUp, *at, button, shift=is_shifted)

    def blur(self) -> None:
        self.done.append("focus out")
        self.app.post_message(events.AppBlur())

    def focus(self) -> None:
        self.done.append("focus in")
        self.app.post_message(events.AppFocus())

    def paste(self) -> None:
        text = f"p{self.words}\r\nsecond line, 混 "
        if self.chance.random() < 0.1:
            text *= 14  # a longer one becomes a chip: tests/tui/test_chips.py
        self.done.append("paste")
        self.words += 1
        self.app.post_message(events.Paste(text))
        self.typist.insert(text.replace("\r\n", "\n"))

    def token(self) -> None:
        self.words += 1
        word = f"k{self.words:04}{self.chance.choice(LETTERS)} "
        self.write(word)
        self.typist.insert(word)

    def backspace(self) -> None:
        self.key("backspace")
        self.typist.backspace()

    def delete_right(self) -> None:
        if self.typist.text:  # else Ctrl+D leaves
            self.key(self.chance.choice(("delete", "ctrl+d")))
            self.typist.delete()

    def newline(self) -> None:
        self.key(self.chance.choice(NEWLINES))
        self.typist.insert("\n")

    def send(self) -> None:
        self.key("enter")
        self.typist.submit()

    def steady(self) -> None:
        self.key(self.chance.choice(STEADY))

    def interrupt(self) -> None:
        self.key("escape")

    # Steps

    async def step(self) -> None:
        """One of: a burst that nobody waits for, or something that has the keys for itself."""
        if self.chance.random() < 0.75:
            self.kinds["burst"] += 1
            length = self.chance.randint(1, 10)
            self.steps += length
            for _ in range(length):
                self._burst_action()()
                if self.chance.random() < 0.5:
                    await asyncio.sleep(0)
        else:
            least = min(self.kinds[single.__name__] for single in self.singles)
            rare = [single for single in self.singles if self.kinds[single.__name__] == least]
            chosen = self.chance.choice(rare if self.chance.random() < 0.5 else self.singles)
            self.kinds[chosen.__name__] += 1
            self.steps += 1
            self.done.append(f"<{chosen.__name__}>")
            await chosen()
        await self.settle()

    def _burst_action(self) -> Callable[[], None]:
        actions: dict[Callable[[], None], int] = {
            self.token: 30, self.backspace: 6, self.delete_right: 3, self.newline: 3, self.paste: 3, self.send: 4,
            self.steady: 25, self.resize: 8, self.wheel: 6, self.pointer: 2, self.blur: 2, self.focus: 2,
            self.interrupt: 1,
        }  # fmt: skip
        return self.chance.choices(list(actions), list(actions.values()))[0]

    async def settle(self) -> None:
        """Waits for all that was done, and compares what has come of it with what was typed."""
        await self.hold()
        if not self.app.app_focus:
            self.focus()
        while self.app.screen is not self.chat or self.chat.find.is_open:
            await self._close()
        await self.until(lambda: self.app.focused is self.chat.composer)
        self.compare()
        self.count()
        if not self.chat.has_turn:
            self.token()
            self.send()
            await self.until(lambda: self.chat.has_turn)
            self.typist.look()
        self.session.runs.set()

    async def hold(self) -> None:
        """Lets nothing more come, and all be done that is to be done."""
        self.session.runs.clear()
        await self.until(lambda: True)
        assert self.app.crash is None, self._story()
        self._keep_output()

    async def until(self, condition: Callable[[], object]) -> None:
        try:
            await self.stage.until(condition)
        except AssertionError as error:
            raise AssertionError(f"{error}: {list(self.stage.work())}\n{self._story()}") from self.app.crash

    def compare(self) -> None:
        assert self.chat.composer.text == self.typist.text, self._story()
        self.typist.look()

    def count(self) -> None:
        """All that was typed and sent has gone to the session, or waits for that, once."""
        waiting = [entry.line.text for entry in self.chat.sending.queue.entries]
        kept, typed = Counter([*self.session.sent, *waiting]), Counter(self.typist.submitted)
        assert kept == typed, f"lost {typed - kept}, not typed {kept - typed}\n{self._story()}"

    async def move(self) -> None:
        self.key(self.chance.choice(MOVING))

    async def delete(self) -> None:
        """Takes one stretch of the text away and leaves the rest."""
        self.key(self.chance.choice(DELETING))
        await self.hold()
        before, now = self.typist.read(), self.typist.text
        head = len(now) and next(
            (at for at, (a, b) in enumerate(zip(now, before, strict=False)) if a != b), len(now)
        )
        assert before.endswith(now[head:]), f"{before!r} → {now!r}"

    async def undo(self) -> None:
        self.key(self.chance.choice(("ctrl+underscore", "ctrl+y")))
        await self.hold()
        self.typist.read()
        if self.typist.text.startswith("/"):  # a command that was leafed to: Enter would run it
            self.chat.composer.take()
            self.typist.read()

    async def history(self) -> None:
        """Up through the draft, what is queued and what was sent; then all the way down again."""
        if self.app.size.width < 20:
            return  # a text of thousands of rows
        await self.hold()
        queued = cast("Any", self.chat.sending.queue)
        steps = self.chance.randint(1, 4)
        if not self.typist.text and len(queued):
            recalled = queued.entries[-1].line.text
            self.typist.submitted.remove(recalled)
            self.typist.text = recalled
        for _ in range(steps):
            self.key("up")
        composer = cast("Any", self.chat.composer)
        await self.hold()
        for _ in range(200):
            if composer.recall._back == 0:
                break
            for _ in range(20):  # rows of what was leafed to
                self.key("down")
            await self.hold()

    async def click(self) -> None:
        self.press_mouse()

    async def drag(self) -> None:
        """Selects, or pulls a scroll bar; things happen while the button is held."""
        at = self._somewhere()
        if self.chance.random() < 0.3:
            at = self.app.size.width - 1, at[1]
        self.mouse(events.MouseDown, *at)
        for _ in range(self.chance.randint(1, 4)):
            at = self._somewhere()
            self.mouse(events.MouseMove, *at)
            if self.chance.random() < 0.3:
                await self._while_dragged()
            if self.chance.random() < 0.3:
                await asyncio.sleep(0.01)
        self.mouse(events.MouseUp, *at)
        if self.chance.random() < 0.5:
            await self.hold()
            self._press_stop()
            await self.until(lambda: True)

    async def _while_dragged(self) -> None:
        act = self.chance.choice((self.resize, self.wheel, self.steady, self.token, self._press_stop))
        if act in (self.token, self._press_stop):
            await self.hold()  # the one goes where the mouse has put the cursor, the other needs a turn
            self.typist.look()
        act()
        self.session.runs.set()

    def _press_stop(self) -> None:
        """Copies what is selected, else interrupts; never the second of two, which would leave. Only while
        the turn is held: behind its end, Ctrl+C clears the composer."""
        self.stage.app.clock.pass_(3)
        if self.chat.has_turn:
            self.key("ctrl+c")

    async def stop(self) -> None:
        await self.hold()
        self._press_stop()

    async def overlay(self) -> None:
        self.key("f1")
        await self._while_open(lambda: self.app.screen is not self.chat, READING, "xyz")

    async def palette(self) -> None:
        self.key("ctrl+p")
        is_open = lambda: isinstance(self.app.screen, CommandPalette)  # noqa: E731
        if self.chance.random() < 0.5:
            await self._while_open(is_open, READING, "xyz", clicks=False)
            return
        await self.soon(is_open)
        self.write(self.chance.choice(("cost", "think", "raw", "theme", "help", "todo", "context")))
        await self.hold()
        self.key("enter")
        await self.soon(lambda: not is_open())
        await self.hold()

    async def find(self) -> None:
        self.key("ctrl+f")
        await self._while_open(lambda: self.chat.find.is_open, ("enter", "up", "down"), "odeb ", clicks=False)

    async def changes(self) -> None:
        self.chat.run_by_name("diff")
        keys = [
            name
            for key in KEYS
            if key.context is KeyContext.DIFF and key.action not in ("leave", "copy")
            for name in key.keys.split(",")
        ]
        await self._while_open(lambda: self.app.screen is not self.chat, keys, "")

    async def command(self) -> None:
        await self._command(self.chance.choice(COMMANDS))
        await self.hold()
        if self.app.screen is not self.chat:
            await self._while_open(lambda: self.app.screen is not self.chat, READING, "")

    async def reset(self) -> None:
        """Starts over: what waits is dropped, as it says."""
        await self.hold()
        waiting = cast("Any", self.chat.sending.queue)
        if self.typist.text:
            self.send()
            await self.hold()
        dropped, resets = [entry.line.text for entry in waiting.entries], self.session.resets
        await self._command("/reset", is_held=True)
        assert not Counter(dropped) - Counter(self.typist.submitted), f"{dropped!r}\n{self._story()}"
        for text in dropped:
            self.typist.submitted.remove(text)
        self.session.runs.set()
        await self.soon(lambda: self.session.resets == resets + 1)

    async def _command(self, line: str, *, is_held: bool = False) -> None:
        """Types a command into an empty composer, and enters it."""
        if self.typist.text:
            self.send()
        self.write(line)
        for _ in range(3):
            self.key("enter")
            await self.until(lambda: True)
            if not self.chat.composer.text:
                break
        self.compare()

    async def asked(self) -> None:
        """A prompt comes while somebody types: what is no answer to it comes back to the draft."""
        await self._ask(lambda: None)

    async def asked_over(self) -> None:
        """A prompt comes while something else has the keys."""
        open_: Callable[[], Any] = self.chance.choice(
            (
                lambda: self.key("ctrl+f"),
                lambda: self.key("f1"),
                lambda: self.key("ctrl+p"),
                lambda: self.chat.run_by_name("diff"),
                lambda: self.chat.run_by_name("theme"),
            )
        )
        await self._ask(open_)

    async def _ask(self, before: Callable[[], Any]) -> None:
        await self.hold()
        self.typist.end = self.typist.start = max(self.typist.start, self.typist.end)
        self.chat.composer.move_cursor(self.chat.composer.cursor_location)
        self.typist.look()
        before()
        await self.hold()
        is_writing = self.app.focused is self.chat.composer
        if not self.chat.has_turn:
            return
        self.session.runs.set()
        done = len(self.done)
        for _ in range(self.chance.choice((1, 1, 2))):
            self.session.ask(self.chance.choice(REQUESTS))
        for _ in range(self.chance.randint(0, 4) if is_writing else 0):
            self.chance.choice(
                (self.token, self.token, self.backspace, self.paste, self.newline, self.resize)
            )()
            if self.chance.random() < 0.5:
                await asyncio.sleep(0)
        await self.soon(lambda: not self.session.is_asking or self._is_asked())
        await self.hold()
        for _ in range(self.chance.randint(0, 12)):
            if not self._is_asked():
                break
            self._while_asked()
            await self._go_on()
        while self.session.is_asking:
            self.app.clock.pass_(1)
            self.key("escape")
            await self._go_on()
        await self.until(lambda: not self.chat.prompts.is_taken)
        await self.hold()
        self.app.clock.pass_(1)  # else an Enter may have been meant for the prompt
        self._take_back_text(self.done[done:])

    def _take_back_text(self, done: Sequence[str]) -> None:
        """No letter that was typed at a prompt is lost, unless Enter has sent it or Backspace erased it."""
        typed = self.typist.read()
        lost = Counter(filter(str.isalpha, typed)) - Counter(self.typist.text)
        if "enter" not in done:
            assert lost.total() <= done.count("backspace"), f"lost {lost} of {typed!r}\n{self._story()}"

    async def _go_on(self) -> None:
        """Lets a little more come, now and then, and holds again."""
        if self.session.is_interrupted or self.chance.random() < 0.5:
            streamed = self.session.streamed
            self.session.runs.set()
            await self.soon(lambda: self.session.streamed > streamed or not self.session.is_asking)
        await self.hold()

    @property
    def _prompt(self) -> Any:
        return cast("Any", self.chat.prompts)._prompt

    def _is_asked(self) -> bool:
        return self._prompt is not None and self._prompt.is_mounted

    def _while_asked(self) -> None:
        """One thing that a person does before a prompt, or in what it has opened."""
        prompt = self._prompt
        if self.app.screen is not self.chat:
            self.chance.choice(
                (self.resize, self.wheel, lambda: self.key("pagedown"), lambda: self.key("q"))
            )()
        elif prompt.is_writing:
            self.chance.choice(
                (lambda: self.write("zz[ 混"), self.resize, lambda: self.key("enter"), self.interrupt)
            )()
        else:
            name = self.chance.choice((*"123456789e", "space"))
            actions: dict[Callable[[], None], int] = {
                lambda: self.key(name): 8, self.token: 4, self.backspace: 1, self.paste: 2,
                self.newline: 2, self.resize: 3, self.wheel: 2, self.press_mouse: 2, self.pointer: 1,
                self._blur_and_focus: 2, lambda: self.app.clock.pass_(1): 8, self._press_stop: 1,
                lambda: self.key(self.chance.choice(("up", "down", "tab", "pageup", "pagedown", "ctrl+e", "left"))): 6,
                lambda: self.key(self.chance.choice(("ctrl+o", "alt+r", "ctrl+t", "f9", "f1", "ctrl+p", "ctrl+f"))): 3,
                lambda: self.key("enter"): 2,
            }  # fmt: skip
            self.chance.choices(list(actions), list(actions.values()))[0]()

    def _blur_and_focus(self) -> None:
        self.blur()
        self.focus()

    async def _while_open(
        self, is_open: Callable[[], bool], keys: Sequence[str], letters: str, *, clicks: bool = True
    ) -> None:
        """Keys and sizes for what has been opened, until Esc closes it."""
        await self.soon(is_open)
        others = [self.resize, self.wheel, self._blur_and_focus, self.pointer]
        for _ in range(self.chance.randint(0, 8)):
            if letters and self.chance.random() < 0.4:
                self.write(self.chance.choice(letters))
            elif clicks and self.chance.random() < 0.1:
                self.press_mouse()
                await self.hold()
                if not is_open():
                    return
            elif self.chance.random() < 0.4:
                self.chance.choice(others)()
            else:
                self.key(self.chance.choice(keys))
            if self.chance.random() < 0.3:
                await asyncio.sleep(0.001)
        await self.hold()
        while is_open():
            await self._close()

    async def _close(self) -> None:
        """Esc, for what is on top; a selection is ended before what it was made in."""
        top = self.app.screen
        for _ in range(3):
            self.key("escape")
            await self.hold()
            if self.app.screen is not top or (top is self.chat and not self.chat.find.is_open):
                return
        raise AssertionError(f"Esc does not close {top}\n{self._story()}")

    # Looking

    async def look(self) -> None:
        """What the terminal shows after all this is what it shows when everything is painted anew."""
        await self.hold()
        transcript = self.chat.transcript
        clock, now = transcript.clock, transcript.clock()
        transcript.clock = lambda: now  # the times of running calls stand still too
        width, height = self.app.size
        for _ in range(100):
            await self.stage.settled()
            self._keep_output()
            before, written = self._shown(), "".join(self.since_resize)
            self.app.forget_screen()
            self.app.screen.refresh()
            await self.stage.settled()
            self.since_resize = [self._taken()]
            if before == self._shown():  # a note may fade in between
                break
        else:
            raise AssertionError(f"never stands still\n{self._story()}")
        transcript.clock = clock
        check_stream(self.since_resize[0], width, height)
        kept, fresh = Emulator(width, height), Emulator(width, height)
        kept.feed(written)
        fresh.feed(self.since_resize[0])
        assert fresh.lines() == kept.lines(), self._story()
        assert fresh.cells() == kept.cells(), self._story()
        assert "".join(fresh.lines()).strip() or width < 20 or height < 5, self._story()
        self.session.runs.set()

    def _shown(self) -> list[Strip]:
        return self.app.screen._compositor.render_strips()

    def _keep_output(self) -> None:
        self.since_resize.append(self._taken())

    def _taken(self) -> str:
        written = self.stage.stream.take()
        check_stream(written, *LARGEST)
        return written

    def _somewhere(self) -> tuple[int, int]:
        return self.chance.randrange(self.app.size.width), self.chance.randrange(self.app.size.height)

    def _story(self) -> str:
        composer = self.chat.composer.text
        return f"{self.done[-60:]}\n{composer!r}\n{self.typist.text!r}\n{self.app.crash!r}"

    async def soon(self, condition: Callable[[], bool]) -> None:
        """Waits for it while the turn goes on."""
        try:
            async with asyncio.timeout(DEADLINE_S):
                while not condition():
                    await asyncio.sleep(0.001)
        except TimeoutError:
            raise AssertionError(f"never came\n{self._story()}") from self.app.crash

    async def end(self) -> None:
        """The turn goes on to the last, or another one does."""
        most = self.session.streamed + 20
        while self.session.streamed <= most:
            await self.settle()
            await self.soon(lambda: self.session.streamed > most or not self.chat.has_turn)
