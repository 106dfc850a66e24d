"""Runs of suites for the screen of evaluations: one that goes on, with cases that stand in every way and hostile words."""

from __future__ import annotations

from datetime import timedelta

from alita_tui.console.evaluations.ports import CaseLine, RunLine, RunSheet
from tests.console.keeping_lab import NOW

MODELS = ("openai:gpt-5", "anthropic:claude-sonnet-5")
RUNS = (
    RunLine(
        run="jobs-20261121-113000", suite="jobs", models=MODELS, state="running", started=NOW - timedelta(minutes=4),
        ended=6, of=24, solved=4, usd=0.2131, budget_usd=5, approve="policy",
    ),
    RunLine(
        run="mine-20261120-090000", suite="mine [b]bold[/b] \x1b[31mred\u202e 日本語", models=MODELS[:1], state="waiting",
        started=NOW - timedelta(days=1), ended=3, of=8, solved=3, usd=0.04, unpriced=2, repeat=2, approve="person",
    ),
    RunLine(
        run="toolworld-20261119-090000", suite="toolworld", models=MODELS[:1], state="stopped",
        started=NOW - timedelta(days=2), ended=12, of=40, solved=11, usd=1.5, without=("memory",),
    ),
    RunLine(
        run="refuse-20261101-090000", suite="refuse", models=MODELS[1:], state="finished",
        started=NOW - timedelta(days=20), ended=5, of=5, solved=5, usd=0.01,
    ),
)  # fmt: skip


def _case(number: int, name: str, state: str, why: str = "", at: int = 0) -> CaseLine:
    ended = state in ("solved", "failed")
    return CaseLine(
        case=name, model=MODELS[number % 2], turn=1, state=state, why=why, at=at, session_id=f"s{number}" if state != "left" else "",  # type: ignore[arg-type]
        usd=0.0311 * number if ended else 0.0, seconds=12.4 * number if ended else 0.0, steps=number + 2 if ended else 0,
        home=f"/home/ada/evaluations/homes/{number}", command=f"alita --home /home/ada/h{number} replay s{number} --at {at}",
    )  # fmt: skip


CASES = (
    _case(1, "duplicates", "solved"),
    _case(2, "duplicates", "solved"),
    _case(3, "rainfall-by-month", "failed", "the answer is what a tool returned, and that is not what was asked for: 41 instead of 42", 17),
    _case(4, "rainfall-by-month", "solved"),
    _case(5, "名前 [b]x[/b] \x1b[31m\u202e", "failed", "the budget was used up: [red]at[/red] \x1b[2Jevent", 9),
    _case(6, "calendar", "solved"),
    _case(7, "calendar", "running"),
    _case(8, "shop", "running"),
    *(_case(n, f"later-{n}", "left") for n in range(9, 25)),
)  # fmt: skip
JUDGES = (
    "judge: openai:gpt-5 agrees with 19 of 20 labelled examples (kappa 0.90; too kind in 1, too strict in 0)",
)
BEGUN: list[str] = []
"""What was asked to be run."""


def sheet(run: str) -> RunSheet:
    """One run as the screen gets it."""
    line = next(one for one in RUNS if one.run == run)
    return RunSheet(line=line, cases=CASES[: line.of], judges=JUDGES if line is RUNS[0] else ())
