"""The person's keymap file, checked before it is used: unknown names and clashes are told."""

from __future__ import annotations

import tomllib
from pathlib import Path

from alita_tui.console.actions import ACTIONS


def read_keymap(path: Path | None) -> tuple[dict[str, str], list[str]]:
    """Remapped keys by action id, and what was wrong with the file.

    The file is a TOML table `[keys]` of `"action.id" = "key,other key"`.
    """
    if path is None or not path.exists():
        return {}, []
    try:
        table = tomllib.loads(path.read_text("utf-8")).get("keys", {})
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        return {}, [f"{path.name}: {error}"]
    known = {one.id: one for one in ACTIONS}
    taken: dict[str, str] = {}
    found: dict[str, str] = {}
    problems: list[str] = []
    for name, keys in table.items():
        if name not in known:
            problems.append(f"{path.name}: there is no action {name!r}")
        elif not isinstance(keys, str) or not keys.strip():
            problems.append(f'{path.name}: {name}: the keys have to be text such as "ctrl+k"')
        else:
            found[name] = keys.strip()
    for one in ACTIONS:
        for key in found.get(one.id, one.key).split(","):
            place = f"{one.owner}:{key.strip()}"
            if place in taken and (one.id in found or taken[place] in found):
                problems.append(f"{path.name}: {key.strip()} would be both {taken[place]} and {one.id}")
                found.pop(one.id, None)
            taken.setdefault(place, one.id)
    return found, problems
