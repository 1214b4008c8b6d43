"""The mouse and the finder of a block view, each by itself: on a layout, without an app."""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.geometry import Region, Size
from textual.timer import Timer

from forge_tui.widgets.blockview import selection as selecting
from forge_tui.widgets.blockview.block_layout import Frame, Layout
from forge_tui.widgets.blockview.blocks import TextBlock
from forge_tui.widgets.blockview.finder import Finder
from forge_tui.widgets.blockview.mouse import WHEEL_ROWS, Mouse
from forge_tui.widgets.blockview.selection import TextSelection
from tests.support.transcripts import STYLES

WIDTH, HEIGHT = 40, 10


class View:
    """What the mouse and the finder ask of a view."""

    def __init__(self, *texts: str) -> None:
        self.model = Layout()
        self.model.configure(WIDTH, HEIGHT, STYLES)
        for text in texts:
            self.model.append(TextBlock(text))
        self.frame: Frame = self.model.frame()
        self.size = Size(WIDTH, HEIGHT)
        self.region = Region(0, 0, WIDTH, HEIGHT)
        self.selected: TextSelection | None = None
        self.calls: list[str] = []
        self.find_status = ""

    @property
    def selected_text(self) -> str:
        return "" if self.selected is None else selecting.selected_text(self.model, self.selected)

    def show(self) -> None:
        self.frame = self.model.frame()

    def move(self, step: Callable[[], None]) -> None:
        step()
        self.show()

    def scroll_rows(self, delta: int) -> None:
        self.move(lambda: self.model.scroll(delta))

    def select(self, selected: TextSelection | None) -> None:
        self.selected = selected

    def announce_selection(self) -> None:
        self.calls.append("announce")

    def toggle_at(self, y: int, act: Callable[[], bool]) -> bool:
        self.calls.append(f"toggle {y}")
        return act()

    def capture_mouse(self) -> None:
        self.calls.append("capture")

    def release_mouse(self) -> None:
        self.calls.append("release")

    def refresh(self) -> None:
        self.calls.append("refresh")

    def report_exception(self, error: Exception) -> None:
        raise error

    def set_interval(self, interval: float, callback: Callable[[], None], /) -> Timer:
        raise AssertionError("no timer is needed here")


def event(kind: type[events.MouseEvent], x: int, y: int, *, shift: bool = False) -> events.MouseEvent:
    return kind(None, x, y, 0, 0, 1, shift, False, False)


def drag(mouse: Mouse, start: tuple[int, int], end: tuple[int, int]) -> None:
    press, move, release = (
        event(kind, *place)
        for kind, place in ((events.MouseDown, start), (events.MouseMove, end), (events.MouseUp, end))
    )
    assert isinstance(press, events.MouseDown)
    assert isinstance(move, events.MouseMove)
    assert isinstance(release, events.MouseUp)
    mouse.press(press)
    mouse.move(move)
    mouse.release(release)
    mouse.stop_selecting()


def test_dragging_selects_both_cells_in_either_direction() -> None:
    view = View("alpha beta")
    mouse = Mouse(view)
    y = next(y for y, row in enumerate(view.frame.rows) if row.line == 0)
    drag(mouse, (3, y), (7, y))
    assert view.selected_text == "alpha"
    drag(mouse, (12, y), (9, y))
    assert view.selected_text == "beta"
    assert view.calls == ["capture", "release", "announce"] * 2


def test_a_press_without_movement_clears_the_selection() -> None:
    view = View("alpha beta")
    mouse = Mouse(view)
    drag(mouse, (3, 1), (7, 1))
    drag(mouse, (5, 1), (5, 1))
    assert view.selected is None
    assert view.calls == ["capture", "release", "announce", "capture", "release"]


def test_the_wheel_scrolls_a_constant_number_of_rows() -> None:
    view = View("\n".join(f"line {number}" for number in range(50)))
    before = view.frame.offset
    Mouse(view).wheel(event(events.MouseScrollUp, 1, 1), -1)
    assert view.frame.offset == before - WHEEL_ROWS


def test_a_reset_releases_the_button_that_is_down() -> None:
    view = View("alpha beta")
    mouse = Mouse(view)
    press = event(events.MouseDown, 3, 1)
    assert isinstance(press, events.MouseDown)
    mouse.press(press)
    mouse.reset()
    assert view.calls == ["capture", "release"]
    mouse.reset()
    assert view.calls == ["capture", "release"]


async def test_the_finder_steps_through_matches_and_shows_their_number() -> None:
    view = View("one two", "two", "three two")
    finder = Finder(view)
    finder.find("two")
    assert view.find_status == "3/3"
    finder.step(-1)
    assert view.find_status == "2/3" and finder.current is not None and finder.current.block == 1
    finder.step(1)
    finder.step(1)
    assert view.find_status == "1/3", "after the last match comes the first"


async def test_a_finder_that_is_reset_forgets_the_match_and_its_status() -> None:
    view = View("one two")
    finder = Finder(view)
    finder.find("two")
    view.model.clear()
    finder.reset()
    assert view.find_status == "" and finder.current is None
    finder.find("two")
    assert view.find_status == "no match"
