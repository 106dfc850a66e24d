"""A modal screen on which some keys count only when the review allows it.

Each input is judged in `judge`, where the app hands it over: in the order in which inputs were made and by what is
known of when (`TimedInput`), not when the event loop got round to it. A verdict that counts is held until it was
alone for long enough; any other input in the meantime cancels it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.errors import NoWidget
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Input

from alita_tui.console.actions import actions_of
from alita_tui.console.input.arming import Objection, TimedInput
from alita_tui.console.input.parser import stamp, timed_input, what_of
from alita_tui.console.input.timing import InputTiming
from alita_tui.console.review.steps import BuildReview
from alita_tui.console.review.ticks import Ticks
from alita_tui.console.widgets.sheet import Sheet

if TYPE_CHECKING:
    from alita_tui.console.themes import ThemedApp

MOUSE = (events.MouseDown, events.MouseUp, events.MouseMove, events.MouseScrollDown, events.MouseScrollUp)
"""Mouse events; clicks are derived from them by Textual."""
LATE = 1.0
"""Seconds after which a held verdict is dropped because the person no longer expects it."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A verdict that counts unless another input follows at once."""

    event: events.Event
    number: int
    at: float
    review: BuildReview
    button: Widget | None = None


class GuardedScreen(ModalScreen[None]):
    """Judges keys, pastes, clicks and wheel turns; what shows through stays scrollable."""

    GUARDED: ClassVar[frozenset[str]] = frozenset()
    """Actions whose keys are judged."""
    app: ThemedApp[object]

    def __init__(self, clock: Callable[[], float]) -> None:
        """`clock` is the one that `Message.time` is taken from."""
        super().__init__()
        self._clock = clock
        self._review: BuildReview | None = None
        self._down: tuple[Widget | None, TimedInput | None] = (None, None)
        """What the mouse went down on, with that input's timing."""
        self._clicked: Widget | None = None
        """What was clicked last, with no other input since."""
        self._newest: TimedInput | None = None
        self._waiting: _Waiting | None = None
        self._counting = False
        """Whether an input that counts is being acted on."""
        self._let_through: events.Event | None = None

    @property
    def timing(self) -> InputTiming:
        """All input of the console."""
        return self.app.timing

    async def pressed(self, widget: Widget) -> None:
        """Handle a click on a widget."""
        raise NotImplementedError

    def weighs(self, widget: Widget) -> bool:
        """Whether a click on a widget is a verdict."""
        raise NotImplementedError

    def refused(self, why: Objection) -> None:
        """Handle an input that did not count."""
        raise NotImplementedError

    # --- what is painted --------------------------------------------------------------------

    def on_mount(self) -> None:
        """Watch the terminal's focus, and have input polled often."""
        self.watch(self.app, "app_focus", self._terminal_focus, init=False)
        self.timing.watch(True)

    def on_unmount(self) -> None:
        """Let input be polled less often again."""
        self.timing.watch(False)

    def repaint(self) -> None:
        """Require the screen to be painted again before anything counts."""
        self._waiting = None
        if self._review:
            self._review.paint = None
            self.call_after_refresh(self._drawn, self._review, 1)

    def _drawn(self, review: BuildReview, more: int) -> None:
        """Wait for a second refresh, since the first may change the layout, then ask when it is painted."""
        if review is not self._review or not self.is_current:
            return
        if more:
            self.call_after_refresh(self._drawn, review, more - 1)
        else:
            review.paint = self.timing.painting(self._clock())

    def on_screen_resume(self) -> None:
        """Require a repaint: another screen was on top."""
        self.repaint()

    def _terminal_focus(self, focused: bool) -> None:
        """Require a repaint on focus: the input that focused the terminal was not meant for the review."""
        if focused:
            self.repaint()

    # --- what counts ------------------------------------------------------------------------

    def judge(self, event: events.Event) -> bool:
        """Return False to hold an input back. Text typed into a field passes; the Enter that sends it is judged."""
        if event is self._let_through:
            self._let_through = None
            return True
        heard = self._hear(event)
        self._clicked = None
        if not isinstance(event, events.Key) or not self._weighty(event):
            return True
        if self._review is not None:
            self._weigh(_Waiting(event, heard.number, heard.at, self._review), heard)
        return False

    def _weighty(self, event: events.Key) -> bool:
        if isinstance(self.focused, Input):
            return event.key == "enter"
        if isinstance(self.focused, Ticks) and event.key == "enter":
            return True
        return bool(actions_of(self, event.key) & self.GUARDED)

    def _hear(self, event: events.Event) -> TimedInput:
        """Return an input's timing; it cancels a held verdict."""
        self._waiting = None
        heard = timed_input(event)
        if heard is None and self.timing.terminal:
            # Nobody made it: Textual did.
            heard = TimedInput(0, "", event.time, float("-inf"), event.time, "", stalled=True)
        elif heard is None:
            what, deed = what_of(event)
            heard = self.timing.note(what, event.time, deed=deed)
            stamp(event, heard)
        self._newest = heard
        return heard

    def _weigh(self, waiting: _Waiting, heard: TimedInput) -> None:
        """Hold an input that counts until it was alone; report why another does not."""
        if why := waiting.review.objection(heard):
            self.refused(why)
            return
        self._waiting = waiting
        if not self.timing.terminal:
            self.call_next(self.settled, waiting.number)

    async def settled(self, number: int) -> None:
        """Act on a held input that was alone, unless its review is gone."""
        waiting, self._waiting = self._waiting, None
        if waiting is None or waiting.number != number or waiting.review is not self._review:
            return
        if self.timing.terminal and self.timing.clock() - waiting.at > LATE:
            self.refused("stalled")
            return
        self._counting = True
        try:
            await self._act(waiting)
        finally:
            self._counting = False

    async def _act(self, waiting: _Waiting) -> None:
        event = waiting.event
        if waiting.button is not None:
            await self.pressed(waiting.button)
        elif (
            isinstance(self.focused, Input | Ticks) and isinstance(event, events.Key) and event.key == "enter"
        ):
            self._let_through = event
            self.focused._forward_event(event)
        elif isinstance(event, events.Key):
            for action in sorted(actions_of(self, event.key) & self.GUARDED):
                await self.run_action(action)

    # --- the mouse --------------------------------------------------------------------------

    def _forward_event(self, event: events.Event) -> None:
        """Judge the mouse here: widgets get copies with other time stamps."""
        if not event.is_forwarded:
            if isinstance(event, events.Key | events.Paste) and not self.judge(event):
                return
            if isinstance(event, MOUSE):
                self._mouse(event)
        super()._forward_event(event)

    def _mouse(self, event: events.MouseEvent) -> None:
        heard = self._hear(event)
        if isinstance(event, events.MouseDown):
            widget = self._under(event)
            again = widget is not None and widget is self._clicked
            self._down = (widget, None if again else heard)
            self._clicked = widget
        elif isinstance(event, events.MouseUp):
            (widget, down), self._down = self._down, (None, None)
            if widget is None or widget is not self._under(event):
                return
            if not self.weighs(widget):
                self.call_next(self.pressed, widget)
            elif down is None:
                self.refused("held")
            elif self._review is not None:
                self._weigh(_Waiting(event, heard.number, heard.at, self._review, widget), down)
        elif isinstance(event, events.MouseScrollUp | events.MouseScrollDown):
            self._clicked, self._down = None, (None, None)

    def _under(self, event: events.MouseEvent) -> Widget | None:
        try:
            return self.get_widget_at(event.x, event.y)[0]
        except NoWidget:
            return None

    @on(Sheet.Moved)
    def _scrolled(self) -> None:
        self.timing.stir(self._clock())

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Scroll what shows through."""
        self._scroll_below(event, 3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Scroll what shows through."""
        self._scroll_below(event, -3)

    def _scroll_below(self, event: events.MouseEvent, lines: int) -> None:
        stack = self.app.screen_stack
        on_own, _region = self.get_widget_at(event.screen_x, event.screen_y)
        if on_own is not self or len(stack) < 2:
            return
        below, _region = stack[-2].get_widget_at(event.screen_x, event.screen_y)
        for widget in below.ancestors_with_self:
            if getattr(widget, "allow_vertical_scroll", False):
                widget.scroll_relative(y=lines, animate=False)  # type: ignore[attr-defined]
                return
