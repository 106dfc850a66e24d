"""The runs of suites for the console's screen, and runs that are begun there."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from tempfile import mkstemp
from threading import Thread
from typing import TYPE_CHECKING

from msgspec.structs import replace

from alita_tui.app.evaluation import beginning, costs, run_store
from alita_tui.app.evaluation.judge import agreements
from alita_tui.app.evaluation.waiting import asked, command, held_elsewhere, pending_in, shown_in_console
from alita_tui.config.paths import locate
from alita_tui.console.evaluations.ports import CaseLine, CaseState, RunLine, RunSheet, RunState
from alita_tui.evaluation.results import FAILURE_WORDS, CaseResult, Setup
from alita_tui.evaluation.suite import read_suite
from alita_tui.spine.errors import AlitaError, StoreError, UsageError
from alita_tui.spine.text import one_line

if TYPE_CHECKING:
    from alita_tui.app.context import AppContext
    from alita_tui.replay.playback import Playback
    from alita_tui.spine.envelope import Envelope

_START_SECONDS = 60.0
_PAUSE_SECONDS = 0.1
_BEGUN = re.compile(rb"(?m)^run (\S+)$")


def run_lines(app: AppContext) -> tuple[RunLine, ...]:
    """Return all runs, newest first. Blocks on the disk. Raises StoreError."""
    at, setups = beginning.folder_of_runs(app), reversed(run_store.runs(app))
    return tuple(_line(setup, at / setup.run, run_store.results_of(at / setup.run)) for setup in setups)


def _line(setup: Setup, folder: Path, results: tuple[CaseResult, ...]) -> RunLine:
    of = setup.planned
    state: RunState = "finished"
    if run_store.is_running(folder):
        state = "running"
    elif len(results) < of or not of and not results:
        state = "waiting" if setup.approve == "person" else "stopped"
    started = None
    with suppress(ValueError):
        started = datetime.fromisoformat(setup.started_at)
    # The costs of unfinished cases are not read while the run goes on, because its sessions change all the time.
    more = 0.0 if state == "running" else costs.unfinished_usd(folder, setup)
    return RunLine(
        run=setup.run, suite=setup.suite, models=setup.models, state=state, started=started, ended=len(results), of=of,
        solved=sum(result.solved for result in results),
        usd=sum(result.usd + result.judge_usd for result in results) + more,
        unpriced=sum(result.unpriced for result in results), repeat=setup.repeat, budget_usd=setup.budget_usd,
        approve=setup.approve, without=setup.without,
    )  # fmt: skip


def run_sheet(app: AppContext, run: str) -> RunSheet:
    """Return one run with its cases. Blocks on the disk. Raises UsageError, StoreError."""
    setup, folder = run_store.find_run(app, run)
    results = run_store.results_of(folder)
    line = _line(setup, folder, results)
    done = {result.key: result for result in results}
    cases = [_ended(folder, result) for result in results]
    with suppress(AlitaError):  # if the suite is gone or has changed, only the cases that ended are shown
        suite = read_suite(Path(setup.suite_path))
        if suite.digest == setup.suite_digest:
            keys = [(case.id, model, turn) for case, model, turn in beginning.planned(setup, suite)]
            cases = [
                _ended(folder, done[key]) if key in done else _begun(folder, line, key, stream=suite.stream)
                for key in keys
            ]
            # Older versions did not record how many cases a run has.
            if line.state == "finished" and len(results) < len(keys):
                line = replace(
                    line, of=len(keys), state="waiting" if setup.approve == "person" else "stopped"
                )
    return RunSheet(
        line=line, cases=tuple(cases), judges=tuple(f"judge: {agreement}" for agreement in agreements(folder))
    )


def _ended(folder: Path, result: CaseResult) -> CaseLine:
    home = folder / result.home
    at = f" --at {result.at}" if result.at else ""
    replay = f"alita --home {shlex.quote(str(home))} replay {result.session_id}{at}"
    why = "" if result.solved else FAILURE_WORDS[result.failure]
    why += f": {result.why}" if why and result.why else ""
    return CaseLine(
        case=result.case, model=result.model, turn=result.turn, state="solved" if result.solved else "failed", why=why,
        usd=result.usd + result.judge_usd, seconds=result.seconds, steps=result.steps,
        session_id=result.session_id, home=str(home), at=result.at, command=replay if result.session_id else "",
    )  # fmt: skip


def _begun(folder: Path, line: RunLine, key: costs.Key, *, stream: bool) -> CaseLine:
    """Return a case that has not ended."""
    home, stream_session = costs.place_of(folder, key, stream=stream)
    sessions = locate(home, {}).sessions
    recorded = sorted({path.name.split(".")[0] for path in sessions.glob(f"{stream_session or '*'}.json*")})
    session_id = recorded[-1] if recorded else ""
    state: CaseState = "left"
    why = review = ""
    if recorded:
        state = "running" if line.state == "running" else "stopped"
        if line.approve == "person":
            state, why, review = _waiting_state(home, session_id, state)
    case, model, turn = key
    return CaseLine(
        case=case, model=model, turn=turn, state=state, why=why, session_id=session_id, home=str(home), command=review
    )  # fmt: skip


def _waiting_state(home: Path, session_id: str, state: CaseState) -> tuple[CaseState, str, str]:
    """Return the state of a case whose builds the person decides on, what it waits for, and the command to review it.

    `state` is the one that it has if it waits for nobody.
    """
    if shown_in_console(home, session_id):
        return "waiting", "its session is open in a console; it goes on when that is closed", ""
    if held_elsewhere(home, session_id):
        return state, "", ""  # the agent works
    pending = pending_in(home, session_id)
    for build in pending:
        if not build.verdict:
            return "waiting", f"waits for {asked(build)}", command(home, build)
    return state, "you have decided: it goes on with the run" if pending else "", ""


def case_player(app: AppContext, case: CaseLine) -> Playback:
    """Return a player for the session of a case. Blocks on the disk. Raises UsageError, StoreError."""
    from alita_tui.app.recordings import history
    from alita_tui.replay.playback import Playback
    from alita_tui.replay.recording import Recording

    with _home_of(app, case) as home:
        recording = Recording.prepared(history(home, case.session_id))
    return Playback(recording, position=len(recording))


def case_events(app: AppContext, case: CaseLine) -> tuple[Envelope, ...]:
    """Return what the session of a case recorded. Blocks on the disk. Raises UsageError, StoreError."""
    from alita_tui.app.recordings import recording

    with _home_of(app, case) as home:
        return tuple(recording(home, case.session_id))


@contextmanager
def _home_of(app: AppContext, case: CaseLine) -> Iterator[AppContext]:
    from alita_tui.app.context import AppContext

    if not Path(case.home).is_relative_to(beginning.folder_of_runs(app)):
        raise UsageError(f"{one_line(case.home, 200)} is the home of no case.")
    home = AppContext.open(Path(case.home), strict=False)
    try:
        yield home
    finally:
        home.close()


async def begin(app: AppContext, words: str) -> str:
    """Begin or continue a run in a process that outlives this one; return the run's name.

    `words`: as after `alita eval run`. Raises UsageError if they are not understood, StoreError.
    """
    try:
        arguments = shlex.split(words)
    except ValueError as error:
        raise UsageError(f"{one_line(words, 100)!r} cannot be read: {error}.") from error
    folder = beginning.folder_of_runs(app)
    process, log = await asyncio.to_thread(_start, app, folder, arguments)
    until = asyncio.get_running_loop().time() + _START_SECONDS
    while True:
        ended = process.poll() is not None
        output = await asyncio.to_thread(log.read_bytes)
        if begun := _BEGUN.search(output):
            run = begun[1].decode("utf-8", "replace")
            with suppress(OSError):  # the process has it open, so it can be renamed
                log.rename(folder / run / log.name)
            return run
        if ended:
            log.unlink(missing_ok=True)
            text = output.decode("utf-8", "replace").strip()
            raise UsageError(
                f"Nothing was begun: {one_line(text, 400) or f'it ended with code {process.returncode}'}"
            )
        if asyncio.get_running_loop().time() > until:
            raise StoreError(f"The run has not begun within {_START_SECONDS:.0f} s.", hint=f"Its log: {log}")
        await asyncio.sleep(_PAUSE_SECONDS)


def _start(app: AppContext, folder: Path, arguments: list[str]) -> tuple[subprocess.Popen[bytes], Path]:
    """Start `alita eval run`; return the process and its own log file. Raises StoreError."""
    from alita_tui.store import disk

    home = () if locate(None, app.environ) == app.paths else ("--home", str(app.paths.config))
    disk.make_folder(folder)
    try:
        handle, log = mkstemp(prefix="begun-", suffix=".log", dir=folder)
        with os.fdopen(handle, "wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "alita_tui", *home, "eval", "run", *arguments],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=output, start_new_session=True,
            )  # fmt: skip
            Thread(target=process.wait, daemon=True).start()  # no zombie is left while this process lives on
    except OSError as error:
        raise StoreError(
            f"No log can be written in {folder}: {error.strerror}.", hint="Check its folder."
        ) from error
    return process, Path(log)
