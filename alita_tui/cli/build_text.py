"""A build as text: the five answers, where it comes from, the evidence, and the difference from the last version."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

import typer

from alita_tui.events.build import CHECKS
from alita_tui.runtimes.languages import title_of
from alita_tui.spine.grants import phrases
from alita_tui.spine.text import reveal
from alita_tui.view.five_answers import five_answers

if TYPE_CHECKING:
    from alita_tui.state.build import Attempt, BuildState

_MARKS = {"■": "", "✗": "failed: ", "○": ""}
"""Mark of a check's result → words."""


def _line(text: str) -> str:
    """Return hostile text on one line, with hidden characters spelled out, so that it cannot pass for other lines."""
    return reveal(" ".join(text.split("\n")))


def print_summary(view: BuildState, draft: Attempt) -> None:
    """Print the five answers of the review in its order and words, then where it comes from and what it needs."""
    answers = five_answers(view, draft)
    typer.echo("May touch")
    for text, _tone in answers.touches:
        typer.echo(f"  {_line(text)}")
    typer.echo(f"\nDoes\n  {_line(answers.does)}\n  Its author says: {_line(answers.claim)}")
    if draft.draft.language != "python":
        typer.echo(f"  written in {_line(title_of(draft.draft.language) + answers.why_language)}")
    # Words instead of marks: what failed or did not run says so.
    results = "".join(_MARKS.get(text, text) for text, _tone in answers.how_sure)
    typer.echo(f"\nHow sure\n  {results.replace('  ', ' ')}")
    typer.echo("\nUnusual")
    if answers.unusual:
        typer.echo("  An approval accepts each of these by its name, the worst first:")
    for risk in answers.unusual:
        note = " (accepted before in this session)" if risk.accepted else ""
        typer.echo(f"  {'serious' if risk.serious else 'minor'}{note}  {risk.name}: {_line(risk.text)}")
    if not answers.unusual:
        typer.echo("  nothing: all checks passed, no permissions needed")
    typer.echo("\nChanges in the library")
    for sentence in answers.changes:
        typer.echo(f"  {_line(sentence)}")
    _print_origin(view)
    _print_needs(draft)


def _print_origin(view: BuildState) -> None:
    """Print why it was built, what it cost, and its near misses and sources."""
    typer.echo(f"\nGoal: {_line(view.goal)}")
    if view.cost:
        typer.echo(f"Cost so far: {view.cost}")
    for lesson in view.lessons:
        typer.echo(f"  past rejection  {_line(lesson)}")
    for miss in view.near_misses:
        typer.echo(f"  near miss {miss.score:.2f}  {_line(miss.name)}  {_line(miss.description)}")
    for source in view.sources:
        typer.echo(f"  source {_line(source.url)}")


def _print_needs(draft: Attempt) -> None:
    """Print the capabilities it asks for and its packages."""
    capabilities = draft.draft.capabilities
    typer.echo("\nAsks for")
    for item, phrase in zip(capabilities.items, phrases(capabilities), strict=True):
        typer.echo(f"  {_line(item)}  {_line(phrase)}")
    if capabilities.none:
        typer.echo("  nothing declared")
    packages = draft.lock.packages if draft.lock else ()
    typer.echo("\nRequirements" if packages else "\nRequirements\n  none")
    for package in packages:
        first = package.hashes[0][:23] if package.hashes else ""
        typer.echo(f"  {reveal(package.name)} {reveal(package.version)}  {first}")


def print_evidence(draft: Attempt) -> None:
    """Print review, checks and self-tests."""
    typer.echo("\nReview")
    for finding in draft.findings:
        typer.echo(f"  {finding.severity:6} {finding.rule} line {finding.line}: {reveal(finding.text)}")
    typer.echo("\nChecks")
    for check in draft.gates:
        typer.echo(f"  {check.state:8} {CHECKS[check.gate].title}: {reveal(check.summary)}")
        for row in check.rows:
            if row.tone in ("bad", "warn"):
                typer.echo(f"           {reveal(row.label)}  {reveal(row.text)}")
    for name in draft.unchecked:
        typer.echo(f"  not run  {CHECKS[name].title}")
    typer.echo("\nSelf-tests (written by the same model as the code)")
    for case in draft.reports[-1].cases if draft.reports else ():
        typer.echo(f"  {'pass' if case.passed else 'FAIL'}  {reveal(case.name)}")


def print_diff(view: BuildState, draft: Attempt) -> None:
    """Print the difference from the version that it would replace."""
    if view.parent is None:
        return
    old, new = (reveal(text).split("\n") for text in (view.parent.code, draft.draft.code))
    label = f"v{view.version - 1}"
    typer.echo(f"\nDiff from {label}")
    for line in difflib.unified_diff(old, new, label, f"v{view.version}", lineterm=""):
        typer.echo(line)
