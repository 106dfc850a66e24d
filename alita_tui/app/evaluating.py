"""Runs of suites: each case in a home of its own, a line on disk for each that ended, taken up again after a kill."""

from __future__ import annotations

import asyncio
import fcntl
import os
import platform
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec.structs import replace

from alita_tui import __version__
from alita_tui.app.context import AppContext, Lent
from alita_tui.app.eval_checks import judge
from alita_tui.app.eval_session import case_home, failure_of, paid_in, play, result_of, settle
from alita_tui.app.identity import now
from alita_tui.config.paths import shipped
from alita_tui.evaluation.results import CaseResult, Rule, Setup, Without, lines
from alita_tui.evaluation.suite import Case, Suite, read_suite
from alita_tui.events import ready
from alita_tui.spine.errors import AlitaError, ConfigError, StoreLocked, UsageError
from alita_tui.spine.ports.builds import ParkedBuild
from alita_tui.spine.text import one_line
from alita_tui.store import disk

Key = tuple[str, str, int]
"""Case, model, repeat."""
Told = Callable[[CaseResult, int, int], object]
"""Told of each case that ended, how many have, and how many there are."""

_SETUP, _RESULTS, _HOMES, _LOCK = "run.json", "results.jsonl", "homes", "lock"
_LEAST_USD = 1e-6


def folder_of_runs(app: AppContext) -> Path:
    """Return the folder with a folder for each run."""
    return app.paths.data / "evaluations"


def suite_path(given: Path) -> Path:
    """Return where a suite is: a path, or else the name of one that ships with alita."""
    ships = shipped("suites") / given
    return ships if not given.exists() and len(given.parts) == 1 and ships.is_dir() else given


def begin(
    app: AppContext,
    suite: Suite,
    path: Path,
    models: Sequence[str],
    *,
    repeat: int,
    budget_usd: float,
    approve: Rule,
    without: Sequence[Without],
    tags: Sequence[str],
) -> Setup:
    """Write the setup of a new run; return it. Raises UsageError, StoreError."""
    stamp = now()
    slug = re.sub(r"[^a-z0-9]+", "-", suite.name.lower()).strip("-")[:40] or "suite"
    started = stamp.strftime("%Y%m%d-%H%M%S")
    base, number = f"{slug}-{started}", 1
    folder = folder_of_runs(app)
    disk.make_folder(folder)
    while (folder / (run := base if number == 1 else f"{base}-{number}")).exists():
        number += 1
    settings = {
        key: str(app.loaded.value(key))
        for key, origin in app.loaded.origins.items()
        if origin != "default" and key != "privacy.redact"
    }
    named = tuple(dict.fromkeys(models)) or (_model_name(app),)
    setup = Setup(
        run=run, suite=suite.name, suite_path=str(path.resolve()), suite_digest=suite.digest, models=named,
        configured=not models, repeat=repeat, budget_usd=budget_usd,
        approve=approve, without=tuple(without), tags=tuple(tags),
        started_at=stamp.isoformat(), version=__version__, python=platform.python_version(),
        settings=app.redactor().value(settings), prompts=_prompts(),
        approved_digests=_approved(app) if approve == "digests" else (),
    )  # fmt: skip
    (folder / run).mkdir(mode=0o700)
    disk.replace(folder / run / _SETUP, [msgspec.json.format(msgspec.json.encode(setup), indent=2)])
    return setup


def _model_name(app: AppContext) -> str:
    """Return the model that the settings name; the demo's where there is none."""
    entry = app.candidates("orchestrator")[0]
    return f"{entry.provider}:{entry.name}"


def _prompts() -> dict[str, str]:
    folder = Path(__file__).parents[1]
    found = sorted((*folder.glob("agent/prompts/*.md"), *folder.glob("toolsmith/prompts/*.md")))
    return {str(one.relative_to(folder)): sha256(one.read_bytes()).hexdigest() for one in found}


def _approved(app: AppContext) -> tuple[str, ...]:
    """Return the digests of builds whose newest verdict is an approval."""
    newest = {entry.digest: entry.verdict for entry in app.audit.entries()}
    return tuple(sorted(digest for digest, verdict in newest.items() if verdict == "approved"))


def find_run(app: AppContext, wanted: str) -> tuple[Setup, Path]:
    """Return a run by its name or the beginning of it, or `last`, and its folder. Raises UsageError."""
    names = [setup.run for setup in runs(app)]
    found = names[-1:] if wanted == "last" else [n for n in names if n == wanted] or _starting(names, wanted)
    if len(found) != 1:
        said = "There is no run" if not found else "More than one run begins with"
        raise UsageError(f"{said} {one_line(wanted, 80)!r}.", hint="`alita eval list` shows them.")
    folder = folder_of_runs(app) / found[0]
    return _setup(folder), folder


