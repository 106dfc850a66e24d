"""Lets a screen judge a key or paste before the focused widget gets it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from textual import events

if TYPE_CHECKING:
    from textual.widget import Widget
else:
    Widget = object  # a widget takes its styles from one base alone


@runtime_checkable
class Judge(Protocol):
    """A screen that judges input."""

    def judge(self, event: events.Event) -> bool:
        """Return False to drop an event. Called in the order of the input."""


class JudgedWidget(Widget):
    """Mixed into a focusable widget, it asks the screen first.

    Handlers see input one queue later, where the order among widgets is lost; here it is still kept.
    """

    def _forward_event(self, event: events.Event) -> None:
        if isinstance(self.screen, Judge) and isinstance(event, events.Key | events.Paste):
            if not self.screen.judge(event):
                return
        super()._forward_event(event)
