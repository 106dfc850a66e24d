"""Runs of suites in a session of lines: listed, shown case by case while they go on, begun, and a case replayed."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Coroutine
from contextlib import suppress

import typer

from alita_tui.app.context import AppContext
from alita_tui.cli.output import plain
from alita_tui.console.evaluations.ports import CaseLine, RunLine, RunSheet
from alita_tui.spine.errors import AlitaError
from alita_tui.spine.text import counted, one_line
from alita_tui.view.spend import unpriced_words

_COMMANDS = ("/evaluations", "/evaluation", "/evaluate", "/case")
_LOOK_SECONDS = 1.0
_MOST_BEFORE = 20
"""Events that are printed before the one where a case went wrong."""
_WORDS = {
    "solved": "solved", "failed": "not solved", "running": "runs", "waiting": "waits for your decision",
    "stopped": "broke off", "left": "not begun",
}  # fmt: skip


class Evaluations:
    """Carries out the commands about evaluations; one run is followed at a time."""

    def __init__(self, app: AppContext) -> None:
        self._app = app
        self._runs: tuple[RunLine, ...] = ()
        """The runs with the numbers that were last printed."""
        self._sheet: RunSheet | None = None
        """The run whose cases were last printed with numbers."""
        self._following: asyncio.Task[None] | None = None

    async def do(self, word: str, rest: str) -> bool:
        """Carry out a command and print its errors; return False if it is not about evaluations."""
        if word not in _COMMANDS:
            return False
        rest = rest.strip()
        try:
            match word:
                case "/evaluations":
                    await self._list()
                case "/evaluation":
                    await self._show(rest)
                case "/evaluate":
                    await self._begin(rest)
                case _:
                    await self._replay(rest)
        except AlitaError as error:
            typer.echo(one_line(str(error), 800))
        return True

    async def end(self) -> None:
        """Follow no run any more; the run itself goes on."""
        if self._following is not None:
            self._following.cancel()
            with suppress(asyncio.CancelledError):
                await self._following
            self._following = None

    async def _list(self) -> None:
        from alita_tui.app.evaluation.views import run_lines

        self._runs = await asyncio.to_thread(run_lines, self._app)
        for number, run in enumerate(self._runs, 1):
            typer.echo(f"  {number} {one_line(run.run, 120)}: {_about(run)}")
        typer.echo(
            "/evaluation N shows one." if self._runs else "No run yet. Make a suite: alita eval new FOLDER"
        )

    async def _show(self, rest: str) -> None:
        words = rest.split()
        every = words[-1:] == ["all"]
        wanted = " ".join(words[:-1] if every else words)
        if wanted == "stop":
            await self.end()
            typer.echo("No run is followed. It goes on by itself.")
            return
        run = await self._chosen(wanted)
        if not run:
            typer.echo("There is no such run. /evaluations lists them.")
            return
        await self.end()
        sheet = self._sheet = await self._read(run)
        typer.echo(f"{one_line(run, 120)}: {_about(sheet.line)}")
        for judge in sheet.judges:
            typer.echo(one_line(judge, 300))
        for number, case in enumerate(sheet.cases, 1):
            if every or case.state not in ("solved", "left"):
                typer.echo(_told(number, case))
        quiet = [] if every else [case.state for case in sheet.cases if case.state in ("solved", "left")]
        if quiet:
            typer.echo(
                f"Besides: {quiet.count('solved')} solved, {quiet.count('left')} not begun. "
                "/evaluation N all lists every case."
            )
        if any(case.session_id for case in sheet.cases):
            typer.echo("/case N replays a case where it went wrong.")
        if sheet.line.state == "running":
            typer.echo("Each case is told here as it ends; /evaluation stop ends that.")
            self._follow(self._followed(sheet))
        elif sheet.line.state in ("stopped", "waiting"):
            typer.echo(f"It goes on with /evaluate --resume {one_line(run, 120)}")

    async def _chosen(self, wanted: str) -> str:
        """Return the run with this number or beginning of its name; the newest by default; empty if there is none."""
        if not self._runs or not wanted:
            from alita_tui.app.evaluation.views import run_lines

            self._runs = await asyncio.to_thread(run_lines, self._app)
        if re.fullmatch(r"\d{1,4}", wanted):
            return self._runs[int(wanted) - 1].run if 1 <= int(wanted) <= len(self._runs) else ""
        return next((run.run for run in self._runs if run.run.startswith(wanted)), "")

    async def _read(self, run: str) -> RunSheet:
        from alita_tui.app.evaluation.views import run_sheet

        return await asyncio.to_thread(run_sheet, self._app, run)

    def _follow(self, work: Coroutine[None, None, None]) -> None:
        self._following = asyncio.create_task(work, name="follow an evaluation")

    async def _followed(self, known: RunSheet) -> None:
        """Add a line for each case that ends or begins to wait, until the run ends."""
        while known.line.state == "running":
            await asyncio.sleep(_LOOK_SECONDS)
            try:
                sheet = await self._read(known.line.run)
            except AlitaError as error:
                typer.echo(one_line(str(error), 800))
                return
            before = {(case.case, case.model, case.turn): case for case in known.cases}
            for number, case in enumerate(sheet.cases, 1):
                told = before.get((case.case, case.model, case.turn))
                changed = told is None or (told.state, told.why) != (case.state, case.why)
                if changed and case.state in ("solved", "failed", "waiting"):
                    bell = "\a" if case.state == "waiting" else ""
                    typer.echo(f"{bell}evaluation: {_told(number, case).lstrip()}")
            known = self._sheet = sheet
        typer.echo(f"\a{one_line(known.line.run, 120)}: {_about(known.line)}")

    async def _begin(self, words: str) -> None:
        from alita_tui.app.evaluation.views import begin

        if not words:
            typer.echo("Say what to run: /evaluate SUITE, and options as after alita eval run")
            return
        typer.echo("Starting the run …")
        run = await begin(self._app, words)
        self._runs = ()
        typer.echo("It runs in a process of its own and goes on when you leave.")
        await self._show(run)

    async def _replay(self, rest: str) -> None:
        """Print what a case did around the event where it went wrong."""
        from alita_tui.app.evaluation.views import case_events

        cases = self._sheet.cases if self._sheet else ()
        number = int(rest) if re.fullmatch(r"\d{1,6}", rest) else 0
        if not 1 <= number <= len(cases):
            typer.echo("/case takes the number of a case. /evaluation N lists those of a run.")
            return
        case = cases[number - 1]
        if not case.session_id:
            typer.echo("This case has no session yet.")
            return
        events = await asyncio.to_thread(case_events, self._app, case)
        at = case.at or (events[-1].seq or 0 if events else 0)
        typer.echo(_told(number, case))
        begins = max(at - _MOST_BEFORE, 0) if case.at else 0
        if begins > 1:
            typer.echo(f"{counted(begins - 1, 'event')} before this.")
        for envelope in events:
            if (envelope.seq or 0) >= begins:
                plain(envelope)
            if case.at and envelope.seq == case.at:
                typer.echo(f"Here it went wrong: {one_line(case.why, 600)}")
        typer.echo("End of the replay.")
        if case.command:
            typer.echo(f"In another shell: {one_line(case.command, 800)}")


def _about(line: RunLine) -> str:
    """Return how a run stands, in words."""
    parts = [
        one_line(line.suite, 80), one_line(", ".join(line.models), 200), line.state,
        f"{line.ended} of {line.of} ended" if line.of else f"{line.ended} ended", f"{line.solved} solved",
        f"{'about ' if line.unpriced else ''}${line.usd:.4f}", f"approves: {line.approve}",
    ]  # fmt: skip
    if line.unpriced:
        parts.append(unpriced_words(line.unpriced))
    return ", ".join(parts)


def _told(number: int, case: CaseLine) -> str:
    """Return a case as one line, indented to differ from the lines of a task."""
    times = f", repeat {case.turn}" if case.turn > 1 else ""
    parts = [
        f"  {number} {one_line(case.case, 80)} ({one_line(case.model, 80)}{times}): {_WORDS[case.state]}"
    ]
    if case.why:
        parts.append(f": {one_line(case.why, 600)}")
    if case.state in ("solved", "failed"):
        parts.append(f", ${case.usd:.4f}, {case.seconds:.1f} seconds")
    if case.state == "waiting" and case.command:
        parts.append(f". Decide in another shell: {one_line(case.command, 800)}")
    return "".join(parts)