def _starting(names: list[str], wanted: str) -> list[str]:
    return [name for name in names if wanted and name.startswith(wanted)]


def runs(app: AppContext) -> list[Setup]:
    """Return all runs that can be read, oldest first."""
    found = []
    with suppress(OSError):
        for folder in folder_of_runs(app).iterdir():
            with suppress(UsageError):
                found.append(_setup(folder))
    return sorted(found, key=lambda one: (one.started_at, one.run))


def _setup(folder: Path) -> Setup:
    try:
        return msgspec.json.decode((folder / _SETUP).read_bytes(), type=ready(Setup))
    except (OSError, msgspec.DecodeError) as error:
        raise UsageError(f"{folder / _SETUP} cannot be read: {one_line(str(error), 200)}.") from error


def results_of(folder: Path) -> tuple[CaseResult, ...]:
    """Return the cases of a run that ended. Raises StoreError."""
    return lines(disk.read_bytes(folder / _RESULTS) or b"")


def planned(setup: Setup, suite: Suite) -> list[tuple[Case, str, int]]:
    """Return what a run does, in order: every case with every model before the next repeat."""
    chosen = [case for case in suite.cases if not setup.tags or {*setup.tags} & {*case.tags}]
    chosen.sort(key=lambda case: case.seed)
    return [
        (case, model, turn)
        for turn in range(1, setup.repeat + 1)
        for case in chosen
        for model in setup.models
    ]


async def go_on(app: AppContext, setup: Setup, folder: Path, jobs: int, told: Told) -> tuple[CaseResult, ...]:
    """Do what is left of a run, `jobs` cases at a time; return the results of all that ended.

    A case that waits for a person is done again from where it stands. Raises UsageError where the suite has changed,
    StoreLocked where another process runs it.
    """
    suite = read_suite(Path(setup.suite_path))
    if suite.digest != setup.suite_digest:
        raise UsageError(
            f"The suite {setup.suite} has changed since the run {setup.run} began.",
            hint="Begin a new run: what was measured on other cases cannot be gone on with.",
        )
    with _locked(folder):
        work = _Work(app, setup, folder, suite, told)
        await work.do(jobs)
        return tuple(work.done.values())


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    with (folder / _LOCK).open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise StoreLocked(
                f"The run {folder.name} is going on in another process.", hint="Wait for it, or end it."
            ) from error
        yield


def _home(key: Key) -> str:
    """Return the folder of a case's home, below the run's."""
    return f"{_HOMES}/{sha256(chr(0).join(map(str, key)).encode()).hexdigest()[:16]}"


