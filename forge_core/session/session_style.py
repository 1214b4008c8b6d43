"""The style of a session's answers."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence

from forge_core.context.output_style import DEFAULT, OutputStyle
from forge_core.errors import ConfigError
from forge_core.extensions.styles import find_style, known_styles
from forge_core.sanitize import safe_line
from forge_core.session.session_extensions import SessionExtensions


class SessionStyle:
    """The chosen style, by name: what its file says counts with the next request."""

    def __init__(self, name: str, extensions: SessionExtensions, warn: Callable[[str], None]) -> None:
        """`warn` notifies the user."""
        self.name = name
        """As chosen, also while there is no such style."""
        self._extensions = extensions
        self._warn = warn
        self._missed = ""
        """The name that the user was last told does not exist."""

    def known(self) -> Sequence[OutputStyle]:
        """Return the styles that can be chosen."""
        return known_styles(self._extensions.catalog)

    def current(self) -> OutputStyle:
        """Return the style in use: the default one if the chosen one does not exist, with a notice once it is
        certain."""
        found = find_style(self.name, self._extensions.catalog)
        if found is not None:
            self._missed = ""
            return found
        if not self._extensions.is_loading and self._missed != self.name:
            self._missed = self.name
            self._warn(
                f"There is no style {safe_line(self.name)!r}, so the default style is used. "
                "/style lists the styles."
            )
        return DEFAULT

    def choose(self, name: str) -> None:
        """Use another style from the next request on, once the system prompt is made again.

        Raises:
            ConfigError: there is none of this name.
        """
        found = find_style(name, self._extensions.catalog)
        if found is None:
            names = [style.name for style in self.known()]
            near = difflib.get_close_matches(name, names, n=1)
            hint = f"Did you mean {near[0]!r}?" if near else f"The styles are: {', '.join(names)}."
            raise ConfigError(f"There is no style {safe_line(name)!r}. {hint}")
        self.name = found.name
