"""Themes: checked before they are used, readable, switched while the app runs, saved."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.color import Color

from forge_core.config.forge_config import ForgeConfig
from forge_core.errors import ConfigError
from forge_tui.terminal.colours import Depth, depth_of_theme
from forge_tui.terminal.screen_model import render
from forge_tui.theme_files import BUILTIN_THEMES, builtin_folder, frame_colors, theme_names
from forge_tui.theming import COLORS, VARIABLES, ThemeReloader, load_builtin, load_themes, read_theme
from forge_tui.widgets.blockview.styles import TranscriptStyles
from tests.support.chat_app import make_app, make_config, ready, say, shown, until

MINE = """
name = "mine"
dark = true
[colors]
background = "#101010"
surface = "#181818"
panel = "#202020"
foreground = "#eeeeee"
primary = "#88aaff"
secondary = "#aaaaaa"
accent = "#ffaa66"
success = "#66cc66"
warning = "#ddcc66"
error = "#ff7777"
"""

ON_BACKGROUND = (
    "forge-muted",
    "forge-user",
    "forge-heading",
    "forge-subheading",
    "forge-link",
    "forge-inline-code",
    *(name for name in VARIABLES if name.startswith("mode-")),
    "diff-added",
    "diff-removed",
)
GROUNDS = ("background", "surface", "panel")
SIGNED = [(sign, kind) for sign in ("added", "removed") for kind in ("background", "strong")]


def write(folder: Path, text: str, name: str = "mine.toml") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def saturation(color: str) -> float:
    channels = [int(color[at : at + 2], 16) for at in (1, 3, 5)]
    return max(channels) - min(channels)


def luminance(color: str) -> float:
    """Relative luminance, as WCAG 2.2 defines it."""
    channels = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in Color.parse(color).normalized
    ]
    return 0.2126 * channels[0] + 0.7152 * channels[1] + 0.0722 * channels[2]


def contrast(one: str, other: str) -> float:
    """Contrast ratio, as WCAG 2.2 defines it."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_the_contrast_is_computed_as_in_the_standard() -> None:
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("name", BUILTIN_THEMES)
def test_built_in_themes_define_every_variable(name: str) -> None:
    raw = tomllib.loads((builtin_folder() / f"{name}.toml").read_text(encoding="utf-8"))
    assert raw["name"] == name
    assert set(raw["colors"]) == set(COLORS)
    assert set(VARIABLES) <= set(raw["variables"])


@pytest.mark.parametrize("name", [name for name in BUILTIN_THEMES if name != "ansi-16"])
def test_every_text_is_readable_on_every_background_that_it_may_have(name: str) -> None:
    """Each at least 4.5; on a selection and changed words, which are there for a moment, at least 3 but for
    the body; in the themes of high contrast 7 and 4.5. The theme of 16 colours has none of its own."""
    theme = load_builtin(name)
    assert theme is not None
    colors = {**{key: str(getattr(theme, key)) for key in COLORS}, **theme.variables}
    text = (*(key for key in COLORS if key not in GROUNDS), *ON_BACKGROUND)
    syntax = [key for key in VARIABLES if key.startswith("syntax-")]
    changed = [f"diff-{sign}-{kind}" for sign in ("added", "removed") for kind in ("background", "strong")]
    lines, words = changed[::2], changed[1::2]
    styles = TranscriptStyles.from_theme(colors, Color.parse(colors["background"]))
    for mark in ("selection", "match", "user", "zebra"):
        filled = getattr(styles, mark).bgcolor
        assert filled is not None
        colors[mark] = filled.get_truecolor().hex
    body, dim = (7.0, 4.5) if name.startswith("high-contrast") else (4.5, 3.0)
    pairs = [(key, ground, body) for key in text for ground in GROUNDS]
    pairs += [(key, ground, body) for key in syntax for ground in GROUNDS[:2]]
    pairs += [(key, "panel", dim) for key in syntax]  # holds no code
    pairs += [(key, "forge-code-background", body) for key in (*syntax, "foreground", "forge-muted")]
    pairs += [(key, "forge-code-background", body) for key in ("diff-added", "diff-removed")]
    pairs += [("foreground", ground, body) for ground in (*changed, "selection", "match", "user")]
    pairs += [(key, ground, body) for key in ("forge-muted", "forge-user") for ground in ("user",)]
    pairs += [(f"diff-{sign}", f"diff-{sign}-{kind}", body) for sign, kind in SIGNED]
    pairs += [(key, ground, body) for key in syntax if key != "syntax-comment" for ground in lines]
    pairs += [(key, ground, dim) for key in ("syntax-comment", "forge-muted") for ground in lines]
    pairs += [(key, ground, dim) for key in syntax if key != "syntax-comment" for ground in words]
    pairs += [(key, "selection", dim) for key in (*text, *syntax)]
    pairs += [(key, "zebra", body) for key in ("foreground", "forge-inline-code", "forge-link")]
    pairs += [("background", ground, body) for ground in ("warning", "error")]
    ratios = [
        (round(contrast(colors[key], colors[ground]), 2), key, ground, least) for key, ground, least in pairs
    ]
    assert [row for row in ratios if row[0] < row[3]] == []


