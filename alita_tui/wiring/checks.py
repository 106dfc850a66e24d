"""What `alita doctor` looks at, and what set-up fetches ahead."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, get_args

from alita_tui.config.paths import shipped
from alita_tui.spine.errors import ConfigError
from alita_tui.spine.events import ModelRole
from alita_tui.spine.ports import Job, Progress
from alita_tui.spine.values import (
    Check,
)
from alita_tui.wiring import damage
from alita_tui.wiring.house import DEMO_SCRIPT, House

if TYPE_CHECKING:
    from alita_tui.config.models import ModelEntry


async def warm_up(house: House, progress: Progress) -> None:
    """Fetch what the recorded model's tools need, once, so that the demo works without a network.

    Raises RequirementsError, SandboxUnavailable.
    """
    from alita_tui.llm.scripted import load_script

    script = shipped("sessions") / DEMO_SCRIPT
    wanted = load_script(script).requirements
    stamp = house.paths.cache / "demo-fetched"
    if stamp.exists() and stamp.read_text().split("\n") == list(wanted):
        return
    sandbox = house.sandbox("doctor")
    try:
        lock = await sandbox.lock(wanted, progress)
        job = Job(run_id="doctor", module="warm_up", code="def run() -> None: ...\n", lock=lock)
        await sandbox.run(job, lambda *_: None, progress)
    finally:
        await sandbox.close()
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.write_text("\n".join(wanted))


async def diagnose(house: House) -> tuple[Check, ...]:
    """Every line of `alita doctor`, with a small real call of each model; never raises."""
    from alita_tui.sandbox import setup

    settings = [
        Check(name="settings", state="problem", detail=problem.message, hint=problem.hint)
        for problem in house.loaded.problems
    ] or [Check(name="settings", state="ok", detail=str(house.paths.config_file))]
    models, sandbox = await asyncio.gather(_check_models(house), setup.diagnose(house.sandbox_settings()))
    return (*settings, *await asyncio.to_thread(damage.checks, house), *models, *sandbox)


async def _check_models(house: House) -> tuple[Check, ...]:
    if house.demo:
        none = Check(
            name="model",
            state="warning",
            detail="none configured; the recorded demo model is used",
            hint="Run `alita setup`, or set ALITA_MODEL=provider:name and the provider's key.",
        )
        return (none,)
    try:
        entries = {one.text: one for role in get_args(ModelRole) for one in house.candidates(role)}
    except ConfigError as error:
        return (Check(name="model", state="problem", detail=error.message, hint=error.hint),)
    return tuple(await asyncio.gather(*(_check_model(house, entry) for entry in entries.values())))


async def _check_model(house: House, entry: ModelEntry) -> Check:
    result = await house.probe(entry)
    if not result.ok:
        return Check(name="model", state="problem", detail=result.text, hint=result.hint)
    lacks = [what for what, there in (("tool calls", result.calls_tools), ("usage", result.reports_usage),
                                      ("known price", result.has_price)) if not there]  # fmt: skip
    lacking = f"; without {', '.join(lacks)}" if lacks else ""
    detail = f"{entry.full_name} answers in {result.total_ms / 1000:.1f} s{lacking}"
    return Check(name="model", state="ok", detail=detail)