class _Work:
    """A run that goes on."""

    def __init__(self, app: AppContext, setup: Setup, folder: Path, suite: Suite, told: Told) -> None:
        self._app, self._setup, self._folder, self._suite, self._told = app, setup, folder, suite, told
        everything = planned(setup, suite)
        self._total = len(everything)
        self.done = {one.key: one for one in results_of(folder)}
        self._left = [one for one in everything if (one[0].id, one[1], one[2]) not in self.done]
        self._left.reverse()
        self._held: dict[Key, float] = {}
        """What the cases under way may cost at most."""
        self._partial: dict[Key, float] = {}
        """What was paid for cases that have not ended: they wait, were killed, or the budget did not do."""
        self._freed = asyncio.Event()
        self._settling: dict[Key, asyncio.Task[None]] = {}
        """Homes that are made while the cases before them run."""
        self._lent = Lent(app.sandbox(setup.run, pool=True), app.spend_book(setup.run))
        """To start an engine and its containers takes longer than most tasks; and a day's cap is the person's."""

    async def do(self, jobs: int) -> None:
        """Do all that is left, as far as the budget goes."""
        for case, model, turn in self._left:
            key = case.id, model, turn
            if (self._folder / _home(key)).exists():
                self._partial[key] = await asyncio.to_thread(paid_in, self._folder / _home(key))
        starting = asyncio.create_task(self._lent.sandbox.status())  # beside the first case's imports
        try:
            async with asyncio.TaskGroup() as group:
                # The first case goes alone: decoders are made then, and two threads that make the same one crash.
                await group.create_task(self._worker(alone=True))
                for _ in range(min(max(jobs, 1), max(len(self._left), 1))):
                    group.create_task(self._worker())
        except* AlitaError as errors:
            raise errors.exceptions[0] from None
        finally:
            await asyncio.wait((starting, *self._settling.values()))
            await self._lent.sandbox.close()

    async def _worker(self, *, alone: bool = False) -> None:
        while self._left:
            case, model, turn = self._left.pop()
            key = case.id, model, turn
            cap, whole = await self._reserved(case, key)
            if cap <= 0 and not whole:
                return
            self._held[key] = cap
            self._partial.pop(key, None)
            try:
                await self._settled(key)
                result, ended = await self._one(case, key, cap)
            finally:
                del self._held[key]
                self._freed.set()
            if not whole and result.outcome == "budget":  # the run's budget, not its own, did not do
                self._partial[key] = result.usd
                return
            if ended:
                self._keep(result)
            else:
                self._partial[key] = result.usd
            if alone:
                return

    async def _settled(self, key: Key) -> None:
        """Wait for the home of a case, and begin to make the next one."""
        mine = self._settling.pop(key, None)
        if self._left:
            case, model, turn = self._left[-1]
            folder = self._folder / _home(following := (case.id, model, turn))
            if following not in self._settling and not folder.exists():
                making = asyncio.to_thread(settle, self._app, folder)
                self._settling[following] = asyncio.create_task(making)
        if mine is not None:
            with suppress(AlitaError):  # the case itself meets it
                await mine

    async def _reserved(self, case: Case, key: Key) -> tuple[float, bool]:
        """Return what a case may cost, and whether that is all that it may; 0 and True: as the settings say.

        Waits for cases under way, where they may leave more.
        """
        own = case.budget_usd or self._app.loaded.settings.budget.task_usd
        if not self._setup.budget_usd:
            return case.budget_usd, True
        while True:
            spent = sum(one.usd for one in self.done.values())
            others = sum(usd for name, usd in self._partial.items() if name != key)
            left = self._setup.budget_usd - spent - others - sum(self._held.values())
            if own and left >= own:
                return own, True
            if not self._held:
                return (left if left > _LEAST_USD else 0.0), False
            self._freed.clear()
            await self._freed.wait()

    async def _one(self, case: Case, key: Key, cap: float) -> tuple[CaseResult, bool]:
        """Do one case; return its result, and False where it waits for a person."""
        began = time.perf_counter()
        setup, (_, model, turn) = self._setup, key
        result = CaseResult(case=case.id, model=model, turn=turn, home=_home(key))
        app = None
        try:
            app = await asyncio.to_thread(
                case_home, self._app, self._folder / result.home, None if setup.configured else model, cap,
                setup.without, policy=setup.approve == "policy", lent=self._lent,
            )  # fmt: skip
            files = tuple(str(self._suite.file(file)) for file in case.files)
            played = time.perf_counter()
            session_id, history = await play(app, case.task, files, setup.approved_digests)
            ended = time.perf_counter()
            figures = result_of(case.id, model, turn, history)
            result = replace(figures, session_id=session_id, home=result.home)
            if setup.approve == "person" and result.outcome == "parked":
                return result, False
            judged = await judge(app, self._suite, case.check, result.answer, history)
            result = replace(result, solved=judged.solved, why=judged.why)
            if not judged.solved:
                kind, at = failure_of(history)
                result = replace(result, failure=kind, at=at)
            took = (time.perf_counter() - began - (ended - played)) * 1000
            return replace(result, overhead_ms=round(took, 3)), True
        except ConfigError:
            raise  # no case can be done
        except AlitaError as error:
            return replace(
                await self._counted(result), failure="harness", why=str(one_line(str(error), 500))
            ), True
        except Exception as error:  # noqa: BLE001  # the other cases have nothing to do with it
            said = f"unexpected: {type(error).__name__}: {one_line(str(error), 400)}"
            return replace(await self._counted(result), failure="harness", why=said), True
        finally:
            if app is not None:
                app.close()

    async def _counted(self, result: CaseResult) -> CaseResult:
        """Return a result that has at least what its sessions paid."""
        if result.usd:
            return result
        with suppress(AlitaError, OSError):
            return replace(result, usd=await asyncio.to_thread(paid_in, self._folder / result.home))
        return result

    def _keep(self, result: CaseResult) -> None:
        """Write a result to disk, whole, before it counts. Raises StoreError."""
        path = self._folder / _RESULTS
        line = msgspec.json.encode(result) + b"\n"
        try:
            handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                size = os.fstat(handle).st_size
                if size and os.pread(handle, 1, size - 1) != b"\n":
                    line = b"\n" + line  # a kill cut the last line off
                disk.write_all(handle, line, size)
                os.fsync(handle)
            finally:
                os.close(handle)
        except OSError as error:
            raise disk.store_error("write", path, error) from error
        self.done[result.key] = result
        self._told(result, len(self.done), self._total)


def waiting(folder: Path) -> list[tuple[Path, ParkedBuild]]:
    """Return the builds of a run that wait for a person, each with the case's home."""
    ended, found = {one.home for one in results_of(folder)}, []
    for home in sorted((folder / _HOMES).glob("*")):
        if f"{_HOMES}/{home.name}" in ended:
            continue
        case = AppContext.open(home, strict=False)
        try:
            found += [(home, build) for build in case.inbox.pending() if not build.verdict]
        finally:
            case.close()
    return found
