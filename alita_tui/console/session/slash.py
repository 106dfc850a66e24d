"""Slash commands: a line that is nothing but `/name` runs the action of that name. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from alita_tui.console.action_table import ACTIONS, Action
from alita_tui.spine.near import did_you_mean
from alita_tui.spine.text import one_line

_LONE = re.compile(r"/[A-Za-z_-]*")
_ENGINE = frozenset({"plan", "team"})
"""Names that the engine reads itself, with what follows them."""


def commands() -> dict[str, Action]:
    """Return the actions that a slash runs, by name: those of the palette, in a live session."""
    found: dict[str, Action] = {}
    for action in ACTIONS:
        name = action.id.partition(".")[2].replace("_", "-")
        if action.palette and action.live and name not in _ENGINE:
            found.setdefault(name, action)
    return found


def instead(one: Action, keys: Sequence[str]) -> tuple[str, ...]:
    """Return the command to type for a key that some terminals have not: none has Shift+F1 and up within screen."""
    if not keys or not keys[0].startswith("shift+f"):
        return ()
    return tuple(f"/{name}" for name, known in commands().items() if known.id == one.id)


def is_command(text: str) -> bool:
    """Return whether a text is a slash command, known or not; a path, or a task that begins with one, is none."""
    return bool(_LONE.fullmatch(text)) and text[1:].lower() not in _ENGINE


def found(text: str) -> str:
    """Return the action that a command runs, as Textual writes it; empty for an unknown one.

    Only the whole name counts, so that a slip of the finger runs nothing else.
    """
    one = commands().get(text[1:].lower().replace("_", "-"))
    return "" if one is None else f"{'app' if one.owner == 'app' else 'screen'}.{one.run}"


def unknown(text: str) -> str:
    """Return what to say of a command that is none."""
    names = [f"/{name}" for name in commands()]
    listed = f"Commands: {' '.join(names)}"
    if len(text) == 1:
        return listed
    return f"There is no command {one_line(text, 40)}. {did_you_mean(text.lower(), names, listed)}"
