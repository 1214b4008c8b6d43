"""`forge chat`: the app with its session, themes, warm-up after the first frame, and crash report.

Private parts of Textual 8.2.8's `App` that it overrides or sets: `_handle_exception` (receives a bug in a
handler), `_fatal_error` (prints the traceback and ends with `_close_messages_no_wait`),
`_return_code`, `_exit` (whether the app is exiting), and `_clipboard` (what its widgets paste).
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from textual import events
from textual.app import App
from textual.widget import MountError

from forge_core.config.forge_config import ForgeConfig
from forge_core.durations import time_ago
from forge_core.errors import ForgeError
from forge_core.exit_codes import ExitCode
from forge_core.sanitize import safe_line
from forge_tui import garbage_collection, workers
from forge_tui.app_themes import AppThemes
from forge_tui.keys.dispatch import KEYS_FILE, KeyDispatcher
from forge_tui.screens.chat.environment import Environment
from forge_tui.screens.chat.screen import ChatScreen, SaveSetting
from forge_tui.screens.panels.overlay import Overlay
from forge_tui.terminal import internals, signals
from forge_tui.terminal.output import RowDiffOutput
from forge_tui.widgets.activity import NOTE_S

if TYPE_CHECKING:
    from forge_core.approval import Responder
    from forge_core.session import ForgeSession
    from forge_core.session.saved_sessions import SavedSessions
    from forge_core.workspace.trust import TrustQuestion
    from forge_tui.terminal.input import BackgroundFound
    from forge_tui.widgets.blockview.block_view import BlockView

MakeSession: TypeAlias = (
    "Callable[[ForgeConfig, str | None, Responder], Awaitable[ForgeSession] | ForgeSession]"
)
"""Builds a new session, or the saved one of an id. Called in a thread, since it imports much; an awaitable is
awaited on the loop."""

ContinuePlain: TypeAlias = Callable[[ForgeConfig, str | None], int]
"""Runs the plain chat with a new session or the one with an id, and returns the exit code."""

KEYS_INTERVAL_S = 2.0
THEMES_INTERVAL_S = 2.0
"""Between looks at the user's file of keys."""
WARM_UP_DELAY_S = 0.05
"""After the first frame: the keys that waited for it show first, then imports hold the interpreter."""
MAX_FINDINGS = 6
"""Findings that the trust notice lists; the others are counted."""
_MOST_LINES = 30
_LINES_LEFT = 4
"""Rows of the window kept free for the cost and the prompt of the shell."""
_HUNG_UP = 128 + signal.SIGHUP


