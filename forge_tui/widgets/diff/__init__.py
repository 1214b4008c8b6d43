"""Changes to files: read from a unified diff, the words that differ marked, drawn stacked or side by side."""

from forge_tui.widgets.blockview.code import language_of as language_of
from forge_tui.widgets.diff.drawing import Look as Look
from forge_tui.widgets.diff.drawing import draw_gap as draw_gap
from forge_tui.widgets.diff.drawing import draw_patch as draw_patch
from forge_tui.widgets.diff.drawing import draw_stretches as draw_stretches
from forge_tui.widgets.diff.patch import Hunk as Hunk
from forge_tui.widgets.diff.patch import Patch as Patch
from forge_tui.widgets.diff.patch import Stretch as Stretch
from forge_tui.widgets.diff.patch import read_patch as read_patch
