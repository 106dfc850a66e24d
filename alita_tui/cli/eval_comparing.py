"""`alita eval compare` and `report`: two runs side by side, in the terminal or as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import asdict

from alita_tui.app import evaluating
from alita_tui.app.context import AppContext
from alita_tui.app.eval_judge import agreements
from alita_tui.cli.output import Json, json_document, table
from alita_tui.evaluation.agreement import Agreement
from alita_tui.evaluation.compare import Comparison, amount, chance, verdict
from alita_tui.evaluation.compare import compare as compared
from alita_tui.evaluation.results import FAILURE_WORDS, CaseResult, Setup
from alita_tui.spine.errors import UsageError
from alita_tui.spine.text import one_line, reveal

Side = Annotated[
    str, typer.Argument(metavar="RUN[@MODEL]", help="A run; with @MODEL where it has several models.")
]


def compare(context: typer.Context, first: Side, second: Side, json: Json = False) -> None:
    """Compare two runs of a suite, and say whether the difference may be chance."""
    app = AppContext.open(context.obj)
    one, left, right = _both(app, first, second)
    judges = _judges(app, left), _judges(app, right)
    if json:
        json_document({
            "setups": [asdict(left), asdict(right)], "judges": [[asdict(judge) for judge in side] for side in judges],
            "verdict": verdict(one), "cases": one.cases,
            "left_out": one.left_out, "failures": one.failures, "changed": one.changed,
            "figures": [
                {"name": figure.name, "unit": figure.unit, **asdict(figure.paired), "real": figure.paired.real}
                for figure in one.figures
            ],
        })  # fmt: skip
        return
    typer.echo(reveal(verdict(one)))
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
            for figure in one.figures
        ),
    )  # fmt: skip
    for kind, before, after in one.failures:
        words = next((said for name, said in FAILURE_WORDS.items() if name == kind), kind)
        typer.echo(f"\n{reveal(words)}: {before}, then {after}", nl=False)
    typer.echo("")
    for case, was, became in one.changed:
        typer.echo(f"changed: {one_line(case, 80)}  {was:.0%} → {became:.0%}")
    for which, side in zip(("first", "second"), judges, strict=True):
        for judge in side:
            typer.echo(f"judge of the {which}: {reveal(str(judge))}")
    if one.left_out:
        typer.echo(f"left out, since only one run did them: {one.left_out}", err=True)


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
    one, left, right = _both(app, first, second)
    page = as_html(one, left, right, _judges(app, left), _judges(app, right))
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(page)
    except FileExistsError as error:
        raise UsageError(f"{out} is there already.", hint="Give another name with --out.") from error
    except OSError as error:
        raise UsageError(f"{out} cannot be written: {error.strerror}.") from error
    typer.echo(f"written: {reveal(str(out.resolve()))}")


def _both(app: AppContext, first: str, second: str) -> tuple[Comparison, Setup, Setup]:
    left, left_name, before = _side(app, first)
    right, right_name, after = _side(app, second)
    if left.suite_digest != right.suite_digest:
        raise UsageError(
            f"{left.run} and {right.run} are runs of different suites, or of one that changed between.",
            hint="Run both on the same cases.",
        )
    return compared(left_name, right_name, before, after), left, right


def _judges(app: AppContext, setup: Setup) -> tuple[Agreement, ...]:
    return agreements(evaluating.folder_of_runs(app) / setup.run)


def _side(app: AppContext, wanted: str) -> tuple[Setup, str, tuple[CaseResult, ...]]:
    run, _, model = wanted.partition("@")
    setup, folder = evaluating.find_run(app, run)
    if not model and len(setup.models) > 1:
        raise UsageError(
            f"{setup.run} has several models.", hint=f"Say which: {setup.run}@{one_line(setup.models[0], 80)}"
        )
    model = model or setup.models[0]
    if model not in setup.models:
        raise UsageError(f"{setup.run} has no model {one_line(model, 80)!r}.", hint=", ".join(setup.models))
    mine = tuple(one for one in evaluating.results_of(folder) if one.model == model)
    return setup, str(one_line(f"{model} ({setup.run})", 120)), mine
