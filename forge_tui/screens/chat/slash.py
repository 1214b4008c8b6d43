"""Runs slash commands for the conversation screen and shows what they give back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from forge_core.commands.specs import Tier
from forge_core.config.settings import PermissionMode, ThinkingSetting, check_value, choices
from forge_core.sanitize import safe_line
from forge_tui.commands import LOCAL_COMMANDS, Command
from forge_tui.widgets.completion import Value

if TYPE_CHECKING:
    from forge_core.commands.result import CommandResult
    from forge_core.session.changes import Source
    from forge_core.session.session import ForgeSession
    from forge_tui.screens.chat.screen import ChatScreen

SaveSetting = Callable[[str, str], None]


class SlashCommands:
    """One per conversation screen."""

    def __init__(
        self, screen: ChatScreen, themes: Callable[[], Sequence[str]], save_setting: SaveSetting | None
    ) -> None:
        self._screen = screen
        self._themes = themes
        self._save_setting = save_setting

    def is_local(self, command: Command) -> bool:
        """Whether the screen answers it without a session."""
        return command.spec.name in LOCAL_COMMANDS

    async def run(self, command: Command, session: ForgeSession | None) -> None:
        """Carry out one command and show its result. Waits for a turn that it interrupts."""
        if self.is_local(command):
            self._run_local(command)
        elif session is not None and await self._may_run(command):
            from forge_core.commands.handlers import (
                run_command,
            )  # brings the session's world; not before a command

            self._show(await run_command(command.line, session), session)

    def choose_theme(self, name: str) -> None:
        """Switch to a theme and keep the choice."""
        if name not in self._themes():
            known = ", ".join(self._themes())
            self._screen.complain(f"There is no theme {safe_line(name)!r}. The themes are: {known}.")
            return
        self._screen.app.theme = name
        self._keep("theme", name)

    def _choose_thinking(self, word: str) -> None:
        """Show so much of the reasoning, else the next of the three ways, and keep the choice."""
        transcript = self._screen.transcript
        values = choices("thinking")
        following = values.index(transcript.thinking) + 1
        chosen: ThinkingSetting = check_value("thinking", word or values[following % len(values)])
        transcript.show_thinking(chosen)
        self._screen.activity.note(f"Reasoning: {chosen}")
        self._keep("thinking", chosen)

    def _keep(self, setting: str, value: str) -> None:
        if self._save_setting is not None:
            try:
                self._save_setting(setting, value)
            except OSError as error:
                self._screen.complain(f"The {setting} is {value} now, but that could not be kept: {error}.")

    def argument_values(self, command: str, session: ForgeSession | None) -> Sequence[Value]:
        """What can follow a command, as far as the spec does not say it."""
        figures = self._screen.status_bar.figures
        match command:
            case "theme":
                return _values(self._themes(), self._screen.app.theme)
            case "thinking":
                return _values(choices("thinking"), self._screen.transcript.thinking)
            case "mode":  # yolo is for the command line alone
                return _values([mode for mode in PermissionMode if mode != "yolo"], figures.mode)
            case "model":
                if session is None:
                    return _values([figures.model], figures.model)
                models = session.known_models()
                return [Value(model.id, model.note, model.id == figures.model) for model in models]
            case "tools" if session is not None:
                return [Value(tool.name) for tool in session.tools]
        return ()

    async def _may_run(self, command: Command) -> bool:
        screen, tier = self._screen, command.spec.tier
        if tier is Tier.IDLE and screen.has_turn:
            screen.complain(f"/{command.spec.name} works between turns. Press Esc to interrupt this one.")
            return False
        if tier is Tier.INTERRUPTS and screen.has_turn:
            await screen.end_turn()
        return True

    def _run_local(self, command: Command) -> None:
        match command.spec.name:
            case "help":
                self._screen.open_help()
            case "theme":
                self.choose_theme(command.argument) if command.argument else self._pick_theme()
            case "copy":
                self._copy(command.argument)
            case "thinking":
                self._choose_thinking(command.argument)
            case "raw":
                answers = self._screen.transcript.answers
                if not answers or not self._screen.transcript.toggle_raw(answers[-1]):
                    self._screen.complain("There is no answer yet.")
            case "exit":
                self._screen.leave()

    def _copy(self, argument: str) -> None:
        from forge_tui.screens.chat.copying import CannotCopyError, pick

        try:
            self._screen.app.copy_to_clipboard(pick(self._screen.transcript.answers, argument))
        except CannotCopyError as error:
            self._screen.complain(str(error))

    def _pick_theme(self) -> None:
        from forge_tui.screens.panels.theme_picker import ThemePicker

        def chosen(name: str | None) -> None:
            if name is not None:
                self.choose_theme(name)

        app = self._screen.app
        app.push_screen(ThemePicker(self._themes(), app.theme), chosen)

    def _open_diff(self, source: Source, session: ForgeSession) -> None:
        from forge_tui.screens.diff.screen import DiffScreen

        self._screen.app.push_screen(DiffScreen(session.changes, source))

    def _show(self, result: CommandResult, session: ForgeSession) -> None:
        from forge_core.commands import result as results

        screen = self._screen
        match result:
            case results.Text(body, title):
                screen.show_text(body, title)
            case results.Failure(text):
                screen.complain(text)
            case results.Cleared():
                screen.start_over()
            case results.ResumeTurn():
                screen.resume_turn()
            case results.Quit():
                screen.leave()
            case results.OpenScreen("diff", "turn" | "worktree" as source):
                self._open_diff(source, session)
            case results.OpenScreen(name):
                screen.run_by_name(name)
            case results.ChangeSetting("theme", value):
                self.choose_theme(value)
            case results.ChangeSetting(name, value):
                screen.say(f"{name.capitalize()}: {value}")
        screen.refresh_status()
        screen.refresh_todos(is_over=not screen.has_turn)


def _values(texts: Iterable[str], current: str) -> list[Value]:
    return [Value(text, "now" if text == current else "", text == current) for text in texts]
