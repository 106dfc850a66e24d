"""The facts that every export begins with."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

import msgspec

from alita_tui import events as e
from alita_tui.spine.envelope import Envelope, encode, to_builtins
from alita_tui.spine.redaction import MARK
from alita_tui.spine.text import SafeText, counted, one_line
from alita_tui.view.fold import fold_all


class Facts(msgspec.Struct, frozen=True):
    """A session in a few words, all of it neutralised."""

    session_id: SafeText
    title: SafeText
    model: SafeText
    version: SafeText
    """alita's version at the time."""
    parent: SafeText
    started: datetime | None
    events: int
    cost_usd: float
    redacted: int
    """Number of events that something was removed from."""

    @property
    def note(self) -> str:
        """What redaction did, in a sentence."""
        if not self.redacted:
            return "Secrets are redacted; there was none to take out."
        return f"Secrets are redacted: something was taken out of {counted(self.redacted, 'event')}."

    @property
    def lines(self) -> tuple[tuple[str, str], ...]:
        """Labels and values."""
        when = f"{self.started:%Y-%m-%d %H:%M} UTC" if self.started else "unknown"
        facts = (
            ("Session", self.session_id),
            ("Forked from", self.parent),
            ("Started", when),
            ("Model", self.model),
            ("Events", str(self.events)),
            ("Cost", f"${self.cost_usd:.2f}"),
            ("alita", self.version),
        )
        return tuple((label, str(value)) for label, value in facts if value)


def line_of(envelope: Envelope) -> str:
    """Return an envelope as a line of JSON."""
    try:
        return encode(envelope).decode()
    except UnicodeEncodeError:  # a lone surrogate
        return json.dumps(to_builtins(envelope))


def facts_of(envelopes: Sequence[Envelope]) -> Facts:
    """Return the facts of a session, including redactions made when it was written or just now."""
    view = fold_all(envelopes)
    opening = envelopes[0] if envelopes else None
    opened = opening.event if opening and isinstance(opening.event, e.SessionOpened) else e.SessionOpened()
    forked = f"{opened.parent} at event {opened.parent_seq}" if opened.parent else ""
    return Facts(
        session_id=one_line(view.session_id),
        title=view.title or SafeText("Untitled session"),
        model=view.model,
        version=one_line(opened.version),
        parent=one_line(forked),
        started=opening.at if opening else None,
        events=len(envelopes),
        cost_usd=view.spend.total_usd,
        redacted=sum(bool(MARK.search(line_of(envelope))) for envelope in envelopes),
    )
