"""The checks and repairs of `alita doctor`, and the packages that set-up fetches ahead."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, get_args

from alita_tui.app.context import DEMO_SCRIPT, AppContext
from alita_tui.app.damage import damage_checks
from alita_tui.app.encoding import check_encoder
from alita_tui.config.guarding import faults, mend
from alita_tui.config.paths import shipped
from alita_tui.events import Check, ModelRole
from alita_tui.spine.errors import ConfigError, StoreError
from alita_tui.spine.ports.sandbox import Job
from alita_tui.spine.ports.stream import Progress

if TYPE_CHECKING:
    from alita_tui.config.models import ModelEntry

_BROWSER = "browser"


async def warm_up(app: AppContext, progress: Progress) -> None:
    """Fetch the packages of the demo's tools once, so that the demo works without a network.

    Raises RequirementsError, SandboxUnavailable.
    """
    from alita_tui.llm.scripted import load_script

    requirements = load_script(shipped("sessions") / DEMO_SCRIPT).requirements
    stamp = app.paths.cache / "demo-fetched"
    if stamp.exists() and stamp.read_text().split("\n") == list(requirements):
        return
    sandbox = app.sandbox("doctor")
    try:
        lock = await sandbox.lock(requirements, progress)
        job = Job(run_id="doctor", module="warm_up", code="def run() -> None: ...\n", lock=lock)
        await sandbox.run(job, lambda *_: None, progress)
    finally:
        await sandbox.close()
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.write_text("\n".join(requirements))


async def diagnose(app: AppContext) -> tuple[Check, ...]:
    """Return every line of `alita doctor`, after a small real call of each model. Never raises."""
    from alita_tui.sandbox import setup

    settings = [
        Check(name="settings", state="problem", detail=problem.message, hint=problem.hint)
        for problem in app.loaded.problems
    ] or [Check(name="settings", state="ok", detail=str(app.paths.config_file))]
    models, encoder, sandbox = await asyncio.gather(
        _check_models(app), check_encoder(app), setup.diagnose(app.sandbox_settings())
    )
    records = await asyncio.to_thread(_check_records, app)
    damage = await asyncio.to_thread(damage_checks, app)
    return (*settings, *_check_access(app), *records, *damage, *models, *encoder, *sandbox)


def repair_records(app: AppContext) -> tuple[str, ...]:
    """Restrict access to alita's files, and correct the library by the audit log; return what was done.

    Raises StoreError.
    """
    repairs = [f"{fault.what}: mended" for fault in faults(app.paths) if mend(fault)]
    if not app.library.standing().problem:
        differences = [difference.text for difference in app.library.overridden()]
        app.lineages("cli")  # opening it applies the changes
        repairs += [f"{text}: the library is corrected" for text in differences]
    return tuple(repairs)


def _check_access(app: AppContext) -> tuple[Check, ...]:
    checks = tuple(
        Check(
            name="access",
            state="problem" if fault.refused else "warning",
            detail=fault.what,
            hint=fault.command,
            fixable=fault.mode >= 0 or fault.link,
        )
        for fault in faults(app.paths)
    )
    return checks or (Check(name="access", state="ok", detail="only you can write alita's files"),)


def _check_records(app: AppContext) -> tuple[Check, ...]:
    """Check that the audit log is intact and that the library agrees with it."""
    if not app.paths.data.exists():
        return ()
    try:
        problem = app.library.standing().problem
        differences = app.library.overridden()
        doubts = app.library.doubts()
    except StoreError as error:
        return (Check(name="records", state="problem", detail=error.message, hint=error.hint),)
    if problem:
        hint = "`alita audit verify` shows where; `alita audit repair` repairs it."
        return (Check(name="records", state="problem", detail=problem, hint=hint),)
    checks = [
        Check(name="records", state="warning", detail=difference.text, fixable=True)
        for difference in differences
    ]
    checks += [
        Check(
            name="records",
            state="warning",
            detail=f"{name} v{version} does not run: {why}",
            hint=f"To look at it and approve it again: alita tools approve {name} --version {version}",
        )
        for (name, version), why in doubts.items()
    ]
    entries = len(app.audit.entries())
    return tuple(checks) or (
        Check(name="records", state="ok", detail=f"the audit log holds, {entries} entries"),
    )


async def _check_models(app: AppContext) -> tuple[Check, ...]:
    if app.demo:
        none = Check(
            name="model",
            state="warning",
            detail="none configured; the recorded demo model is used",
            hint="Run `alita setup`, or set ALITA_MODEL=provider:name and the provider's key.",
        )
        return (none,)
    try:
        entries = {entry.text: entry for role in get_args(ModelRole) for entry in app.candidates(role)}
    except ConfigError as error:
        return (Check(name="model", state="problem", detail=error.message, hint=error.hint),)
    return tuple(await asyncio.gather(*(_check_model(app, entry) for entry in entries.values())))


async def _check_model(app: AppContext, entry: ModelEntry) -> Check:
    result = await app.probe(entry)
    if not result.ok:
        return Check(name="model", state="problem", detail=result.text, hint=result.hint)
    abilities = {
        "tool calls": result.calls_tools, "usage": result.reports_usage, "known price": result.has_price,
    }  # fmt: skip
    missing = ", ".join(name for name, present in abilities.items() if not present)
    detail = f"{entry.full_name} answers in {result.total_ms / 1000:.1f} s"
    return Check(name="model", state="ok", detail=f"{detail}; without {missing}" if missing else detail)


def fetchable(listed: str) -> tuple[str, ...]:
    """Return the names of a list with commas: languages, `node` or `browser`. Raise UsageError for any other."""
    from alita_tui.runtimes.languages import runtime_called

    names = tuple(filter(None, (name.strip() for name in listed.split(","))))
    for name in names:
        if name != _BROWSER:
            runtime_called(name)
    return names


async def fetch_also(app: AppContext, also: Sequence[str], progress: Progress) -> None:
    """Install what tools in these languages (or `node`) run with, and for `browser` the image of tools that have one.

    Raise RequirementsError, SandboxUnavailable, UsageError.
    """
    from alita_tui.runtimes.languages import runtime_called
    from alita_tui.sandbox import browsing
    from alita_tui.sandbox.host import Host

    runtimes = [runtime_called(name) for name in also if name != _BROWSER]
    if _BROWSER in also:
        await browsing.ensure(Host(app.sandbox_settings()), progress)
    if not runtimes:
        return
    sandbox = app.sandbox("doctor")
    try:
        for runtime in runtimes:
            for needs in (runtime.needs, runtime.lint.needs if runtime.lint is not None else ()):
                if needs:
                    await sandbox.installed(await sandbox.lock(needs, progress), progress)
    finally:
        await sandbox.close()
