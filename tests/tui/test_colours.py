"""Every theme is readable in 256 colours, in 16 and in none, and marks remain distinguishable."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from rich.segment import Segment
from rich.style import Style
from textual.color import Color

from forge_tui.terminal import colours
from forge_tui.terminal.colours import (
    Depth,
    Palette,
    contrast,
    contrast_of,
    depth_of_theme,
    detect,
    parse_rgb,
)
from forge_tui.terminal.screen_model import palette_codes, render
from forge_tui.theming import COLORS, VARIABLES, load_themes
from forge_tui.widgets.blockview.styles import TranscriptStyles
from tests.support.at_rest import AskedTerminal
from tests.support.terminal import python

pytestmark = pytest.mark.slow


ROOT = Path(__file__).resolve().parents[2]
ADD, OTHER_THEME = "\x1bOP", "\x1bOR"
THEMES = load_themes(Path("/nonexistent")).themes
FEWER = (Depth.EIGHT_BIT, Depth.SIXTEEN)
GROUNDS = ("background", "surface", "panel", "forge-code-background")
SIGNS = ("added", "removed")
_COLOUR = re.compile(r"\x1b\[(?:[0-9;]*;)?(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;[0-9;]*)?m")


def variables(name: str) -> dict[str, str]:
    theme = THEMES[name]
    return {**{key: str(getattr(theme, key)) for key in COLORS}, **theme.variables}


def rgb(text: str) -> colours.Rgb:
    parsed = parse_rgb(text)
    assert parsed is not None
    return parsed


@pytest.mark.parametrize(
    ("environ", "depth"),
    [
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, Depth.TRUE),
        ({"TERM": "xterm-256color", "COLORTERM": "24bit"}, Depth.TRUE),
        ({"TERM": "xterm-256color"}, Depth.EIGHT_BIT),
        ({"TERM": "tmux-256color"}, Depth.EIGHT_BIT),
        ({"TERM": "screen", "TMUX": "x", "COLORTERM": "truecolor"}, Depth.TRUE),
        ({"TERM": "screen.xterm-256color", "STY": "1.a", "COLORTERM": "truecolor"}, Depth.EIGHT_BIT),
        ({"TERM": "xterm-256color", "STY": "", "COLORTERM": "truecolor"}, Depth.TRUE),
        ({"TERM": "screen", "TMUX": "", "COLORTERM": "truecolor"}, Depth.EIGHT_BIT),
        ({"TERM": "xterm-kitty"}, Depth.TRUE),
        ({"TERM": "xterm-direct"}, Depth.TRUE),
        ({"TERM": "xterm"}, Depth.SIXTEEN),
        ({"TERM": "linux"}, Depth.SIXTEEN),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor", "NO_COLOR": "1"}, Depth.NONE),
        ({"TERM": "xterm-256color", "NO_COLOR": ""}, Depth.EIGHT_BIT),
        ({"TERM": "xterm", "FORCE_COLOR": "3"}, Depth.TRUE),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor", "FORCE_COLOR": "1"}, Depth.SIXTEEN),
        ({"TERM": "xterm", "FORCE_COLOR": "3", "NO_COLOR": "1"}, Depth.NONE),
    ],
)
def test_the_environment_determines_the_number_of_colours(environ: dict[str, str], depth: Depth) -> None:
    assert detect(environ) is depth


@pytest.mark.parametrize("depth", FEWER)
@pytest.mark.parametrize("name", THEMES)
def test_all_text_is_readable_on_every_background(name: str, depth: Depth) -> None:
    named = variables(name)
    depth = depth_of_theme(depth, named)
    palette = Palette(depth, named)
    least = colours.READABLE if depth is Depth.EIGHT_BIT else colours.READABLE_IN_16
    grounds = [*GROUNDS, *(f"diff-{sign}-{kind}" for sign in SIGNS for kind in ("background", "strong"))]
    texts = [key for key in (*COLORS, *VARIABLES) if not key.endswith(("background", "strong", "faint"))]
    poor = []
    for text in texts:
        for ground in grounds:
            wanted = contrast(rgb(named[text]), rgb(named[ground]))
            front, behind = palette.pair(rgb(named[text]), rgb(named[ground]))
            if contrast_of(front, behind, depth) < min(least, wanted):
                poor.append((text, ground, round(contrast_of(front, behind, depth), 1)))
    assert poor == []


@pytest.mark.parametrize("depth", FEWER)
@pytest.mark.parametrize("name", THEMES)
def test_marks_remain_distinguishable(name: str, depth: Depth) -> None:
    """Diffs, the selection, muted text: by background, or where there is none to spare by the text."""
    named = variables(name)
    depth = depth_of_theme(depth, named)
    palette = Palette(depth, named)
    fore = rgb(named["foreground"])
    styles = TranscriptStyles.from_theme(named, Color.parse(named["background"]))
    selection = styles.selection.bgcolor
    assert selection is not None
    marked = [rgb(named[f"diff-{sign}-{kind}"]) for sign in SIGNS for kind in ("background", "strong")]
    looks = [palette.pair(fore, ground) for ground in (rgb(named["background"]), *marked)]
    looks.append(palette.pair(fore, tuple(selection.get_truecolor())))
    assert len(set(looks)) == len(looks)
    text, ground = palette.pair(fore, rgb(named["background"]))
    muted, _ = palette.pair(rgb(named["forge-muted"]), rgb(named["background"]))
    chosen = palette.pair(fore, rgb(named["forge-faint"]))
    assert text != muted
    assert chosen[1] != ground
    if depth is Depth.EIGHT_BIT:
        assert palette.pair(fore, rgb(named["forge-code-background"]))[1] != ground


@pytest.mark.parametrize("name", [name for name in THEMES if name != "ansi-16"])
def test_changed_lines_are_quiet_in_256_colours_and_changed_words_have_the_hue_of_their_sign(
    name: str,
) -> None:
    named = variables(name)
    palette = Palette(Depth.EIGHT_BIT, named)
    fore = rgb(named["foreground"])
    ground = colours.PALETTE_256[palette.pair(fore, rgb(named["background"]))[1]]
    for sign in SIGNS:
        line, word = (
            palette.pair(fore, rgb(named[f"diff-{sign}-{kind}"]))[1] for kind in ("background", "strong")
        )
        apart = [abs(one - other) for one, other in zip(colours.PALETTE_256[line], ground, strict=True)]
        assert 10 <= max(apart) <= 40, (sign, line)
        red, green, _ = colours.PALETTE_256[word]
        assert (green >= red) if sign == "added" else (red > green), (sign, word)


@pytest.mark.parametrize("name", THEMES)
def test_without_colour_selections_and_changed_words_are_reversed_and_muted_text_is_dim(name: str) -> None:
    named = variables(name)
    codes = palette_codes(Palette(Depth.NONE, named))
    background = Color.parse(named["background"])
    styles = TranscriptStyles.from_theme(named, background)
    sgr = {
        field: codes(styles.base + getattr(styles, field))
        for field in (
            "text",
            "muted",
            "selection",
            "heading",
            "link",
            "added_strong",
            "removed_strong",
            "added",
        )
    }
    assert sgr == {
        "text": "",
        "muted": "2",
        "selection": "7",
        "heading": "1",
        "link": "4",
        "added_strong": "7",
        "removed_strong": "7",
        "added": "",
    }


def test_escape_sequences_match_the_palette() -> None:
    style = Style.parse("bold #ff0000 on #15171b")
    named = variables("forge-dark")
    assert (
        render([Segment("x", style)], palette_codes(Palette(Depth.EIGHT_BIT, named)))
        == "\x1b[1;38;5;196;48;5;233mx\x1b[0m"
    )
    assert (
        render([Segment("x", style)], palette_codes(Palette(Depth.SIXTEEN, named))) == "\x1b[1;91;40mx\x1b[0m"
    )
    assert render([Segment("x", style)], palette_codes(Palette(Depth.NONE, named))) == "\x1b[1mx\x1b[0m"


@pytest.mark.parametrize(
    ("environment", "unwanted", "wanted"),
    [
        ({"NO_COLOR": "1"}, _COLOUR, re.compile(r"\x1b\[(0;)?2m")),
        ({"COLORTERM": ""}, re.compile(r"[34]8;2;"), re.compile(r"38;5;\d+")),
        ({"COLORTERM": "", "TERM": "xterm"}, re.compile(r"[34]8;[25];"), re.compile(r"\x1b\[[0-9;]*97")),
    ],
)
def test_the_app_writes_only_colours_that_the_terminal_supports(
    environment: dict[str, str], unwanted: re.Pattern[str], wanted: re.Pattern[str]
) -> None:
    with AskedTerminal(
        python("-m", "tests.support.output_app"), environment=environment, folder=ROOT
    ) as terminal:
        terminal.wait_for("side 0")
        for key in (ADD, ADD, OTHER_THEME, OTHER_THEME):
            terminal.send(key)
            terminal.ask()
            terminal.settle()
        written = terminal.output.decode()
    assert unwanted.search(written) is None
    assert wanted.search(written) is not None


@pytest.mark.parametrize("name", [name for name in THEMES if name != "ansi-16"])
def test_half_blocks_have_the_colour_of_the_background_that_they_continue(name: str) -> None:
    named = variables(name)
    palette = Palette(Depth.EIGHT_BIT, named)
    card, ground = rgb(named["forge-code-background"]), rgb(named["background"])
    front, behind = palette.pair(card, ground)
    assert front == palette.pair(rgb(named["foreground"]), card)[1]
    assert behind == palette.pair(rgb(named["foreground"]), ground)[1]


def test_unused_styles_are_evicted_from_the_cache() -> None:
    codes = palette_codes(Palette(Depth.EIGHT_BIT, {}))
    styles = [Style(link=f"https://example.org/{number}") for number in range(5_000)]
    before = sys.getrefcount(styles[0])
    for style in styles:
        codes(style)
    after = sys.getrefcount(styles[0])
    assert after == before