class ForgeApp(workers.WorkerErrorsEndApp, RowDiffOutput, App[None], inherit_bindings=False):
    """`forge chat`. After a bug, `crash` is the exception and `crash_log` the path of the log."""

    TITLE = "Forge"
    CSS_PATH = Path(__file__).with_name("forge.tcss")  # absolute: a subclass may live elsewhere
    ENABLE_COMMAND_PALETTE = False
    CHAT_SCREEN: ClassVar[type[ChatScreen]] = ChatScreen
    """The class of the conversation's screen."""

    def __init__(
        self,
        config: ForgeConfig,
        make_session: MakeSession,
        *,
        resume: str | None = None,
        picks_session: bool = False,
        first_message: str = "",
        save_setting: SaveSetting | None = None,
        environment: Environment | None = None,
    ) -> None:
        super().__init__()
        self.animation_level = "none"
        self.crash: BaseException | None = None
        self.crash_log: str | None = None
        self._config = config
        self._make_session = make_session
        self._resume = resume
        self._picks_session = picks_session
        self.themes = AppThemes(self, config, self._note, self._complain)
        self._early: list[events.Event] | None = []
        """Keys that arrived before the composer had the focus; None afterwards."""
        self._environment = environment or Environment()
        self.chat = self.CHAT_SCREEN(config, self._environment, self.themes, save_setting, self._open_session)
        self.chat.sending.begin_with(first_message, skips=int(picks_session))
        self._keys = KeyDispatcher(
            self, config.config_dir / KEYS_FILE, self.chat.activity, self._environment.clock
        )
        self._key_problems: list[str] = []
        """What is wrong with the user's file of keys, until it can be shown."""
        self.themes.use_first()

    @property
    def session(self) -> ForgeSession | None:
        """The session, once it has been built."""
        return self.chat.session

    @property
    def follows_background(self) -> bool:
        """Whether the driver asks the terminal for its background when it starts."""
        return self.themes.is_auto

    def on_background_found(self, event: BackgroundFound) -> None:
        self.themes.background_found(event.background)

    def _note(self, text: str) -> None:
        self.chat.activity.note(text)

    def _complain(self, text: str) -> None:
        self.chat.complain(text)

    def get_default_screen(self) -> ChatScreen:
        return self.chat

    def take_typed_text(self, text: str) -> None:
        """Put what the launcher shows into the composer: the message from the command line, and what was
        typed before the app could read keys."""
        self.chat.sending.first_message.show(text)

    def on_mount(self) -> None:
        self.chat.call_after_refresh(self.set_timer, WARM_UP_DELAY_S, self._begin_warm_up)

    async def on_unmount(self) -> None:
        await self.chat.sending.shell.aclose()
        if self.session is not None:
            self.chat.unsent.save()
            await self.session.aclose()

    async def on_event(self, event: events.Event) -> None:
        """Keep what is typed until the screen is ready, and guard the focus."""
        if self._early is not None and isinstance(event, events.Key | events.Paste):
            self._early.append(event)
        else:
            if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
                self.chat.key_arrived(event)
            if isinstance(event, events.Paste) and not event.is_forwarded:
                # Textual 8.2.8 does so for keys only; a file may be dropped on a window without the focus.
                self.app_focus = True
            if isinstance(event, events.MouseDown):
                self.chat.prompts.button_pressed(event.time)
            if isinstance(event, events.MouseDown) and not self.app_focus:
                self.chat.prompts.rearm()  # some terminals report the focus after the click that brings it
            if isinstance(event, events.Key) and not event.is_forwarded:
                if (key := self._keys.translate(event)) is None:
                    return  # the beginning of a chord
                event = key
                if isinstance(self.screen, Overlay) and self.screen.refuses(event):
                    return
            focused = self.focused if isinstance(event, events.MouseEvent) else None
            await super().on_event(event)
            if focused is not None and focused.screen.focused is None:
                # A click on no widget, as beyond an edge that has just moved, removes the focus in Textual
                # 8.2.8, and the next keys would be lost.
                focused.screen.set_focus(focused, scroll_visible=False)

    async def on_chat_screen_ready(self) -> None:
        # GNU screen holds a lone Esc back until the next key while a program captures the mouse.
        if os.environ.get("STY") and not os.environ.get("TMUX"):
            self.action_toggle_mouse()
        problems = self._keys.follow_file()
        self.set_interval(KEYS_INTERVAL_S, self._follow_keys)
        self.set_interval(THEMES_INTERVAL_S, self.themes.follow_files)
        early, self._early = self._early or [], None
        for event in early:
            key = self._keys.translate(event) if isinstance(event, events.Key) else event
            if key is not None:
                await super().on_event(key)
        self._key_problems = problems or []
        self.chat.activity.refresh()  # its hints name keys

    def _follow_keys(self) -> None:
        """Apply the user's file of keys if it has changed."""
        if (problems := self._keys.follow_file()) is not None:
            self.mutate_reactive(ForgeApp.theme)  # texts that name keys are drawn again
            self.chat.activity.note(f"{KEYS_FILE} applied")
            self._report_keys(problems)

    def _report_keys(self, problems: list[str]) -> None:
        if problems:
            self.chat.complain("\n".join([f"{KEYS_FILE}:", *(f"  {problem}" for problem in problems)]))

    def on_app_focus(self) -> None:
        self._follow_keys()
        self.themes.follow_files()
        self.chat.attention.focus_changed(True)
        self.chat.prompts.rearm()  # the click that brought the terminal to the front must not answer anything

    def on_app_blur(self) -> None:
        self.chat.attention.focus_changed(False)

    def action_toggle_mouse(self) -> None:
        """Toggle mouse capture. An action of the app, since every screen binds it."""
        is_released = not self.chat.activity.is_mouse_released
        self.capture_mouse(None)
        internals.release_mouse(self, is_released=is_released)
        self.chat.activity.is_mouse_released = is_released

    def action_suspend_process(self) -> None:
        """Stop the process until the shell continues it. A running turn stops with it."""
        if not signals.stop_job():
            self.chat.activity.note("There is no shell to go back to")

    def action_redraw(self) -> None:
        """Draw the whole screen again: another program may have written on the terminal."""
        self.forget_screen()
        self.refresh(layout=True)
        self.screen.refresh()

    # Clipboard

    def copy_to_clipboard(self, text: str) -> None:
        """Copy, and report the result on the activity line."""
        self._clipboard = text
        workers.start(self, partial(self._copy, text), "clipboard", is_replacing=True)

    async def _copy(self, text: str) -> None:
        from forge_tui.terminal import clipboard

        route = await clipboard.copy(text, self._environment.clipboard(self._config.working_dir), self._write)
        note, is_long = clipboard.copy_note(text, route)
        self.chat.activity.note(note, 6.0 if is_long else NOTE_S)

    def on_block_view_copy_requested(self, message: BlockView.CopyRequested) -> None:
        self.copy_to_clipboard(message.text)

    def on_block_view_link_clicked(self, message: BlockView.LinkClicked) -> None:
        workers.start(self, partial(self._open_link, message.url, message.text), "link", is_replacing=True)

    async def _open_link(self, url: str, text: str) -> None:
        """Open the file of a link in the editor; copy the text of one that cannot be opened."""
        from forge_core.workspace.program_lookup import find_program
        from forge_tui.terminal import clipboard, editor_links

        root = self._config.working_dir
        command = editor_links.opener_of(url, os.environ, lambda name: find_program(name, root))
        if command and await clipboard.run(command, b""):
            self.chat.activity.note(f"Opened {text}")
        else:
            self.copy_to_clipboard(text)

    async def on_block_view_selection_made(self) -> None:
        workers.start(self, self._copy_primary, "primary", is_replacing=True)

    async def _copy_primary(self) -> None:
        from forge_tui.terminal import clipboard

        route = self._environment.clipboard(self._config.working_dir)
        if route.primary:  # do not assemble a long selection in vain
            await clipboard.copy_primary(self.chat.transcript.selected_text(), route)

    def _write(self, sequence: str) -> None:
        internals.write(self, sequence)

    def last_lines(self, most: int) -> list[str]:
        """Return the end of the conversation and its cost for the terminal's normal screen; empty without
        a conversation."""
        if self.session is None or most <= 0:
            return []
        from forge_core.commands.figures import tokens_text
        from forge_core.text_width import clip
        from forge_tui.widgets.status_text import cost_text
        from forge_tui.widgets.transcript.last_lines import last_lines

        lines = last_lines(self.chat.transcript.model, most, self.theme_variables, self.depth)
        figures, usage = self.chat.status_bar.figures, self.session.status.usage
        counts = f"{tokens_text(usage.prompt_tokens)} in {tokens_text(usage.completion_tokens)} out"
        parts = ("Forge", clip(safe_line(figures.model), self.size.width // 2), counts, cost_text(figures))
        last = clip(" · ".join(filter(None, parts)), self.size.width)
        return [*lines, "", f"\x1b[2m{last}\x1b[0m"] if lines else []

    # Warm-up

    def _begin_warm_up(self) -> None:
        workers.start(self, self._warm_up, "warm-up")

    async def _warm_up(self) -> None:
        """Build the session and import what the first answer needs, while the user can type."""
        self.chat.refresh_status()
        await workers.in_thread(partial(import_module, "forge_tui.widgets.transcript.transcript_view"))
        await self._begin()
        await workers.in_thread(self.chat.transcript.warm)
        await self._look_around()
        await self.chat.sending.earlier.load()
        await self.chat.sending.uses.load()
        await workers.in_thread(
            partial(import_module, "forge_tui.screens.diff.screen")
        )  # so that /diff opens at once
        if report := await workers.in_thread(self.chat.sessions.prune):
            self.chat.transcript.add_notice(report, "info")
        garbage_collection.start()

    async def _look_around(self) -> None:
        """Show in the welcome what the folder contains."""
        from forge_core.workspace.overview import overview  # not before the first frame

        self.chat.welcome.show_found(await workers.in_thread(lambda: overview(self._config.working_dir)))

    async def _begin(self) -> None:
        """Give the conversation its session."""
        await self._offer_last_session()
        self._show_conversation()
        await self._offer_local_server()
        await self._ask_for_trust()  # before a queued /trust can run
        try:
            session = await self._open_session(self._resume)
        except ForgeError as error:
            advice = "\n/resume chooses another session, /new starts a new one." if self._resume else ""
            self.chat.session_failed(str(error) + advice)
        else:
            self.chat.session_ready(session)
            if self._picks_session:
                self.chat.run_by_name("resume")

    def _show_conversation(self) -> None:
        """Show the conversation, with what is wrong with the themes."""
        self.chat.show_transcript()
        for name in self.themes.missing():
            self.chat.complain(f"There is no theme {name!r}; /theme chooses one.")
        for problem in self.themes.problems():
            self.chat.complain(problem)
        self._report_keys(self._key_problems)

    async def _offer_last_session(self) -> None:
        """Show the folder's last session in the welcome, before anything is shown below it."""
        if self._resume is not None:
            return
        if (last := await workers.in_thread(self.chat.sessions.last)) is None:
            self.chat.welcome.offer_help()
        else:
            age = time_ago(time.time() - last.updated)
            self.chat.welcome.offer_last(last.id, last.title, age, last.turns)

    async def _offer_local_server(self) -> None:
        """Show which model server runs on this machine; before the question of trust, which must stay in
        view."""
        if found := await workers.in_thread(lambda: self._environment.local_server(self._config)):
            self.chat.transcript.add_notice(found, "info")

    async def _open_session(self, resume: str | None, before: ForgeSession | None = None) -> ForgeSession:
        """Build a session; it has the endpoint of the one `before`, a new one also its model and mode."""
        config = self.chat.sessions.config
        if before is not None:
            from forge_core.runtime.resuming import continued_settings

            config = continued_settings(config, before, is_new=resume is None)
        made = await workers.in_thread(lambda: self._make_session(config, resume, self.chat.prompts.ask))
        return await made if inspect.isawaitable(made) else made

    async def _ask_for_trust(self) -> None:
        """Show what is ignored until the user trusts the folder; /trust decides at any time."""
        try:
            question = await workers.in_thread(lambda: self._environment.trust_question(self._config))
        except ForgeError as error:
            self.chat.complain(str(error))
            return
        if question is not None:
            notice = trust_notice(question)
            self.chat.welcome.make_room(notice.count("\n") + 1)
            self.chat.transcript.add_notice(notice, "warning")

    # Crash

    def _handle_exception(self, error: Exception) -> None:
        if self._exit and isinstance(error, MountError):
            return  # nothing can be mounted while the app exits
        if self.crash is None:
            from forge_core.runtime import make_redactor
            from forge_tui.crash import write_crash_report

            self.crash, redact = error, make_redactor(self._config)
            self.crash_log = write_crash_report(self._config.state_dir, error, redact)
        super()._handle_exception(error)
        self._return_code = ExitCode.CRASH

    def _fatal_error(self) -> None:
        """Exit without printing the traceback: it is in the log, without secrets."""
        self._close_messages_no_wait()


def trust_notice(question: TrustQuestion) -> str:
    """Return what the folder contains that needs trust, and how to decide."""
    findings = question.findings[:MAX_FINDINGS]
    if len(question.findings) > MAX_FINDINGS:
        findings = (*findings, f"{len(question.findings) - MAX_FINDINGS} more; /trust lists them")
    return "\n".join(
        [
            "Settings and instructions in this folder are ignored unless you trust it:",
            *(f"  {finding}" for finding in findings),
            "/trust yes applies them, /trust no keeps them ignored without asking again.",
        ]
    )


def run_chat(
    config: ForgeConfig,
    *,
    resume: str | None = None,
    picks_session: bool = False,
    first_message: str = "",
    continue_plain: ContinuePlain | None = None,
) -> int:
    """Run the app, with a new session or the one with the id `resume`; return the exit code.

    With `picks_session` the user is asked for the session to continue. `first_message` is sent to it.
    `continue_plain` runs after the app if the user wants to go on in plain text.
    """
    app = ForgeApp(
        config,
        _make_session,
        resume=resume,
        picks_session=picks_session,
        first_message=first_message,
        save_setting=partial(_save_setting, config),
    )
    code = run_app(app, config)
    if code or continue_plain is None or not app.chat.wants_plain:
        return code
    session, config = app.session, app.chat.sessions.config
    if session is None:
        return continue_plain(config, resume)
    status = session.status
    effort = session.models.effort
    config = replace(
        config,
        endpoint=session.config.endpoint,
        model=status.model,
        permission_mode=status.mode,
        effort=effort,
    )
    return continue_plain(config, _id_if_saved(session.id, app.chat.sessions.saved()))


def _id_if_saved(session_id: str, saved: SavedSessions) -> str | None:
    """Return the id of a session, or None if nothing of it was recorded."""
    try:
        return saved.id_of(session_id)
    except ForgeError:
        return None


def run_app(app: ForgeApp, config: ForgeConfig) -> int:
    """Run an app to its end; return the exit code."""
    asyncio.run(app.run_async())
    if app.crash is not None:
        from forge_core.runtime import make_redactor

        with contextlib.suppress(Exception):  # what broke the app may break this too: report the crash anyway
            _leave_traces(app)
        where = f"The details are in {app.crash_log}" if app.crash_log else "No log could be written"
        words = safe_line(make_redactor(config)(f"{type(app.crash).__name__}: {app.crash}"))
        print(f"forge: Forge failed: {words}. {where}", file=sys.stderr)
        return ExitCode.CRASH
    if app.return_code != _HUNG_UP and not app.chat.wants_plain:  # after a hang-up nobody can read it
        _leave_traces(app)
    return app.return_code or 0


def _leave_traces(app: ForgeApp) -> None:
    """Print the end of the conversation, and its cost, to the terminal's normal screen."""
    height = os.get_terminal_size(1).lines if os.isatty(1) else 0
    lines = app.last_lines(min(_MOST_LINES, height - _LINES_LEFT))
    if lines:
        with contextlib.suppress(OSError, ValueError):
            print(*lines, sep="\n", flush=True)


def _make_session(config: ForgeConfig, resume: str | None, responder: Responder) -> ForgeSession:
    from forge_core.runtime import build_session, harden_process

    harden_process()
    return build_session(config, responder, responder, responder, resume=resume)


def _save_setting(config: ForgeConfig, name: str, value: str) -> None:
    from forge_core.config.save import save_user_setting

    save_user_setting(config.config_dir, name, value)
