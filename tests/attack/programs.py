"""Attacks on the sandbox: hostile programs in real containers, with and without grants."""

from __future__ import annotations

import asyncio
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from alita_tui.sandbox.settings import default_settings
from alita_tui.sandbox.setup import repair
from tests.attack.report import Outcome

Case = TypeVar("Case")


def attack(share: float, seed: int) -> list[Outcome]:
    """A share of the programs; what each did besides what it may is named."""
    with tempfile.TemporaryDirectory(prefix="alita-attack-") as name:
        folder = Path(name)
        settings = default_settings(folder / "data", folder / "cache")
        asyncio.run(repair(settings, lambda *_: None))
        return [_programs(settings, folder, share, seed), _grants(settings, folder, share, seed)]


def _programs(settings: object, folder: Path, share: float, seed: int) -> Outcome:
    from tests.sandbox import test_hostile as room
    from tests.sandbox.hostile import ATTACKS

    (folder / "programs").mkdir()
    cases = _some(ATTACKS, share, seed)
    after = room.besieged(settings, folder / "programs", cases)
    checks: dict[str, Callable[[], None]] = {
        one.name: lambda one=one: room.judge(after, one) for one in cases
    }
    return _held("programs: in the sandbox", {**checks, "what is left": lambda: room.unharmed(after)})


def _grants(settings: object, folder: Path, share: float, seed: int) -> Outcome:
    from tests.sandbox import test_hostile_broker as room
    from tests.sandbox.hostile_broker import ABUSES

    (folder / "grants").mkdir()
    cases = _some(ABUSES, share, seed)
    after = room.siege(settings, folder / "grants", cases)

    def contained(name: str, result: object) -> None:
        report = after.reports[name]
        assert report.stdout.startswith("ATTACK"), f"the attack did not begin: {report}"
        assert (report.status, report.result) == ("ok", result), report

    checks: dict[str, Callable[[], None]] = {
        one.name: lambda one=one: contained(one.name, one.result) for one in cases
    }
    return _held("programs: with grants", {**checks, "what was touched": lambda: _untouched(after)})


def _untouched(after: object) -> None:
    assert after.containers == [] and after.processes == []
    assert after.outside == {"outside.txt": "outside", "file.txt": "outside"}
    assert not [one for one in after.site.seen if "smuggled" in one["path"]]


def _some(cases: tuple[Case, ...], share: float, seed: int) -> tuple[Case, ...]:
    count = max(1, round(len(cases) * min(1.0, share)))
    return tuple(random.Random(seed).sample(cases, count)) if count < len(cases) else cases


def _held(section: str, checks: dict[str, Callable[[], None]]) -> Outcome:
    missed = []
    for name, check in checks.items():
        try:
            check()
        except (AssertionError, KeyError) as error:
            missed.append(f"{name}: {' '.join(str(error).split())[:300]}")
    return Outcome(section, len(checks), len(checks) - len(missed), tuple(missed))
