"""`alita eval compare` and `report`: two runs side by side, in the terminal or as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from msgspec.structs import asdict

from alita_tui.app.context import AppContext
from alita_tui.app.evaluation import beginning, run_store
from alita_tui.app.evaluation.judge import agreements
from alita_tui.cli.output import Json, json_document, table
from alita_tui.evaluation.agreement import Agreement
from alita_tui.evaluation.compare import Comparison, amount, chance, unknown_line, verdict
from alita_tui.evaluation.compare import compare as compared
from alita_tui.evaluation.conditions import caveats, difference_line, differences, of_model
from alita_tui.evaluation.results import FAILURE_WORDS, CaseResult, Setup
from alita_tui.spine.errors import UsageError
from alita_tui.spine.text import one_line, reveal

Side = Annotated[
    str, typer.Argument(metavar="RUN[@MODEL]", help="A run; with @MODEL where it has several models.")
]


class _Compared(NamedTuple):
    """Two runs side by side, with what each was and who judged."""

    comparison: Comparison
    setups: tuple[Setup, Setup]
    judges: tuple[tuple[Agreement, ...], tuple[Agreement, ...]]
    caveats: tuple[str, ...]


def compare(context: typer.Context, first: Side, second: Side, json: Json = False) -> None:
    """Compare two runs of a suite, and say whether the difference may be chance."""
    comparison, setups, judges, reasons = _both(AppContext.open(context.obj), first, second)
    different = differences(*setups)
    if json:
        json_document({
            "setups": [asdict(setup) for setup in setups],
            "judges": [[asdict(judge) for judge in side] for side in judges],
            "verdict": verdict(comparison), "caveats": reasons,
            "differences": [condition._asdict() for condition in different], "cases": comparison.cases,
            "left_out": comparison.left_out, "unknown": comparison.unknown,
            "failures": comparison.failures, "changed": comparison.changed,
            "figures": [
                {"name": figure.name, "unit": figure.unit, **asdict(figure.paired), "real": figure.paired.real}
                for figure in comparison.figures
            ],
        })  # fmt: skip
        return
    typer.echo(reveal(verdict(comparison)))
    typer.echo(reveal(difference_line(different)))
    for caveat in reasons:
        typer.echo(f"caution: {reveal(caveat)}")
    typer.echo()
    table(
        ("PER CASE", "FIRST", "SECOND", "DIFFERENCE", "INTERVAL (95 %)", "P", ""),
        (
            (
                figure.name, amount(figure, figure.paired.first), amount(figure, figure.paired.second),
                amount(figure, figure.paired.difference, signed=True),
                f"{amount(figure, figure.paired.low, signed=True)} to "
                f"{amount(figure, figure.paired.high, signed=True)}",
                *chance(figure),
            )
            for figure in comparison.figures
        ),
    )  # fmt: skip
    if line := unknown_line(comparison):
        typer.echo(f"\n{line}", nl=False)
    for kind, before, after in comparison.failures:
        words = next((failure_words for name, failure_words in FAILURE_WORDS.items() if name == kind), kind)
        typer.echo(f"\n{reveal(words)}: {before}, then {after}", nl=False)
    typer.echo("")
    for case, was, became in comparison.changed:
        typer.echo(f"changed: {one_line(case, 80)}  {was:.0%} → {became:.0%}")
    for which, side in zip(("first", "second"), judges, strict=True):
        for judge in side:
            typer.echo(f"judge of the {which}: {reveal(str(judge))}")
    if comparison.left_out:
        typer.echo(f"left out, since only one run did them: {comparison.left_out}", err=True)


def report(
    context: typer.Context,
    first: Side,
    second: Side,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Where to write it.")] = Path(
        "report.html"
    ),
) -> None:
    """Write a comparison as one HTML file that needs no network."""
    from alita_tui.evaluation.report import as_html

    app = AppContext.open(context.obj)
    comparison, setups, judges, reasons = _both(app, first, second)
    page = as_html(comparison, *setups, *judges, reasons)
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(page)
    except FileExistsError as error:
        raise UsageError(f"{out} is there already.", hint="Give another name with --out.") from error
    except OSError as error:
        raise UsageError(f"{out} cannot be written: {error.strerror}.") from error
    typer.echo(f"written: {reveal(str(out.resolve()))}")


def _both(app: AppContext, first: str, second: str) -> _Compared:
    left, left_name, before = _side(app, first)
    right, right_name, after = _side(app, second)
    if left.suite_digest != right.suite_digest:
        raise UsageError(
            f"{left.run} and {right.run} are runs of different suites, or of one that changed between.",
            hint="Run both on the same cases.",
        )
    judges = _judges(app, left), _judges(app, right)
    return _Compared(
        compared(left_name, right_name, before, after), (left, right), judges,
        caveats(left, right, before, after, *judges),
    )  # fmt: skip


def _judges(app: AppContext, setup: Setup) -> tuple[Agreement, ...]:
    return agreements(beginning.folder_of_runs(app) / setup.run)


def _side(app: AppContext, wanted: str) -> tuple[Setup, str, tuple[CaseResult, ...]]:
    run, _, model = wanted.partition("@")
    setup, folder = run_store.find_run(app, run)
    if not model and len(setup.models) > 1:
        raise UsageError(
            f"{setup.run} has several models.", hint=f"Say which: {setup.run}@{one_line(setup.models[0], 80)}"
        )
    model = model or setup.models[0]
    if model not in setup.models:
        raise UsageError(f"{setup.run} has no model {one_line(model, 80)!r}.", hint=", ".join(setup.models))
    mine = tuple(result for result in run_store.results_of(folder) if result.model == model)
    return of_model(setup, model), str(one_line(f"{model} ({setup.run})", 120)), mine
