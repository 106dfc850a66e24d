"""A screen over another whose weighty keys count only when `touched` says so.

Every input is judged where the app hands it over: in the order and by the time at which it was made, not
when a busy event loop came to handle it. A weighty key that does not count goes no further.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import events, on
from textual.errors import NoWidget
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Input

from alita_tui.console.live_keys import actions_of
from alita_tui.console.review import Review
from alita_tui.console.widgets.sheet import Sheet

_BURST = 0.002
"""Seconds: keys closer together than this were not pressed one by one, but came out of a paste."""


class GuardedScreen(ModalScreen[None]):
    """Judges keys, pastes, clicks and wheel turns; what is below stays scrollable."""

    GUARDED: ClassVar[frozenset[str]] = frozenset()
    """The actions whose keys are held back until input counts."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """`clock` is the one that `Message.time` is taken from."""
        super().__init__()
        self._clock = clock
        self._review: Review | None = None
        self._down: tuple[Widget | None, float] = (None, 0.0)
        """What the mouse went down on, and when."""
        self._last = 0.0
        """When the newest key or paste was made."""

    def touched(self, at: float) -> bool:
        """Note input made at a time (`Message.time`); True when it counts."""
        return self._review is not None and self._review.touch(at)

    async def pressed(self, widget: Widget, at: float) -> None:
        """The mouse went down on a widget at a time, and up again on the same."""
        raise NotImplementedError

    def on_mount(self) -> None:
        """Hear of the terminal's focus."""
        self.watch(self.app, "app_focus", self._terminal_focus, init=False)

    def _terminal_focus(self, focused: bool) -> None:
        """The key or click that brings the terminal to the front was meant for nothing here."""
        if focused and self._review:
            self._review.disarm(self._clock())

    def judge(self, event: events.Event) -> bool:
        """See `Judge.judge`. Letters typed into a field are text, not keys; the Enter that sends it is one."""
        # An ESC inside a paste makes keys of what follows it.
        burst = 0 < event.time - self._last < _BURST
        self._last = event.time
        counts = self.touched(event.time) and not burst
        if counts or not isinstance(event, events.Key):
            return True
        if isinstance(self.focused, Input):
            return event.key != "enter"
        return not actions_of(self, event.key) & self.GUARDED

    def _forward_event(self, event: events.Event) -> None:
        """Judge the mouse here: what a widget is given is a copy, stamped when it was made."""
        if not event.is_forwarded:
            if isinstance(event, events.Key | events.Paste) and not self.judge(event):
                return
            if isinstance(event, events.MouseDown):
                self.touched(event.time)
                self._down = (self._under(event), event.time)
            elif isinstance(event, events.MouseUp):
                (widget, at), self._down = self._down, (None, 0.0)
                if widget is not None and widget is self._under(event):
                    self.call_next(self.pressed, widget, at)
            elif isinstance(event, events.MouseScrollUp | events.MouseScrollDown):
                self.touched(event.time)
        super()._forward_event(event)

    def _under(self, event: events.MouseEvent) -> Widget | None:
        try:
            return self.get_widget_at(event.x, event.y)[0]
        except NoWidget:
            return None

    @on(Sheet.Moved)
    def _scrolled(self) -> None:
        if self._review:
            self._review.stir(self._clock())

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
