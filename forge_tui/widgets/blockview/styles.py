"""The colours of the transcript, read once per theme from the theme's variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache

from rich.style import Style
from textual.color import Color, ColorParseError

from forge_tui.terminal.colours import Depth

_SYNTAX = {
    "keyword": ("syntax-keyword", "primary"),
    "string": ("syntax-string", "success"),
    "number": ("syntax-number", "warning"),
    "comment": ("syntax-comment", "forge-muted"),
    "function": ("syntax-function", "accent"),
    "class": ("syntax-class", "accent"),
    "operator": ("syntax-operator", "foreground"),
    "builtin": ("syntax-builtin", "secondary"),
    "added": ("diff-added", "success"),
    "removed": ("diff-removed", "error"),
}
"""Kind of code token → the theme variable of its colour, and its substitute in themes without it."""
SYNTAX_KINDS = tuple(_SYNTAX)
AGENT_VARIABLES = {
    "red": "diff-removed",
    "orange": "syntax-number",
    "yellow": "syntax-class",
    "green": "syntax-string",
    "cyan": "syntax-builtin",
    "blue": "syntax-function",
    "purple": "syntax-keyword",
    "pink": "syntax-keyword",
}
"""Colour of an agent → the theme variable of the tone in which its name is shown."""


@dataclass(frozen=True, slots=True)
class TranscriptStyles:
    """Every style that a block may use. Only those that fill an area have a background."""

    base: Style
    """The widget's own colours, under every row."""
    text: Style
    strong: Style
    emphasis: Style
    strike: Style
    muted: Style
    faint: Style
    first_heading: Style
    second_heading: Style
    heading: Style
    """Of the third level, and of what a command prints."""
    link: Style
    inline_code: Style
    code: Style
    code_label: Style
    code_edge: Style | None
    """Of half blocks that continue the background of code; None where the terminal has no such colour."""
    zebra: Style | None
    """Under every other row of a table; None where the terminal has no such background."""
    user_bar: Style
    user: Style
    accent: Style
    success: Style
    warning: Style
    error: Style
    added: Style
    added_strong: Style
    removed: Style
    removed_strong: Style
    added_sign: Style
    removed_sign: Style
    selection: Style
    match: Style
    match_current: Style
    syntax: Mapping[str, Style] = field(default_factory=dict)
    agents: Mapping[str, Style] = field(default_factory=dict)
    """Of their names, by the colours in `AGENT_VARIABLES`."""

    @classmethod
    @cache
    def bare(cls) -> TranscriptStyles:
        """Return a set without any style: for what is drawn for its text alone."""
        plain = Style.null()
        names = [field.name for field in fields(cls) if field.name not in ("syntax", "agents")]
        kinds = dict.fromkeys(_SYNTAX, plain)
        return cls(**dict.fromkeys(names, plain), syntax=kinds, agents={})

    @classmethod
    def from_theme(
        cls, variables: Mapping[str, str], background: Color, depth: Depth = Depth.TRUE
    ) -> TranscriptStyles:
        """Return the styles of a theme with these variables (`App.theme_variables`) on `background`, for a
        terminal with so many colours.

        A theme may lack Forge's own variables: each has a substitute, mixed from the standard ones.
        """
        palette, bold = _Palette(variables, background), Style(bold=True)
        text = palette.style("foreground")
        muted = palette.style("forge-muted", mix=("foreground", 0.62))
        code = palette.style(background="forge-code-background", mix_background=("foreground", 0.07))
        zebra = palette.style(background="forge-zebra", mix_background=("foreground", 0.04))
        user = palette.style(background="forge-user-background", mix_background=("foreground", 0.06))
        added = palette.style(background="diff-added-background", mix_background=("success", 0.18))
        removed = palette.style(background="diff-removed-background", mix_background=("error", 0.18))
        return cls(
            base=palette.style("foreground") + Style(bgcolor=background.rich_color),
            text=text,
            strong=bold,
            emphasis=Style(italic=True),
            strike=Style(strike=True),
            muted=muted,
            faint=palette.style("forge-faint", mix=("foreground", 0.28)),
            first_heading=palette.style("accent", "primary") + bold,
            second_heading=palette.between("forge-subheading", "accent", "foreground") + bold,
            heading=palette.style("forge-heading", "primary") + bold,
            link=palette.style("forge-link", "accent") + Style(underline=True),
            inline_code=palette.style("forge-inline-code", "accent"),
            code=code,
            code_label=muted + code,
            code_edge=Style(color=code.bgcolor) if _is_shown(code, background, depth) else None,
            zebra=zebra if _is_shown(zebra, background, depth) else None,
            user_bar=palette.style("forge-user", "primary") + user,
            user=text + user,
            accent=palette.style("accent", "primary"),
            success=palette.style("success"),
            warning=palette.style("warning"),
            error=palette.style("error"),
            added=added,
            added_strong=palette.style(background="diff-added-strong", mix_background=("success", 0.42)),
            removed=removed,
            removed_strong=palette.style(background="diff-removed-strong", mix_background=("error", 0.42)),
            added_sign=palette.style("diff-added", "success") + added,
            removed_sign=palette.style("diff-removed", "error") + removed,
            selection=palette.style(background="forge-selection", mix_background=("primary", 0.45)),
            match=palette.style(background="forge-match", mix_background=("warning", 0.32)),
            match_current=Style(color=background.rich_color, bold=True, underline=True)
            + palette.style(background="warning"),
            syntax={kind: palette.style(*names) for kind, names in _SYNTAX.items()},
            agents={color: palette.style(name) for color, name in AGENT_VARIABLES.items()},
        )


def _is_shown(fill: Style, background: Color, depth: Depth) -> bool:
    """Return whether the terminal can show a faint background."""
    return depth > Depth.SIXTEEN and fill.bgcolor != background.rich_color


class _Palette:
    """Makes Rich styles from theme variables; mixes missing ones from the standard ones."""

    def __init__(self, variables: Mapping[str, str], background: Color) -> None:
        self._variables = variables
        self._background = background
        self._foreground = self._parse("foreground") or background.get_contrast_text(1.0)

    def style(
        self,
        *names: str,
        background: str | None = None,
        mix: tuple[str, float] | None = None,
        mix_background: tuple[str, float] | None = None,
    ) -> Style:
        """Return a style in the first of the colours `names` that the theme has, else `mix`; `background`
        likewise."""
        colour = self._first(names, mix) if names else None
        fill = self._first((background,), mix_background) if background else None
        return Style(
            color=None if colour is None else colour.rich_color,
            bgcolor=None if fill is None else fill.rich_color,
        )

    def between(self, name: str, one: str, other: str) -> Style:
        """Return a style in the colour `name`, else in the one halfway between two others."""
        colour = self._parse(name)
        if colour is None:
            colour, end = self._first((one,), None), self._first((other,), None)
            if colour.ansi is None and end.ansi is None:
                colour = colour.blend(end, 0.5, alpha=1.0)
        return Style(color=colour.rich_color)

    def _first(self, names: tuple[str, ...], mix: tuple[str, float] | None) -> Color:
        for name in names:
            colour = self._parse(name)
            if colour is not None:
                return colour
        if mix is None:
            return self._foreground
        part = self._parse(mix[0]) or self._foreground
        if part.ansi is not None or self._background.ansi is not None:
            return part
        return self._background.blend(part, mix[1], alpha=1.0)

    def _parse(self, name: str) -> Color | None:
        value = self._variables.get(name)
        if not value or "auto" in value:
            return None
        try:
            colour = Color.parse(value.split()[0])
        except ColorParseError:
            return None
        return colour if colour.ansi is not None else self._background + colour
