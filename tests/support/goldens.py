"""The golden recordings in `sessions/`: what real runs left behind (`make golden` records them anew)."""

from __future__ import annotations

from pathlib import Path

from alita_tui import events as e
from alita_tui.spine.envelope import Envelope
from alita_tui.store.sessions import SessionFile

FOLDER = Path(__file__).parents[2] / "sessions"
NAMES = tuple(sorted(path.stem for path in FOLDER.glob("golden-*.json")))


def golden(name: str) -> list[Envelope]:
    """All events of a recording."""
    file = SessionFile.open(FOLDER / f"{name}.json", readonly=True)
    try:
        return list(file.envelopes())
    finally:
        file.close()


def walkthrough() -> list[Envelope]:
    """A tool is built, approved and used; a second task uses it again."""
    return golden("golden-walkthrough")


def waiting() -> list[Envelope]:
    """The same up to the moment when the build waits."""
    whole = walkthrough()
    asked = next(n for n, one in enumerate(whole) if isinstance(one.event, e.ApprovalRequested))
    return whole[: asked + 1]
