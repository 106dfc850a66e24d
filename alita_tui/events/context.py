"""Context besides the conversation: blocks for the model that the person switches on and off."""

from __future__ import annotations

from alita_tui.events.base import Fact, Value


class ContextBlock(Value, frozen=True):
    """A text that goes with a task."""

    name: str
    """As in `context.blocks`."""
    text: str
    source: str = ""
    """Where a text from outside is from; empty: it is the person's own word."""
    tokens: int = 0
    """Estimated, rather too many than too few."""


class ContextGiven(Fact, frozen=True):
    """The model was given blocks with a task; of blocks of one name the newest counts."""

    blocks: tuple[ContextBlock, ...]


class ContextSwitched(Fact, frozen=True):
    """The person switched a block on or off for this session."""

    block: str
    on: bool
