"""`alita sandbox`: its state, its containers, and running any file in one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from alita_tui.app.context import AppContext
from alita_tui.cli.files import read_arguments, read_text, show_row
from alita_tui.cli.lazy import group
from alita_tui.cli.output import Json, json_document, print_result, table
from alita_tui.spine.errors import SandboxUnavailable, UsageError
from alita_tui.spine.text import counted, neutralise, one_line

if TYPE_CHECKING:
    from alita_tui.events import SandboxStatus
    from alita_tui.sandbox.fleet import Fleet
    from alita_tui.spine.inventory import Inventory

T = TypeVar("T")

commands = group()
_MB = 1024 * 1024


def _with_sandbox(app: AppContext, ask: Callable[[Fleet], Awaitable[T]]) -> T:
    """Return what `ask` returns for a sandbox that is closed afterwards."""

    async def run() -> T:
        sandbox = app.sandbox("cli")
        try:
            return await ask(sandbox)
        finally:
            await sandbox.close()

    return asyncio.run(run())


@commands.command()
def status(context: typer.Context, json: Json = False) -> None:
    """Show engine, base image, what enforces each limit, containers and environments."""
    from alita_tui.sandbox.fleet import together

    async def ask(sandbox: Fleet) -> tuple[dict[str, SandboxStatus], Inventory | None]:
        engines = await sandbox.statuses()
        return engines, await sandbox.inventory() if together(engines.values()).available else None

    engines, inventory = _with_sandbox(AppContext.open(context.obj), ask)
    combined = together(engines.values())
    containers = inventory.containers if inventory else ()
    environments = inventory.environments if inventory else ()
    if json:
        json_document(
            {"status": combined, "engines": engines, "containers": containers, "environments": environments}
        )
    else:
        typer.echo(
            combined.engine if combined.available else neutralise(f"{combined.problem} {combined.hint}")
        )
        if combined.available:
            typer.echo(f"{combined.image}, {combined.image_origin}, {combined.image_digest[:19]}\n")
            if combined.problem:
                typer.echo(neutralise(f"{combined.problem}\n"))
        table(
            ("RESOURCE", "STRONG", "MEASURED", "ENFORCED BY"),
            (
                (limit.resource, "yes" if limit.strong else "no", limit.measured, limit.mechanism)
                for limit in combined.enforcement
            ),
        )
        typer.echo(f"\n{counted(len(containers), 'container')}, {counted(len(environments), 'environment')}")
        table(
            ("ENVIRONMENT", "MB", "PACKAGES"),
            ((env.environment, f"{env.size / _MB:.0f}", ", ".join(env.packages)) for env in environments),
        )
    if not combined.available:
        raise typer.Exit(SandboxUnavailable.exit_code)


@commands.command()
def pool(context: typer.Context, json: Json = False) -> None:
    """Show waiting and running containers of every alita on this machine, and how many are kept ready."""
    app = AppContext.open(context.obj)
    settings = app.loaded.settings.sandbox
    inventory = _with_sandbox(app, lambda sandbox: sandbox.inventory())
    if json:
        pool_sizes = {
            "hot": settings.pool_hot,
            "warm": settings.pool_warm,
            "environments": settings.pool_environments,
        }
        json_document({"kept": pool_sizes, "containers": inventory.containers, "silent": inventory.silent})
        return
    typer.echo(
        f"kept for each environment: {settings.pool_hot} hot, {settings.pool_warm} warm; "
        f"{settings.pool_environments} environments\n"
    )
    table(
        ("CONTAINER", "ENGINE", "SESSION", "ENVIRONMENT", "STATE", "SINCE"),
        (
            (
                container.container,
                container.engine,
                container.session,
                container.environment,
                container.state + (", orphan" if container.orphan else ""),
                container.since,
            )
            for container in inventory.containers
        ),
    )
    for engine in inventory.silent:
        typer.echo(f"{one_line(engine)} does not answer", err=True)


@commands.command()
def reap(context: typer.Context, json: Json = False) -> None:
    """Remove what dead sessions left, and environments beyond their disk quota."""
    containers, folders = _with_sandbox(AppContext.open(context.obj), lambda sandbox: sandbox.reap())
    sentence = f"removed {counted(containers, 'container')} and {counted(folders, 'folder')}"
    print_result({"containers": containers, "folders": folders}, sentence, json=json)


@commands.command()
def rebuild(context: typer.Context, json: Json = False) -> None:
    """Rebuild the base image on every engine; the old image serves until the new one is ready.

    Engines are rebuilt one after the other. Exit code 1 if one failed, 6 if all did.
    """
    last = ""

    def progress(work: str, _done: float, _total: float, _detail: str) -> None:
        nonlocal last
        if work != last:
            typer.echo(neutralise(work), err=True)
        last = work

    async def ask(sandbox: Fleet) -> tuple[dict[str, SandboxUnavailable], dict[str, SandboxStatus]]:
        return await sandbox.rebuild(progress), await sandbox.statuses()

    failed, engines = _with_sandbox(AppContext.open(context.obj), ask)
    if json:
        json_document({"engines": engines, "failed": {name: str(error) for name, error in failed.items()}})
    else:
        _print_rebuilt(failed, engines)
    raise typer.Exit(_exit_code(failed, engines))


def _exit_code(failed: Collection[str], engines: Collection[str]) -> int:
    if not failed:
        return 0
    return SandboxUnavailable.exit_code if len(failed) == len(engines) else 1


def _print_rebuilt(failed: Mapping[str, SandboxUnavailable], engines: Mapping[str, SandboxStatus]) -> None:
    for name, engine in engines.items():
        if name in failed:
            typer.echo(f"{one_line(name)}: {neutralise(str(failed[name]))}", err=True)
        else:
            typer.echo(f"{one_line(name)}: {engine.image}, {engine.image_origin}, {engine.image_digest[:19]}")


@commands.command()
def run(
    context: typer.Context,
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Tools or plain scripts.")],
    input_json: Annotated[
        str, typer.Option("--input", metavar="JSON", help="A tool's arguments; a script's standard input.")
    ] = "{}",
    profile: Annotated[
        str,
        typer.Option(
            "--profile", metavar="NAME", help="`draft` or `gvisor`; by default as the settings say."
        ),
    ] = "",
    requirement: Annotated[
        list[str] | None,
        typer.Option("--requirement", metavar="SPEC", help="A package besides the file's own; repeatable."),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", metavar="N", min=1, max=64, help="How many at a time.")
    ] = None,
    json: Json = False,
) -> None:
    """Run each file in a fresh container with nothing granted.

    Exit code 1 if a file failed, 6 if the sandbox could not run any of them.
    """
    from alita_tui.app.file_runs import run_files
    from alita_tui.sandbox.settings import PROFILES

    if profile and profile not in PROFILES:
        raise UsageError(
            f"There is no profile {one_line(profile, 40)!r}.", hint=f"There is {', '.join(PROFILES)}."
        )
    arguments = read_arguments(input_json)
    code = [(file, read_text(file)) for file in files]
    app = AppContext.open(context.obj)
    rows = asyncio.run(run_files(app, code, arguments, tuple(requirement or ()), profile=profile, jobs=jobs))
    if json:
        json_document(rows)
    elif len(rows) == 1:
        show_row(rows[0])
    else:
        table(
            ("FILE", "OUTCOME", "REASON", "WALL MS", "CPU MS", "PEAK MB"),
            (
                (
                    row["file"],
                    row["outcome"],
                    row["reason"],
                    f"{row['wall_ms']:.0f}",
                    f"{row['cpu_ms']:.0f}",
                    f"{row['peak_mb']:.0f}",
                )
                for row in rows
            ),
        )
    if all(row["reason"] == "sandbox" for row in rows):
        raise typer.Exit(SandboxUnavailable.exit_code)
    raise typer.Exit(0 if all(row["outcome"] == "ok" for row in rows) else 1)
