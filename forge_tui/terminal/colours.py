"""The colour depth of the terminal, and a theme in fewer colours than it has. Standard library only.

Rich picks the nearest colour for each one alone: of 16, every dark background becomes black, and text can
vanish on it. Here text and background are chosen together, and by what a colour is for.

Of 256 colours only the upper 240 are used: users change the first 16. How those 16 look is therefore taken
from three common palettes, and text must be readable in all of them. Contrast as WCAG 2.2 defines it;
distance in OKLab (Björn Ottosson, 2020).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from functools import lru_cache
from math import atan2, dist, tau
from typing import TypeAlias

from forge_tui.theme_files import TERMINAL_COLORS

Rgb: TypeAlias = tuple[int, int, int]

READABLE = 4.5
"""The contrast that text keeps, if the theme has as much."""
READABLE_IN_16 = 3.9
"""The same in 16 colours, where grey on white and blue on black reach no more."""
_TINT = 0.03
"""Chroma from which a colour is not a grey."""
_SAME_HUE, _LIKE_HUE = 0.55, 0.9
"""Radians."""
_LOUD = 1.28
"""A background with this contrast to the theme's background marks something."""
_LEAST_APART, _QUIET = 10, 40
"""The least and the most that a channel of a changed line's background differs from the theme's background: a
step of the greys, and one of the brightest tints."""
_DIFFS = ("added", "removed")
_QUIET_TEXT = ("forge-muted", "forge-faint", "syntax-comment")
_HUES_IN_16 = {
    "warning": (3, 11),
    "success": (2, 10),
    "diff-added": (2, 10),
    "error": (1, 9),
    "diff-removed": (1, 9),
}
"""Colours that keep their hue in 16 colours if they can be read: the nearest to a pale green is yellow."""

_TRUECOLOR_TERMS = ("kitty", "alacritty", "foot", "ghostty", "wezterm", "contour", "rio", "direct")
_STEPS = (0, 95, 135, 175, 215, 255)
_XTERM = (
    *((0, 0, 0), (205, 0, 0), (0, 205, 0), (205, 205, 0), (0, 0, 238), (205, 0, 205), (0, 205, 205)),
    *((229, 229, 229), (127, 127, 127), (255, 0, 0), (0, 255, 0), (255, 255, 0), (92, 92, 255)),
    *((255, 0, 255), (0, 255, 255), (255, 255, 255)),
)
_VGA = (
    *((0, 0, 0), (170, 0, 0), (0, 170, 0), (170, 85, 0), (0, 0, 170), (170, 0, 170), (0, 170, 170)),
    *((170, 170, 170), (85, 85, 85), (255, 85, 85), (85, 255, 85), (255, 255, 85), (85, 85, 255)),
    *((255, 85, 255), (85, 255, 255), (255, 255, 255)),
)
_TANGO = (
    *((0, 0, 0), (204, 0, 0), (78, 154, 6), (196, 160, 0), (52, 101, 164), (117, 80, 123), (6, 152, 154)),
    *((211, 215, 207), (85, 87, 83), (239, 41, 41), (138, 226, 52), (252, 233, 79), (114, 159, 207)),
    *((173, 127, 168), (52, 226, 226), (238, 238, 236)),
)
_PALETTES_16 = (_XTERM, _VGA, _TANGO)
PALETTE_256: tuple[Rgb, ...] = (
    *_XTERM,
    *((red, green, blue) for red in _STEPS for green in _STEPS for blue in _STEPS),
    *((8 + 10 * n, 8 + 10 * n, 8 + 10 * n) for n in range(24)),
)


class Depth(IntEnum):
    """The number of colours that a terminal can show."""

    NONE = 0
    """The user wants no colour: bold, dim, underline and reverse remain."""
    SIXTEEN = 16
    EIGHT_BIT = 256
    TRUE = 1 << 24


_FORCED = {"0": Depth.NONE, "false": Depth.NONE, "1": Depth.SIXTEEN, "2": Depth.EIGHT_BIT, "3": Depth.TRUE}


