"""`alita tools run`: one run of an approved tool from the shell."""

from __future__ import annotations

import asyncio
import shlex
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from alita_tui.app.context import AppContext
from alita_tui.app.identity import new_id, now
from alita_tui.cli.files import read_arguments
from alita_tui.cli.output import json_document
from alita_tui.events import BrokerAnswered, PageLogged, RunOutcome
from alita_tui.spine.text import counted, neutralise, one_line, reveal

if TYPE_CHECKING:
    from alita_tui.events import RunReport


def run(
    context: typer.Context,
    name: str,
    input_json: Annotated[
        str,
        typer.Option("--input", metavar="JSON", help="Arguments as a JSON object; `-` reads standard input."),
    ] = "{}",
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Save the files that it makes in this folder.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the whole report as JSON.")] = False,
) -> None:
    """Run an approved tool in the sandbox.

    An argument that is a file is a path on this machine; the tool gets a copy to read. A run of a tool with
    granted capabilities is recorded, with every request it makes.
    """
    from alita_tui.app.tool_runs import run_tool
    from alita_tui.cli.given_files import with_local_files

    arguments = read_arguments(input_json)
    app = AppContext.open(context.obj)
    record = app.library.get(name)
    if record.draft.name != name and not json:
        typer.echo(f"{name} is another name of {record.draft.name} v{record.version}, which runs.", err=True)
    arguments, inputs = with_local_files(
        arguments, record.draft.input_schema, app.loaded.settings.artefacts.file_mb
    )

    def print_output(_: str, text: str) -> None:
        if not json:
            sys.stderr.write(neutralise(text))

    async def print_request(event: BrokerAnswered | PageLogged) -> None:
        if json:
            return
        if isinstance(event, PageLogged):
            text = event.text or f"{counted(event.more, 'more message')} of the page"
            typer.echo(reveal(f"console, {event.level}: {text}"), err=True)
        else:
            why = f": {event.reason}" if event.reason else ""
            typer.echo(reveal(f"{event.request} → {event.outcome}{why}"), err=True)

    with tempfile.TemporaryDirectory(prefix="alita-run-") as folder:
        outputs = Path(folder)
        report, recorded = asyncio.run(
            run_tool(app, record, arguments, print_output, print_request, inputs=inputs, outputs=outputs)
        )
        saved = _save(report, outputs, out) if out is not None else []
    ok = report.status == "ok"
    app.library.record_run(record.draft.name, record.version, ok=ok, query="")
    outcome = RunOutcome(run=f"shell/{new_id()}", at=now().isoformat(), grade="ran" if ok else "failed")
    app.library.note(record.draft.name, record.version, (outcome,))
    if json:
        json_document(report)
    elif ok:
        json_document(report.result)
    else:
        typer.echo(reveal(f"{name} failed ({report.status}): {report.error}".strip()), err=True)
    for path in saved:
        typer.echo(reveal(f"saved: {path}"), err=True)
    if report.files and out is None and not json:
        names = ", ".join(one_line(file.name, 120) for file in report.files)
        typer.echo(reveal(f"It made {names}, which was not kept; --out DIR saves it."), err=True)
    if report.files_lost:
        typer.echo(reveal(f"Not everything that it left could be taken: {report.files_lost}"), err=True)
    if recorded is not None and not json:
        typer.echo(f"its requests are recorded: alita replay {shlex.quote(str(recorded))}", err=True)
    raise typer.Exit(0 if ok else 1)


def _save(report: RunReport, outputs: Path, out: Path) -> list[Path]:
    """Save the files of a run, each under the last part of its name as one line; return the paths. Raise UsageError."""
    from alita_tui.app.artefacts import saved

    return [
        saved(outputs / str(number), out, one_line(Path(file.name).name, 200) or "file")
        for number, file in enumerate(report.files)
    ]
