"""A screen over another whose weighty keys count only when `touched` says so.

Every input is noted with the time at which it was made, which is when the terminal sent it and not when a
busy event loop came to handle it. A key that does not count is taken away before the bindings see it.
"""

from __future__ import annotations

from typing import ClassVar

from textual import events, on
from textual.errors import NoWidget
from textual.screen import ModalScreen
from textual.widget import Widget

from alita_tui.console.live_keys import actions_of
from alita_tui.console.widgets.sheet import Sheet


class GuardedScreen(ModalScreen[None]):
    """Notes keys, pastes, clicks and scrolling; what is below stays scrollable."""

    GUARDED: ClassVar[frozenset[str]] = frozenset()
    """The actions whose keys are held back until input counts."""

    _down: tuple[Widget | None, float] = (None, 0.0)
    """What the mouse went down on, and when."""

    def touched(self, at: float) -> bool:
        """Note input made at a time (`Message.time`); True when it counts."""
        raise NotImplementedError

    def stirred(self) -> None:
        """Something moved by the person's hand, now."""
        raise NotImplementedError

    def came_back(self) -> None:
        """The terminal is in front again: the key or click that did it was meant for nothing here."""
        raise NotImplementedError

    def on_mount(self) -> None:
        """Hear of the terminal's focus."""
        self.watch(self.app, "app_focus", self._terminal_focus, init=False)

    def _terminal_focus(self, focused: bool) -> None:
        if focused:
            self.came_back()

    def on_key(self, event: events.Key) -> None:
        """Hold early keys back, and note every other."""
        counts = self.touched(event.time)
        if not counts and actions_of(self, event.key) & self.GUARDED:
            event.stop()
            event.prevent_default()

    def on_paste(self, event: events.Paste) -> None:
        """Pasted text is input, and presses no key."""
        self.touched(event.time)

    async def pressed(self, widget: Widget, at: float) -> None:
        """The mouse went down on a widget at a time, and up again on the same."""
        raise NotImplementedError

    def _forward_event(self, event: events.Event) -> None:
        """Judge the mouse here: what a widget is given is a copy, stamped when it was made."""
        if not event.is_forwarded:
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
        self.stirred()

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
