"""Messages of the trace to its screen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from textual.message import Message

from alita_tui.view.cards import Level

if TYPE_CHECKING:
    from alita_tui.console.session.trace import Trace

RatingKind = Literal["up", "down", "should_be", "undo"]
"""The rating that a key gives a row: good, not good, what it should be; or its withdrawal."""


@dataclass
class FollowChanged(Message, namespace="trace"):
    """Number of rows below that were not seen yet; 0 while the trace follows."""

    unseen: int


@dataclass
class LevelChosen(Message, namespace="trace"):
    """Another level of detail was chosen."""

    level: Level


@dataclass
class Refused(Message, namespace="trace"):
    """A task that was sent was not begun, because of an error."""

    text: str


class FindAsked(Message, namespace="trace"):
    """Open the search."""


@dataclass
class ExplainAsked(Message, namespace="trace"):
    """Explain a row."""

    seq: int


@dataclass
class FileAsked(Message, namespace="trace"):
    """Show the file of a row, save it, or open it with its program."""

    trace: Trace
    handle: str
    what: Literal["view", "save", "open"]


@dataclass
class PictureAsked(Message, namespace="trace"):
    """Decode a picture for a width in cells, and hand its lines to the trace."""

    trace: Trace
    handle: str
    columns: int


@dataclass
class RateAsked(Message, namespace="trace"):
    """Rate the answer or run of a row."""

    seq: int
    """0 if the row cannot be rated."""
    rating: RatingKind


class Selected(Message, namespace="trace"):
    """Another card or row is selected, or the selected one has changed."""


class RewindAsked(ExplainAsked, namespace="trace"):
    """Show the session as it was at a row."""
