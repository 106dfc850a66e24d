"""The keys of a screen or widget, with the user's keymap applied."""

from __future__ import annotations

from textual.binding import BindingsMap
from textual.dom import DOMNode

from alita_tui.console.actions import shown


def live_bindings(node: DOMNode) -> BindingsMap:
    """Return a node's bindings as Textual looks them up: its own map never has the keymap."""
    bindings = node._bindings.copy()
    if node.app._keymap:
        bindings.apply_keymap(node.app._keymap)
    return bindings


def actions_of(node: DOMNode, key: str) -> frozenset[str]:
    """Return the actions that a key runs."""
    return frozenset(one.action for one in live_bindings(node).key_to_bindings.get(key, ()))


def shown_keys(node: DOMNode) -> dict[str, str]:
    """Return the first key of each action, as people write it."""
    found: dict[str, str] = {}
    for key, many in live_bindings(node).key_to_bindings.items():
        for one in many:
            found.setdefault(one.action, shown(key))
    return found
