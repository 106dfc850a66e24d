"""Runs any file in the sandbox and returns a row about the run, as `alita sandbox run` prints it."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from alita_tui.app.identity import new_id
from alita_tui.events import RunReport
from alita_tui.spine.errors import AlitaError, RequirementsError
from alita_tui.spine.ports.sandbox import Job, Limits, Sandbox

if TYPE_CHECKING:
    from alita_tui.app.context import AppContext

_MB = 1024 * 1024


async def run_files(
    app: AppContext,
    files: Sequence[tuple[Path, str]],
    arguments: dict[str, Any],
    requirements: tuple[str, ...],
    *,
    profile: str = "",
    jobs: int | None = None,
) -> list[dict[str, Any]]:
    """Run files, given with their code, each in a fresh container, `jobs` at a time; return a row for each."""
    sandbox = app.sandbox("cli", pool=len(files) > 1, profile=profile)
    slots = asyncio.Semaphore(jobs or min(os.cpu_count() or 1, 4))

    async def run(file: Path, code: str) -> dict[str, Any]:
        async with slots:
            return await run_file(sandbox, app.limits, file, code, arguments, requirements)

    try:
        await sandbox.prepare(lambda *_: None)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(run(file, code)) for file, code in files]
    finally:
        await sandbox.close()
    return [task.result() for task in tasks]


async def run_file(
    sandbox: Sandbox,
    limits: Limits,
    file: Path,
    code: str,
    arguments: dict[str, Any],
    requirements: tuple[str, ...],
) -> dict[str, Any]:
    """Run one file; return its row, also when it could not be run."""
    from alita_tui.runtimes.port import ContractError
    from alita_tui.runtimes.python.form import header_requirements
    from alita_tui.sandbox.imports import is_tool

    def ignore(*_: object) -> None:
        return

    try:
        lock = await sandbox.lock((*(header_requirements(code) or ()), *requirements), ignore)
        job = Job(
            run_id=new_id(), module=module_name(file), code=code, kind="run" if is_tool(code) else "script",
            arguments=arguments, lock=lock, limits=limits,
        )  # fmt: skip
        return run_row(file, await sandbox.run(job, ignore, ignore))
    except (RequirementsError, ContractError) as error:
        return _failed_row(file, "requirements", error)
    except AlitaError as error:
        return _failed_row(file, "sandbox", error)


def run_row(file: Path, report: RunReport) -> dict[str, Any]:
    """Return a run as a row."""
    return {
        "file": str(file),
        "outcome": report.status,
        "reason": report.reason,
        "exit_code": report.exit_code,
        "signal": report.signal,
        "stdout": report.stdout,
        "stderr": report.stderr,
        "result": report.result,
        "error": report.error,
        "truncated": report.truncated,
        "wall_ms": round(report.duration_ms, 3),
        "cpu_ms": round(report.cpu_ms, 3),
        "peak_mb": round(report.peak_memory_bytes / _MB, 3),
        "limits_hit": report.limits_hit,
    }


def _failed_row(file: Path, reason: str, error: AlitaError) -> dict[str, Any]:
    return {**run_row(file, RunReport(status="error", error=str(error))), "reason": reason}


def module_name(file: Path) -> str:
    """Return a module name for a file that shadows no module of the standard library."""
    name = re.sub(r"\W", "_", file.stem, flags=re.ASCII) or "tool"
    return f"{name}_" if name in sys.stdlib_module_names or name[0].isdigit() else name
