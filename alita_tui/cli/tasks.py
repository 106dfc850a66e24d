"""`alita run`, `resume`, `answer` and `demo`: the same engine without a screen."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from alita_tui.agent.agent_messages import without_team
from alita_tui.app.artefacts import saved, session_artefacts
from alita_tui.app.context import AppContext
from alita_tui.app.terminal import wants_lines
from alita_tui.cli.given_files import check_file, piped_file
from alita_tui.cli.output import json_document, json_line, plain, report_left
from alita_tui.events import Artefact, ArtefactAdded
from alita_tui.spine.envelope import Envelope
from alita_tui.spine.errors import StoreLocked, UsageError
from alita_tui.spine.text import reveal

Json = Annotated[bool, typer.Option("--json", help="Print the stream of events as JSON lines.")]
ModelOption = Annotated[str | None, typer.Option("--model", metavar="PROVIDER:NAME", help="Use this model.")]
ProjectOption = Annotated[
    str | None,
    typer.Option("--project", metavar="NAME", help="Remember for this project; default: by folder."),
]

_DEMO = "demo:recorded"


def run(
    context: typer.Context,
    task: Annotated[str, typer.Argument(help="What to do; `-` reads it from standard input.")],
    json: Json = False,
    model: ModelOption = None,
    session: Annotated[
        str | None, typer.Option("--session", metavar="ID", help="Continue this session.")
    ] = None,
    file: Annotated[
        list[Path] | None,
        typer.Option("--file", metavar="PATH", help="Give this file with the task; repeatable."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Save the files that the task's tools make here."),
    ] = None,
    project: ProjectOption = None,
    detach: Annotated[
        bool,
        typer.Option("--detach", help="Hand it to the open console, or else to the background, and return."),
    ] = False,
) -> None:
    """Do one task without a screen.

    What is piped in is given as a file. A build that needs your verdict, or a question to you, parks the task: exit
    code 4.
    """
    text = sys.stdin.read() if task == "-" else task
    if not without_team(text).strip():
        raise UsageError(
            "There is no task.", hint='Give one: `alita run "TASK"`, or `echo TASK | alita run -`.'
        )
    given = tuple(file or ())
    most_mb = AppContext.open(context.obj, {"model": model}).loaded.settings.artefacts.file_mb
    for path in given:
        check_file(path, most_mb)
    with tempfile.TemporaryDirectory(prefix="alita-stdin-") as folder:
        piped = piped_file(Path(folder), most_mb) if task != "-" else None
        attach = (*given, *((piped,) if piped else ()))
        if detach:
            if out is not None:
                raise UsageError("--out has no use with --detach.", hint="Later: alita artefacts save")
            _hand_over(context, model, text.strip(), session, json=json, attach=attach, project=project)
            return
        _run(context, model, text.strip(), session, json=json, attach=attach, out=out, project=project)


def resume(
    context: typer.Context,
    session: Annotated[
        str | None, typer.Argument(help="A session's id or its beginning; by default the newest.")
    ] = None,
    json: Json = False,
    model: ModelOption = None,
    project: ProjectOption = None,
) -> None:
    """Continue a session where it stopped.

    What failed or stopped at a limit is tried again.
    """
    from alita_tui.app.headless import was_recorded

    app = AppContext.open(context.obj, {"model": model})
    if session is None:
        latest = app.sessions.latest(own=True)
        if latest is None:
            raise UsageError("There is no session to resume.", hint='Begin one with `alita run "TASK"`.')
        session = latest.session_id
    if was_recorded(app, session) and model is None:
        model = _DEMO
    _run(context, model, None, session, json=json, project=project)


def answer(
    context: typer.Context,
    session: Annotated[str, typer.Argument(help="The session's id or its beginning.")],
    text: Annotated[str, typer.Argument(help="The answer, or the number of a choice; `-` reads it.")],
    json: Json = False,
    model: ModelOption = None,
    project: ProjectOption = None,
) -> None:
    """Answer a question that a session waits with.

    Its task goes on with the answer: here, or in the process that has the session open.
    """
    from alita_tui.app.headless import leave_answer, open_question, was_recorded

    app = AppContext.open(context.obj, {"model": model})
    reply = (sys.stdin.read() if text == "-" else text).strip()
    if not reply:
        raise UsageError("The answer is empty.", hint='Give one: alita answer SESSION "TEXT"')
    question = open_question(app, session)
    if question is None:
        raise UsageError("That session waits for no answer.", hint="`alita sessions show` shows its state.")
    if was_recorded(app, session) and model is None:
        model = _DEMO
    try:
        _run(context, model, None, session, json=json, answer=reply, project=project)
    except StoreLocked:
        report_left(leave_answer(app, session, question, reply), json=json)


def demo(
    context: typer.Context,
    json: Json = False,
    task: Annotated[str, typer.Argument(help="One of the recorded tasks; by default the first.")] = "",
) -> None:
    """Try alita with a recorded model.

    Only the model's replies are a recording; everything else is real.
    """
    if not json and not task:
        if wants_lines():
            from alita_tui.cli.plain_opening import open_plain

            return open_plain(context.obj, None, _DEMO)
        from alita_tui.app.console import open_console

        return open_console(context.obj, None, _DEMO)
    task = task or AppContext.open(context.obj, {"model": _DEMO}).suggestions[0]
    _run(context, _DEMO, task, None, json=json)


def _hand_over(
    context: typer.Context,
    model: str | None,
    task: str,
    session: str | None,
    *,
    json: bool,
    attach: tuple[Path, ...],
    project: str | None,
) -> None:
    """Hand a task to the open console or to the background, and print where it went."""
    from alita_tui.app.background.client import hand_over
    from alita_tui.spine.commands import SubmitTask

    app = AppContext.open(context.obj, {"model": model, "memory.project": project})
    command = SubmitTask(text=task, attach=tuple(str(path.absolute()) for path in attach))
    done = asyncio.run(hand_over(app, context.obj, command, session, model=model, project=project))
    if json:
        json_document({"session_id": done.session_id, "process": done.process})
    elif done.process:
        typer.echo(f"session {done.session_id}  (background, process {done.process})")
        typer.echo(f"Look on: alita attach {done.session_id}", err=True)
    else:
        typer.echo(f"session {done.session_id}  (the console that is open has it)")


def _run(
    context: typer.Context,
    model: str | None,
    task: str | None,
    session: str | None,
    *,
    json: bool,
    attach: tuple[Path, ...] = (),
    out: Path | None = None,
    answer: str = "",
    project: str | None = None,
) -> None:
    from alita_tui.app.headless import run_headless

    made: dict[str, Artefact] = {}

    def show(envelope: Envelope) -> None:
        if isinstance(envelope.event, ArtefactAdded) and envelope.event.origin == "tool":
            made[envelope.event.artefact.handle] = envelope.event.artefact
        if json:
            json_line(envelope)
        elif envelope.durable:
            plain(envelope)

    app = AppContext.open(context.obj, {"model": model, "memory.project": project})
    work = run_headless(app, task, session, show, attach=tuple(map(str, attach)), answer=answer)
    session_id, code = asyncio.run(work)
    if out is not None:
        for artefact in made.values():
            copy = saved(session_artefacts(app, session_id).path(artefact), out, artefact.name)
            typer.echo(f"saved {reveal(str(copy))}", err=True)
    if not json:
        typer.echo(f"session {session_id}", err=True)
    raise typer.Exit(code)
