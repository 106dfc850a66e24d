"""`alita audit`: who approved what after seeing what, and whether the log was changed since."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import msgspec
import typer

from alita_tui.app.context import AppContext
from alita_tui.app.crosscheck import library_problems, session_problems
from alita_tui.cli.lazy import group
from alita_tui.cli.output import Json, json_document, print_list, print_result
from alita_tui.events import ToolRecord
from alita_tui.spine.errors import AlitaError, UsageError
from alita_tui.spine.text import one_line, reveal
from alita_tui.store.anchors import differences, put, take
from alita_tui.store.audit import AuditEntry
from alita_tui.view.habits import Look, habits

Anchor = Annotated[
    str,
    typer.Option(
        "--anchor",
        metavar="FILE|COMMAND",
        help="Compare with what `audit anchor` wrote; `|` begins a command.",
    ),
]
_MAX_PROBLEMS = 40

commands = group()


@commands.command("list")
def list_entries(
    context: typer.Context,
    tool: Annotated[str, typer.Option("--tool", help="Only verdicts on this tool.")] = "",
    json: Json = False,
) -> None:
    """List the verdicts, oldest first, and how they were given."""
    entries = [entry for entry in AppContext.open(context.obj).audit.entries() if tool in ("", entry.name)]
    rows = [
        (
            str(entry.sequence),
            entry.at[:19],
            entry.who,
            _via(entry),
            entry.verdict + (" for its task" if entry.lasting == "task" else ""),
            f"{entry.name} v{entry.version}",
            entry.digest[:12],
            _looked(entry),
            _why(entry),
        )
        for entry in entries
    ]
    head = ("NO", "WHEN", "WHO", "VIA", "VERDICT", "TOOL", "SHA256", "LOOKED", "WHY")
    print_list(entries, head, rows, empty="No verdict is in the log.", json=json)
    looks = [Look(entry.seen_ms, entry.scrolled_to_end) for entry in entries if entry.on_screen]
    if not json and (habit := habits(looks).summary):
        typer.echo(f"\nOn screen, {habit}.")


@commands.command()
def verify(context: typer.Context, anchor: Anchor = "", json: Json = False) -> None:
    """Check every entry, and the log against library, bans, rules and sessions. Exit code 1 for any problem."""
    app = AppContext.open(context.obj)
    problems = app.audit.verify()
    if anchor:
        log = app.audit.checked()
        problems += differences(log.raw, log.public, take(anchor))
    problems += library_problems(app) + session_problems(app)
    entries = app.audit.entries()
    unsigned = sum(not entry.signed for entry in entries)
    if json:
        json_document({"entries": len(entries), "unsigned": unsigned, "problems": problems})
    elif problems:
        for problem in problems[:_MAX_PROBLEMS]:
            typer.echo(reveal(problem))
        if len(problems) > _MAX_PROBLEMS:
            typer.echo(f"and {len(problems) - _MAX_PROBLEMS} more (--json has them all)")
        if app.audit.checked().problems:
            typer.echo("No tool runs until this is mended: alita audit repair", err=True)
    else:
        typer.echo(f"{len(entries)} entries; the chain is whole, and the sessions agree with it.")
        if unsigned:
            typer.echo(
                f"{unsigned} of them were written before entries were signed: only the chain covers them."
            )
        if not anchor:
            typer.echo(
                "Anyone with this account could write another log; only an anchor elsewhere would show it."
            )
    raise typer.Exit(1 if problems else 0)


@commands.command()
def anchor(
    context: typer.Context,
    target: Annotated[
        str,
        typer.Argument(
            metavar="FILE|COMMAND", help="A file to append to, or `|` and a command that reads a line."
        ),
    ],
    json: Json = False,
) -> None:
    """Write the log's current end to another place, so that a rewritten log can be detected.

    Compare with it later: alita audit verify --anchor FILE
    """
    head = AppContext.open(context.obj).audit.head()
    if head is None:
        raise UsageError("There is no entry to anchor yet.")
    put(target, head)
    print_result(head, f"Anchored entry {head.sequence}, sha256 {head.digest[:16]}….", json=json)


@commands.command()
def repair(context: typer.Context, json: Json = False) -> None:
    """Repair a damaged log from a whole copy in a backup. The damaged log is kept aside.

    If no copy has what is missing or changed, a new log begins, and every tool has to be approved anew. Bans and
    revocations that can be read in the old log or a copy still hold.
    """
    app = AppContext.open(context.obj)
    outcome = app.audit.repair(app.backups.logs())
    print_result({"done": outcome}, outcome or "Nothing is wrong with the log.", json=json)


@commands.command()
def explain(context: typer.Context, tool: str, json: Json = False) -> None:
    """Show who approved each version of a tool after seeing what, and what became of it."""
    app = AppContext.open(context.obj)
    versions = app.library.versions(tool)
    entries = [entry for entry in app.audit.entries() if entry.name == tool]
    if not versions and not entries:
        raise UsageError(
            f"Nothing is known of a tool {one_line(tool, 60)!r}.",
            hint="`alita tools list` shows the library.",
        )
    problems = app.audit.verify()
    if json:
        records = [{"version": _facts(record), "bytes": _file_state(app, record)} for record in versions]
        json_document({"tool": tool, "versions": records, "entries": entries, "chain": problems})
        return
    for record in versions:
        _print_version(app, record, entries)
    registered = {record.approval_id for record in versions}
    unregistered = [entry for entry in entries if entry.approval_id not in registered and entry.on_build]
    if unregistered:
        typer.echo("Verdicts on builds that did not join the library")
        _print_entries(unregistered)
    for problem in problems:
        typer.echo(f"The log cannot be relied on: {reveal(problem)}")


def _print_version(app: AppContext, record: ToolRecord, entries: Iterable[AuditEntry]) -> None:
    name = f"{record.draft.name} v{record.version}"
    typer.echo(f"{name}  {record.state}  sha256 {record.digest}")
    replaced = f", in place of v{record.parent_version}" if record.parent_version else ""
    typer.echo(f"  registered {record.created_at[:19]}{replaced}; {_file_state(app, record)}")
    own = [entry for entry in entries if entry.approval_id == record.approval_id]
    if not any(entry.verdict == "approved" and entry.digest == record.digest for entry in own):
        typer.echo(f"  No approval of these bytes is in the log (it names {one_line(record.approval_id)}).")
    _print_entries(own)


def _print_entries(entries: Iterable[AuditEntry]) -> None:
    for entry in entries:
        lasting = " for its task" if entry.lasting == "task" else ""
        typer.echo(
            f"  {entry.verdict}{lasting} by {reveal(entry.who)} ({_via(entry)}) on {entry.at[:19]}, "
            f"{_looked(entry)}, entry {entry.sequence}"
        )
        if entry.grants is not None:
            typer.echo(f"    granted   {reveal(', '.join(entry.grants)) or 'nothing of what it asks for'}")
        if why := _why(entry):
            typer.echo(f"    because   {reveal(why)}")
        for line in entry.evidence:
            typer.echo(f"    seen      {reveal(line)}")
        if entry.session_id:
            typer.echo(f"    session   alita replay {reveal(entry.session_id)}")
    typer.echo("")


def _file_state(app: AppContext, record: ToolRecord) -> str:
    try:
        app.library.get(record.draft.name, record.version)
    except AlitaError as error:
        return error.message
    return "its files are the ones that were approved"


def _via(entry: AuditEntry) -> str:
    return "shell" if entry.via == "cli" else entry.via


def _looked(entry: AuditEntry) -> str:
    if not entry.on_build:
        return "a tool of the library"
    if entry.via != "console":
        return "not on screen"
    end = "to the end" if entry.scrolled_to_end else "not to the end"
    return f"{entry.seen_ms / 1000:.1f} s, {end}"


def _why(entry: AuditEntry) -> str:
    alias = f"alias: {entry.alias}" if entry.alias else ""
    parts = (", ".join(entry.tags), entry.reason, ", ".join(entry.banned), alias)
    return "; ".join(part for part in parts if part)


def _facts(record: ToolRecord) -> object:
    return {
        "version": record.version,
        "state": record.state,
        "digest": record.digest,
        "approval_id": record.approval_id,
        "granted": msgspec.to_builtins(record.granted),
        "parent_version": record.parent_version,
        "registered": record.created_at,
        "runs": record.runs,
        "failures": record.failures,
    }