@pytest.mark.parametrize("name", BUILTIN_THEMES)
def test_headings_are_stronger_than_the_body_and_each_level_quieter_than_the_one_above(name: str) -> None:
    theme = load_builtin(name)
    assert theme is not None and theme.background and theme.foreground and theme.accent
    heading, second = theme.variables["forge-heading"], theme.variables["forge-subheading"]
    assert contrast(heading, theme.background) >= 1.1 * contrast(theme.foreground, theme.background)
    assert saturation(second) < saturation(theme.accent) or name == "ansi-16"
    assert len({theme.accent, second, heading, theme.foreground}) == 4


@pytest.mark.parametrize("name", BUILTIN_THEMES)
def test_a_selection_can_be_told_from_the_background(name: str) -> None:
    theme = load_builtin(name)
    assert theme is not None and theme.background is not None
    selection = theme.variables["forge-selection"]
    assert contrast(selection, theme.background) >= 1.4


@pytest.mark.parametrize(("flag", "least"), [("true", Depth.SIXTEEN), ("false", Depth.TRUE)])
def test_a_theme_in_the_terminals_colours_is_written_in_16(tmp_path: Path, flag: str, least: Depth) -> None:
    text = MINE.replace("dark = true", f"dark = true\nterminal-colors = {flag}")
    theme = read_theme(write(tmp_path, text), {})
    assert depth_of_theme(Depth.TRUE, theme.variables) is least
    assert depth_of_theme(Depth.NONE, theme.variables) is Depth.NONE
    assert depth_of_theme(Depth.TRUE, frame_colors("mine", tmp_path)) is least


async def test_switching_to_and_from_the_terminals_colours_changes_how_styles_are_written(
    config: ForgeConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "3")
    app = make_app(config)
    async with app.run_test() as pilot:
        await ready(pilot)
        written = []
        for name in ("forge-dark", "ansi-16", "forge-light"):
            await say(pilot, f"/theme {name}")
            await until(pilot, lambda name=name: app.theme == name)
            style = Style.parse(f"{app.theme_variables['success']} on {app.theme_variables['background']}")
            written.append(render([Segment("x", style)], app.style_codes()))
        assert ["38;2;" in sequence for sequence in written] == [True, False, True]
        assert "\x1b[92;40m" in written[1]


