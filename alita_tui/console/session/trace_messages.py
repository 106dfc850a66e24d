"""What the trace asks of the screen that it is on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from textual.message import Message

from alita_tui.view.cards import Level

if TYPE_CHECKING:
    from alita_tui.console.session.trace import Trace

Said = Literal["up", "down", "should_be", "undo"]
"""What a key says of a row: good, not good, what it should be; or takes that back."""


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
    """Show less or more from now on."""

    def __init__(self, level: Level) -> None:
        super().__init__()
        self.level: Level = level


class FindAsked(Message, namespace="trace"):
    """Open the search."""


class ExplainAsked(Message, namespace="trace"):
    """Explain a row."""

    def __init__(self, seq: int) -> None:
        super().__init__()
        self.seq = seq


class FileAsked(Message, namespace="trace"):
    """Look into the file of a row, save it, or open it with its program."""

    def __init__(self, trace: Trace, handle: str, what: Literal["view", "save", "open"]) -> None:
        super().__init__()
        self.trace = trace
        self.handle = handle
        self.what = what


class PictureAsked(Message, namespace="trace"):
    """Decode a picture, for so many cells, and give its lines to the trace."""

    def __init__(self, trace: Trace, handle: str, columns: int) -> None:
        super().__init__()
        self.trace = trace
        self.handle = handle
        self.columns = columns


class RateAsked(Message, namespace="trace"):
    """Say how good the answer or run of a row is."""

    def __init__(self, seq: int, rating: Said) -> None:
        """`seq` is 0 where the row is nothing that can be rated."""
        super().__init__()
        self.seq = seq
        self.rating: Said = rating


class Selected(Message, namespace="trace"):
    """Another card or row is selected, or the selected one has changed."""


class RewindAsked(ExplainAsked, namespace="trace"):
    """Show everything as it was at a row."""
