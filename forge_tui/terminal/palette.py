"""A theme in fewer colours than it has: readable text, backgrounds that still mean something.

Rich picks the nearest colour for each one alone: of 16, every dark ground becomes black, and text can vanish
on its background. Here text and background are chosen together, and by what a colour is for. Standard library
only: the launcher paints with it too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from forge_tui.terminal import colours
from forge_tui.terminal.colours import READABLE, READABLE_IN_16, Depth, Rgb, contrast, contrast_of

_LOUD = 1.28
"""A background with that contrast to the ground is no mere shade: it marks something."""
_DIFFS = ("added", "removed")
_QUIET_TEXT = ("forge-muted", "forge-faint", "syntax-comment")


class Palette:
    """The sequences for colours, in one theme at one depth."""

    def __init__(self, depth: Depth, variables: Mapping[str, str]) -> None:
        """`variables`: the theme's, by name; those that are not "#rrggbb" do not count."""
        self._depth = depth
        self._named = {name: rgb for name, text in variables.items() if (rgb := colours.parse_rgb(text))}
        self._back = self._named.get("background", (0, 0, 0))
        self._fore = self._named.get("foreground", (255, 255, 255))
        is_fewer = depth in (Depth.SIXTEEN, Depth.EIGHT_BIT)
        self._ground = colours.ground(self._back, depth) if is_fewer else -1
        self._marks = self._diff_backgrounds() if is_fewer else {}
        self._quiet = {self._named[name] for name in _QUIET_TEXT if name in self._named}

    def parameters(self, text: Rgb | None, background: Rgb | None, attributes: Sequence[str] = ()) -> str:
        """The parameters between ESC [ and m, after those of bold and its kin; None leaves a colour out."""
        sgr = list(attributes)
        if self._depth is Depth.NONE:
            return ";".join(sgr + self._without_colour(text, background, sgr))
        if self._depth is Depth.TRUE:
            sgr += [f"38;2;{';'.join(map(str, text))}"] if text is not None else []
            sgr += [f"48;2;{';'.join(map(str, background))}"] if background is not None else []
            return ";".join(sgr)
        front, behind = self.pair(text or self._fore, background or self._back)
        if text is not None:
            sgr.append(colours.codes(front, self._depth, is_background=False))
        if background is not None:
            sgr.append(colours.codes(behind, self._depth, is_background=True))
        return ";".join(sgr)

    def pair(self, text: Rgb, background: Rgb) -> tuple[int, int]:
        """The numbers of the colours that stand for `text` on `background`."""
        behind = self._background(background)
        if self._depth is Depth.SIXTEEN and behind == self._ground:
            text = self._named.get(f"diff-{self._sign_of(background, text)}", text)
            if not colours.is_tint(text) and contrast(text, self._back) >= contrast(self._fore, self._back):
                return (15 if self._ground == 0 else 0), behind  # which leaves a grey for what is muted
        most = READABLE_IN_16 if self._depth is Depth.SIXTEEN else READABLE
        needed = min(most, contrast(text, background))
        best = colours.nearest(text, self._depth, lambda n: contrast_of(n, behind, self._depth) >= needed)
        if contrast_of(best, behind, self._depth) < needed:
            extremes = (0, 15) if self._depth is Depth.SIXTEEN else (16, 231)
            best = max(extremes, key=lambda n: contrast_of(n, behind, self._depth))
        return best, behind

    def _sign_of(self, background: Rgb, text: Rgb) -> str:
        """Of 16 colours none is left for the ground of a changed line: its plain text tells what it is."""
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

        return colours.nearest(colour, self._depth, is_apart)

    def _diff_backgrounds(self) -> dict[Rgb, int]:
        """Colour → number for the lines and words that changed: never two alike, never a grey."""
        marks: dict[Rgb, int] = {}
        for name in ("background", "strong"):
            for sign in _DIFFS:
                colour = self._named.get(f"diff-{sign}-{name}")
                if colour is None:
                    continue
                if self._depth is Depth.SIXTEEN:
                    marks[colour] = self._ground if name == "background" else 2 - (sign == "removed")
                else:
                    marks[colour] = colours.nearest_tint(colour, self._depth, list(marks.values()))
        return marks
