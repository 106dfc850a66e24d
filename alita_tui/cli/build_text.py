"""A build as text: its risks, changes, capabilities, the evidence, and the difference from the last version."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

import typer

from alita_tui.cli.accepting import list_risks
from alita_tui.events.build import CHECKS
from alita_tui.runtimes.languages import title_of
from alita_tui.spine.grants import phrases
from alita_tui.spine.text import reveal
from alita_tui.view.changes import changes
from alita_tui.view.does import does
from alita_tui.view.risk import risks

if TYPE_CHECKING:
    from alita_tui.state.build import Attempt, BuildState


def print_summary(view: BuildState, draft: Attempt) -> None:
    """Print what is unusual, what changes, what it does and why, and what it asks for."""
    list_risks(risks(view, draft), none="none found: every check passed, nothing asked for")
    typer.echo("\nChanges")
    for line in changes(view, draft):
        typer.echo(f"  {reveal(line)}")
    _print_origin(view, draft)
    _print_needs(draft)


def _print_origin(view: BuildState, draft: Attempt) -> None:
    """Print why it was built, what it cost, and its near misses and sources."""
    typer.echo(f"\nGoal: {reveal(view.goal)}")
    typer.echo(f"Does, by its signature and tests: {reveal(does(draft))}")
    typer.echo(f"Says it does: {reveal(draft.draft.description)}")
    if draft.draft.language != "python":
        why = f", because it says: {draft.language_reason}" if draft.language_reason else ""
        typer.echo(f"Written in: {reveal(title_of(draft.draft.language) + why)}")
    if view.cost:
        typer.echo(f"Cost so far: {view.cost}")
    for lesson in view.lessons:
        typer.echo(f"  past rejection  {reveal(lesson)}")
    for miss in view.near_misses:
        typer.echo(f"  near miss {miss.score:.2f}  {reveal(miss.name)}  {reveal(miss.description)}")
    for source in view.sources:
        typer.echo(f"  source {reveal(source.url)}")


def _print_needs(draft: Attempt) -> None:
    """Print the capabilities it asks for and its packages."""
    capabilities = draft.draft.capabilities
    typer.echo("\nAsks for")
    for item, phrase in zip(capabilities.items, phrases(capabilities), strict=True):
        typer.echo(f"  {reveal(item)}  {reveal(phrase)}")
    if capabilities.none:
        typer.echo("  nothing declared")
    typer.echo("\nRequirements")
    for package in draft.lock.packages if draft.lock else ():
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
