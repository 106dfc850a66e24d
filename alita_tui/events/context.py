"""Context besides the conversation: blocks for the model that the person switches on and off."""

from __future__ import annotations

from alita_tui.events.base import Fact, Value


class ContextBlock(Value, frozen=True):
    """A text that goes with a task."""

    name: str
    """Name of the block, as in the setting `context.blocks`."""
    text: str
    source: str = ""
    """The origin of a text from outside; empty for the person's own words."""
    tokens: int = 0
    """An upper estimate."""


class ContextGiven(Fact, frozen=True):
    """Blocks were added to the conversation of a task; of several with the same name the newest counts."""

    blocks: tuple[ContextBlock, ...]


class ContextSwitched(Fact, frozen=True):
    """The person switched a block on or off for this session."""

    block: str
    on: bool
