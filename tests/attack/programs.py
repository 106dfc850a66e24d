"""Attacks on the sandbox: hostile programs in real containers, with and without grants."""

from __future__ import annotations

import asyncio
import random
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from alita_tui.sandbox.settings import EngineSettings
from alita_tui.sandbox.setup import repair
from tests.attack.report import Outcome

if TYPE_CHECKING:
    from tests.sandbox.siege import Aftermath

Case = TypeVar("Case")


def attack(share: float, seed: int) -> list[Outcome]:
    """A share of the programs; what each did besides what it may is named."""
    with tempfile.TemporaryDirectory(prefix="alita-attack-") as name:
        folder = Path(name)
        settings = EngineSettings(cache_dir=str(folder / "cache"))
        asyncio.run(repair(settings, lambda *_: None))
        return [_programs(settings, folder, share, seed), _grants(settings, folder, share, seed)]


def _programs(settings: EngineSettings, folder: Path, share: float, seed: int) -> Outcome:
    from tests.sandbox.aftermath import besieged, judge, unharmed
    from tests.sandbox.hostile import ATTACKS

    (folder / "programs").mkdir()
    cases = _some(ATTACKS, share, seed)
    after = besieged(settings, folder / "programs", cases)
    checks = {one.name: partial(judge, after, one) for one in cases}
    return _held("programs: in the sandbox", {**checks, "what is left": partial(unharmed, after)})


def _grants(settings: EngineSettings, folder: Path, share: float, seed: int) -> Outcome:
    from tests.sandbox.hostile_broker import ABUSES
    from tests.sandbox.siege import siege

    (folder / "grants").mkdir()
    cases = _some(ABUSES, share, seed)
    after = siege(settings, folder / "grants", cases)

    def contained(name: str, result: object) -> None:
        report = after.reports[name]
        assert report.stdout.startswith("ATTACK"), f"the attack did not begin: {report}"
        assert (report.status, report.result) == ("ok", result), report

    checks = {one.name: partial(contained, one.name, one.result) for one in cases}
    return _held("programs: with grants", {**checks, "what was touched": partial(_untouched, after)})


def _untouched(after: Aftermath) -> None:
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
