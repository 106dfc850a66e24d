"""`alita builds`: see and decide parked builds from any shell."""

from __future__ import annotations

from typing import Annotated

import typer

from alita_tui.cli.output import json_document, table
from alita_tui.spine.text import reveal

app = typer.Typer(help="Builds that wait for your verdict.", no_args_is_help=True, rich_markup_mode=None)


@app.command("list")
def list_builds(
    context: typer.Context, json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False
) -> None:
    """List the builds that wait, oldest first."""
    from alita_tui.wiring import House

    parked = House.open(context.obj).desk.pending()
    if json:
        json_document(parked)
    elif not parked:
        typer.echo("No build waits for a verdict.")
    else:
        rows = (
            (
                b.approval_id,
                f"{b.name} v{b.version}",
                b.digest[:16],
                b.verdict or "waits",
                b.session_id,
                b.task,
            )
            for b in parked
        )
        table(("ID", "TOOL", "SHA256", "STATE", "SESSION", "TASK"), rows)


@app.command()
def show(
    context: typer.Context,
    build: Annotated[str, typer.Argument(help="Its id, or the beginning of it.")],
    json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Show a build whole: code, tests, evidence, digest. Hidden characters are spelled out."""
    from alita_tui.view.fold import fold_all
    from alita_tui.view.model import SessionView
    from alita_tui.wiring import House

    parked, envelopes = House.open(context.obj).desk.show(build)
    if json:
        json_document({"build": parked, "events": envelopes})
        return
    typer.echo(f"{parked.name} v{parked.version}   session {parked.session_id}")
    typer.echo(f"sha256 {parked.digest}\n")
    seen = 0
    view = SessionView()
    for seen, envelope in enumerate(envelopes, 1):
        import msgspec

        view = fold_all([msgspec.structs.replace(envelope, seq=seen)], view)
    made = view.builds[-1]
    typer.echo(f"Goal: {reveal(made.goal)}")
    for miss in made.near_misses:
        typer.echo(f"  near miss {miss.score:.2f}  {reveal(miss.name)}  {reveal(miss.description)}")
    for source in made.sources:
        typer.echo(f"  source {reveal(source.url)}")
    draft = made.current
    assert draft is not None
    typer.echo("\nRequirements")
    for package in draft.lock.packages if draft.lock else ():
        first = package.hashes[0][:23] if package.hashes else ""
        typer.echo(f"  {reveal(package.name)} {reveal(package.version)}  {first}")
    typer.echo("\nReview")
    for finding in draft.findings:
        typer.echo(f"  {finding.severity:6} {finding.rule} line {finding.line}: {reveal(finding.text)}")
    typer.echo("\nSelf-tests (written by the same model as the code)")
    for case in draft.reports[-1].cases if draft.reports else ():
        typer.echo(f"  {'pass' if case.passed else 'FAIL'}  {reveal(case.name)}")
    typer.echo(f"\nCode\n{reveal(draft.draft.code)}\nTests\n{reveal(draft.draft.tests)}")
    typer.echo(f"Approve with: alita builds approve {parked.approval_id} --digest {parked.digest[:16]}")


@app.command()
def approve(
    context: typer.Context,
    build: Annotated[str, typer.Argument(help="Its id, or the beginning of it.")],
    digest: Annotated[
        str, typer.Option("--digest", metavar="SHA256", help="At least 12 digits of the digest that you saw.")
    ],
) -> None:
    """Approve exactly the bytes with this digest; the session takes it up."""
    _leave(context, build, digest, "approved", "")


@app.command()
def reject(
    context: typer.Context,
    build: Annotated[str, typer.Argument(help="Its id, or the beginning of it.")],
    reason: Annotated[str, typer.Option("--reason", help="What is wrong; the toolsmith reads it.")],
) -> None:
    """Reject a build with a reason; the session takes it up."""
    _leave(context, build, None, "rejected", reason)


def _leave(context: typer.Context, build: str, digest: str | None, verdict: str, reason: str) -> None:
    import getpass

    import msgspec

    from alita_tui.spine.commands import ResolveApproval
    from alita_tui.wiring import House

    desk = House.open(context.obj).desk
    parked, _ = desk.show(build)
    command = msgspec.convert(
        {
            "approval_id": parked.approval_id,
            "digest": parked.digest if digest is None else digest,
            "verdict": verdict,
            "reason": reason,
            "via": "cli",
        },
        ResolveApproval,
    )
    left = desk.leave(parked.approval_id, command, getpass.getuser())
    typer.echo(f"{verdict}: {left.name} v{left.version}, sha256 {left.digest[:16]}…")
    typer.echo(f"Go on with: alita resume {left.session_id}")
