"""The person's keymap file, checked before it is used: unknown names and clashes are reported.

Textual would silently drop the other action of a key, so clashes are removed here.
"""

from __future__ import annotations

import tomllib
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from textual.keys import Keys

from alita_tui.console.action_table import ACTIONS, DIALOGS, Action
from alita_tui.system.files import read_plain

_MODIFIERS = frozenset(("ctrl", "shift", "alt", "meta", "super", "hyper"))
_NAMED = frozenset(key.value for key in Keys)
_BESIDE = {"session": ("composer", "pane", "trace", "library", "replay")}
"""Owner → owners whose keys are active at the same time; those of `app` always are."""


def read_keymap(path: Path | None) -> tuple[dict[str, str], list[str]]:
    """Return remapped keys by action id, and the file's problems.

    The file is a TOML table `[keys]` of `"action.id" = "key,other key"`, keys in Textual's names. An
    invalid entry keeps its default.
    """
    if path is None or not path.exists():
        return {}, []
    try:
        content = tomllib.loads(read_plain(path).decode())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        return {}, [f"{path.name}: {error}"]
    table = content.pop("keys", {})
    if not isinstance(table, dict):
        return {}, [f"{path.name}: keys: has to be a table"]
    known = {action.id: action for action in ACTIONS}
    remapped: dict[str, str] = {}
    problems = [f"{path.name}: {name!r} does nothing here; put it below a line [keys]" for name in content]
    for name, keys in _flat(table):
        if name not in known:
            problems.append(f"{path.name}: there is no action {name!r}")
        elif reason := _wrong(keys):
            problems.append(f"{path.name}: {name}: {reason}")
        else:
            remapped[name] = ",".join(key.strip() for key in str(keys).split(","))
    while clash := _clash(remapped):
        first, second, key = clash
        problems.append(f"{path.name}: {key} would be both {first} and {second}; {first} keeps its default")
        del remapped[first]
    return remapped, problems


def _flat(table: dict[str, object]) -> Iterator[tuple[str, object]]:
    """Yield names and keys; a name without quotes makes a table in TOML."""
    for name, keys in table.items():
        if isinstance(keys, dict):
            yield from ((f"{name}.{rest}", value) for rest, value in keys.items())
        else:
            yield name, keys


def _wrong(keys: object) -> str:
    """Return why a value is not a list of keys; empty if it is."""
    if not isinstance(keys, str) or not keys.strip():
        return 'the keys have to be text such as "ctrl+k"'
    bad = [key.strip() for key in keys.split(",") if not _is_key(key.strip())]
    return f"there is no key {bad[0]!r}" if bad else ""


def _is_key(key: str) -> bool:
    *modifiers, base = key.split("+")
    if not _MODIFIERS.issuperset(modifiers) or not base:
        return False
    if len(base) == 1 or base in _NAMED:
        return True
    try:
        unicodedata.lookup(base.replace("_", " "))  # Textual names other keys so: `question_mark`
    except KeyError:
        return base in ("minus", "plus", "slash")
    return True


def _clash(remapped: dict[str, str]) -> tuple[str, str, str] | None:
    """Return a remapped action, another that shares a key with it, and the key."""
    for first in (action for action in ACTIONS if action.id in remapped):
        keys = _keys(first, remapped)
        for second in ACTIONS:
            shared = keys & _keys(second, remapped) if second is not first and _meet(first, second) else None
            if shared:
                return first.id, second.id, min(shared)
    return None


def _keys(action: Action, remapped: dict[str, str]) -> set[str]:
    return {key.strip() for key in remapped.get(action.id, action.key).split(",")}


def _meet(first: Action, second: Action) -> bool:
    first_owner, second_owner = first.owner, second.owner
    if "setup" in (first_owner, second_owner) and (first.run in DIALOGS or second.run in DIALOGS):
        return False  # a dialog itself, that no other opens over
    return (
        first_owner == second_owner
        or "app" in (first_owner, second_owner)
        or second_owner in _BESIDE.get(first_owner, ())
        or first_owner in _BESIDE.get(second_owner, ())
    )
