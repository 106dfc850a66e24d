"""`alita eval`: run a suite of tasks with checked answers, and compare two runs."""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, get_args

import msgspec
import typer

from alita_tui.app.context import AppContext
from alita_tui.app.evaluation import beginning, costs, execution, run_store
from alita_tui.app.evaluation.judge import agreements
from alita_tui.app.evaluation.waiting import Wait, asked, command
from alita_tui.cli.evaluation.comparing import compare, report
from alita_tui.cli.lazy import group
from alita_tui.cli.output import Json, json_document, table
from alita_tui.evaluation.agreement import Agreement
from alita_tui.evaluation.results import FAILURE_WORDS, CaseResult, Rule, Setup, Without, share
from alita_tui.evaluation.suite import CASES, read_suite
from alita_tui.spine.errors import StoreError, StoreLocked, UsageError
from alita_tui.spine.text import counted, one_line, reveal

commands = group()
commands.command()(compare)
commands.command()(report)

Run = Annotated[str, typer.Argument(help="A run's name or its beginning, or `last`.")]


@commands.command()
def run(
    context: typer.Context,
    suite: Annotated[
        Path | None,
        typer.Argument(
            help="A folder with cases.jsonl, a file of JSON lines, or one that ships: "
            "`jobs`, `toolworld`, `retrieval`, `refuse`, `injection`."
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option("--model", metavar="PROVIDER:NAME", help="Do it with this model; repeatable."),
    ] = None,
    repeat: Annotated[int, typer.Option("--repeat", min=1, max=100, help="Do each case so often.")] = 1,
    jobs: Annotated[int, typer.Option("--jobs", min=1, max=64, help="Cases at once.")] = 1,
    budget_usd: Annotated[
        float,
        typer.Option(
            "--budget-usd", min=0, help="Cap of the whole run in US dollars; 0: only those of the settings."
        ),
    ] = 0.0,
    fail_under: Annotated[
        float, typer.Option("--fail-under", min=0, max=1, help="Exit code 1 if a smaller share is solved.")
    ] = 0.0,
    approve: Annotated[
        Rule,
        typer.Option(
            "--approve",
            help="Who approves builds: `none`, your `policy`, `digests` that you approved before, or a `person`.",
        ),
    ] = "none",
    without: Annotated[
        list[str] | None,
        typer.Option(
            "--without",
            metavar="PART",
            help="Leave this out, to see what it brings: `memory`, `learning`, `hidden-tests`, `planner`; repeatable.",
        ),
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", help="Only cases with this tag; repeatable.")
    ] = None,
    cases: Annotated[
        int, typer.Option("--cases", min=0, help="At most so many cases, an even sample; 0: all.")
    ] = 0,
    wait: Annotated[
        bool,
        typer.Option(
            "--wait", help="With `--approve person`: stay until you decided, instead of ending with code 4."
        ),
    ] = False,
    resume: Annotated[str, typer.Option("--resume", metavar="RUN", help="Go on with this run.")] = "",
    json: Json = False,
) -> None:
    """Run the cases of a suite, each in a home of its own, and check the answers.

    A run that ended early continues with --resume: nothing is done or paid twice, and --budget-usd may be changed.
    Exit codes: 0 all cases ended, 1 fewer were solved than --fail-under, 3 the budget was too small, 4 cases wait for
    your approval.
    """
    app = AppContext.open(context.obj)
    if resume:
        fixed = ("suite", "model", "repeat", "approve", "without", "tag", "cases")
        given = [name for name in fixed if _is_given(context, name)]
        if given:
            raise UsageError(
                "--resume goes on with a run as it was begun.", hint=f"Leave out {', '.join(given)}."
            )
        setup, folder = run_store.find_run(app, resume)
        if _is_given(context, "budget_usd"):
            setup = beginning.raised(app, setup, budget_usd)
    else:
        if suite is None:
            raise UsageError("There is no suite.", hint="Give a folder, or make one: alita eval new FOLDER")
        suite = run_store.suite_path(suite)
        read = read_suite(suite)
        setup = beginning.begin(
            app, read, suite, model or (), repeat=repeat, budget_usd=budget_usd, approve=approve,
            without=_parts(without or ()), tags=tag or (), cases=cases,
        )  # fmt: skip
        folder = beginning.folder_of_runs(app) / setup.run
    typer.echo(f"run {setup.run}", err=True)
    try:
        results = asyncio.run(execution.run_cases(app, setup, folder, jobs, _tell, _tell_wait, stay=wait))
    except KeyboardInterrupt:
        typer.echo(f"\nStopped. Go on: alita eval run --resume {setup.run}", err=True)
        raise typer.Exit(130) from None
    except StoreLocked:
        raise
    except StoreError:
        typer.echo(
            f"The run stopped; what has ended is kept. Go on later: alita eval run --resume {setup.run}",
            err=True,
        )
        raise
    missing = len(beginning.planned(setup, read_suite(Path(setup.suite_path)))) - len(results)
    if json:
        json_document(_document(setup, results, agreements(folder), folder))
    else:
        _table(setup, results)
        _tell_unfinished(setup, folder)
    for judge in agreements(folder):
        typer.echo(f"judge: {reveal(str(judge))}", err=True)
    if missing:
        waits = setup.approve == "person" and bool(run_store.waiting(folder))
        why, more = (
            f"{'has' if missing == 1 else 'have'} not ended: too little is left of the budget",
            " --budget-usd MORE",
        )
        if waits:
            why, more = f"{'waits' if missing == 1 else 'wait'} for your approval", ""
        typer.echo(
            f"{counted(missing, 'case')} {why}. Go on: alita eval run --resume {setup.run}{more}", err=True
        )
        if waits:
            typer.echo(f"What waits: alita eval show {setup.run}", err=True)
        raise typer.Exit(4 if waits else 3)
    if share(results) < fail_under:
        typer.echo(f"Solved {share(results):.0%}, which is under {fail_under:.0%}.", err=True)
        raise typer.Exit(1)


def _is_given(context: typer.Context, name: str) -> bool:
    """Return whether an argument or option is on the command line."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _parts(given: Sequence[str]) -> tuple[Without, ...]:
    known: tuple[Without, ...] = get_args(Without)
    for name in given:
        if name not in known:
            raise UsageError(
                f"{one_line(name, 40)!r} cannot be left out.", hint=f"There is {', '.join(known)}."
            )
    return tuple(part for part in known if part in given)


def _tell(result: CaseResult, done: int, of: int) -> None:
    """Print a line for each case that ended, on stderr: the same for people, pipes and screen readers."""
    verdict = "solved" if result.solved else f"{FAILURE_WORDS[result.failure]}: {result.why}"
    who = f"{one_line(result.case, 60)} ({one_line(result.model, 60)}, {result.turn})"
    sys.stderr.write(f"{done}/{of} {who} {reveal(verdict)[:300]}  ${result.usd:.4f} {result.seconds:.1f} s\n")
    sys.stderr.flush()


def _tell_wait(wait: Wait) -> None:
    """Print what a case waits for, and the command that decides, on stderr."""
    case, model, turn = wait.key
    who = f"{one_line(case, 60)} ({one_line(model, 60)}, {turn})"
    sys.stderr.write(f"\a{who} waits: {one_line(wait.asks, 2_000)}\n")
    sys.stderr.flush()


@commands.command("list")
def list_runs(context: typer.Context, json: Json = False) -> None:
    """List the runs, oldest first."""
    app = AppContext.open(context.obj)
    listed = [
        (
            setup,
            run_store.results_of(folder := beginning.folder_of_runs(app) / setup.run),
            costs.unfinished_usd(folder, setup),
        )
        for setup in run_store.runs(app)
    ]
    if json:
        json_document([{**_row(setup), **_summary(results, more)} for setup, results, more in listed])
        return
    if not listed:
        typer.echo("No run yet. Make a suite: alita eval new FOLDER")
        return
    table(
        ("RUN", "SUITE", "MODELS", "ENDED", "SOLVED", "COST"),
        (
            (
                setup.run, setup.suite, ", ".join(setup.models),
                f"{len(results)} of {setup.planned}" if setup.planned > len(results) else str(len(results)),
                f"{share(results):.0%}",
                f"${sum(result.usd + result.judge_usd for result in results) + more:.4f}",
            )
            for setup, results, more in listed
        ),
    )  # fmt: skip


@commands.command()
def show(context: typer.Context, run: Run = "last", json: Json = False) -> None:
    """Show a run case by case, and how to open each one that failed where it went wrong."""
    app = AppContext.open(context.obj)
    setup, folder = run_store.find_run(app, run)
    results = run_store.results_of(folder)
    if json:
        json_document(_document(setup, results, agreements(folder), folder))
        return
    _table(setup, results)
    _tell_unfinished(setup, folder)
    left = setup.planned - len(results)
    if left > 0 and run_store.is_running(folder):
        typer.echo(f"{counted(left, 'case')} to go: the run continues in another process.")
    elif left > 0:
        typer.echo(f"{counted(left, 'case')} to go. Go on: alita eval run --resume {setup.run}")
    for judge in agreements(folder):
        typer.echo(f"judge: {reveal(str(judge))}")
    for result in results:
        if not result.solved and result.session_id:
            at = f" --at {result.at}" if result.at else ""
            typer.echo(
                f"\n{one_line(result.case, 60)}: {FAILURE_WORDS[result.failure]}: {reveal(result.why)[:300]}"
            )
            typer.echo(f"  alita --home {folder / result.home} replay {result.session_id}{at}")
    if setup.approve == "person":
        for home, build in run_store.waiting(folder):
            typer.echo(f"\nwaits for {asked(build)}")
            typer.echo(f"  {command(home, build)}")


@commands.command()
def new(context: typer.Context, folder: Annotated[Path, typer.Argument(help="A folder to make.")]) -> None:
    """Make a suite to begin with."""
    cases = (
        {"id": "sum", "task": "How much is 17 + 25? Answer with the number alone.",
         "check": {"kind": "number", "value": 42}},
        {"id": "rows", "task": "Which town in towns.csv has the most people? Answer with its name alone.",
         "files": ["towns.csv"], "tags": ["files"], "check": {"kind": "exact", "text": "Bergen", "loose": True}},
    )  # fmt: skip
    try:
        folder.mkdir(parents=True)
        (folder / CASES).write_text(
            "".join(msgspec.json.encode(case).decode() + "\n" for case in cases), "utf-8"
        )
        (folder / "towns.csv").write_text("town,people\nBergen,291940\nVoss,15875\n", "utf-8")
    except FileExistsError as error:
        raise UsageError(f"{folder} is there already.", hint="Choose another name.") from error
    except OSError as error:
        raise UsageError(f"{folder} cannot be made: {error.strerror}.") from error
    typer.echo(f"{folder}: {len(cases)} cases in {CASES}. Run them: alita eval run {folder}")


@commands.command("from-sessions")
def from_sessions(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(help="A folder to make.")],
    session: Annotated[
        list[str] | None,
        typer.Option("--session", metavar="ID", help="Only this session; repeatable. Without: all of yours."),
    ] = None,
) -> None:
    """Make a suite of your own tasks whose answers you liked or corrected.

    A correction counts where you said what it should be. Known secrets are taken out of tasks, answers and files.
    """
    from alita_tui.app.evaluation.gathering import gather

    made = gather(AppContext.open(context.obj), folder, session or ())
    for reason in made.left_out:
        typer.echo(f"left out: {reveal(reason)}", err=True)
    for name in made.unread:
        typer.echo(f"look for secrets in it yourself, since it is not text: {one_line(name, 200)}", err=True)
    if not made.cases:
        raise UsageError(
            "You rated no answer that makes a case.", hint="Rate one: alita feedback SESSION --should-be TEXT"
        )
    typer.echo(
        f"{folder}: {counted(made.cases, 'case')} in {CASES}. Look through them, then: alita eval run {folder}"
    )


def _row(setup: Setup) -> dict[str, Any]:
    return msgspec.structs.asdict(setup)


def _tell_unfinished(setup: Setup, folder: Path) -> None:
    if usd := costs.unfinished_usd(folder, setup):
        typer.echo(f"${usd:.4f} more was paid for cases that have not ended.")


def _summary(results: tuple[CaseResult, ...], unfinished_usd: float) -> dict[str, Any]:
    return {
        "ended": len(results),
        "solved": sum(result.solved for result in results),
        "usd": math.fsum(usd for result in results for usd in (result.usd, result.judge_usd))
        + unfinished_usd,
        "unfinished_usd": unfinished_usd,
        "unpriced_calls": sum(result.unpriced for result in results),
    }


def _document(
    setup: Setup, results: tuple[CaseResult, ...], judges: tuple[Agreement, ...], folder: Path
) -> dict[str, Any]:
    return {
        "setup": _row(setup),
        **_summary(results, costs.unfinished_usd(folder, setup)),
        "judges": [msgspec.structs.asdict(judge) for judge in judges],
        "cases": [msgspec.structs.asdict(result) for result in results],
    }


def _table(setup: Setup, results: tuple[CaseResult, ...]) -> None:
    rows = []
    for model in setup.models:
        mine = tuple(result for result in results if result.model == model)
        count = max(len(mine), 1)
        rows.append((
            model, f"{sum(result.solved for result in mine)} of {len(mine)}",
            f"{'~' if any(result.unpriced for result in mine) else ''}"
            f"${sum(result.usd + result.judge_usd for result in mine):.4f}",
            f"{sum(result.seconds for result in mine) / count:.1f} s",
            f"{sum(result.steps for result in mine) / count:.1f}",
            str(sum(result.builds for result in mine)), str(sum(result.ungrounded for result in mine)),
        ))  # fmt: skip
    table(("MODEL", "SOLVED", "COST", "TIME EACH", "STEPS EACH", "BUILDS", "UNGROUNDED"), rows)
    unpriced = sum(result.unpriced for result in results)
    if unpriced:
        from alita_tui.view.spend import unpriced_words

        typer.echo(f"{unpriced_words(unpriced)}.", err=True)
