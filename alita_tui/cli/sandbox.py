"""`alita sandbox`: what is there, and running any file behind the wall."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from alita_tui.cli.files import read_arguments, read_code, run_file, show_row
from alita_tui.cli.output import Json, json_document, table
from alita_tui.spine.errors import SandboxUnavailable, UsageError
from alita_tui.spine.text import counted, neutralise, one_line

if TYPE_CHECKING:
    from alita_tui.spine.values import SandboxStatus

app = typer.Typer(
    help="The containers that tools run in, and running any file in one.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
_MB = 1024 * 1024


@app.command()
def status(context: typer.Context, json: Json = False) -> None:
    """Show engine, base image, what enforces each limit, containers and environments."""
    from alita_tui.sandbox.fleet import together
    from alita_tui.wiring.house import House

    house = House.open(context.obj)

    async def go() -> None:
        sandbox = house.sandbox("cli")
        try:
            each = await sandbox.statuses()
            found = together(each.values())
            containers, environments = await sandbox.overview() if found.available else ((), ())
        finally:
            await sandbox.close()
        if json:
            json_document(
                {"status": found, "engines": each, "containers": containers, "environments": environments}
            )
        else:
            typer.echo(found.engine if found.available else neutralise(f"{found.problem} {found.hint}"))
            if found.available:
                typer.echo(f"{found.image}, {found.image_origin}, {found.image_digest[:19]}\n")
                if found.problem:
                    typer.echo(neutralise(f"{found.problem}\n"))
            table(
                ("RESOURCE", "STRONG", "MEASURED", "ENFORCED BY"),
                (
                    (row.resource, "yes" if row.strong else "no", row.measured, row.mechanism)
                    for row in found.enforcement
                ),
            )
            typer.echo(
                f"\n{counted(len(containers), 'container')}, {counted(len(environments), 'environment')}"
            )
            table(
                ("ENVIRONMENT", "MB", "PACKAGES"),
                ((e.environment, f"{e.size / _MB:.0f}", ", ".join(e.packages)) for e in environments),
            )
        if not found.available:
            raise typer.Exit(SandboxUnavailable.exit_code)

    asyncio.run(go())


@app.command()
def pool(context: typer.Context, json: Json = False) -> None:
    """Show the containers that wait or run, of every alita here, and how many are kept."""
    from alita_tui.wiring.house import House

    house = House.open(context.obj)
    chosen = house.loaded.settings.sandbox

    async def go() -> None:
        sandbox = house.sandbox("cli")
        try:
            found = await sandbox.inventory()
        finally:
            await sandbox.close()
        sizes = {
            "hot": chosen.pool_hot,
            "warm": chosen.pool_warm,
            "environments": chosen.pool_environments,
        }
        if json:
            json_document({"kept": sizes, "containers": found.containers, "silent": found.silent})
        else:
            typer.echo(
                "kept for each environment: {hot} hot, {warm} warm; {environments} environments\n".format(
                    **sizes
                )
            )
            table(
                ("CONTAINER", "ENGINE", "SESSION", "ENVIRONMENT", "STATE", "SINCE"),
                (
                    (
                        c.container,
                        c.engine,
                        c.session,
                        c.environment,
                        c.state + (", orphan" if c.orphan else ""),
                        c.since,
                    )
                    for c in found.containers
                ),
            )
            for engine in found.silent:
                typer.echo(f"{one_line(engine)} does not answer", err=True)

    asyncio.run(go())


@app.command()
def reap(context: typer.Context, json: Json = False) -> None:
    """Remove what dead sessions left, and environments past their room."""
    from alita_tui.wiring.house import House

    house = House.open(context.obj)

    async def go() -> tuple[int, int]:
        sandbox = house.sandbox("cli")
        try:
            return await sandbox.reap()
        finally:
            await sandbox.close()

    containers, folders = asyncio.run(go())
    if json:
        json_document({"containers": containers, "folders": folders})
    else:
        typer.echo(f"removed {counted(containers, 'container')} and {counted(folders, 'folder')}")


@app.command()
def rebuild(context: typer.Context, json: Json = False) -> None:
    """Make the base image anew on every engine; the old one serves until the new one is there.

    An engine that fails does not keep the others waiting. Exit code 1 where one failed, 6 where all did.
    """
    from alita_tui.wiring.house import House

    house = House.open(context.obj)
    last = ""

    def tell(work: str, _done: float, _total: float, _detail: str) -> None:
        nonlocal last
        if work != last:
            typer.echo(neutralise(work), err=True)
        last = work

    async def go() -> tuple[dict[str, SandboxUnavailable], dict[str, SandboxStatus]]:
        sandbox = house.sandbox("cli")
        try:
            return await sandbox.rebuild(tell), await sandbox.statuses()
        finally:
            await sandbox.close()

    _tell_rebuilt(*asyncio.run(go()), json=json)


@app.command()
def run(
    context: typer.Context,
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Tools or plain scripts.")],
    input_json: Annotated[
        str, typer.Option("--input", metavar="JSON", help="A tool's arguments; a script's standard input.")
    ] = "{}",
    profile: Annotated[
        str,
        typer.Option(
            "--profile", metavar="NAME", help="`draft` or `gvisor`; without it, as the settings say."
        ),
    ] = "",
    requirement: Annotated[
        list[str] | None,
        typer.Option("--requirement", metavar="SPEC", help="A package besides the file's own."),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", metavar="N", min=1, max=64, help="How many at a time.")
    ] = None,
    json: Json = False,
) -> None:
    """Run each file in a fresh container with nothing granted.

    A file that the sandbox lost has a row that says so. Exit code 1 where one was not ok, 6 where all were lost.
    """
    from alita_tui.sandbox.policy import PROFILES
    from alita_tui.wiring.house import House

    if profile and profile not in PROFILES:
        raise UsageError(
            f"There is no profile {one_line(profile, 40)!r}.", hint=f"There is {', '.join(PROFILES)}."
        )
    arguments = read_arguments(input_json)
    house = House.open(context.obj)
    wanted = tuple(requirement or ())
    codes = [read_code(file) for file in files]

    async def go() -> list[dict[str, Any]]:
        sandbox = house.sandbox("cli", pool=len(files) > 1, profile=profile)
        gate = asyncio.Semaphore(jobs or min(os.cpu_count() or 1, 4))

        async def one(file: Path, code: str) -> dict[str, Any]:
            async with gate:
                return await run_file(sandbox, house.limits, file, code, arguments, wanted)

        try:
            await sandbox.prepare(lambda *_: None)
            async with asyncio.TaskGroup() as group:
                running = [group.create_task(one(f, c)) for f, c in zip(files, codes, strict=True)]
        finally:
            await sandbox.close()
        return [task.result() for task in running]

    rows = asyncio.run(go())
    if json:
        json_document(rows)
    elif len(rows) == 1:
        show_row(rows[0])
    else:
        table(
            ("FILE", "OUTCOME", "REASON", "WALL MS", "CPU MS", "PEAK MB"),
            (
                (
                    r["file"],
                    r["outcome"],
                    r["reason"],
                    f"{r['wall_ms']:.0f}",
                    f"{r['cpu_ms']:.0f}",
                    f"{r['peak_mb']:.0f}",
                )
                for r in rows
            ),
        )
    if all(row["reason"] == "sandbox" for row in rows):
        raise typer.Exit(SandboxUnavailable.exit_code)
    raise typer.Exit(0 if all(row["outcome"] == "ok" for row in rows) else 1)


def _tell_rebuilt(
    failed: Mapping[str, SandboxUnavailable], each: Mapping[str, SandboxStatus], *, json: bool
) -> None:
    """What came of it on every engine. Raises typer.Exit where one failed."""
    if json:
        json_document({"engines": each, "failed": {name: str(error) for name, error in failed.items()}})
    for name, found in each.items() if not json else ():
        if name in failed:
            typer.echo(f"{one_line(name)}: {neutralise(str(failed[name]))}", err=True)
        else:
            typer.echo(f"{one_line(name)}: {found.image}, {found.image_origin}, {found.image_digest[:19]}")
    if failed:
        raise typer.Exit(SandboxUnavailable.exit_code if len(failed) == len(each) else 1)
