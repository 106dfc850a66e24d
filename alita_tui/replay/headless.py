"""Folds a recording without a screen, and compares its states with those recorded on closing."""

from __future__ import annotations

from collections.abc import Iterable

from alita_tui import __version__
from alita_tui import events as e
from alita_tui.events import Value
from alita_tui.spine.envelope import Envelope
from alita_tui.view.fingerprint import fingerprint, fingerprint_like
from alita_tui.view.fold import fold
from alita_tui.view.model import SessionView


class Closing(Value, frozen=True):
    """The state when a session was closed, as recorded and as folded now."""

    seq: int
    recorded: str
    folded: str
    version: str = ""
    """The alita that recorded it."""

    @property
    def foreign(self) -> bool:
        """True if another version recorded it, so that the two cannot be compared."""
        return self.version not in ("", __version__)

    @property
    def same(self) -> bool:
        """True if both are the same, or cannot be compared."""
        return self.foreign or self.recorded == self.folded


class Folded(Value, frozen=True):
    """The result of folding a whole recording."""

    session_id: str
    events: int
    state: str
    """Fingerprint of the final state; if the session was closed, of the state just before."""
    closings: tuple[Closing, ...] = ()
    """Every close that recorded a state."""
    unrecorded: tuple[int, ...] = ()
    """The events of closes without one: a person left before it was known."""

    @property
    def same(self) -> bool:
        """True if every comparable state is as recorded."""
        return all(closing.same for closing in self.closings)


def play_through(envelopes: Iterable[Envelope]) -> Folded:
    """Fold every event, and compare at each close."""
    view, previous = SessionView(), SessionView()
    closings: list[Closing] = []
    unrecorded: list[int] = []
    count, closed = 0, False
    for envelope in envelopes:
        previous, view = view, fold(view, envelope)
        count += envelope.durable
        closed = isinstance(envelope.event, e.SessionClosed)
        if isinstance(envelope.event, e.SessionClosed) and not envelope.event.state:
            unrecorded.append(envelope.seq or 0)
        elif isinstance(envelope.event, e.SessionClosed):
            closings.append(
                Closing(
                    seq=envelope.seq or 0,
                    recorded=envelope.event.state,
                    folded=fingerprint_like(envelope.event.state, previous),
                    version=envelope.event.version,
                )
            )
    return Folded(
        session_id=view.session_id,
        events=count,
        state=fingerprint(previous if closed else view),
        closings=tuple(closings),
        unrecorded=tuple(unrecorded),
    )
