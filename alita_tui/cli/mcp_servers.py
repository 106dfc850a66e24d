"""`alita mcp list`, `show`, `approve` and the rest: tools of other servers, each approved by its digest."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from alita_tui.app.context import AppContext
from alita_tui.app.servers.book import ServerBook
from alita_tui.cli.accepting import Accept
from alita_tui.cli.output import Json, json_document, report_damage, table
from alita_tui.cli.proving import print_approved
from alita_tui.spine.errors import UsageError
from alita_tui.spine.text import counted, one_line, reveal

if TYPE_CHECKING:
    from alita_tui.app.servers.book import KnownServer, Offered

_TELLS_APART = 8
"""Characters of a digest in a list: too few to approve by, so that each tool is shown before its approval."""
Name = Annotated[str, typer.Argument(metavar="NAME", help="What the server is called here.")]


def listed(context: typer.Context, json: Json = False) -> None:
    """List the servers, and how their tools stand to what was approved."""
    app = AppContext.open(context.obj)
    report_damage(app)
    book = ServerBook(app)
    rows: list[tuple[KnownServer, dict[str, int]]] = []
    for known in book.all():
        states: list[str] = [offer.state for offer in book.offered(known)]
        rows.append((known, {state: states.count(state) for state in sorted(set(states))}))
    if json:
        json_document([_facts(known, counts) for known, counts in rows])
        return
    table(
        ("NAME", "STATE", "WHERE", "PROTOCOL", "STARTS IN", "TOOLS"),
        [
            (
                known.spec.name,
                "on" if known.enabled else "off",
                known.spec.where,
                known.protocol,
                f"{known.start_ms:,.0f} ms",
                ", ".join(f"{count} {state}" for state, count in counts.items()) or "none",
            )
            for known, counts in rows
        ],
    )


def _facts(known: KnownServer, counts: Mapping[str, int]) -> dict[str, Any]:
    return {
        "name": known.spec.name, "enabled": known.enabled, "where": known.spec.where, "identity": known.spec.digest,
        "protocol": known.protocol, "calls_itself": known.calls_itself, "listed_at": known.listed_at,
        "start_ms": round(known.start_ms, 1), "tools": counts, "refused": [list(tool) for tool in known.refused],
    }  # fmt: skip


def _offer_facts(app: AppContext, known: KnownServer, offers: tuple[Offered, ...]) -> list[dict[str, Any]]:
    """Return the full digest and the risks of each tool: those that its approval has to name."""
    from alita_tui.events import build_digest

    review = ServerBook(app).reviewer()
    return [
        {
            "name": offer.draft.name, "digest": build_digest(offer.draft, known.lock), "state": offer.state,
            "problem": offer.problem, "risks": [msgspec.to_builtins(risk) for risk in review(offer.draft)],
            "approved": {"version": offer.before.version, "digest": offer.before.digest} if offer.before else None,
        }
        for offer in offers
    ]  # fmt: skip


def show(
    context: typer.Context,
    name: Name,
    tool: Annotated[str, typer.Argument(metavar="[TOOL]", help="One of its tools, shown whole.")] = "",
    json: Json = False,
) -> None:
    """Show a server, or one of its tools whole: descriptor, risks, and what changed since it was approved."""
    app = AppContext.open(context.obj)
    known = ServerBook(app).get(name)
    if tool:
        offer = _named(app, known, tool)
        if json:
            from alita_tui.spine.servers import pinned

            json_document(
                {**_offer_facts(app, known, (offer,))[0], "pinned": msgspec.to_builtins(pinned(offer.draft))}
            )
        else:
            _show_tool(app, known, offer)
    elif json:
        offers = _offer_facts(app, known, ServerBook(app).offered(known))
        json_document({**_facts(known, {}), "spec": msgspec.to_builtins(known.spec), "tools": offers})
    else:
        print_server(known)
        print_tools(app, known)


def print_server(known: KnownServer) -> None:
    """Print what a server is and may use."""
    spec = known.spec
    claims = " ".join(known.calls_itself.values()) or "nothing"
    typer.echo(
        reveal(
            f"{spec.name}  {spec.where}  calls itself {claims}  {known.protocol}  identity {spec.digest[:16]}"
        )
    )
    if spec.argv:
        typer.echo(reveal(f"  runs {' '.join(spec.argv)}"))
    if spec.folder:
        what = f"files of {spec.folder}, {spec.tree[:16]}" if spec.tree else f"in {spec.folder}"
        typer.echo(reveal(f"  {what}"))
    if known.lock.packages:
        typer.echo(
            reveal(f"  {counted(len(known.lock.packages), 'wheel')}, locked as {known.lock.digest[:16]}")
        )
    may = ", ".join((*spec.network, *spec.secrets)) or ("everything" if spec.place == "host" else "")
    if spec.place != "url":
        typer.echo(reveal(f"  may use {may or 'nothing but what it is given'}"))
    if spec.requests_in_words:
        typer.echo(reveal(f"  may {'; '.join(spec.requests_in_words)}"))
    for name, reason in known.refused:
        typer.echo(reveal(f"  {name or 'its list'} cannot be used: {reason}"))


def print_tools(app: AppContext, known: KnownServer) -> None:
    """Print the tools of a server, with their states and risks."""
    from alita_tui.events import build_digest

    book = ServerBook(app)
    risks = book.reviewer()
    table(
        ("TOOL", "STATE", "SHA256", "RISKS", "DESCRIPTION"),
        [
            (
                str(offer.draft.name),
                offer.state,
                build_digest(offer.draft, known.lock)[:_TELLS_APART],
                ", ".join(dict.fromkeys(risk.name for risk in risks(offer.draft))) or "none found",
                offer.draft.description,
            )
            for offer in book.offered(known)
        ],
    )


def _named(app: AppContext, known: KnownServer, tool: str) -> Offered:
    from alita_tui.spine.servers import pinned

    for offer in ServerBook(app).offered(known):
        if tool in (offer.draft.name, pinned(offer.draft).tool_name):
            return offer
    raise UsageError(
        f"{known.spec.name} lists no tool {one_line(tool, 60)}.",
        hint=f"See: alita mcp show {known.spec.name}",
    )


def _show_tool(app: AppContext, known: KnownServer, offer: Offered) -> None:
    from alita_tui.cli.accepting import list_risks
    from alita_tui.events import build_digest
    from alita_tui.spine.servers import pinned
    from alita_tui.view.risk import names_to_accept

    here = pinned(offer.draft)
    digest = build_digest(offer.draft, known.lock)
    typer.echo(f"{offer.draft.name}  {offer.state}  sha256 {digest}")
    typer.echo(
        reveal(
            f"{here.tool_name} of {known.spec.name}, which calls itself {' '.join(here.calls_itself.values())}"
        )
    )
    typer.echo(f"\nDescriptor, as the server sent it\n{_pretty(here.tool)}\n")
    typer.echo(f"How it is started or reached\n{_pretty(here.server)}\n")
    risks = ServerBook(app).reviewer()(offer.draft)
    list_risks(risks, none="none found")
    if offer.before is not None and offer.state == "changed":
        typer.echo(f"\nWhat changed since v{offer.before.version} was approved")
        for line in _difference(pinned(offer.before.draft), here):
            typer.echo(reveal(line))
    if offer.problem:
        typer.echo(reveal(f"\nIt cannot be approved: {offer.problem}"))
    elif offer.state != "approved":
        typer.echo(f"\nTry it: alita mcp test {known.spec.name} {here.tool_name} --arguments '{{…}}'")
        options = "".join(f" --accept {name}" for name in names_to_accept(risks))
        typer.echo(f"Approve it: alita mcp approve {known.spec.name} --digest {digest}{options}")


def _pretty(value: object) -> str:
    return reveal(
        msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=2).decode("utf-8", "replace")
    )


def _difference(before: Any, after: Any) -> list[str]:
    import difflib

    was, now = (_pretty(descriptor).split("\n") for descriptor in (before, after))
    return list(difflib.unified_diff(was, now, "approved", "now", lineterm="", n=2))[:400]


def approve(
    context: typer.Context,
    name: Name,
    digest: Annotated[
        list[str] | None,
        typer.Option(
            "--digest", metavar="SHA256", help="Approve the tool with this whole digest; repeat it for a set."
        ),
    ] = None,
    accept: Accept = None,
) -> None:
    """Approve tools of a server by their digests; without any, list what there is to approve.

    Each risk of each of them is accepted by its name.
    """
    from alita_tui.cli.accepting import all_accepted, check_digest, list_risks
    from alita_tui.events import build_digest
    from alita_tui.view.risk import names_to_accept

    app = AppContext.open(context.obj)
    book = ServerBook(app)
    known = book.get(name)
    offers = book.offered(known)
    if not digest:
        print_tools(app, known)
        raise typer.Exit(0)
    chosen: list[Offered] = []
    for given in digest:
        prefix = given.lower().removeprefix("sha256:")
        named = next(
            (
                candidate
                for candidate in offers
                if prefix and build_digest(candidate.draft, known.lock).startswith(prefix)
            ),
            None,
        )
        if named is None:
            raise UsageError(
                f"No tool of {name} has the digest {one_line(given, 70)!r}.",
                hint=f"See: alita mcp show {name}",
            )
        whole, look = build_digest(named.draft, known.lock), f"alita mcp show {name} {named.draft.name}"
        check_digest(given, whole, what=named.draft.name, show=look)
        chosen.append(named)
    ready, review = [], book.reviewer()
    for offer in chosen:
        if offer.problem:
            raise UsageError(f"{offer.draft.name} cannot be approved: {offer.problem}")
        risks = review(offer.draft)
        typer.echo(f"{offer.draft.name}")
        list_risks(risks, none="none found")
        own = [risk for risk in names_to_accept(risks) if risk in set(accept or ())]
        show_it = f"alita mcp show {name} {offer.draft.name}"
        ready.append((offer, all_accepted(risks, own, what=str(offer.draft.name), show=show_it)))
    for offer, accepted in ready:
        if offer.state == "approved":
            typer.echo(f"{offer.draft.name} is approved already.")
            continue
        record = book.approve(offer.draft, known.lock, accepted)
        print_approved(record)


def test(
    context: typer.Context,
    name: Name,
    tool: Annotated[str, typer.Argument(metavar="[TOOL]", help="A tool to call once.")] = "",
    arguments: Annotated[
        str, typer.Option("--arguments", metavar="JSON", help="What to call it with.")
    ] = "{}",
) -> None:
    """Start a server and list its tools anew; with TOOL call that one once, approved or not.

    A call does whatever the tool does: a server that was granted hosts may reach them meanwhile.
    """
    from alita_tui.app.servers.outside_session import look_at, trial

    app = AppContext.open(context.obj)
    known = ServerBook(app).get(name)
    if tool:
        offer = _named(app, known, tool)
        try:
            given = msgspec.json.decode(arguments)
        except msgspec.DecodeError as error:
            raise UsageError(f"--arguments is not JSON: {error}.") from error
        report = asyncio.run(trial(app, known, offer.draft, given))
        typer.echo(f"{report.status} after {report.duration_ms:,.0f} ms")
        outcome = report.error or msgspec.json.format(msgspec.json.encode(report.result), indent=2).decode(
            "utf-8", "replace"
        )
        typer.echo(reveal(outcome))
        raise typer.Exit(0 if report.status == "ok" else 1)
    known = asyncio.run(look_at(app, known))
    ServerBook(app).relisted(known)
    for tool, version, reason in ServerBook(app).suspend_changed(known):
        typer.echo(f"{tool} v{version} is suspended: {one_line(reason, 200)}.", err=True)
    typer.echo(
        f"{name} answered after {known.start_ms:,.0f} ms and lists {counted(len(known.drafts), 'tool')}."
    )
    print_tools(app, known)


def login(context: typer.Context, name: Name) -> None:
    """Log in at a server by its address: the page to open is printed, and opened where there is a browser."""
    from alita_tui.app.servers.outside_session import look_at

    app = AppContext.open(context.obj)
    known = ServerBook(app).get(name)
    if known.spec.place != "url":
        raise UsageError(f"{name} is no server by its address.")
    known = asyncio.run(look_at(app, known, opens))
    ServerBook(app).relisted(known)
    ServerBook(app).suspend_changed(known)
    typer.echo(f"{name} answers.")


async def opens(url: str) -> None:
    """Print an address, and open it in a browser where there is one."""
    import webbrowser

    typer.echo(f"Log in here: {reveal(url)}", err=True)
    await asyncio.to_thread(webbrowser.open, url)


def enable(context: typer.Context, name: Name) -> None:
    """Let the approved tools of a server be used."""
    _switch(context, name, on=True)


def disable(context: typer.Context, name: Name) -> None:
    """Use no tool of a server until it is enabled again."""
    _switch(context, name, on=False)


def _switch(context: typer.Context, name: str, *, on: bool) -> None:
    ServerBook(AppContext.open(context.obj)).switch(name, on=on)
    typer.echo(f"{name} is {'on' if on else 'off'}.")


def remove(context: typer.Context, name: Name) -> None:
    """Forget a server and archive its tools."""
    archived = ServerBook(AppContext.open(context.obj)).remove(name)
    typer.echo(f"{name} is removed; {counted(len(archived), 'tool')} archived.")
    sys.stdout.flush()
