"""Slash commands: a line that is nothing but `/name` runs the action of that name. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from alita_tui.console.action_table import ACTIONS, Action
from alita_tui.spine.near_names import did_you_mean
from alita_tui.spine.text import one_line

_COMMAND = re.compile(r"/[A-Za-z_-]*")
_ENGINE = frozenset({"plan", "team"})
"""Commands that the engine parses itself, with their arguments."""


def commands() -> dict[str, Action]:
    """Return the actions that have a slash command, by its name: the palette's actions in a live session."""
    by_name: dict[str, Action] = {}
    for action in ACTIONS:
        name = action.id.partition(".")[2].replace("_", "-")
        if action.palette and action.live and name not in _ENGINE:
            by_name.setdefault(name, action)
    return by_name


def instead(action: Action, keys: Sequence[str]) -> tuple[str, ...]:
    """Return the commands to type for a key that some terminals lack, such as Shift+F1 and up within screen."""
    if not keys or not keys[0].startswith("shift+f"):
        return ()
    return tuple(f"/{name}" for name, known in commands().items() if known.id == action.id)


def is_command(text: str) -> bool:
    """Return whether a text is a slash command, known or not. A path, or a task that begins with a path, is none."""
    return bool(_COMMAND.fullmatch(text)) and text[1:].lower() not in _ENGINE


def action_for(text: str) -> str:
    """Return the Textual action that a command runs; empty for an unknown command.

    Only the full name counts, so that a typing error runs nothing.
    """
    action = commands().get(text[1:].lower().replace("_", "-"))
    return "" if action is None else f"{'app' if action.owner == 'app' else 'screen'}.{action.run}"


def unknown_message(text: str) -> str:
    """Return the message for an unknown command."""
    names = [f"/{name}" for name in commands()]
    listed = f"Commands: {' '.join(names)}"
    if len(text) == 1:
        return listed
    return f"There is no command {one_line(text, 40)}. {did_you_mean(text.lower(), names, listed)}"
