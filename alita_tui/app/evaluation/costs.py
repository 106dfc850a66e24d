"""The homes and sessions of a run's cases, and what they cost, even before a case has ended."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import msgspec

from alita_tui import events as e
from alita_tui.config.paths import locate
from alita_tui.evaluation.results import Setup, lines
from alita_tui.events import ready
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import AlitaError, StoreError
from alita_tui.spine.history import of_kind
from alita_tui.store import disk

Key = tuple[str, str, int]
"""Case, model, repeat."""

HOMES, JUDGES, RESULTS = "homes", "judge", "results.jsonl"
_CACHE = "costs.json"
"""Caches the costs of the sessions of unfinished cases, so that listing runs again does not read them again."""

_Stamps = tuple[disk.Signature, disk.Signature]


def place_of(folder: Path, key: Key, *, stream: bool) -> tuple[Path, str]:
    """Return the home of a case, and the id of its session there; empty if its home has a single session."""
    return folder / home_of(key, stream=stream), f"case-{_short(key[0])}" if stream else ""


def home_of(key: Key, *, stream: bool = False) -> str:
    """Return the folder of a case's home, relative to the run's; the cases of a stream share one."""
    home_key = ("", *key[1:]) if stream else key
    return f"{HOMES}/{_short(*home_key)}"


def judge_prefix(key: Key) -> str:
    """Return the prefix of the ids of the sessions in which a case is judged."""
    return f"judge-{_short(*key)}"


def _short(*parts: object) -> str:
    return sha256(chr(0).join(map(str, parts)).encode()).hexdigest()[:16]


def paid(history: Iterable[Envelope]) -> float:
    """Return what a session's events say was paid, in US dollars."""
    calls = of_kind(history, e.BudgetSpent)
    return math.fsum(call.assumed_usd if call.cost_usd is None else call.cost_usd for call in calls)


def paid_in(folder: Path, session_id: str = "") -> float:
    """Return what the sessions of a case's home, or one of them, cost so far, in US dollars. Raises StoreError."""
    return spent_in(locate(folder, {}).sessions, f"{session_id or '*'}.json*")


def judged_in(folder: Path, key: Key) -> float:
    """Return what judging a case cost so far, also before a kill, in US dollars. Raises StoreError."""
    return spent_in(folder / JUDGES, f"{judge_prefix(key)}-*.json*")


def spent_in(sessions: Path, pattern: str) -> float:
    """Return what the sessions whose files match cost so far, in US dollars. Raises StoreError."""
    names = {path.name.split(".")[0] for path in sessions.glob(pattern)}
    return math.fsum(_paid_of(sessions / f"{name}.json") for name in names)


def _paid_of(path: Path) -> float:
    from alita_tui.spine.history import of
    from alita_tui.store.sessions import SessionFile

    file = SessionFile.open(path, readonly=True)
    try:
        return paid(of(file.history(), e.BudgetSpent))
    finally:
        file.close()


def unfinished_usd(folder: Path, setup: Setup) -> float:
    """Return in US dollars what was paid for cases that have not ended, as after a kill or with too small a budget.

    A session that has not changed since it was read is not read again. One that cannot be read counts as 0.
    """
    known, costs = _cached(folder), {}
    for path in _unfinished(folder, setup):
        name, stamps = str(path.relative_to(folder)), _stamps(path)
        if name in known and known[name][0] == stamps:
            costs[name] = known[name]
            continue
        with suppress(AlitaError):
            costs[name] = (stamps, _paid_of(path))
    if costs != known:
        with suppress(OSError):  # it is only a cache
            disk.replace(folder / _CACHE, [msgspec.json.encode(costs)])
    return math.fsum(usd for _, usd in costs.values())


def _unfinished(folder: Path, setup: Setup) -> Iterator[Path]:
    """Yield the sessions of the cases that have not ended, and those in which they were judged."""
    ended = lines(disk.read_bytes(folder / RESULTS) or b"")
    homes, judges = {result.home for result in ended}, {judge_prefix(result.key) for result in ended}
    names = {place_of(folder, result.key, stream=True)[1] for result in ended}
    for home in sorted((folder / HOMES).glob("*")):
        if setup.stream or f"{HOMES}/{home.name}" not in homes:
            for path in _sessions(locate(home, {}).sessions):
                if not (setup.stream and path.stem in names):
                    yield path
    for path in _sessions(folder / JUDGES):
        if path.stem.rpartition("-")[0] not in judges:
            yield path


def _sessions(folder: Path) -> Iterator[Path]:
    """Yield the files of the sessions in a folder; a session that a kill cut off may have its journal alone."""
    names = {path.name.split(".")[0] for path in folder.glob("*.json*")}
    return (folder / f"{name}.json" for name in sorted(names))


def _stamps(path: Path) -> _Stamps:
    return disk.signature(path), disk.signature(path.with_name(f"{path.name}.journal"))


def _cached(folder: Path) -> dict[str, tuple[_Stamps, float]]:
    with suppress(msgspec.DecodeError, StoreError):
        return msgspec.json.decode(
            disk.read_bytes(folder / _CACHE) or b"{}", type=ready(dict[str, tuple[_Stamps, float]])
        )
    return {}
