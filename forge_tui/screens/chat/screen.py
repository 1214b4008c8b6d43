"""The conversation: transcript above, composer below, one turn at a time.

Overrides a private method of Textual 8.2.8: `Screen._key_escape`, which comes before the bindings.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.errors import NoWidget
from textual.message import Message

from forge_core.config.forge_config import ForgeConfig
from forge_core.workspace.path_completion import PathCompletion
from forge_tui import garbage_collection, workers
from forge_tui.keymap import KeyContext, bindings
from forge_tui.pastes.folded_text import with_labels
from forge_tui.screens.chat.attention import Attention
from forge_tui.screens.chat.drafting import Drafting
from forge_tui.screens.chat.environment import Environment, RepositoryWatch
from forge_tui.screens.chat.find_mode import FindMode
from forge_tui.screens.chat.input_saver import InputSaver
from forge_tui.screens.chat.keys import INTERRUPT_KEYS, DoublePress, ModeCycle, OfferKeys, SelectedText
from forge_tui.screens.chat.live_figures import LiveFigures
from forge_tui.screens.chat.prompt_area import PromptArea
from forge_tui.screens.chat.rewinding import Rewinding
from forge_tui.screens.chat.sending import Sending
from forge_tui.screens.chat.session_change import OpenSession, SessionChange
from forge_tui.screens.chat.turn import TurnReader, TurnWork
from forge_tui.terminal import internals
from forge_tui.terminal.compositor import DirtyRegionScreen
from forge_tui.terminal.title import Activity
from forge_tui.widgets.activity import ActivityLine
from forge_tui.widgets.choices import ChoiceList
from forge_tui.widgets.completion import CompletionPopup
from forge_tui.widgets.composer import LONGEST, Composer
from forge_tui.widgets.key_input import writes
from forge_tui.widgets.status_bar import StatusBar
from forge_tui.widgets.todo_panel import TodoPanel
from forge_tui.widgets.welcome.welcome_view import Welcome

if TYPE_CHECKING:
    from pathlib import Path

    from forge_core.commands.result import Tint
    from forge_core.session.command_messages import TypedUse
    from forge_core.session.session import ForgeSession
    from forge_tui.app_themes import AppThemes
    from forge_tui.widgets.blockview.blocks import Block
    from forge_tui.widgets.find_bar import FindLine
    from forge_tui.widgets.transcript import Transcript

SaveSetting: TypeAlias = Callable[[str, str], None]

WHILE_ASKED = frozenset({"copy_or_stop", "toggle_cards", "toggle_raw", "toggle_todos"})
"""Actions that work while a prompt is open."""


class ChatScreen(workers.WorkerErrorsEndApp, DirtyRegionScreen[None], inherit_bindings=False):
    """Wires the widgets to the session. Works before there is a session: what is sent then waits."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyContext.CHAT), *bindings(KeyContext.WELCOME)]
    AUTO_FOCUS = None
    VERTICAL_BREAKPOINTS = [(0, "-short"), (20, "-tall")]  # noqa: RUF012 - Textual declares it so

    class Ready(Message):
        """The composer has the focus: keys can be handled."""

    def __init__(
        self,
        config: ForgeConfig,
        environment: Environment,
        themes: AppThemes,
        save_setting: SaveSetting | None,
        open_session: OpenSession,
    ) -> None:
        super().__init__()
        self._config = config
        self.environment = environment
        self.themes = themes
        self.save_setting = save_setting
        self.session: ForgeSession | None = None
        self.wants_plain = False
        """Whether the session goes on as plain text when the app has ended."""
        self.sending = Sending(self)
        self.sessions = SessionChange(self, self.sending.queue, config, open_session)
        self._live = LiveFigures(config, environment.home)
        self._repository = RepositoryWatch(self, environment, config.working_dir, self._live)
        self.attention = Attention(config.notify, os.environ, self._notify)
        self._mode = ModeCycle(config.permission_mode)
        self._transcript: Transcript | None = None
        self.activity = ActivityLine(
            environment.clock, self.show_figures, self._live.progress, is_still=config.reduced_motion
        )
        self._turn = TurnReader(self, self._live, environment.clock)
        self._interrupt_key = DoublePress(environment.clock, self.activity, "Ctrl+C again leaves Forge")
        self.rewinding = Rewinding(self, self._turn, environment.clock)
        self.find = FindMode(self)
        self.selected = SelectedText(self)
        self.drafting = Drafting(self)
        self.todos = TodoPanel()
        self.popup = CompletionPopup(
            self.sending.commands.table,
            self.sending.commands.argument_values,
            PathCompletion(
                config.working_dir, self._used_files, self._repository.changed, self._added_folders
            ),
            self.sending.uses.score,
        )
        self.prompts = PromptArea(self, environment.clock, config.working_dir)
        self.unsent = InputSaver(self, self.sending.queue)
        self.composer = Composer(
            self.popup,
            self.sending.recall,
            self.prompts.may_send,
            self.unsent.text_changed,
            self.sending.images.take_paste,
        )
        self.composer.show_mode(self._live.mode)
        self.status_bar = StatusBar(self._live.current())
        self.welcome = Welcome(self._live.current(), environment.version, self._live.examples)
        self._offers = OfferKeys(self)

    def compose(self) -> ComposeResult:
        with Vertical(id="stage"):  # whatever it holds, the composer below keeps its place
            yield self.welcome
        yield self.todos
        yield self.activity
        yield self.sending.queue_rows
        yield self.composer
        yield self.status_bar
        yield self.popup

    def on_mount(self) -> None:
        self.set_focus(self.composer)
        if self._config.vim:
            self.use_vim(True)
        self.post_message(self.Ready())

    def use_vim(self, is_on: bool) -> None:
        """Turn the keys of Vim on or off in the composer."""
        from forge_tui.keys.vim.composer_keys import turn_vim

        turn_vim(is_on, self.composer, self.popup, LONGEST)

    @property
    def transcript(self) -> Transcript:
        """The conversation; the first frame does without it."""
        return self._transcript or self.show_transcript()

    def show_transcript(self) -> Transcript:
        """Mount the conversation below the welcome, with the notices of the settings."""
        from forge_tui.terminal.editor_links import editor_links
        from forge_tui.widgets.transcript import Transcript

        links = editor_links(self._config.editor_links, self._config.working_dir, self._added_folders)
        self._transcript = transcript = self._transcript or Transcript(self._config.thinking, links)
        if not transcript.is_attached:
            self.query_one("#stage").mount(transcript)
            self.watch(transcript, "new_below", self.activity.show_new_below)
            for notice in self._config.notices:
                transcript.add_notice(notice, "warning")
            if about_key := self._config.endpoint.key_notice:
                transcript.add_notice(about_key, "info")
        return transcript

    # The session comes and goes

    def session_ready(self, session: ForgeSession) -> None:
        """Use this session from now on; start with what is queued."""
        self.session, session.on_figures, self.sending.failure = session, self.refresh_status, ""
        self._mode.apply(session)
        self.refresh_status()
        workers.start(self, partial(self._read_notices, session), "notices", is_replacing=True)
        workers.start(self, session.hooks.begin, "hooks", is_replacing=True)
        if session.restored is not None:
            self.welcome.display = False
            self.sessions.show(session.restored)
        self.sending.session_opened(session)

    @property
    def session_id(self) -> str:
        """The id of the session; empty while there is none."""
        return "" if self.session is None else self.session.id

    def _added_folders(self) -> Sequence[Path]:
        return () if self.session is None else self.session.policy.folders.added

    def _used_files(self) -> Sequence[str]:
        return () if self.session is None else self.session.context.used_files()

    def session_failed(self, reason: str) -> None:
        """Report that there will be no session, now and whenever something is sent."""
        self.sending.failure = reason
        self.complain(reason)

    async def _read_notices(self, session: ForgeSession) -> None:
        async for notice in session.notices():
            self.transcript.add_notice(notice.text, notice.level)

    def _notify(self, sequence: str) -> None:
        internals.write(self.app, sequence)

    # What the user sends

    def on_composer_paste_refused(self, message: Composer.PasteRefused) -> None:
        workers.start(self, partial(self.drafting.keep_paste, message.text), "paste")

    def on_activity_line_new_below_clicked(self) -> None:
        self.transcript.scroll_to_end()

    def on_screen_suspend(self) -> None:
        self.prompts.covered()

    def on_screen_resume(self) -> None:
        self.prompts.resume()

    def on_composer_submitted(self, message: Composer.Submitted) -> None:
        self.sending.submit(message)

    def on_choice_list_clicked(self, message: ChoiceList.Clicked) -> None:
        """Complete the line with the row of the menu that was clicked."""
        self.popup.choose(message.index)
        self.composer.action_complete()

    def run_by_name(self, name: str | None) -> None:
        """Run a command as if it had been typed; do nothing without a name."""
        self.sending.run_by_name(name)

    # A turn

    @property
    def has_turn(self) -> bool:
        return self._turn.is_running

    def start_turn(self, text: str, typed: str = "", command: TypedUse | None = None) -> None:
        """Show a message, with folded parts as `typed`, and start its turn; a `command` makes its message."""
        self.welcome.display = False
        self.transcript.add_user(text, with_labels(typed))
        self.unsent.save()
        self.todos.begin_turn()
        self._interrupt_key.reset()
        self._turn.start(text, typed, command)

    def resume_turn(self) -> None:
        """Resume the turn whose model call failed."""
        if not self.has_turn:
            self.transcript.resume_turn()
            self._read_turn(None)

    def run_work(self, work: TurnWork) -> None:
        """Run the work of a command as a turn: Esc ends it, and what is sent meanwhile is queued."""
        if not self.has_turn:
            self._read_turn(work)

    def _read_turn(self, work: TurnWork | None) -> None:
        self._interrupt_key.reset()
        self._turn.start(work)

    def interrupt(self) -> None:
        if self.session is not None and self.has_turn:
            self._turn.interrupt(self.session)

    async def end_turn(self) -> None:
        """Interrupt the running turn and wait for its end."""
        self.interrupt()
        await self._turn.wait()

    # What commands do to the screen: they scroll to the end, so that their output shows

    def show_text(self, body: str, title: str, tints: Sequence[Tint] = ()) -> None:
        self.welcome.display = False  # at 80x24 it would leave a few rows for the text
        self.sending.commands.show_line()
        self.transcript.add_text(body, title, tints)
        self.transcript.scroll_to_end()

    def show_block(self, block: Block) -> None:
        self.welcome.display = False
        self.sending.commands.show_line()
        self.transcript.add_block(block)
        self.transcript.scroll_to_end()

    def show_document(self, body: str, title: str) -> None:
        self.welcome.display = False
        self.transcript.add_markdown(f"**{title}**\n\n{body}")
        self.transcript.scroll_to_end()

    def say(self, text: str) -> None:
        self.sending.commands.show_line()
        self.transcript.add_notice(text, "info")
        self.transcript.scroll_to_end()

    def complain(self, text: str) -> None:
        self.sending.commands.show_line()
        self.transcript.add_notice(text, "error")
        self.transcript.scroll_to_end()

    def start_over(self) -> None:
        """Clear what belongs to the conversation on the screen."""
        has_garbage = bool(self.transcript.model.blocks)
        self.transcript.clear_blocks()
        self._live.begin_turn()
        self.welcome.offer_help()
        self.welcome.display = True
        if has_garbage:  # a collection takes 0.25 s while a large session is being opened
            self.call_after_refresh(garbage_collection.collect_all)

    def leave(self) -> None:
        self.app.exit()

    # Keys, in the order of `keymap.KEYS`

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in OfferKeys.ACTIONS:
            return self._offers.may_run(action, parameters)
        return not self.prompts.is_taken or action in WHILE_ASKED

    def key_arrived(self, event: events.Key | events.Paste) -> None:
        """Take note of a key or a paste that has not been handled yet."""
        if isinstance(event, events.Paste) or event.key not in INTERRUPT_KEYS:
            self._interrupt_key.reset()
        if isinstance(event, events.Paste) or event.key != "escape":
            self.rewinding.other_key()
        if isinstance(event, events.Key):
            self.prompts.key_arrived(event.key)
            self.sending.shell.key_arrived()
        if isinstance(event, events.Paste) or writes(event):
            self.prompts.text_arrived()
            self.welcome.choose(None)

    def action_escape(self) -> None:
        if self.popup.is_open:
            self.popup.close(self.composer.text)
        elif self.selected.end() or self.welcome.end_choice():
            pass
        elif self.find.is_open:
            self.find.close(is_kept=True)
        elif self.sending.shell.interrupt():
            pass
        elif self.has_turn:
            self.interrupt()
        else:
            self.rewinding.escape()

    def action_move_offer(self, by: int) -> None:
        self.welcome.move(by)

    def action_take_offer(self) -> None:
        self._offers.take()

    def action_copy_or_stop(self) -> None:
        if self.selected.copy():
            return
        if self._interrupt_key.is_second_press:
            self.leave()
        elif self.sending.shell.interrupt():
            self._interrupt_key.press()
        elif self.has_turn:
            self._interrupt_key.press()
            self.interrupt()
        else:
            had_text = self.composer.clear_into_history()
            self._interrupt_key.press(" · Up brings the text back" if had_text else "")

    def action_leave_if_empty(self) -> None:
        if self.composer.is_blank:
            self.leave()

    def action_cycle_mode(self) -> None:
        mode = self._mode.advance(self.session)
        if self.session is not None and self._mode.must_explain_auto(self.session):
            from forge_core.commands.permission_commands import mode_summary

            self.transcript.add_notice(f"Mode auto: {mode_summary(mode, is_sandboxed=False)}.", "info")
        self._live.use_mode(str(mode))
        self.show_figures()

    def action_toggle_cards(self) -> None:
        if not (self.composer.expand_chip() or self.transcript.fold_pointed()):
            self.transcript.toggle_cards()

    def action_toggle_raw(self) -> None:
        if not self.transcript.toggle_raw():
            self.activity.note("There is no answer yet")

    def action_background(self) -> None:
        if self.session is None or not self.session.jobs.background_now():
            self.activity.note("No command is running that could continue in the background")

    def action_jobs(self) -> None:
        self.run_by_name("jobs")

    def action_toggle_todos(self) -> None:
        if self.todos.todos:
            self.todos.toggle()
        else:
            self.activity.note("There is no list of tasks")

    async def action_paste(self, only_image: bool = False) -> None:
        await self.sending.images.paste(only_image=only_image)

    def action_edit_message(self) -> None:
        self.drafting.edit()

    def action_stash(self) -> None:
        self.drafting.stash()

    def action_queue(self) -> None:
        self.sending.open_queue()

    def action_search_history(self) -> None:
        self.sending.earlier.search()

    def action_palette(self) -> None:
        self.sending.open_palette()

    def action_choose_model(self) -> None:
        self.run_by_name("model")

    def action_next_model(self) -> None:
        model = None if self.session is None else self.session.models.next_recent()
        if model is None:
            self.activity.note("No other model has been used here")
        self.run_by_name(model and f"model {model}")

    def action_help(self) -> None:
        self.run_by_name("help")

    def action_page(self, direction: int) -> None:
        self.transcript.page(direction)

    def action_end(self, direction: int) -> None:
        self.transcript.scroll_to_end() if direction > 0 else self.transcript.scroll_to_start()

    def action_prompt(self, direction: int) -> None:
        self.transcript.landmark(direction)

    async def action_find(self) -> None:
        await self.find.open()

    # Finding

    def on_find_bar_changed(self) -> None:
        self.find.search()

    def on_find_line_stepped(self, message: FindLine.Stepped) -> None:
        self.find.step(message.direction)

    def on_find_line_closed(self, message: FindLine.Closed) -> None:
        self.find.search()
        is_about_selection = self.selected.end() if message.is_kept else self.selected.copy()
        if not is_about_selection:
            self.find.close(is_kept=message.is_kept)

    # Selecting

    def clear_selection(self) -> None:
        """End the selection where a click does; the transcript handles a click on itself."""
        super().clear_selection()
        # Whether it has captured the mouse says nothing yet where both ends of a click come in one burst.
        with contextlib.suppress(NoWidget):  # a report may be older than the last resize
            if self.get_widget_at(*self.app.mouse_position)[0] is self.transcript:
                return
        self.transcript.select(None)

    def _key_escape(self) -> None:
        # Esc ends a selection only where nothing is open: see `action_escape`.
        super().clear_selection()

    # Figures

    def refresh_status(self) -> None:
        """Read the session's figures and the branch again."""
        if self.session is not None:
            self._live.use_status(self.session.status)
        self._repository.refresh()
        self.show_figures()

    def refresh_todos(self, *, is_over: bool = False, is_update: bool = False) -> None:
        """Show the session's list of tasks; at the end of a turn a completed one is hidden."""
        todos = () if self.session is None else self.session.todos.items
        self.todos.refresh_list(todos, is_over=is_over, is_update=is_update)
        self.activity.show_doing(self.todos.doing)

    def show_figures(self) -> None:
        """Show the figures as they are now."""
        self.composer.show_mode(self._live.mode)
        self.composer.placeholder = self.sending.placeholder
        working = Activity.WORKING if self.has_turn else Activity.IDLE
        activity = Activity.ASKING if self.prompts.is_taken else working
        internals.show_title(self.app, self._config.working_dir.name, activity)
        self.status_bar.figures = self.welcome.figures = self._live.current()
