"""What the composer offers while something is written: commands behind a /, files behind an @, earlier entries."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import msgspec

from alita_tui.console.actions import offered
from alita_tui.console.session import slash
from alita_tui.console.session.attaching import choices, rest_of
from alita_tui.console.widgets.picker import Pick, Picker
from alita_tui.spine.text import one_line

_COMMAND = re.compile(r"/[A-Za-z_-]*")
_MOST = 200


class Offer(msgspec.Struct, frozen=True):
    """What can be taken."""

    kind: Literal["command", "file", "earlier"]
    picks: tuple[Pick, ...]
    takes: tuple[str, ...]
    """What taking each adds at the cursor; of commands and earlier entries, the whole text."""


def offer(text: str, before: str) -> Offer | None:
    """Return what fits a text whose line ends with `before` at the cursor; None where nothing does."""
    if _COMMAND.fullmatch(text) and before == text:
        written = text[1:].lower().replace("_", "-")
        known = slash.commands()
        names = sorted(
            (name for name in known if written in name), key=lambda name: (not name.startswith(written), name)
        )
        picks = tuple(
            Pick(f"/{name}", known[name].tooltip, offered(known[name].key.split(","))[0]) for name in names
        )
        return Offer("command", picks, tuple(f"/{name}" for name in names)) if names else None
    found = choices(before)
    if found is None or not found[1]:
        return None
    names = list(found[1][:_MOST])
    return Offer(
        "file",
        tuple(Pick(one_line(name, 200)) for name in names),
        tuple(rest_of(before, name) for name in names),
    )


def earlier(entries: Sequence[str], written: str) -> Offer:
    """Return the earlier entries that have every written word, the newest first and each one once."""
    words = written.casefold().split()
    fits = [one for one in dict.fromkeys(reversed(entries)) if all(word in one.casefold() for word in words)][
        :_MOST
    ]
    return Offer("earlier", tuple(Pick(one_line(one, 300)) for one in fits), tuple(fits))


class Completions(Picker):
    """The list over the composer."""

    DEFAULT_CSS = """
    Completions {
        layer: over; dock: bottom; display: none; height: auto; max-height: 10; width: 100%; max-width: 100;
        background: $panel; margin: 0 3 2 3;
    }
    """

    def open(self, found: Offer, above: int) -> None:
        """Show what can be taken, `above` some lines from the bottom."""
        self.styles.margin = (0, 2, above, 3)
        self.styles.height = min(max(len(found.picks), 1), 10)
        self.display = True
        self.show(found.picks)
