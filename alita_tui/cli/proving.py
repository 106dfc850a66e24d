"""Approves a tool's draft from the shell, once its review and its tests have passed here."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Literal

import typer

from alita_tui import events as e
from alita_tui.spine.text import reveal

if TYPE_CHECKING:
    from alita_tui.app.context import AppContext
    from alita_tui.events import ToolDraft, ToolRecord
    from alita_tui.spine.envelope import Envelope

_Origin = Literal["starter", "imported", "recipe"]


def approve_if_proven(app: AppContext, draft: ToolDraft, origin: _Origin) -> ToolRecord:
    """Review and test a draft in the sandbox, print what was found, approve it and return its record.

    Raise typer.Exit with code 1 if it does not pass.
    """
    from alita_tui.app.tool_runs import approve_anew, prove

    proof, events = asyncio.run(prove(app, draft, lambda *_: None))
    _print_proof(events)
    if proof.problem:
        typer.echo(reveal(f"{draft.name} was not approved: {proof.problem}"), err=True)
        raise typer.Exit(1)
    record = approve_anew(app, draft, proof.lock, origin=origin)
    print_approved(record)
    return record


def print_approved(record: ToolRecord) -> None:
    """Print that a version of a tool is approved."""
    typer.echo(f"approved: {record.draft.name} v{record.version}, sha256 {record.digest[:16]}…")


def _print_proof(envelopes: tuple[Envelope, ...]) -> None:
    """Print what review and tests observed."""
    for envelope in envelopes:
        match envelope.event:
            case e.BuildReviewed(findings=findings):
                for finding in findings:
                    if finding.blocking or finding.severity in ("high", "medium"):
                        place = f"{finding.severity:6} {finding.rule} line {finding.line}"
                        typer.echo(f"  {place}: {reveal(finding.text)}")
            case e.BuildTested(reports=reports):
                cases = reports[-1].cases if reports else ()
                for case in cases:
                    typer.echo(f"  {'pass' if case.passed else 'FAIL'}  {reveal(case.name)}")
                typer.echo(f"  {len(reports)} runs in the sandbox, with nothing granted")
            case _:
                pass
