"""Any file as a job for the sandbox, and its run as a row: what `alita sandbox run` is made of."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from alita_tui.cli.output import json_document
from alita_tui.spine.errors import AlitaError, RequirementsError, UsageError
from alita_tui.spine.text import reveal

if TYPE_CHECKING:
    from alita_tui.spine.ports import Limits, Sandbox
    from alita_tui.spine.values import RunReport

_MB = 1024 * 1024


async def run_file(
    sandbox: Sandbox,
    limits: Limits,
    file: Path,
    code: str,
    arguments: dict[str, Any],
    wanted: tuple[str, ...],
) -> dict[str, Any]:
    """One file's run as a row. A file that cannot be run at all is a row as well."""
    from alita_tui.sandbox.imports import is_tool
    from alita_tui.spine.ports import Job
    from alita_tui.toolsmith.contract import ContractError, header_requirements
    from alita_tui.wiring.identity import new_id

    def nothing(*_: object) -> None:
        return

    try:
        lock = await sandbox.lock((*(header_requirements(code) or ()), *wanted), nothing)
        job = Job(
            run_id=new_id(), module=module_name(file), code=code, what="run" if is_tool(code) else "script",
            arguments=arguments, lock=lock, limits=limits,
        )  # fmt: skip
        return _row(file, await sandbox.run(job, nothing, nothing))
    except (RequirementsError, ContractError) as error:
        return _unrun(file, "requirements", error)
    except AlitaError as error:
        return _unrun(file, "sandbox", error)


def _row(file: Path, report: RunReport) -> dict[str, Any]:
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


def _unrun(file: Path, reason: str, error: AlitaError) -> dict[str, Any]:
    from alita_tui.spine.values import RunReport

    return {**_row(file, RunReport(status="error", error=str(error))), "reason": reason}


def show_row(row: dict[str, Any]) -> None:
    """One run as a person reads it: what it printed, then what came of it."""
    typer.echo(reveal(row["stdout"]), nl=False)
    typer.echo(reveal(row["stderr"]), nl=False, err=True)
    if row["outcome"] == "ok" and row["result"] is not None:
        json_document(row["result"])
    if row["error"]:
        typer.echo(reveal(row["error"].rstrip()), err=True)
    reason = f" ({row['reason']})" if row["reason"] else ""
    typer.echo(
        f"{row['outcome']}{reason}  {row['wall_ms']:.0f} ms, {row['cpu_ms']:.0f} ms cpu, {row['peak_mb']:.0f} MB",
        err=True,
    )


def read_code(file: Path) -> str:
    """A file's text. Raises UsageError."""
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is no text in UTF-8.") from error


def read_arguments(text: str) -> dict[str, Any]:
    """The value of `--input`; `-` is standard input. Raises UsageError."""
    import msgspec

    try:
        found = msgspec.json.decode(sys.stdin.read() if text == "-" else text)
    except msgspec.DecodeError as error:
        raise UsageError(f"--input is not valid JSON: {error}.") from error
    if not isinstance(found, dict):
        raise UsageError("--input has to be a JSON object.")
    return found


def module_name(file: Path) -> str:
    """A module name from a file's name; one that hides no module of the standard library."""
    name = re.sub(r"\W", "_", file.stem, flags=re.ASCII) or "tool"
    return f"{name}_" if name in sys.stdlib_module_names or name[0].isdigit() else name
