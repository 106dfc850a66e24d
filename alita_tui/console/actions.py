"""Bindings and keys of the actions, with the user's keymap applied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from textual.binding import Binding, BindingsMap, BindingType
from textual.dom import DOMNode

from alita_tui.console.action_table import ACTIONS, Action


def bindings(*owners: str, excluded: tuple[str, ...] = (), only: tuple[str, ...] = ()) -> list[BindingType]:
    """Return the bindings of some owners, without those in `excluded` or `only` some, for a widget's BINDINGS."""
    return [
        Binding(
            action.key,
            action.run,
            action.label,
            tooltip=action.tooltip,
            id=action.id,
            show=False,
            priority=action.priority,
        )
        for action in ACTIONS
        if action.owner in owners and action.id not in excluded and (not only or action.id in only)
    ]


def action(action_id: str) -> Action:
    """Return an action by its id. Raises KeyError."""
    for known in ACTIONS:
        if known.id == action_id:
            return known
    raise KeyError(action_id)


_SHOWN = {
    "escape": "Esc",
    "enter": "Enter",
    "space": "Space",
    "slash": "/",
    "full_stop": ".",
    "colon": ":",
    "question_mark": "?",
    "apostrophe": "'",
    "backslash": "\\",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "left_curly_bracket": "{",
    "right_curly_bracket": "}",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "minus": "-",
    "plus": "+",
    "equals_sign": "=",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "home": "Home",
    "end": "End",
    "ctrl": "Ctrl",
    "shift": "Shift",
    "tab": "Tab",
}


def shown(keys: str) -> str:
    """Return the first of some keys as people write it: `ctrl+p,f3` → `Ctrl+P`."""
    parts = keys.split(",")[0].strip().split("+")
    return "+".join(
        _SHOWN.get(part, part.upper() if len(parts) > 1 or part[:1] == "f" and part[1:].isdigit() else part)
        for part in parts
    )


_NOT_EVERYWHERE = frozenset(("shift+enter", "ctrl+enter", "alt+enter"))
"""Keys that many terminals, and tmux, send as another key. They work where they arrive, but are not offered."""


def offered(keys: Sequence[str]) -> tuple[str, ...]:
    """Return the first two of some keys that arrive in every terminal, as people write them."""
    arriving = [key for key in keys if key not in _NOT_EVERYWHERE] or keys
    return tuple(dict.fromkeys(shown(key) for key in arriving[:2]))


def key_of(action_id: str, overrides: Mapping[str, str]) -> str:
    """Return the key that runs an action, as people write it."""
    return shown(overrides.get(action_id) or action(action_id).key)


def live_bindings(node: DOMNode) -> BindingsMap:
    """Return a node's bindings with the keymap applied, as Textual does when it looks a key up."""
    bindings = node._bindings.copy()
    if node.app._keymap:
        bindings.apply_keymap(node.app._keymap)
    return bindings


def actions_of(node: DOMNode, key: str) -> frozenset[str]:
    """Return the actions that a key runs."""
    return frozenset(binding.action for binding in live_bindings(node).key_to_bindings.get(key, ()))


def shown_keys(node: DOMNode) -> dict[str, str]:
    """Return the first key of each action, as people write it."""
    keys: dict[str, str] = {}
    for key, node_bindings in live_bindings(node).key_to_bindings.items():
        for binding in node_bindings:
            keys.setdefault(binding.action, shown(key))
    return keys
