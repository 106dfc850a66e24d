"""`alita run`, `resume` and `demo`: the same engine without a screen."""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated

import typer

from alita_tui.spine.errors import UsageError

EXIT_CODES = {
    "answered": 0, "failed": 1, "stuck": 1, "step_limit": 3, "budget": 3, "parked": 4, "rejected": 5,
    "sandbox": 6, "interrupted": 130,
}  # fmt: skip

Json = Annotated[bool, typer.Option("--json", help="Print the stream of events as JSON lines.")]
ModelOption = Annotated[str | None, typer.Option("--model", metavar="PROVIDER:NAME", help="Use this model.")]


def run(
    context: typer.Context,
    task: Annotated[str, typer.Argument(help="What to do; `-` reads it from standard input.")],
    json: Json = False,
    model: ModelOption = None,
    session: Annotated[
        str | None, typer.Option("--session", metavar="ID", help="Go on in this session.")
    ] = None,
) -> None:
    """Do one task without a screen. A build that needs a verdict parks the task: exit code 4."""
    text = sys.stdin.read() if task == "-" else task
    if task != "-" and (piped := _piped()):
        text = f"{task}\n\n{piped}"
    if not text.strip():
        raise UsageError(
            "There is no task.", hint='Give one: `alita run "TASK"`, or `echo TASK | alita run -`.'
        )
    _exit(context, {"model": model}, text.strip(), session, json=json)


def resume(
    context: typer.Context,
    session: Annotated[
        str | None, typer.Argument(help="A session's id or its beginning; the newest one.")
    ] = None,
    json: Json = False,
    model: ModelOption = None,
) -> None:
    """Go on with a session where it stood; what failed or stopped at a limit is tried again."""
    from alita_tui.wiring.house import House

    house = House.open(context.obj, {"model": model})
    if session is None:
        latest = house.sessions.latest()
        if latest is None:
            raise UsageError("There is no session to resume.", hint='Begin one with `alita run "TASK"`.')
        session = latest.session_id
    _exit(context, _models(house, session, model), None, session, json=json)


def demo(
    context: typer.Context,
    json: Json = False,
    task: Annotated[str, typer.Argument(help="One of the recorded tasks; the first one.")] = "",
) -> None:
    """Do a task with the recorded demo model: its replies are a recording, everything else is real."""
    if not json and not task:
        from alita_tui.cli.console import open_console

        return open_console(context.obj, None, "demo:recorded")
    from alita_tui.wiring.house import House

    flags: dict[str, object] = {"model": "demo:recorded"}
    house = House.open(context.obj, flags)
    _exit(context, flags, task or house.suggestions[0], None, json=json)


def _models(house: object, session: str, model: str | None) -> dict[str, object]:
    """A demo session goes on with the demo's recording unless another model is named."""
    from alita_tui.spine.events import SessionOpened
    from alita_tui.wiring.house import House
    from alita_tui.wiring.records import recording

    assert isinstance(house, House)
    first = next(iter(recording(house, session)), None)
    recorded = first is not None and isinstance(first.event, SessionOpened) and first.event.recorded
    return {"model": "demo:recorded" if recorded and model is None else model}


_QUIET_SECONDS = 2.0
"""After which it is said that standard input is waited for."""


def _piped() -> str:
    """Standard input to its end where it is a pipe or a file; a terminal, a device or a closed one gives nothing."""
    import os
    import select
    import stat

    try:
        kind = os.fstat(sys.stdin.fileno()).st_mode
        if stat.S_ISSOCK(kind):  # some programs leave one open that nothing ever comes from
            return sys.stdin.read().strip() if select.select([sys.stdin], [], [], 0)[0] else ""
        if not (stat.S_ISFIFO(kind) or stat.S_ISREG(kind)):
            return ""
        if not select.select([sys.stdin], [], [], _QUIET_SECONDS)[0]:
            typer.echo("Reading standard input to its end; without one: alita run … < /dev/null", err=True)
    except (OSError, ValueError, AttributeError):
        return ""
    return sys.stdin.read().strip()


def _exit(
    context: typer.Context, flags: dict[str, object], task: str | None, session: str | None, *, json: bool
) -> None:
    raise typer.Exit(asyncio.run(_headless(context, flags, task, session, json=json)))


async def _headless(
    context: typer.Context, flags: dict[str, object], task: str | None, session: str | None, *, json: bool
) -> int:
    import signal

    from alita_tui.cli.output import json_line, plain
    from alita_tui.spine.commands import Interrupt, Retry, SubmitTask
    from alita_tui.spine.events import TaskFinished
    from alita_tui.wiring.house import House
    from alita_tui.wiring.live import live

    house = House.open(context.obj, flags)
    opened = await live(house, session, parks=True)
    code = 0

    async def tell() -> None:
        nonlocal code
        old = len(opened.bus.history)
        async for envelope in opened.source:
            if envelope.seq is not None and envelope.seq <= old:
                continue
            if json:
                json_line(envelope)
            elif envelope.durable:
                plain(envelope)
            if isinstance(envelope.event, TaskFinished):
                code = EXIT_CODES[envelope.event.outcome]

    telling = asyncio.create_task(tell())
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, opened.send, Interrupt())
    if task is not None:
        opened.send(SubmitTask(text=task))
    else:
        ends = (one.event for one in reversed(opened.bus.history) if isinstance(one.event, TaskFinished))
        code = EXIT_CODES.get(getattr(next(ends, None), "outcome", ""), 0)
        opened.send(Retry())
    await opened.run(until_idle=True)
    await telling
    if not json:
        typer.echo(f"session {opened.session_id}", err=True)
    return code
