"""`alita tools`: the library from the shell."""

from __future__ import annotations

from typing import Annotated

import msgspec
import typer

from alita_tui.app.context import AppContext
from alita_tui.app.identity import me
from alita_tui.app.recordings import lineage
from alita_tui.cli import starters
from alita_tui.cli.accepting import Digest, check_digest
from alita_tui.cli.improving import improve
from alita_tui.cli.lazy import group
from alita_tui.cli.mapping import map_rows
from alita_tui.cli.output import Json, json_document, print_list, print_result, report_damage, table
from alita_tui.cli.packs import import_pack
from alita_tui.cli.proving import approve_if_proven
from alita_tui.cli.recover import recover
from alita_tui.cli.running import run
from alita_tui.cli.tool_export import export
from alita_tui.cli.tools_search import search
from alita_tui.events import Lineage, MoveKind, ToolRecord
from alita_tui.registry.library import ToolLibrary
from alita_tui.spine.errors import UsageError
from alita_tui.spine.grants import phrases
from alita_tui.spine.near_names import did_you_mean
from alita_tui.spine.servers import shown
from alita_tui.spine.text import one_line, reveal
from alita_tui.store.entry import AuditEntry

commands = group()
commands.add_typer(starters.commands, name="starters")
commands.command()(recover)
commands.command()(improve)
commands.command()(search)
commands.command("export")(export)
commands.command("import")(import_pack)
commands.command("map")(map_rows)
commands.command()(run)
Version = Annotated[
    int | None, typer.Option("--version", metavar="N", help="The version; by default the one that runs.")
]
Reason = Annotated[str, typer.Option("--reason", help="Why; it is kept in the audit log.")]


@commands.command("list")
def list_tools(
    context: typer.Context,
    tag: Annotated[str, typer.Option("--tag", metavar="TAG", help="Only those with this tag.")] = "",
    json: Json = False,
) -> None:
    """List the tools."""
    from alita_tui.registry.tags import tag as tag_of

    app = AppContext.open(context.obj)
    cards = app.library.cards()
    if tag:
        tags, normalised_tag = app.library.tags.all(), tag_of(tag)
        cards = tuple(card for card in cards if normalised_tag in tags.get(card.name, ()))
    _report_unproven(app.library)
    report_damage(app)
    empty = "The library is empty: give alita a task that needs a tool, or see `alita tools starters`."
    if tag:
        empty = "No tool has this tag. Give it to one: alita tools tag NAME TAG"
    rows = [
        (card.name, f"v{card.version}", card.state, f"{card.runs}/{card.failures}", card.description)
        for card in cards
    ]
    print_list(
        cards, ("NAME", "VERSION", "STATE", "RUNS/FAILED", "DESCRIPTION"), rows, empty=empty, json=json
    )


def _report_unproven(library: ToolLibrary) -> None:
    """Print on stderr how library and audit log differ, and which versions cannot prove an approval."""
    if problem := library.standing().problem:
        typer.echo(reveal(f"No tool runs: {problem}. Look into it: alita audit verify"), err=True)
        return
    for difference in library.overridden():
        typer.echo(reveal(difference.text), err=True)
    for (name, version), why in library.doubts().items():
        typer.echo(
            reveal(f"{name} v{version} does not run: {why}. To look at it and approve it again: ")
            + f"alita tools approve {name} --version {version}",
            err=True,
        )


@commands.command()
def approve(
    context: typer.Context,
    name: str,
    version: Version = None,
    digest: Digest = "",
) -> None:
    """Approve anew a tool without a provable approval: a copied one, or one whose log was lost.

    Without --digest it is shown whole. With it, it is reviewed and its tests run in the sandbox first; it
    joins the library as a new version, and the unproven one is archived.
    """
    app = AppContext.open(context.obj)
    record = app.library.unproven(name, version)
    draft = record.draft
    if record.origin == "remote":
        raise UsageError(f"{name} is a tool of a server.", hint="Approve it as it is now: alita mcp approve")
    if not digest.lower().removeprefix("sha256:"):
        _show_unproven(app, name, record)
        return
    check_digest(
        digest,
        draft.digest,
        what=f"{name} v{record.version}",
        show=f"alita tools approve {name} --version {record.version}",
    )
    approved = approve_if_proven(app, draft, "imported")
    reason = f"approved anew as v{approved.version}"
    app.lineages("cli").move(draft.name, "archive", record.version, by=me(), reason=reason)


def _show_unproven(app: AppContext, name: str, record: ToolRecord) -> None:
    draft = record.draft
    typer.echo(f"{draft.name} v{record.version}  sha256 {draft.digest}\n{reveal(draft.description)}")
    typer.echo(f"does not run: {reveal(app.library.doubts()[name, record.version])}")
    typer.echo(f"may use {reveal('; '.join(phrases(draft.capabilities))) or 'nothing but its arguments'}")
    for package in record.lock.packages:
        typer.echo(f"needs {reveal(package.name)} {reveal(package.version)}")
    typer.echo(f"\nCode\n{reveal(draft.code)}\nTests\n{reveal(draft.tests)}")
    typer.echo(f"Approve with: alita tools approve {name} --version {record.version} --digest {draft.digest}")


