"""What `alita doctor` looks at, and what set-up fetches ahead."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, get_args

from alita_tui.config.guarding import faults, mend
from alita_tui.config.paths import shipped
from alita_tui.spine.errors import ConfigError, StoreError
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
    from alita_tui.wiring.sandboxes import sandbox_settings

    settings = [
        Check(name="settings", state="problem", detail=problem.message, hint=problem.hint)
        for problem in house.loaded.problems
    ] or [Check(name="settings", state="ok", detail=str(house.paths.config_file))]
    models, sandbox = await asyncio.gather(
        _check_models(house), setup.diagnose(sandbox_settings(house.paths, house.loaded.settings.sandbox))
    )
    records = await asyncio.to_thread(_check_records, house)
    damaged = await asyncio.to_thread(damage.checks, house)
    return (*settings, *_check_access(house), *records, *damaged, *models, *sandbox)


def mend_records(house: House) -> tuple[str, ...]:
    """Take from others what they may not have, and make in the library what the log has; what was done.

    Raises StoreError.
    """
    done = [f"{one.what}: mended" for one in faults(house.paths) if mend(one)]
    if not house.shelf.standing().problem:
        told = [one.text for one in house.shelf.overridden()]
        house.lineages("cli")  # makes them
        done += [f"{one}: the library says so, too, now" for one in told]
    return tuple(done)


def _check_access(house: House) -> tuple[Check, ...]:
    found = tuple(
        Check(
            name="access",
            state="problem" if one.refused else "warning",
            detail=one.what,
            hint=one.command,
            fixable=one.mode >= 0 or one.link,
        )
        for one in faults(house.paths)
    )
    return found or (Check(name="access", state="ok", detail="only you can write what is relied on"),)


def _check_records(house: House) -> tuple[Check, ...]:
    """Whether the audit log holds, and the library says the same."""
    if not house.paths.data.exists():
        return ()
    try:
        problem = house.shelf.standing().problem
        differing = house.shelf.overridden()
        doubts = house.shelf.doubts()
    except StoreError as error:
        return (Check(name="records", state="problem", detail=error.message, hint=error.hint),)
    if problem:
        hint = "`alita audit verify` says where; `alita audit repair` says what can be done."
        return (Check(name="records", state="problem", detail=problem, hint=hint),)
    found = [Check(name="records", state="warning", detail=one.text, fixable=True) for one in differing]
    found += [
        Check(
            name="records",
            state="warning",
            detail=f"{name} v{version} does not run: {why}",
            hint=f"To look at it and approve it anew: alita tools approve {name} --version {version}",
        )
        for (name, version), why in doubts.items()
    ]
    entries = len(house.audit.entries())
    return tuple(found) or (
        Check(name="records", state="ok", detail=f"the audit log holds, {entries} entries"),
    )


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
