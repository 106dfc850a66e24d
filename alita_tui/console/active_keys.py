"""Which actions a screen takes now; used by the list of keys (F1), the palette and the line of keys.

It asks the widgets as Textual does when a key is pressed, so no list can name a key without effect.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple, cast

from textual.app import App
from textual.binding import Binding
from textual.dom import DOMNode
from textual.keys import key_to_character
from textual.screen import Screen
from textual.widget import Widget

from alita_tui.console.action_table import ACTIONS, GROUPS, Action
from alita_tui.console.actions import live_bindings, shown

_BY_ID = {action.id: action for action in ACTIONS}


class ActiveKey(NamedTuple):
    """An action that a key would run."""

    action: Action
    node: DOMNode
    """The node that owns the action."""
    keys: tuple[str, ...]
    """In Textual's names, in the order of the binding."""

    @property
    def key(self) -> str:
        """The first key, as people write it."""
        return shown(self.keys[0])


def active_keys(screen: Screen[Any], focused: Widget | None) -> dict[str, ActiveKey]:
    """Return the actions that a key runs on a screen while `focused` has the focus, by id."""
    by_id: dict[str, ActiveKey] = {}
    for key, (node, binding) in _by_key(screen, focused).items():
        action = _BY_ID.get(binding.id or "")
        if action is not None:
            earlier = by_id[action.id].keys if action.id in by_id else ()
            by_id[action.id] = ActiveKey(action, node, (*earlier, key))
    return {
        action_known.id: _ordered(by_id[action_known.id])
        for action_known in ACTIONS
        if action_known.id in by_id
    }


def _ordered(entry: ActiveKey) -> ActiveKey:
    """Return an entry with its keys in the order of the binding."""
    written = [
        key
        for key, key_bindings in live_bindings(entry.node).key_to_bindings.items()
        if any(binding.id == entry.action.id for binding in key_bindings)
    ]
    return entry._replace(keys=tuple(sorted(entry.keys, key=written.index)))


def _by_key(screen: Screen[Any], focused: Widget | None) -> dict[str, tuple[DOMNode, Binding]]:
    app = cast("App[object]", screen.app)
    chain = list(focused.ancestors_with_self if focused is not None else (screen, app))
    reach = next(
        (index for index, node in enumerate(chain) if isinstance(node, Screen) and node.is_modal), len(chain)
    )
    by_key: dict[str, tuple[DOMNode, Binding]] = {}
    for nodes, first in ((reversed(chain), True), (chain[: reach + 1], False)):
        for node in nodes:
            for key, key_bindings in live_bindings(node).key_to_bindings.items():
                for binding in key_bindings:
                    if binding.priority is not first or key in by_key or _consumed(chain, node, key):
                        continue
                    if app._check_action_state(binding.action, node) is not False:
                        by_key[key] = (node, binding)
    return by_key


def _consumed(chain: list[DOMNode], node: DOMNode, key: str) -> bool:
    """Return whether a widget nearer to the focus takes the key as text."""
    return any(widget.check_consume_key(key, key_to_character(key)) for widget in chain[: chain.index(node)])


_ANYWHERE = ("session", "app")
"""Owners whose keys work wherever the focus is."""


class Section(NamedTuple):
    """Keys that one part of a screen takes."""

    heading: str
    part: Widget | None
    """The part that must have the focus; None if the part takes no focus."""
    keys: tuple[ActiveKey, ...]


def sections(screen: Screen[Any], *, replay: bool) -> list[Section]:
    """Return all keys of a screen: of the focused part, of the other parts, then those that work everywhere."""
    focused = screen.focused
    order = [focused, *(part for part in screen.focus_chain if part is not focused)]
    by_part: dict[tuple[str, Widget | None], list[ActiveKey]] = {}
    listed: set[str] = set()
    for part in order:
        for entry in active_keys(screen, part).values():
            available = entry.action.replay if replay else entry.action.live
            if available and entry.action.id not in listed:
                listed.add(entry.action.id)
                by_part.setdefault((entry.action.owner, part), []).append(entry)
    ordered = sorted(by_part, key=lambda part: part[0] in _ANYWHERE and _ANYWHERE.index(part[0]) + 1)
    return [
        Section(_heading(owner, part, by_part), part, tuple(by_part[owner, part])) for owner, part in ordered
    ]


def _heading(owner: str, part: Widget | None, parts: Collection[tuple[str, Widget | None]]) -> str:
    several = len([key for key in parts if key[0] == owner]) > 1
    part_name = f", {part.id}" if several and part is not None and part.id else ""
    return f"{GROUPS[owner]}{part_name}"
