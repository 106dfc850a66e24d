"""A recording folded without a screen, and its state held against what was recorded when it was closed."""

from __future__ import annotations

from collections.abc import Iterable

from alita_tui import __version__
from alita_tui.spine import events as e
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.values import Value
from alita_tui.view.fingerprint import fingerprint
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
        """True when another version recorded it, so that the two cannot be held against each other."""
        return self.version not in ("", __version__)

    @property
    def same(self) -> bool:
        """True when both are one, or cannot be compared."""
        return self.foreign or self.recorded == self.folded


class Folded(Value, frozen=True):
    """What folding all of a recording gives."""

    session_id: str
    events: int
    state: str
    """Fingerprint of the final state; where the session was closed, of the one just before."""
    closings: tuple[Closing, ...] = ()
    """Every close that recorded a state."""

    @property
    def same(self) -> bool:
        """True when no recorded state is another one now."""
        return all(closing.same for closing in self.closings)


def play_through(envelopes: Iterable[Envelope]) -> Folded:
    """Fold every event, and compare at each close."""
    view, before = SessionView(), SessionView()
    closings: list[Closing] = []
    count, closed = 0, False
    for one in envelopes:
        before, view = view, fold(view, one)
        count += one.durable
        closed = isinstance(one.event, e.SessionClosed)
        if isinstance(one.event, e.SessionClosed) and one.event.state:
            closings.append(
                Closing(
                    seq=one.seq or 0,
                    recorded=one.event.state,
                    folded=fingerprint(before),
                    version=one.event.version,
                )
            )
    return Folded(
        session_id=view.session_id,
        events=count,
        state=fingerprint(before if closed else view),
        closings=tuple(closings),
    )
