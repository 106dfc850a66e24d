"""`alita tools run`: one run of an approved tool from the shell."""

from __future__ import annotations

import asyncio
import shlex
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from alita_tui.app.context import AppContext
from alita_tui.app.identity import new_id, now
from alita_tui.cli.files import read_arguments
from alita_tui.cli.output import json_document
from alita_tui.events import BrokerAnswered, PageLogged, RunOutcome
from alita_tui.spine.errors import RegistryError, UsageError
from alita_tui.spine.ports.library import FinishedRun
from alita_tui.spine.text import counted, neutralise, one_line, reveal

if TYPE_CHECKING:
    from alita_tui.events import Json, RunReport, ToolRecord


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
    json: Annotated[
        bool, typer.Option("--json", help="Print the whole report as JSON, with the traceback of a failure.")
    ] = False,
) -> None:
    """Run an approved tool in the sandbox.

    An argument that is a file is a path on this machine; the tool gets a copy to read. Arguments that do not fit its
    input schema are refused before anything runs. A run of a tool with granted capabilities is recorded, with every
    request it makes.
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
    _check(record, arguments)
    requests: list[BrokerAnswered] = []

    def print_output(_: str, text: str) -> None:
        if not json:
            sys.stderr.write(neutralise(text))

    async def print_request(event: BrokerAnswered | PageLogged) -> None:
        if isinstance(event, BrokerAnswered):
            requests.append(event)
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
    refused = _counted(app, record, report, requests)
    if json:
        json_document(report)
    elif report.status == "ok":
        json_document(report.result)
    else:
        _print_failure(record, report, refused=refused)
    for path in saved:
        typer.echo(reveal(f"saved: {path}"), err=True)
    if report.files and out is None and not json:
        names = ", ".join(one_line(file.name, 120) for file in report.files)
        typer.echo(reveal(f"It made {names}, which was not kept; --out DIR saves it."), err=True)
    if report.files_lost:
        typer.echo(reveal(f"Not everything that it left could be taken: {report.files_lost}"), err=True)
    if recorded is not None and not json:
        typer.echo(f"its requests are recorded: alita replay {shlex.quote(str(recorded))}", err=True)
    raise typer.Exit(0 if report.status == "ok" else 1)


def _check(record: ToolRecord, arguments: Json) -> None:
    """Raise UsageError, with what is wrong and how the tool is called, unless the arguments fit its input schema."""
    from alita_tui.agent.arguments import check_arguments
    from alita_tui.toolsmith.checks.probes import misfit

    try:
        check_arguments(record, arguments, misfit)
    except RegistryError as error:
        raise UsageError(
            error.message,
            hint=f"{_call_of(record)} `alita tools show {record.draft.name} --json` has its whole input schema.",
        ) from error


def _call_of(record: ToolRecord) -> str:
    from alita_tui.spine.examples import signature

    draft = record.draft
    return f"It is called as {one_line(signature(draft.name, draft.input_schema, draft.output_schema), 400)}."


def _counted(
    app: AppContext, record: ToolRecord, report: RunReport, requests: Sequence[BrokerAnswered]
) -> bool:
    """Count a run, unless the tool refused its input; return whether it did. Raise StoreError."""
    from alita_tui.spine.refusals import refused_input

    name, version, ok = record.draft.name, record.version, report.status == "ok"
    refused = refused_input(report, requests)
    outcome = RunOutcome(run=f"shell/{new_id()}", at=now().isoformat(), grade="ran" if ok else "failed")
    run = FinishedRun(
        name=name, version=version, ok=ok, outcome=None if refused else outcome, refused=refused
    )
    app.library.record_runs([run])
    return refused


def _print_failure(record: ToolRecord, report: RunReport, *, refused: bool) -> None:
    """Print on stderr what went wrong, where, and what to do; the traceback is part of the whole report only."""
    from alita_tui.spine.refusals import last_message, line_of_code

    name, message = record.draft.name, last_message(report)
    if refused:
        message = one_line(message.removeprefix(f"{report.exception}: "), 600)
        typer.echo(reveal(f"{name} refused its input: {message}"), err=True)
        typer.echo(reveal(f"{_call_of(record)} The refusal does not count against the tool."), err=True)
        return
    line = line_of_code(report)
    place = f" (line {line} of its code, which `alita tools show {name}` prints)" if line else ""
    typer.echo(reveal(f"{name} failed ({report.status}): {message}{place}"), err=True)
    if report.exception:
        typer.echo("With --json the run prints its whole report, with the traceback.", err=True)


def _save(report: RunReport, outputs: Path, out: Path) -> list[Path]:
    """Save the files of a run, each under the last part of its name as one line; return the paths. Raise UsageError."""
    from alita_tui.app.artefacts import saved

    return [
        saved(outputs / str(number), out, one_line(Path(file.name).name, 200) or "file")
        for number, file in enumerate(report.files)
    ]
