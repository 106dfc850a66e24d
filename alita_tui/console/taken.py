"""Which actions a screen takes now: what F1 lists, the palette offers and the line of keys shows.

It asks the widgets as Textual does when a key is pressed, so no list can name a key that nothing takes.
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


class Taken(NamedTuple):
    """An action that a key would run."""

    action: Action
    node: DOMNode
    """Whose action it is."""
    keys: tuple[str, ...]
    """In Textual's names, the first one first."""

    @property
    def key(self) -> str:
        """The first key, as people write it."""
        return shown(self.keys[0])


def taken(screen: Screen[Any], focused: Widget | None) -> dict[str, Taken]:
    """Return the actions that a key runs on a screen while `focused` has the focus, by id."""
    found: dict[str, Taken] = {}
    for key, (node, binding) in _by_key(screen, focused).items():
        one = _BY_ID.get(binding.id or "")
        if one is not None:
            before = found[one.id].keys if one.id in found else ()
            found[one.id] = Taken(one, node, (*before, key))
    return {known.id: _ordered(found[known.id]) for known in ACTIONS if known.id in found}


def _ordered(one: Taken) -> Taken:
    """Return it with the keys in the order in which they are written down."""
    written = [
        key
        for key, many in live_bindings(one.node).key_to_bindings.items()
        if any(binding.id == one.action.id for binding in many)
    ]
    return one._replace(keys=tuple(sorted(one.keys, key=written.index)))


def _by_key(screen: Screen[Any], focused: Widget | None) -> dict[str, tuple[DOMNode, Binding]]:
    app = cast("App[object]", screen.app)
    chain = list(focused.ancestors_with_self if focused is not None else (screen, app))
    reach = next(
        (n for n, node in enumerate(chain) if isinstance(node, Screen) and node.is_modal), len(chain)
    )
    found: dict[str, tuple[DOMNode, Binding]] = {}
    for nodes, first in ((reversed(chain), True), (chain[: reach + 1], False)):
        for node in nodes:
            for key, many in live_bindings(node).key_to_bindings.items():
                for binding in many:
                    if binding.priority is not first or key in found or _consumed(chain, node, key):
                        continue
                    if app._check_action_state(binding.action, node) is not False:
                        found[key] = (node, binding)
    return found


def _consumed(chain: list[DOMNode], node: DOMNode, key: str) -> bool:
    """Return whether a widget nearer to the focus writes the key as text."""
    return any(one.check_consume_key(key, key_to_character(key)) for one in chain[: chain.index(node)])


_ANYWHERE = ("session", "app")
"""Owners whose keys work wherever the focus is."""


class Section(NamedTuple):
    """Keys that one part of a screen takes."""

    heading: str
    part: Widget | None
    """What has to have the focus; None where nothing can have it."""
    keys: tuple[Taken, ...]


def sections(screen: Screen[Any], *, replay: bool) -> list[Section]:
    """Return all keys of a screen: what has the focus first, then the other parts, and then what works in all."""
    focused = screen.focused
    order = [focused, *(part for part in screen.focus_chain if part is not focused)]
    found: dict[tuple[str, Widget | None], list[Taken]] = {}
    listed: set[str] = set()
    for part in order:
        for one in taken(screen, part).values():
            fits = one.action.replay if replay else one.action.live
            if fits and one.action.id not in listed:
                listed.add(one.action.id)
                found.setdefault((one.action.owner, part), []).append(one)
    at_last = sorted(found, key=lambda one: one[0] in _ANYWHERE and _ANYWHERE.index(one[0]) + 1)
    return [Section(_heading(owner, part, found), part, tuple(found[owner, part])) for owner, part in at_last]


def _heading(owner: str, part: Widget | None, found: Collection[tuple[str, Widget | None]]) -> str:
    several = len([one for one in found if one[0] == owner]) > 1
    named = f", {part.id}" if several and part is not None and part.id else ""
    return f"{GROUPS[owner]}{named}"