class _Recorder(dict[str, str]):
    """No variables; remembers which were looked up."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def get(self, key: str, default: object = None) -> None:  # type: ignore[override]
        self.names.add(key)


def test_every_colour_of_the_transcript_can_be_set_by_a_theme(tmp_path: Path) -> None:
    recorder = _Recorder()
    TranscriptStyles.from_theme(recorder, Color.parse("#101010"))
    settable = sorted(recorder.names - {*COLORS})
    lines = "".join(f'{name} = "#123456"\n' for name in settable)
    theme = read_theme(write(tmp_path, f"{MINE}[variables]\n{lines}"), {})
    styles = TranscriptStyles.from_theme(theme.variables, Color.parse("#101010"))
    assert settable
    assert {theme.variables[name] for name in settable} == {"#123456"}
    for style in (styles.selection, styles.match, styles.user):
        assert style.bgcolor is not None
        assert style.bgcolor.get_truecolor().hex == "#123456"


def test_a_theme_without_a_selection_colour_mixes_it_from_its_own_colours(tmp_path: Path) -> None:
    known = {name: theme for name in ("forge-dark", "forge-light") if (theme := load_builtin(name))}
    text = MINE.replace('primary = "#88aaff"', 'primary = "#ff0000"')
    theme = read_theme(write(tmp_path, text), known)
    variables = {**theme.variables, "primary": theme.primary}
    styles = TranscriptStyles.from_theme(variables, Color.parse("#000000"))
    assert styles.selection.bgcolor is not None
    red, green, blue = styles.selection.bgcolor.get_truecolor()
    assert (red > 100, green, blue) == (True, 0, 0)


def test_the_built_in_folder_holds_the_themes_of_the_list() -> None:
    assert {path.stem for path in builtin_folder().glob("*.toml")} == set(BUILTIN_THEMES)


def test_a_user_theme_inherits_missing_variables_by_its_brightness(tmp_path: Path) -> None:
    write(tmp_path, MINE)
    themes = load_themes(tmp_path)
    assert themes.problems == ()
    assert list(themes.themes) == [*BUILTIN_THEMES, "mine"]
    assert theme_names(tmp_path) == list(themes.themes)
    assert themes.themes["mine"].variables["input-cursor-background"] == "#eeeeee"
    assert (
        themes.themes["mine"].variables["forge-muted"] == themes.themes["forge-dark"].variables["forge-muted"]
    )
    assert themes.themes["mine"].primary == "#88aaff"


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ('"#88aaff"', '"blurple"', "colors.primary = 'blurple'"),
        ('"#88aaff"', "7", "colors.primary = 7"),
        ('"#88aaff"', '"#88aaff20"', "opaque"),
        ('"#88aaff"', '"ansi_red"', "colors.primary = 'ansi_red'"),
        ('"#88aaff"', '"auto 87%"', "colors.primary = 'auto 87%'"),
        ("primary =", "primery =", "colors.primery"),
        ('error = "#ff7777"', "", "lacks error"),
        ('name = "mine"', 'name = "../x"', "name = '../x'"),
        ('name = "mine"', "", "name = None"),
        ("dark = true", 'dark = "yes"', "dark = 'yes'"),
        ("dark = true", "terminal-colors = 16", "terminal-colors = 16"),
        ("[colors]", "[colors", "is not TOML"),
        ("[colors]", "[colours]", "colours"),
        ('name = "mine"', 'name = "mine"\nvariables = 3', "variables = 3"),
    ],
)
def test_an_invalid_theme_file_is_reported_with_key_and_value(
    tmp_path: Path, old: str, new: str, wanted: str
) -> None:
    path = write(tmp_path, MINE.replace(old, new))
    with pytest.raises(ConfigError) as caught:
        read_theme(path, {})
    assert str(path) in str(caught.value) and wanted in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ('"#88aaff"', '"blurple"', 9),
        ("dark = true", "dark = 1", 3),
        ("primary =", "primery =", 9),
        ("[colors]", "[colours]", 4),
    ],
)
def test_an_invalid_key_is_reported_with_its_line(tmp_path: Path, old: str, new: str, line: int) -> None:
    path = write(tmp_path, MINE.replace(old, new))
    with pytest.raises(ConfigError) as caught:
        read_theme(path, {})
    assert f"{path}:{line}: " in str(caught.value)


def test_a_binary_theme_file_is_a_problem_and_not_a_crash(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_bytes(b"\xff\xfe\x00")
    assert "not UTF-8" in load_themes(tmp_path).problems[0]


@pytest.mark.parametrize("name", ["forge-dark", "auto"])
def test_a_custom_theme_cannot_use_a_name_of_forge(tmp_path: Path, name: str) -> None:
    write(tmp_path, MINE.replace('"mine"', f'"{name}"'))
    themes = load_themes(tmp_path)
    assert "is taken" in themes.problems[0]
    assert theme_names(tmp_path).count(name) == (name in BUILTIN_THEMES)
    assert themes.themes["forge-dark"].primary != "#88aaff"


def test_a_missing_theme_folder_is_not_a_problem(tmp_path: Path) -> None:
    assert load_themes(tmp_path / "none").problems == ()


async def test_an_invalid_theme_is_a_notice_and_the_app_continues(config: ForgeConfig) -> None:
    write(config.config_dir / "themes", MINE.replace('"#88aaff"', '"blurple"'))
    app = make_app(config)
    async with app.run_test(size=(160, 30)) as pilot:
        await ready(pilot)
        assert "colors.primary = 'blurple'" in " ".join(shown(app).split())
        await say(pilot, "/theme forge-light")
        await until(pilot, lambda: app.theme == "forge-light")


async def test_a_missing_theme_named_in_the_settings_is_reported(tmp_path: Path) -> None:
    app = make_app(make_config(tmp_path, theme="nosuch"))
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        assert "There is no theme 'nosuch'" in shown(app)
        assert app.theme == "forge-dark"


async def test_a_custom_theme_can_be_the_initial_theme(tmp_path: Path) -> None:
    write(tmp_path / "config" / "themes", MINE)
    app = make_app(make_config(tmp_path, theme="mine"))
    async with app.run_test() as pilot:
        await ready(pilot)
        assert app.theme == "mine"


async def test_switching_the_theme_repaints_and_is_saved(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test() as pilot:
        await ready(pilot)
        light = load_builtin("forge-light")
        assert light is not None and light.background is not None
        await say(pilot, "/theme forge-light")
        await until(pilot, lambda: app.chat.styles.background == Color.parse(light.background))
        assert app.saved == [("theme", "forge-light")]


def test_the_first_frame_colours_match_the_theme(tmp_path: Path) -> None:
    for name in BUILTIN_THEMES:
        theme = load_builtin(name)
        assert theme is not None
        colors = frame_colors(name, tmp_path)
        assert (colors["background"], colors["foreground"]) == (theme.background, theme.foreground)
        assert colors["forge-muted"] == theme.variables["forge-muted"]
    (tmp_path / "odd.toml").write_text("colors = 3")
    assert "background" not in frame_colors("odd", tmp_path)
    assert frame_colors("gone", tmp_path) == frame_colors("forge-dark", tmp_path)


def test_a_first_frame_inherits_missing_colours_of_a_user_theme(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('name = "mine"\ndark = false\n[colors]\nbackground = "#ffeeff"\n')
    colors = frame_colors("mine", tmp_path)
    assert colors["background"] == "#ffeeff"
    assert colors["forge-muted"] == frame_colors("forge-light", tmp_path)["forge-muted"]


async def test_a_change_of_the_active_theme_is_applied_and_a_broken_file_keeps_the_last_one(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "config" / "themes"
    write(folder, MINE)
    app = make_app(make_config(tmp_path, theme="mine"))
    async with app.run_test(size=(160, 30)) as pilot:
        await ready(pilot)
        await until(pilot, lambda: app.chat.styles.background == Color.parse("#101010"))
        write(folder, MINE.replace("#101010", "#0a0b0c"))
        app.post_message(events.AppFocus())
        await until(pilot, lambda: app.chat.styles.background == Color.parse("#0a0b0c"))
        await until(pilot, lambda: "Theme mine applied" in shown(app))
        write(folder, MINE.replace('"#88aaff"', '"blurple"'))
        app.post_message(events.AppFocus())
        await until(pilot, lambda: "colors.primary = 'blurple'" in " ".join(shown(app).split()))
        assert app.theme == "mine"
        assert app.chat.styles.background == Color.parse("#0a0b0c")
        assert app.theme_variables["primary"].lower() == "#88aaff"
        (folder / "mine.toml").unlink()
        app.post_message(events.AppFocus())
        await pilot.pause()
        assert "mine" in app.themes.names()


async def test_a_new_theme_file_can_be_chosen_without_a_restart(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test() as pilot:
        await ready(pilot)
        write(config.config_dir / "themes", MINE)
        app.post_message(events.AppFocus())
        await until(pilot, lambda: "mine" in app.themes.names())
        await say(pilot, "/theme mine")
        await until(pilot, lambda: app.theme == "mine")


async def test_the_picker_shows_every_built_in_theme_and_escape_restores_the_first(
    config: ForgeConfig,
) -> None:
    app = make_app(config)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await say(pilot, "/theme")
        await until(pilot, lambda: "Enter keep" in shown(app))
        for name in BUILTIN_THEMES:
            await pilot.press("down")
            assert app.theme == name
            assert name in shown(app)
        await pilot.press("escape")
        assert app.theme == "forge-dark" and app.saved == []


def test_the_themes_are_read_again_only_if_a_file_has_changed(tmp_path: Path) -> None:
    folder = tmp_path / "themes"
    reloader = ThemeReloader(folder)
    assert reloader.changed() is None
    write(folder, MINE)
    found = reloader.changed()
    assert found is not None and "mine" in found.themes
    assert reloader.changed() is None
    (folder / "mine.toml").unlink()
    found = reloader.changed()
    assert found is not None and "mine" not in found.themes