def detect(environ: Mapping[str, str]) -> Depth:
    """Return the depth that the environment indicates.

    In this order: NO_COLOR (no-color.org: if not empty), FORCE_COLOR (0 to 3, as in Node), COLORTERM, TERM.
    """
    if environ.get("NO_COLOR"):
        return Depth.NONE
    forced = _FORCED.get(environ.get("FORCE_COLOR", "").lower())
    if forced is not None:
        return forced
    term = environ.get("TERM", "").lower()
    if environ.get("STY") or (term.split("-")[0] == "screen" and not environ.get("TMUX")):
        # GNU screen 4 reads a true colour as several other attributes; COLORTERM is the outer terminal's.
        return Depth.EIGHT_BIT
    if environ.get("COLORTERM", "").lower() in ("truecolor", "24bit"):
        return Depth.TRUE
    if any(name in term.split("-") for name in _TRUECOLOR_TERMS):
        return Depth.TRUE
    return Depth.EIGHT_BIT if "256color" in term else Depth.SIXTEEN


def depth_of_theme(depth: Depth, variables: Mapping[str, str]) -> Depth:
    """Return the depth in which a theme is written: at most 16 colours if it uses the terminal's own."""
    return min(depth, Depth.SIXTEEN) if TERMINAL_COLORS in variables else depth


def contrast(one: Rgb, other: Rgb) -> float:
    """Return the contrast ratio, 1 to 21."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def contrast_of(one: int, other: int, depth: Depth) -> float:
    """Return the contrast of two colours of a palette; of 16, in the worst of the common palettes."""
    if depth is Depth.SIXTEEN:
        return min(contrast(palette[one], palette[other]) for palette in _PALETTES_16)
    return contrast(PALETTE_256[one], PALETTE_256[other])


def nearest(colour: Rgb, depth: Depth, is_fit: Callable[[int], bool] = lambda _: True) -> int:
    """Return the number of the most similar colour that is fit; black or white if none is."""
    numbers = [number for number in _numbers(depth) if is_fit(number)]
    if depth is Depth.SIXTEEN:  # keep greys grey and hues similar, if one is fit
        greys = [number for number in numbers if not is_tint(PALETTE_256[number])]
        numbers = [number for number in numbers if _is_like(colour, number)] or greys or numbers
    hues_count = depth is Depth.SIXTEEN and is_tint(colour)

    def unlike(number: int) -> float:
        other = PALETTE_256[number]
        return _distance(colour, other) + (_hues_apart(colour, other) / 5 if hues_count else 0.0)

    return min(numbers, key=unlike, default=_extreme(colour, depth))


def is_tint(colour: Rgb) -> bool:
    """Return whether the colour is not a grey."""
    _, a, b = _lab(colour)
    return a * a + b * b > _TINT * _TINT


def nearest_tint(colour: Rgb, hue: Rgb, depth: Depth, taken: Sequence[int]) -> int:
    """Return the colour that is most like `colour` and the hue of `hue`; no grey, and none of `taken`."""
    tints = (number for number in _numbers(depth) if number not in taken and _has_hue(number, hue))

    def unlike(number: int) -> float:
        other = PALETTE_256[number]
        return _distance(colour, other) + _hues_apart(hue, other) / 2

    return min(tints, key=unlike, default=_extreme(colour, depth))


def nearest_quiet(colour: Rgb, hue: Rgb, ground: int, taken: Sequence[int]) -> int:
    """Return the one of 256 colours that is most like `colour` and only just apart from `ground`.

    It has about the hue of `hue`, or is a grey: the darkest tints are too saturated for a dark theme.
    """

    def is_fit(number: int) -> bool:
        return number not in (ground, *taken) and _LEAST_APART <= _channels_apart(number, ground) <= _QUIET

    quiet = [number for number in _numbers(Depth.EIGHT_BIT) if is_fit(number)]
    tints = [number for number in quiet if _has_hue(number, hue)]
    greys = [number for number in quiet if not is_tint(PALETTE_256[number])]
    return nearest(colour, Depth.EIGHT_BIT, (tints or greys).__contains__)


def _has_hue(number: int, hue: Rgb) -> bool:
    other = PALETTE_256[number]
    return is_tint(other) and _hues_apart(hue, other) < _SAME_HUE


def _channels_apart(one: int, other: int) -> int:
    """Return the largest difference between the channels of two of 256 colours."""
    return max(abs(a - b) for a, b in zip(PALETTE_256[one], PALETTE_256[other], strict=True))


def _is_like(colour: Rgb, number: int) -> bool:
    other = PALETTE_256[number]
    if is_tint(colour) and is_tint(other):
        return _hues_apart(colour, other) < _LIKE_HUE
    return is_tint(colour) == is_tint(other)


def ground(colour: Rgb, depth: Depth) -> int:
    """Return the colour for a theme's background: of 16, black or white."""
    return _extreme(colour, depth) if depth is Depth.SIXTEEN else nearest(colour, depth)