@commands.command()
def show(context: typer.Context, name: str, json: Json = False) -> None:
    """Show a tool whole: how far it is relied on and why, whom it calls, and its code."""
    app = AppContext.open(context.obj)
    record = app.library.get(name)
    if json:
        json_document(record)
        return
    typer.echo(f"{record.draft.name} v{record.version}  {record.state}  sha256 {record.digest}")
    typer.echo(reveal(record.draft.description))
    if tags := app.library.tags.of(record.draft.name):
        typer.echo(f"tags {' '.join(f'#{tag}' for tag in tags)}")
    typer.echo(f"approved as {record.approval_id} on {record.created_at}")
    typer.echo(f"may use {reveal('; '.join(phrases(record.granted))) or 'nothing but its arguments'}")
    tool_lineage = app.lineages("cli").of(record.draft.name)
    if trust := tool_lineage.reliability.get(record.version):
        typer.echo(f"relied on {reveal(trust.words)}")
        typer.echo(reveal(trust.needs) if trust.needs else "found for no need yet")
    if record.origin != "built":
        typer.echo(f"origin {record.origin}")
    for source in record.sources:
        typer.echo(reveal(f"source {source.title or source.url}"))
    if tool_lineage.calls:
        typer.echo(reveal(f"calls {', '.join(tool_lineage.calls)}"))
    if tool_lineage.called_by:
        typer.echo(reveal(f"called by {'; '.join(tool_lineage.called_by)}"))
    typer.echo(f"\n{reveal(shown(record))}")


@commands.command()
def graph(context: typer.Context, json: Json = False) -> None:
    """Show which tools call which, and who calls an older version than the one that runs."""
    from alita_tui.registry.callers import edges

    calls = edges(AppContext.open(context.obj).library)
    document = [{**msgspec.to_builtins(edge), "behind": edge.behind} for edge in calls]
    rows = [
        (
            f"{edge.caller} v{edge.caller_version}",
            f"{edge.callee} v{edge.callee_version}",
            ("no version" if edge.current is None else f"v{edge.current}") if edge.behind else "the same",
        )
        for edge in calls
    ]
    print_list(document, ("TOOL", "CALLS", "RUNS NOW"), rows, empty="No tool calls another one.", json=json)


@commands.command()
def history(context: typer.Context, name: str, json: Json = False) -> None:
    """Show every version of a tool, its state, and every change that was made to it."""
    versions = lineage(AppContext.open(context.obj), name)
    if json:
        json_document(versions)
        return
    rows = (
        (
            f"v{record.version}" + ("*" if record.version == versions.current else ""),
            record.state + (" pinned" if record.version == versions.pinned else ""),
            record.digest[:12],
            f"v{record.parent_version}" if record.parent_version else "",
            f"{record.runs}/{record.failures}",
            f"${versions.spent_usd[record.version]:.4f}" if record.version in versions.spent_usd else "",
            record.created_at[:19],
        )
        for record in versions.versions
    )
    table(("VERSION", "STATE", "SHA256", "FROM", "RUNS/FAILED", "BUILT FOR", "REGISTERED"), rows)
    if versions.spent_usd:
        spent = sum(versions.spent_usd.values())
        typer.echo(f"Built for ${spent:.4f}; building it again for each run: ${versions.saved_usd:.4f} more.")
    if versions.aliases:
        typer.echo(f"Also called {', '.join(versions.aliases)}.")
    for move in versions.moves:
        undone = ", taken back" if move.undone else ""
        label = f"{move.kind} {move.before or move.after}" if "alias" in move.kind else move.kind
        reason = f": {move.reason}" if move.reason else ""
        typer.echo(reveal(f"{move.at[:19]}  {label} v{move.version} by {move.by}{reason}{undone}"))


@commands.command()
def rollback(context: typer.Context, name: str, reason: Reason = "") -> None:
    """Go back to the version before; the one that ran is archived."""
    _move(context, name, "rollback", None, reason)


@commands.command()
def revoke(context: typer.Context, name: str, version: Version = None, reason: Reason = "") -> None:
    """Revoke the approval of a version: it runs no more."""
    _move(context, name, "revoke", version, reason)


@commands.command()
def quarantine(context: typer.Context, name: str, version: Version = None, reason: Reason = "") -> None:
    """Keep a version from running until you restore it."""
    _move(context, name, "quarantine", version, reason)


@commands.command()
def archive(context: typer.Context, name: str, version: Version = None, reason: Reason = "") -> None:
    """Archive a version that is not needed."""
    _move(context, name, "archive", version, reason)


