"""What the composer offers while somebody writes: commands after a /, files after an @, earlier entries."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import msgspec

from alita_tui.console.actions import offered
from alita_tui.console.session import slash
from alita_tui.console.session.file_references import choices, rest_of
from alita_tui.console.widgets.picker import Pick, Picker
from alita_tui.spine.text import one_line

_COMMAND = re.compile(r"/[A-Za-z_-]*")
_MOST = 200


class Offer(msgspec.Struct, frozen=True):
    """The entries of the list."""

    kind: Literal["command", "file", "earlier"]
    picks: tuple[Pick, ...]
    texts: tuple[str, ...]
    """The text that each entry inserts at the cursor; commands and earlier entries replace the whole text."""


def offer(text: str, before: str) -> Offer | None:
    """Return the entries that match a text whose line up to the cursor is `before`; None for no match."""
    if _COMMAND.fullmatch(text) and before == text:
        typed = text[1:].lower().replace("_", "-")
        commands = slash.commands()
        names = sorted(
            (name for name in commands if typed in name), key=lambda name: (not name.startswith(typed), name)
        )
        picks = tuple(
            Pick(f"/{name}", commands[name].tooltip, offered(commands[name].key.split(","))[0])
            for name in names
        )
        return Offer("command", picks, tuple(f"/{name}" for name in names)) if names else None
    fitting = choices(before)
    if fitting is None or not fitting[1]:
        return None
    names = list(fitting[1][:_MOST])
    return Offer(
        "file",
        tuple(Pick(one_line(name, 200)) for name in names),
        tuple(rest_of(before, name) for name in names),
    )


def earlier(entries: Sequence[str], search: str) -> Offer:
    """Return the earlier entries that contain every word, newest first, without repeats."""
    words = search.casefold().split()
    fits = [
        entry for entry in dict.fromkeys(reversed(entries)) if all(word in entry.casefold() for word in words)
    ][:_MOST]
    return Offer("earlier", tuple(Pick(one_line(entry, 300)) for entry in fits), tuple(fits))


class Completions(Picker):
    """The list over the composer."""

    DEFAULT_CSS = """
    Completions {
        layer: over; dock: bottom; display: none; height: auto; max-height: 10; width: 100%; max-width: 100;
        background: $panel; margin: 0 3 2 3;
    }
    """

    def open(self, offer: Offer, above: int) -> None:
        """Show the list, `above` lines from the bottom."""
        self.styles.margin = (0, 2, above, 3)
        self.styles.height = min(max(len(offer.picks), 1), 10)
        self.display = True
        self.show(offer.picks)
