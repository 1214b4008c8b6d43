"""The app's first frame, which the launcher paints while Textual is being imported.

Its texts come from the same modules as those of the widgets; `tests/tui/test_first_frame.py` compares both
frames cell by cell.
"""

from __future__ import annotations

import os
from pathlib import Path

from forge_core import __version__
from forge_core.config.forge_config import ForgeConfig
from forge_core.text_width import cell_len, clip_parts
from forge_tui.screens.chat.live_figures import LiveFigures
from forge_tui.terminal.colours import Depth, Palette, depth_of_theme, detect, parse_rgb
from forge_tui.terminal.first_paint.skeleton import Line, Skeleton
from forge_tui.terminal.known_backgrounds import Background, expected_background
from forge_tui.theme_files import frame_colors, named_theme
from forge_tui.widgets import status_text
from forge_tui.widgets.edges import FRAMED_TEXT, RIGHT_MARGIN, TEXT_COLUMN
from forge_tui.widgets.replay_text import REPLAY, REPLAY_HINTS
from forge_tui.widgets.welcome import ember, welcome_text
from forge_tui.widgets.welcome.welcome_text import IDLE_HINTS, MARK, PLACEHOLDER

Run = tuple[str, str]
"""Role and text."""
TALL = 20
"""Rows from which a blank one precedes the hints, as in `ChatScreen.VERTICAL_BREAKPOINTS`."""
SMALLEST = (20, 7)
"""Columns and rows below which the app shows only parts of the frame, and the launcher an empty one."""
_ROLES = {
    "brand": ("accent", "background", "1"),
    "mark": ("forge-user", "background", "1"),
    "badge": ("background", "error", "1"),
    "plain": ("foreground", "background"),
    "strong": ("foreground", "background"),
    "dim": ("forge-muted", "background"),
    "faint": ("forge-faint", "background"),
}
"""Role → text colour, background, attributes. Any other role is the name of its text colour."""


class FirstFrame:
    """Creates the frame for a size."""

    def __init__(self, config: ForgeConfig, home: Path | None = None, *, is_replay: bool = False) -> None:
        """A replay has no input line, and shows no start screen."""
        self._is_replay = is_replay
        live = LiveFigures(config, home or Path.home())
        self._figures = live.current()
        is_light = expected_background(config.state_dir, os.environ) is Background.LIGHT
        theme = named_theme(config.theme, config, is_light=is_light)
        self._colors = frame_colors(theme, config.config_dir / "themes") | ember.COLORS
        depth = detect(os.environ)
        self._content = welcome_text.WelcomeContent(
            __version__, live.examples, has_ember=depth is not Depth.NONE
        )
        self._palette = Palette(depth_of_theme(depth, self._colors), self._colors)

    def __call__(self, width: int, height: int) -> Skeleton:
        if width < SMALLEST[0] or height < SMALLEST[1]:
            return Skeleton(tuple(self._row([], width) for _ in range(height)))
        inner = width - 2
        hints, edge, boxed = IDLE_HINTS, status_text.mode_role(self._figures.mode), [("mark", MARK)]
        if self._is_replay:
            hints, edge, boxed = REPLAY_HINTS, "faint", [("dim", " " * FRAMED_TEXT + REPLAY)]
        cells = sum(cell_len(text) for _, text in boxed)
        below = [
            self._row([("dim", clip_parts(hints, width - TEXT_COLUMN - RIGHT_MARGIN - 2))], width),
            self._row([(edge, f"╭{'─' * inner}╮")], width, 0),
            self._row([(edge, "│"), *boxed, ("plain", " " * (inner - cells)), (edge, "│")], width, 0),
            self._row([(edge, f"╰{'─' * inner}╯")], width, 0),
            self._row(self._status(width - TEXT_COLUMN - RIGHT_MARGIN), width),
        ]
        blank = self._row([], width)
        if height >= TALL:
            below.insert(0, blank)
        stage = height - len(below)
        above = [] if self._is_replay else [blank, *self._welcome(width, height)][:stage]
        rows = (*above, *[blank] * (stage - len(above)), *below)
        if self._is_replay:
            return Skeleton(rows)
        line = Line(
            height - 3,
            TEXT_COLUMN,
            width - TEXT_COLUMN - RIGHT_MARGIN,
            _first_line(PLACEHOLDER, width - TEXT_COLUMN - RIGHT_MARGIN),
            text_sgr=self._sgr("plain"),
            placeholder_sgr=self._sgr("dim"),
            cursor_sgr=self._codes("background", "foreground"),
        )
        return Skeleton(rows, line)

    def _welcome(self, width: int, height: int) -> list[str]:
        room = width - TEXT_COLUMN - RIGHT_MARGIN
        lines = welcome_text.lines(self._figures, self._content, room, height)
        return [self._row(runs, width) for runs in lines]

    def _status(self, width: int) -> list[Run]:
        left, right = status_text.fit(self._figures, width)
        gap = max(width - status_text.cells(left) - status_text.cells(right), 1)
        return [*_parts(left), ("plain", " " * gap), *_parts(right)]

    def _row(self, runs: list[Run], width: int, margin: int = TEXT_COLUMN) -> str:
        """Return a whole row of the screen: the runs between margins."""
        plain = self._sgr("plain")
        used = sum(cell_len(text) for _, text in runs)
        painted = "".join(f"{self._sgr(role)}{text}" for role, text in runs)
        return f"{plain}{' ' * margin}{painted}{plain}{' ' * (width - margin - used)}"

    def _sgr(self, role: str) -> str:
        if ember.is_ember(role):
            return self._codes(*ember.color_names(role))
        return self._codes(*_ROLES.get(role, (role, "background")))

    def _codes(self, text: str, ground: str, *attributes: str) -> str:
        """Return the sequence that resets the style and selects these two colours of the theme."""
        front, behind = (parse_rgb(self._colors.get(name)) for name in (text, ground))
        return f"\x1b[{';'.join(filter(None, ('0', self._palette.parameters(front, behind, attributes))))}m"


def _first_line(text: str, width: int) -> str:
    """Return as many words as fit."""
    return text if len(text) <= width else text[: text.rfind(" ", 0, width + 1)]


def _parts(parts: list[status_text.StatusPart]) -> list[Run]:
    """Return one side of the status bar, whose plain text is dim."""
    runs: list[Run] = []
    for part in parts:
        if runs:
            runs.append(("faint", status_text.SEPARATOR))
        runs.append(("dim" if part.role == "plain" else part.role, part.text))
    return runs
