"""`alita audit`: who approved what, seeing what; and whether anyone wrote in the log since."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from alita_tui.cli.output import Json, json_document, table
from alita_tui.spine.errors import AlitaError, UsageError
from alita_tui.spine.text import one_line, reveal

if TYPE_CHECKING:
    from alita_tui.spine.values import ToolRecord
    from alita_tui.store.audit import AuditEntry
    from alita_tui.wiring.house import House

Anchor = Annotated[
    str,
    typer.Option(
        "--anchor",
        metavar="FILE|COMMAND",
        help="Compare with what `audit anchor` wrote; `|` begins a command.",
    ),
]
_SHOWN = 40

app = typer.Typer(
    help="The log of every verdict, each entry signed and chained to the one before.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("list")
def list_entries(
    context: typer.Context,
    tool: Annotated[str, typer.Option("--tool", help="Of this tool alone.")] = "",
    json: Json = False,
) -> None:
    """List the verdicts, oldest first, and how they were given."""
    from alita_tui.view.habits import Look, habits
    from alita_tui.wiring.house import House

    entries = [one for one in House.open(context.obj).audit.entries() if tool in ("", one.name)]
    if json:
        json_document(entries)
        return
    if not entries:
        typer.echo("No verdict is in the log.")
        return
    rows = (
        (
            str(one.sequence),
            one.at[:19],
            one.who,
            _via(one),
            one.verdict + (" for its task" if one.lasting == "task" else ""),
            f"{one.name} v{one.version}",
            one.digest[:12],
            _looked(one),
            _why(one),
        )
        for one in entries
    )
    table(("NO", "WHEN", "WHO", "VIA", "VERDICT", "TOOL", "SHA256", "LOOKED", "WHY"), rows)
    said = habits([Look(one.seen_ms, one.scrolled_to_end) for one in entries if one.on_screen]).said
    if said:
        typer.echo(f"\nOn screen, {said}.")


@app.command()
def verify(context: typer.Context, anchor: Anchor = "", json: Json = False) -> None:
    """Check every entry, and the log against library, bans, rules and sessions; exit code 1 where one is wrong."""
    from alita_tui.store.anchors import differences, take
    from alita_tui.wiring.house import House
    from alita_tui.wiring.standing import library_problems, session_problems

    house = House.open(context.obj)
    problems = house.audit.verify()
    if anchor:
        found = house.audit.reading()
        problems += differences(found.raw, found.public, take(anchor))
    problems += library_problems(house) + session_problems(house)
    entries = house.audit.entries()
    unsigned = sum(not one.signed for one in entries)
    if json:
        json_document({"entries": len(entries), "unsigned": unsigned, "problems": problems})
    elif problems:
        for problem in problems[:_SHOWN]:
            typer.echo(reveal(problem))
        if len(problems) > _SHOWN:
            typer.echo(f"and {len(problems) - _SHOWN} more (--json has them all)")
        if house.audit.reading().problems:
            typer.echo("No tool runs until this is mended: alita audit repair", err=True)
    else:
        typer.echo(f"{len(entries)} entries; the chain is whole, and the sessions tell the same.")
        if unsigned:
            typer.echo(f"{unsigned} of them were written before entries were signed: they are chained alone.")
        if not anchor:
            typer.echo("Whoever has this account can write another log: only an anchor elsewhere shows that.")
    raise typer.Exit(1 if problems else 0)


@app.command()
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
    """Write elsewhere how far the log goes, so that even who has this account cannot rewrite it unseen.

    Compare with it later: alita audit verify --anchor FILE
    """
    from alita_tui.store.anchors import put
    from alita_tui.wiring.house import House

    head = House.open(context.obj).audit.head()
    if head is None:
        raise UsageError("There is no entry to anchor yet.")
    put(target, head)
    if json:
        json_document(head)
    else:
        typer.echo(f"Anchored entry {head.sequence}, sha256 {head.digest[:16]}….")


@app.command()
def repair(context: typer.Context, json: Json = False) -> None:
    """Make a log that holds of one that does not. The damaged one is kept aside; a whole copy of a backup is used.

    Where something is missing or was changed and no copy has it, a new log begins and every tool has to be
    approved anew.
    """
    from alita_tui.wiring.house import House

    house = House.open(context.obj)
    said = house.audit.repair(house.backups.logs())
    if json:
        json_document({"done": said})
    else:
        typer.echo(said or "Nothing is wrong with the log.")


@app.command()
def explain(context: typer.Context, tool: str, json: Json = False) -> None:
    """Say who approved a tool, seeing what, and what became of each of its versions."""
    from alita_tui.wiring.house import House

    house = House.open(context.obj)
    versions = house.shelf.versions(tool)
    entries = [one for one in house.audit.entries() if one.name == tool]
    if not versions and not entries:
        raise UsageError(
            f"Nothing is known of a tool {one_line(tool, 60)!r}.",
            hint="`alita tools list` shows the library.",
        )
    broken = house.audit.verify()
    if json:
        told = [{"version": _bare(one), "bytes": _bytes(house, one)} for one in versions]
        json_document({"tool": tool, "versions": told, "entries": entries, "chain": broken})
        return
    for record in versions:
        _tell(house, record, entries)
    shelved = {record.approval_id for record in versions}
    rest = [one for one in entries if one.approval_id not in shelved and one.on_build]
    if rest:
        typer.echo("Verdicts on builds that did not join the library")
        _paragraphs(rest)
    for problem in broken:
        typer.echo(f"The log is not to be relied on: {reveal(problem)}")


def _tell(house: House, record: ToolRecord, entries: Iterable[AuditEntry]) -> None:
    name = f"{record.draft.name} v{record.version}"
    typer.echo(f"{name}  {record.state}  sha256 {record.digest}")
    replaced = f", in place of v{record.parent_version}" if record.parent_version else ""
    typer.echo(f"  registered {record.created_at[:19]}{replaced}; {_bytes(house, record)}")
    ours = [one for one in entries if one.approval_id == record.approval_id]
    if not any(one.verdict == "approved" and one.digest == record.digest for one in ours):
        typer.echo(f"  No approval of these bytes is in the log (it names {one_line(record.approval_id)}).")
    _paragraphs(ours)


def _paragraphs(entries: Iterable[AuditEntry]) -> None:
    for one in entries:
        lasting = " for its task" if one.lasting == "task" else ""
        typer.echo(
            f"  {one.verdict}{lasting} by {reveal(one.who)} ({_via(one)}) on {one.at[:19]}, {_looked(one)}, "
            f"entry {one.sequence}"
        )
        if one.grants is not None:
            typer.echo(f"    granted   {reveal(', '.join(one.grants)) or 'nothing of what it asks for'}")
        if why := _why(one):
            typer.echo(f"    because   {reveal(why)}")
        for line in one.evidence:
            typer.echo(f"    seen      {reveal(line)}")
        if one.session_id:
            typer.echo(f"    session   alita replay {reveal(one.session_id)}")
    typer.echo("")


def _bytes(house: House, record: ToolRecord) -> str:
    try:
        house.shelf.get(record.draft.name, record.version)
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
    other = f"alias: {entry.alias}" if entry.alias else ""
    said = (", ".join(entry.tags), entry.reason, ", ".join(entry.banned), other)
    return "; ".join(part for part in said if part)


def _bare(record: ToolRecord) -> object:
    import msgspec

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
