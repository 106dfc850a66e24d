"""What packages are used for, in the sandbox as it is: whatever the profile refuses, this has to work."""

from __future__ import annotations

import asyncio
import random
import tempfile
from pathlib import Path

import msgspec

from alita_tui.events import Lock
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.sandbox.setup import repair
from alita_tui.spine.errors import AlitaError
from alita_tui.spine.ports.sandbox import Job, Limits
from tests.attack.report import Outcome
from tests.attack.syscalls.uses import USES

LIMITS = Limits(wall_seconds=60, cpu_seconds=60, memory_bytes=1 << 30)
ALWAYS = ("the standard library", "numpy", "pandas", "pillow", "lxml")


def attack(share: float, seed: int) -> list[Outcome]:
    """A share of the uses, the commonest always."""
    others = [name for name in USES if name not in ALWAYS]
    some = random.Random(seed).sample(others, round(len(others) * min(share, 1.0)))
    with tempfile.TemporaryDirectory(prefix="alita-uses-") as name:
        settings = EngineSettings(cache_dir=str(Path(name) / "cache"))
        asyncio.run(repair(settings, lambda *_: None))
        wrong = asyncio.run(prove(settings, (*ALWAYS, *some)))
    tried = len(ALWAYS) + len(some)
    return [Outcome("syscalls: packages that have to run", tried, tried - len(wrong), tuple(wrong))]


async def prove(settings: EngineSettings, names: tuple[str, ...]) -> list[str]:
    """Which of these do not run, and why."""
    sandbox = PodmanSandbox(msgspec.structs.replace(settings, environments_mb=16_384), "uses")
    gate, wrong = asyncio.Semaphore(2), list[str]()

    async def one(name: str) -> None:
        async with gate:
            try:
                lock = Lock() if " " in name else await sandbox.lock([name], lambda *_: None)
                for piece in USES[name].split("\n#---\n"):
                    job = Job(
                        run_id=name, module="uses_it", code=piece, kind="script", lock=lock, limits=LIMITS
                    )
                    report = await sandbox.run(job, lambda *_: None, lambda *_: None)
                    if report.status != "ok":
                        wrong.append(
                            f"{name}: {report.reason}: {(report.error + report.stderr).strip()[-400:]}"
                        )
            except AlitaError as error:
                wrong.append(f"{name}: {error.message}")

    try:
        await sandbox.prepare(lambda *_: None)
        await asyncio.gather(*map(one, names))
    finally:
        await sandbox.close()
    return wrong
