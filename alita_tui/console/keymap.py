"""The person's keymap file, checked before it is used: unknown names and clashes are told.

Textual would drop the other action of a key without a word, so a clash never gets that far.
"""

from __future__ import annotations

import tomllib
import unicodedata
from pathlib import Path

from textual.keys import Keys

from alita_tui.console.action_table import ACTIONS, Action

_MODIFIERS = frozenset(("ctrl", "shift", "alt", "meta", "super", "hyper"))
_NAMED = frozenset(key.value for key in Keys)
_BESIDE = {"session": ("composer", "pane", "trace", "library", "replay")}
"""Owner → owners whose keys are active at the same time; those of `app` always are."""


def read_keymap(path: Path | None) -> tuple[dict[str, str], list[str]]:
    """Return remapped keys by action id, and the file's problems.

    The file is a TOML table `[keys]` of `"action.id" = "key,other key"`, keys in Textual's names. What is
    wrong keeps its default.
    """
    if path is None or not path.exists():
        return {}, []
    try:
        table = tomllib.loads(path.read_text("utf-8")).get("keys", {})
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        return {}, [f"{path.name}: {error}"]
    if not isinstance(table, dict):
        return {}, [f"{path.name}: keys: has to be a table"]
    known = {action.id: action for action in ACTIONS}
    found: dict[str, str] = {}
    problems: list[str] = []
    for name, keys in table.items():
        if name not in known:
            problems.append(f"{path.name}: there is no action {name!r}")
        elif reason := _wrong(keys):
            problems.append(f"{path.name}: {name}: {reason}")
        else:
            found[name] = ",".join(key.strip() for key in keys.split(","))
    while clash := _clash(found):
        mine, other, key = clash
        problems.append(f"{path.name}: {key} would be both {mine} and {other}; {mine} keeps its default")
        del found[mine]
    return found, problems


def _wrong(keys: object) -> str:
    """Return why a value names no keys; empty if it does."""
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


def _clash(found: dict[str, str]) -> tuple[str, str, str] | None:
    """Return a remapped action, another that shares a key with it, and the key."""
    for mine in (action for action in ACTIONS if action.id in found):
        keys = _keys(mine, found)
        for other in ACTIONS:
            shared = keys & _keys(other, found) if other is not mine and _meet(mine, other) else None
            if shared:
                return mine.id, other.id, min(shared)
    return None


def _keys(one: Action, found: dict[str, str]) -> set[str]:
    return {key.strip() for key in found.get(one.id, one.key).split(",")}


def _meet(one: Action, other: Action) -> bool:
    a, b = one.owner, other.owner
    return a == b or "app" in (a, b) or b in _BESIDE.get(a, ()) or a in _BESIDE.get(b, ())