def parse_rgb(text: str | None) -> Rgb | None:
    """Return the channels of "#rrggbb", or None."""
    if text is None or len(text) != 7 or not text.startswith("#"):
        return None
    try:
        return int(text[1:3], 16), int(text[3:5], 16), int(text[5:7], 16)
    except ValueError:
        return None


def codes(number: int, depth: Depth, *, is_background: bool) -> str:
    """Return the SGR parameters that select a colour of the palette."""
    if depth is Depth.SIXTEEN:
        return str((30 if number < 8 else 82) + number + 10 * is_background)
    return f"{48 if is_background else 38};5;{number}"


def _numbers(depth: Depth) -> range:
    return range(16) if depth is Depth.SIXTEEN else range(16, 256)


def _extreme(colour: Rgb, depth: Depth) -> int:
    is_light = _luminance(colour) > 0.18
    return (15 if is_light else 0) if depth is Depth.SIXTEEN else (231 if is_light else 16)


@lru_cache(maxsize=4096)
def _luminance(colour: Rgb) -> float:
    red, green, blue = map(_linear, colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(channel: int) -> float:
    part = channel / 255
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4


def _grey(colour: Rgb) -> Rgb:
    level = round(0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2])
    return level, level, level


@lru_cache(maxsize=4096)
def _lab(colour: Rgb) -> tuple[float, float, float]:
    red, green, blue = map(_linear, colour)
    long = (0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue) ** (1 / 3)
    middle = (0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue) ** (1 / 3)
    short = (0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue) ** (1 / 3)
    return (
        0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short,
    )


def _distance(one: Rgb, other: Rgb) -> float:
    return dist(_lab(one), _lab(other))


def _hues_apart(one: Rgb, other: Rgb) -> float:
    """Return the difference of the hues in radians, 0 to π."""
    hues = [atan2(b, a) for _, a, b in (_lab(one), _lab(other))]
    apart = abs(hues[0] - hues[1])
    return min(apart, tau - apart)


