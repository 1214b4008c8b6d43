"""The themes of an app: registered when they are needed, read again when the user's files change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import App

from forge_tui.theme_files import DEFAULT_THEME
from forge_tui.theming import ThemeFiles, ThemeReloader, load_builtin, load_themes

if TYPE_CHECKING:
    from textual.app import ReturnType


class AppThemes:
    """Forge's themes and the user's; Textual's own lack our colours."""

    def __init__(
        self,
        app: App[ReturnType],
        user_folder: Path,
        note: Callable[[str], None],
        complain: Callable[[str], None],
    ) -> None:
        """`note` shows a text for a moment, `complain` in the conversation."""
        self._app = app
        self._user_folder = user_folder
        self._note = note
        self._complain = complain
        self._files: ThemeFiles | None = None
        self._reloader: ThemeReloader | None = None

    def names(self) -> list[str]:
        """Return the names of the themes, Forge's first."""
        return list(self._read().themes)

    def problems(self) -> tuple[str, ...]:
        """Return what is wrong with the user's files."""
        return self._read().problems

    def use_first(self, name: str) -> None:
        """Register the theme of the first frame: reads one file, unless it is the user's own."""
        theme = load_builtin(name) or self._read().themes.get(name) or load_builtin(DEFAULT_THEME)
        assert theme is not None
        self._app.register_theme(theme)
        self._app.theme = theme.name

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

    def _read(self) -> ThemeFiles:
        if self._files is None:
            self._reloader = ThemeReloader(self._user_folder)
            self._files = load_themes(self._user_folder)
            for theme in self._files.themes.values():
                self._app.register_theme(theme)
        return self._files
