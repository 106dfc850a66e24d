"""A modal screen on which some keys count only when the review allows it.

`judge` gets each input from the app, in the order in which inputs were made. It goes by when an input was made
(`TimedInput`), not by when the event loop handles it. A verdict that counts is held for a short time; any other
input in the meantime cancels it.
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
"""Seconds after which a held verdict is dropped: the person no longer expects it."""


@dataclass(frozen=True, slots=True)
class _HeldVerdict:
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
        self._pressed_on: tuple[Widget | None, TimedInput | None] = (None, None)
        """The widget on which the mouse button was pressed, and that input's timing."""
        self._last_clicked: Widget | None = None
        """The widget clicked last, with no other input since."""
        self._newest: TimedInput | None = None
        self._held: _HeldVerdict | None = None
        self._acting = False
        """Whether an input that counts is being acted on."""
        self._released: events.Event | None = None

    @property
    def timing(self) -> InputTiming:
        """All input of the console."""
        return self.app.timing

    async def pressed(self, widget: Widget) -> None:
        """Handle a click on a widget."""
        raise NotImplementedError

    def is_verdict(self, widget: Widget) -> bool:
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
        self._held = None
        if self._review:
            self._review.paint = None
            self.call_after_refresh(self._drawn, self._review, 1)

    def _drawn(self, review: BuildReview, refreshes: int) -> None:
        """Wait for a second refresh, since the first may change the layout; then find out when it is painted."""
        if review is not self._review or not self.is_current:
            return
        if refreshes:
            self.call_after_refresh(self._drawn, review, refreshes - 1)
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
        """Return False to withhold an input. Text typed into a field passes; the Enter that sends it is judged."""
        if event is self._released:
            self._released = None
            return True
        timed = self._record_input(event)
        self._last_clicked = None
        if not isinstance(event, events.Key) or not self._is_guarded(event):
            return True
        if self._review is not None:
            self._hold(_HeldVerdict(event, timed.number, timed.at, self._review), timed)
        return False

    def _is_guarded(self, event: events.Key) -> bool:
        if isinstance(self.focused, Input):
            return event.key == "enter"
        if isinstance(self.focused, Ticks) and event.key == "enter":
            return True
        return bool(actions_of(self, event.key) & self.GUARDED)

    def _record_input(self, event: events.Event) -> TimedInput:
        """Record an input, cancel a held verdict, and return the input's timing."""
        self._held = None
        timed = timed_input(event)
        if timed is None and self.timing.terminal:
            # No person made it: Textual generated it.
            timed = TimedInput(0, "", event.time, float("-inf"), event.time, "", stalled=True)
        elif timed is None:
            name, deed = what_of(event)
            timed = self.timing.note(name, event.time, deed=deed)
            stamp(event, timed)
        self._newest = timed
        return timed

    def _hold(self, held: _HeldVerdict, timed: TimedInput) -> None:
        """Hold an input that counts until no other followed for a moment; report why another does not count."""
        if objection := held.review.objection(timed):
            self.refused(objection)
            return
        self._held = held
        if not self.timing.terminal:
            self.call_next(self.settled, held.number)

    async def settled(self, number: int) -> None:
        """Act on a held input that no other followed, unless its review is gone."""
        held, self._held = self._held, None
        if held is None or held.number != number or held.review is not self._review:
            return
        if self.timing.terminal and self.timing.clock() - held.at > LATE:
            self.refused("stalled")
            return
        self._acting = True
        try:
            await self._act(held)
        finally:
            self._acting = False

    async def _act(self, held: _HeldVerdict) -> None:
        event = held.event
        if held.button is not None:
            await self.pressed(held.button)
        elif (
            isinstance(self.focused, Input | Ticks) and isinstance(event, events.Key) and event.key == "enter"
        ):
            self._released = event
            self.focused._forward_event(event)
        elif isinstance(event, events.Key):
            for action in sorted(actions_of(self, event.key) & self.GUARDED):
                await self.run_action(action)

    # --- the mouse --------------------------------------------------------------------------

    def _forward_event(self, event: events.Event) -> None:
        """Judge mouse input here: widgets get copies with other time stamps."""
        if not event.is_forwarded:
            if isinstance(event, events.Key | events.Paste) and not self.judge(event):
                return
            if isinstance(event, MOUSE):
                self._mouse(event)
        super()._forward_event(event)

    def _mouse(self, event: events.MouseEvent) -> None:
        timed = self._record_input(event)
        if isinstance(event, events.MouseDown):
            widget = self._under(event)
            second_click = widget is not None and widget is self._last_clicked
            self._pressed_on = (widget, None if second_click else timed)
            self._last_clicked = widget
        elif isinstance(event, events.MouseUp):
            (widget, down), self._pressed_on = self._pressed_on, (None, None)
            if widget is None or widget is not self._under(event):
                return
            if not self.is_verdict(widget):
                self.call_next(self.pressed, widget)
            elif down is None:
                self.refused("held")
            elif self._review is not None:
                self._hold(_HeldVerdict(event, timed.number, timed.at, self._review, widget), down)
        elif isinstance(event, events.MouseScrollUp | events.MouseScrollDown):
            self._last_clicked, self._pressed_on = None, (None, None)

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
        own, _region = self.get_widget_at(event.screen_x, event.screen_y)
        if own is not self or len(stack) < 2:
            return
        below, _region = stack[-2].get_widget_at(event.screen_x, event.screen_y)
        for widget in below.ancestors_with_self:
            if getattr(widget, "allow_vertical_scroll", False):
                widget.scroll_relative(y=lines, animate=False)  # type: ignore[attr-defined]
                return
