"""Buffers keys that are pressed before the first screen can take them."""

from __future__ import annotations

from typing import Any

from textual import events
from textual.app import App


class BuffersEarlyKeys(App[Any]):
    """An app that loses no key that was pressed while it opened."""

    _early: list[events.Key | events.Paste] | None = None
    """Input from before the first paint; None once it was handed on."""

    async def on_event(self, event: events.Event) -> None:
        """Buffer keys and pastes until `take_early`."""
        if (
            self._early is not None
            and isinstance(event, events.Key | events.Paste)
            and not event.is_forwarded
        ):
            self._early.append(event)
        else:
            await super().on_event(event)

    async def take_early(self) -> None:
        """Handle the buffered input in order, and stop buffering."""
        early, self._early = self._early or [], None
        for event in early:
            await super().on_event(event)
