"""The themes of an app: registered when they are needed, read again when the user's files change; and `auto`,
which follows the background of the terminal."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from textual.app import App

from forge_core.config.checks import AUTO_THEME
from forge_tui import workers
from forge_tui.terminal import internals
from forge_tui.terminal.known_backgrounds import Background, expected_background, remember_background
from forge_tui.theme_files import DEFAULT_THEME, named_theme
from forge_tui.theming import ThemeFiles, ThemeReloader, load_builtin, load_themes

if TYPE_CHECKING:
    from textual.app import ReturnType
    from textual.theme import Theme

    from forge_core.config.forge_config import ForgeConfig


class AppThemes:
    """Forge's themes and the user's; Textual's own lack our colours."""

    def __init__(
        self,
        app: App[ReturnType],
        config: ForgeConfig,
        note: Callable[[str], None],
        complain: Callable[[str], None],
    ) -> None:
        """`note` shows a text for a moment, `complain` in the conversation."""
        self._app = app
        self._config = config
        self._background = expected_background(config.state_dir, os.environ)
        self.chosen = config.theme
        """A theme's name, or `auto`."""
        self._note = note
        self._complain = complain
        self._files: ThemeFiles | None = None
        self._reloader: ThemeReloader | None = None

    @property
    def is_auto(self) -> bool:
        """Whether the theme follows the background of the terminal."""
        return self.chosen == AUTO_THEME

    def names(self) -> list[str]:
        """Return what can be chosen: `auto`, and the names of the themes, Forge's first."""
        return [AUTO_THEME, *self._read().themes]

    def missing(self) -> list[str]:
        """Return the names in the settings that no theme has."""
        pair = (self._config.theme_dark, self._config.theme_light)
        named = pair if self._config.theme == AUTO_THEME else (self._config.theme,)
        return [name for name in dict.fromkeys(named) if name not in self._read().themes]

    def problems(self) -> tuple[str, ...]:
        """Return what is wrong with the user's files."""
        return self._read().problems

    def use_first(self) -> None:
        """Show the theme of the first frame: reads one file, unless it is the user's own."""
        self.show(self.chosen)

    def show(self, name: str) -> None:
        """Show a theme, or what `auto` means now; forge-dark if there is none of this name."""
        wanted = named_theme(name, self._config, is_light=self._background is Background.LIGHT)
        theme = self._found(wanted) or load_builtin(DEFAULT_THEME)
        assert theme is not None
        self._app.register_theme(theme)
        self._app.theme = theme.name

    def choose(self, name: str) -> None:
        """Show a theme from now on; `auto` follows the terminal, any other name ends that."""
        self.chosen = name
        self.show(name)
        internals.follow_background(self._app, is_followed=self.is_auto)

    def background_found(self, background: Background) -> None:
        """Change to the theme for this background if that is followed; the next start expects it."""
        changed, self._background = background is not self._background, background
        if changed and self.is_auto:
            self.show(self.chosen)
        remember = partial(remember_background, self._config.state_dir, dict(os.environ), background)
        if expected_background(self._config.state_dir, os.environ) is not background:
            workers.start(self._app, partial(workers.in_thread, remember), "background", is_replacing=True)

    def follow_files(self) -> None:
        """Apply the user's files if one has changed; of a broken one the last good state stays."""
        found = self._reloader.changed() if self._reloader is not None else None
        if found is None or self._files is None:
            return
        known, reported = self._files.themes, self._files.problems
        was_active = known.get(self._app.theme)
        self._files = ThemeFiles({**known, **found.themes}, found.problems)
        for theme in found.themes.values():
            self._app.register_theme(theme)
        if found.themes.get(self._app.theme, was_active) != was_active:
            self._app.mutate_reactive(App.theme)  # registering the active theme again changes nothing
            self._note(f"Theme {self._app.theme} applied")
        for problem in found.problems:
            if problem not in reported:
                self._complain(problem)

    def _found(self, name: str) -> Theme | None:
        """Return a theme; until all have been read, a built-in one from its own file."""
        early = load_builtin(name) if self._files is None else None
        return early or self._read().themes.get(name)

    def _read(self) -> ThemeFiles:
        if self._files is None:
            self._reloader = ThemeReloader(self._config.config_dir / "themes")
            self._files = load_themes(self._config.config_dir / "themes")
            for theme in self._files.themes.values():
                self._app.register_theme(theme)
        return self._files