class Palette:
    """The control sequences for the colours of a theme at one depth."""

    def __init__(self, depth: Depth, variables: Mapping[str, str]) -> None:
        """`variables` are the theme's, by name; those that are not "#rrggbb" are ignored."""
        self._depth = depth
        self._named = {name: rgb for name, text in variables.items() if (rgb := parse_rgb(text))}
        self._back = self._named.get("background", (0, 0, 0))
        self._fore = self._named.get("foreground", (255, 255, 255))
        self._card = self._named.get("forge-code-background", self._back)
        is_fewer = depth in (Depth.SIXTEEN, Depth.EIGHT_BIT)
        self._ground = ground(self._back, depth) if is_fewer else -1
        self._marks = self._diff_backgrounds() if is_fewer else {}
        self._hues = {self._named[name]: hue for name, hue in _HUES_IN_16.items() if name in self._named}
        self._quiet = {self._named[name] for name in _QUIET_TEXT if name in self._named}

    def parameters(self, text: Rgb | None, background: Rgb | None, attributes: Sequence[str] = ()) -> str:
        """Return the parameters between ESC [ and m: the attributes, then the colours that are not None."""
        sgr = list(attributes)
        if self._depth is Depth.NONE:
            return ";".join(sgr + self._without_colour(text, background, sgr))
        if self._depth is Depth.TRUE:
            sgr += [f"38;2;{';'.join(map(str, text))}"] if text is not None else []
            sgr += [f"48;2;{';'.join(map(str, background))}"] if background is not None else []
            return ";".join(sgr)
        front, behind = self.pair(text or self._fore, background or self._back)
        if text is not None:
            sgr.append(codes(front, self._depth, is_background=False))
        if background is not None:
            sgr.append(codes(behind, self._depth, is_background=True))
        return ";".join(sgr)

    def pair(self, text: Rgb, background: Rgb) -> tuple[int, int]:
        """Return the numbers of the colours for `text` on `background`."""
        behind = self._background(background)
        if text == self._card and background == self._back and self._depth is Depth.EIGHT_BIT:
            return self._background(text), behind  # an edge of the card: the same colour as its background
        # Of 16 colours the line backgrounds of a diff are lost: its text gets the colour of the sign instead.
        if self._depth is Depth.SIXTEEN and behind == self._ground:
            text = self._named.get(f"diff-{self._sign_of(background, text)}", text)
            is_grey = text == self._fore or not is_tint(text)
            if is_grey and contrast(text, self._back) >= contrast(self._fore, self._back):
                return (15 if self._ground == 0 else 0), behind  # leaves a grey for muted text
        # Never require more contrast than the theme has: muted text should stay muted.
        most = READABLE_IN_16 if self._depth is Depth.SIXTEEN else READABLE
        needed = min(most, contrast(text, background))
        if self._depth is Depth.SIXTEEN:
            hue = self._hues.get(text, ())
            if fit := [n for n in hue if contrast_of(n, behind, self._depth) >= needed]:
                return nearest(text, self._depth, fit.__contains__), behind
            if text == self._fore or text in self._quiet:
                text = _grey(text)  # a theme may tint them slightly, and 16 colours have no slight tint
        best = nearest(text, self._depth, lambda n: contrast_of(n, behind, self._depth) >= needed)
        if contrast_of(best, behind, self._depth) < needed:
            extremes = (0, 15) if self._depth is Depth.SIXTEEN else (16, 231)
            best = max(extremes, key=lambda n: contrast_of(n, behind, self._depth))
        return best, behind

    def _sign_of(self, background: Rgb, text: Rgb) -> str:
        """Return the sign of a changed line, or "".

        Of 16 colours none is left for its background, so the colour of its text shows the sign.
        """
        named = (sign for sign in _DIFFS if background == self._named.get(f"diff-{sign}-background"))
        return next(named, "") if text == self._fore else ""

    def _without_colour(self, text: Rgb | None, background: Rgb | None, sgr: list[str]) -> list[str]:
        if background is not None and contrast(background, self._back) >= _LOUD and "7" not in sgr:
            return ["7"]
        return ["2"] if text in self._quiet and not {"1", "2"} & set(sgr) else []

    def _background(self, colour: Rgb) -> int:
        if colour == self._back:
            return self._ground
        if colour in self._marks:
            return self._marks[colour]
        is_loud = contrast(colour, self._back) >= _LOUD
        if self._depth is Depth.SIXTEEN and not is_loud:
            return self._ground
        least = 1.2 if is_loud and self._depth is Depth.SIXTEEN else 1.0

        def is_apart(number: int) -> bool:
            return number != self._ground and contrast_of(number, self._ground, self._depth) >= least

        return nearest(colour, self._depth, is_apart)

    def _diff_backgrounds(self) -> dict[Rgb, int]:
        """Map the backgrounds of changed lines and words to numbers, all different: quiet ones for lines,
        tints for words."""
        marks: dict[Rgb, int] = {}
        for name in ("background", "strong"):
            for sign in _DIFFS:
                colour = self._named.get(f"diff-{sign}-{name}")
                if colour is None:
                    continue
                if self._depth is Depth.SIXTEEN:
                    marks[colour] = self._ground if name == "background" else 2 - (sign == "removed")
                else:
                    sign_colour = self._named.get(f"diff-{sign}", colour)
                    taken = list(marks.values())
                    marks[colour] = (
                        nearest_quiet(colour, sign_colour, self._ground, taken)
                        if name == "background"
                        else nearest_tint(colour, sign_colour, self._depth, taken)
                    )
        return marks
