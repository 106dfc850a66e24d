"""`alita worker`: makes this machine a part of a cluster."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from alita_tui.app.context import AppContext
from alita_tui.cli.mapping import LANES
from alita_tui.spine.errors import UsageError


def worker(
    context: typer.Context,
    address: Annotated[
        str, typer.Argument(metavar="[tls://HOST:PORT]", help="The scheduler to work for.")
    ] = "",
    init: Annotated[
        bool, typer.Option("--init", help="Make the cluster's authority, or a new certificate of it.")
    ] = False,
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="FOLDER", help="With --init: a certificate for another machine."),
    ] = None,
    scheduler: Annotated[
        str, typer.Option("--scheduler", metavar="HOST[:PORT]", help="Be the scheduler, at this address.")
    ] = "",
    data: Annotated[
        list[Path] | None,
        typer.Option(
            "--data", metavar="FOLDER", help="Read rows below this folder; may be repeated.",
            exists=True, file_okay=False,
        ),
    ] = None,
    bind: Annotated[
        str, typer.Option("--bind", metavar="HOST", help="This machine's address; by default towards the scheduler.")
    ] = "",
    lanes: Annotated[
        int, typer.Option("--lanes", min=1, max=64, help="Containers side by side; by default one more than cores.")
    ] = LANES,
) -> None:  # fmt: skip
    """Be part of a cluster that runs `tools map` on several machines.

    With --init, make its certificates; with --scheduler, hand out work; with tls://HOST:PORT, run rows in this
    machine's sandbox: with tools that were approved on this machine, and no others. Whoever holds a certificate of
    the cluster may have them run: use an account that owns nothing else. Ends with Ctrl+C.
    """
    chosen = [bool(address), init, bool(scheduler)]
    if sum(chosen) != 1:
        raise UsageError(
            "Say one of --init, --scheduler HOST and the address of a scheduler.", hint="alita worker --help"
        )
    if to is not None and not init:
        raise UsageError("--to goes with --init.")
    app = AppContext.open(context.obj)
    if init:
        _init(app, to)
        return
    from alita_tui.app.workers import Rows, cluster_part
    from alita_tui.mapping.cluster.addresses import address as read
    from alita_tui.mapping.cluster.authority import credentials

    scheduler_address = read(address or (scheduler if "://" in scheduler else f"tls://{scheduler}"))
    identity, machine = credentials(app.paths.cluster), cluster_part("machine")
    if scheduler:
        serving = machine.schedule(scheduler_address, identity, _say)
    elif data:
        serving = machine.work(scheduler_address, identity, bind, lanes, Rows(app, data, lanes), _say)
    else:
        raise UsageError("A worker reads rows from named folders alone.", hint="Name them: --data FOLDER")
    try:
        asyncio.run(serving)
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


def _init(app: AppContext, to: Path | None) -> None:
    from alita_tui.mapping.cluster.authority import MACHINE_DAYS, make_cluster, sign_for

    folder = app.paths.cluster
    if to is None:
        new = make_cluster(folder)
        typer.echo(f"{'A new authority' if new else 'The authority'} of a cluster is in {folder}")
        typer.echo(f"This machine's certificate is good for {MACHINE_DAYS} days.")
        typer.echo("For another machine: alita worker --init --to FOLDER")
    else:
        sign_for(folder, to)
        typer.echo(
            f"Bring {to} to the other machine, over ssh, as its {folder.name} folder beside config.toml."
        )
        typer.echo("Then remove it here: it lets anyone run rows on this cluster.")


def _say(line: str) -> None:
    typer.echo(line, err=True)