@commands.command()
def restore(context: typer.Context, name: str, version: Version = None, reason: Reason = "") -> None:
    """Let an archived or quarantined version run again, as it was approved."""
    _move(context, name, "restore", version, reason)


@commands.command()
def pin(context: typer.Context, name: str, version: Version = None, reason: Reason = "") -> None:
    """Let this version run, even when there are newer ones."""
    _move(context, name, "pin", version, reason)


@commands.command()
def unpin(context: typer.Context, name: str, reason: Reason = "") -> None:
    """Let the newest version run again."""
    _move(context, name, "unpin", None, reason)


@commands.command()
def undo(context: typer.Context, name: str) -> None:
    """Undo the newest change to a tool."""
    _print_state(AppContext.open(context.obj).lineages("cli").undo(name, by=me()))


@commands.command("tag")
def tag_tool(
    context: typer.Context,
    name: str,
    tags: Annotated[list[str] | None, typer.Argument(metavar="[TAG]...", help="Tags to give it.")] = None,
    remove: Annotated[
        list[str] | None, typer.Option("--remove", metavar="TAG", help="A tag to take away; repeatable.")
    ] = None,
    json: Json = False,
) -> None:
    """Give a tool tags: `alita tools list --tag` lists by them, and `mcp.serve` can name one as `#TAG`."""
    library = AppContext.open(context.obj).library
    if name not in library.names():
        raise UsageError(
            f"There is no tool {one_line(name, 60)}.",
            hint=did_you_mean(name, library.names(), "`alita tools list` shows the library."),
        )
    tool_tags = (
        library.tags.change(name, tags or (), remove or ()) if tags or remove else library.tags.of(name)
    )
    print_result(tool_tags, f"{name}: {' '.join(f'#{tag}' for tag in tool_tags) or 'no tags'}", json=json)


def _move(context: typer.Context, name: str, kind: MoveKind, version: int | None, reason: str) -> None:
    lineages = AppContext.open(context.obj).lineages("cli")
    _print_state(lineages.move(name, kind, version, by=me(), reason=reason))
    typer.echo(f"Undo it with: alita tools undo {name}")


def _print_state(versions: Lineage) -> None:
    pinned = f", v{versions.pinned} is pinned" if versions.pinned else ""
    runs = f"v{versions.current} runs" if versions.current else "no version runs"
    states = ", ".join(f"v{record.version} {record.state}" for record in versions.versions)
    typer.echo(f"{versions.name}: {runs}{pinned} ({states})")


@commands.command()
def aliases(context: typer.Context, json: Json = False) -> None:
    """List the other names of tools."""
    library = AppContext.open(context.obj).library
    listed = library.aliases.all()
    tools = {card.name for card in library.cards()}
    rows = [
        (
            alias.name,
            alias.target.label,
            "the tool of that name"
            if alias.name in tools
            else alias.target.name
            if alias.target.name in tools
            else "nothing",
            alias.at[:19],
            alias.description,
        )
        for alias in listed
    ]
    head = ("NAME", "STANDS FOR", "RUNS", "SINCE", "DESCRIPTION")
    print_list(listed, head, rows, empty="No tool has another name.", json=json)


@commands.command()
def unalias(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The other name.")],
    reason: Annotated[str, typer.Option("--reason", help="Why; it is kept.")] = "",
) -> None:
    """Remove another name of a tool."""
    tool = AppContext.open(context.obj).lineages("cli").unalias(name, by=me(), reason=reason)
    typer.echo(f"{name} is not a name of {tool.name} any more.")
    typer.echo(f"Undo it with: alita tools undo {tool.name}")


@commands.command()
def bans(context: typer.Context, json: Json = False) -> None:
    """List what you are never asked about again."""
    listed = AppContext.open(context.obj).library.bans.all()
    rows = [
        (ban.ban_id, ban.name, ban.digest[:16], ", ".join(ban.capabilities), ban.by, ban.reason)
        for ban in listed
    ]
    head = ("ID", "NAME", "SHA256", "CAPABILITIES", "BY", "REASON")
    print_list(listed, head, rows, empty="Nothing is banned.", json=json)


@commands.command()
def unban(context: typer.Context, ban: Annotated[str, typer.Argument(help="Its id.")]) -> None:
    """Lift a ban. The library is backed up first, since the ban is removed from it."""
    app = AppContext.open(context.obj)
    lifted = [entry for entry in app.library.bans.all() if entry.ban_id == ban]
    if not lifted:
        raise UsageError(f"There is no ban {ban[:60]!r}.", hint="`alita tools bans` lists them.")
    app.backups.create("clean-up")
    app.library.bans.lift(ban)
    for entry in lifted:
        app.audit.append(AuditEntry(
            who=me(), verdict="unbanned", digest=entry.digest, name=entry.name, version=0,
            session_id="", approval_id=entry.ban_id, banned=entry.capabilities, via="cli",
        ))  # fmt: skip
    typer.echo(f"Lifted: {ban}")
