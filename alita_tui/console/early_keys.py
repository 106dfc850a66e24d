"""What is typed before the first screen can take it is kept until it can."""

from __future__ import annotations

from typing import Any

from textual import events
from textual.app import App


class KeepsEarlyKeys(App[Any]):
    """An app that loses no key that was pressed while it opened."""

    _early: list[events.Key | events.Paste] | None = None
    """What came before the first paint; None where nothing is to be kept any more."""

    async def on_event(self, event: events.Event) -> None:
        """Keep keys as long as nothing has the focus that could take them."""
        if (
            self._early is not None
            and isinstance(event, events.Key | events.Paste)
            and not event.is_forwarded
        ):
            self._early.append(event)
        else:
            await super().on_event(event)

    async def take_early(self) -> None:
        """Hand on what was kept, in order; from now on nothing is."""
        early, self._early = self._early or [], None
        for event in early:
            await super().on_event(event)
