"""Messages of the trace to its screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from textual.message import Message

from alita_tui.view.cards import Level

if TYPE_CHECKING:
    from alita_tui.console.session.trace import Trace

Said = Literal["up", "down", "should_be", "undo"]
"""The rating that a key gives a row: good, not good, what it should be; or its withdrawal."""


class Yanked(Message, namespace="trace"):
    """Copy a row's text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class FollowChanged(Message, namespace="trace"):
    """Number of rows below that were not seen yet; 0 while the trace follows."""

    def __init__(self, unseen: int) -> None:
        super().__init__()
        self.unseen = unseen


class LevelChosen(Message, namespace="trace"):
    """Another level of detail was chosen."""

    def __init__(self, level: Level) -> None:
        super().__init__()
        self.level: Level = level


class Refused(Message, namespace="trace"):
    """A task that was sent was not begun, because of an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class FindAsked(Message, namespace="trace"):
    """Open the search."""


class ExplainAsked(Message, namespace="trace"):
    """Explain a row."""

    def __init__(self, seq: int) -> None:
        super().__init__()
        self.seq = seq


class FileAsked(Message, namespace="trace"):
    """Show the file of a row, save it, or open it with its program."""

    def __init__(self, trace: Trace, handle: str, what: Literal["view", "save", "open"]) -> None:
        super().__init__()
        self.trace = trace
        self.handle = handle
        self.what = what


class PictureAsked(Message, namespace="trace"):
    """Decode a picture for a width in cells, and hand its lines to the trace."""

    def __init__(self, trace: Trace, handle: str, columns: int) -> None:
        super().__init__()
        self.trace = trace
        self.handle = handle
        self.columns = columns


class RateAsked(Message, namespace="trace"):
    """Rate the answer or run of a row."""

    def __init__(self, seq: int, rating: Said) -> None:
        """`seq` is 0 if the row cannot be rated."""
        super().__init__()
        self.seq = seq
        self.rating: Said = rating


class Selected(Message, namespace="trace"):
    """Another card or row is selected, or the selected one has changed."""


class RewindAsked(ExplainAsked, namespace="trace"):
    """Show the session as it was at a row."""
