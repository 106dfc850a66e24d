"""`alita tools import`: tools shared in one file; each has to be approved here again."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from alita_tui.app.context import AppContext
from alita_tui.cli.accepting import Accept, all_accepted, list_risks
from alita_tui.cli.output import Json, json_document, table
from alita_tui.cli.proving import print_approved
from alita_tui.spine.errors import UsageError
from alita_tui.spine.grants import phrases
from alita_tui.spine.text import counted, one_line, reveal
from alita_tui.view.risk import names_to_accept

if TYPE_CHECKING:
    from alita_tui.app.packs import Offered, Tested
    from alita_tui.registry.packs import Pack

_MOST_CLAIMS = 20
"""Most findings, and most sources, shown of those that a pack claims for a tool."""

PackFile = Annotated[Path, typer.Argument(metavar="PACK", help="The file.")]


def import_pack(
    context: typer.Context,
    pack: PackFile,
    show: Annotated[str, typer.Option("--show", metavar="TOOL", help="Show one of its tools whole.")] = "",
    digest: Annotated[
        list[str] | None,
        typer.Option("--digest", metavar="SHA256", help="Approve the tool with this digest; repeatable."),
    ] = None,
    accept: Accept = None,
    json: Json = False,
) -> None:
    """List what a pack holds; nothing of it is approved by that.

    `--show` shows a tool whole. `--digest` has a tool reviewed and tested here with every check, lists the risks that
    this finds, and approves exactly these bytes; each risk is accepted by name. Exit code 1 if one was not approved.
    """
    from alita_tui.app.packs import offered, read_pack, signer

    app = AppContext.open(context.obj)
    opened = read_pack(pack)
    signed_by = signer(app, opened)
    tools = offered(app, opened)
    if show:
        _show(pack, _tool_named(tools, show))
    elif digest:
        raise typer.Exit(0 if _approve(app, pack, opened, tools, digest, accept or []) else 1)
    elif json:
        rows = [
            {
                "name": tool.draft.name, "digest": tool.draft.digest, "state": tool.state, "problem": tool.problem,
                "may_use": list(tool.draft.capabilities.items), "evidence": msgspec.to_builtins(tool.packed.evidence),
            }
            for tool in tools
        ]  # fmt: skip
        json_document({"pack": opened.name, "signed_by": signed_by, "key": opened.key, "tools": rows})
    else:
        typer.echo(reveal(f"{opened.name}: {counted(len(tools), 'tool')}, signed by {signed_by}"))
        table(
            ("NAME", "STATE", "SHA256", "MAY USE", "DESCRIPTION"),
            [
                (
                    str(tool.draft.name),
                    tool.state,
                    tool.draft.digest[:16],
                    "; ".join(phrases(tool.draft.capabilities)) or "nothing but its arguments",
                    tool.draft.description,
                )
                for tool in tools
            ],
        )
        for tool in tools:
            if tool.problem:
                typer.echo(reveal(f"{tool.draft.name} cannot be approved yet: {tool.problem}"))
            _warn_of_order(tool)
        typer.echo(f"\nRead one whole with: alita tools import {pack} --show TOOL")


def _tool_named(tools: tuple[Offered, ...], name: str) -> Offered:
    for tool in tools:
        if tool.draft.name == name:
            return tool
    raise UsageError(
        f"The pack has no {one_line(name, 60)}.",
        hint=f"It has: {', '.join(tool.draft.name for tool in tools)}.",
    )


def _warn_of_order(offer: Offered) -> None:
    if offer.packed.arguments_sorted:
        typer.echo(
            f"{offer.draft.name} was packed by an older alita, which sorted its arguments. Its tests give them by "
            "their place and may fail here. If they do, whoever packed it should export it again: "
            f"alita tools export PACK {offer.draft.name}",
            err=True,
        )


def _show(pack: Path, offer: Offered) -> None:
    draft, claims = offer.draft, offer.packed.evidence
    typer.echo(f"{draft.name}  sha256 {draft.digest}\n{reveal(draft.description)}\n")
    typer.echo(f"May use {reveal('; '.join(phrases(draft.capabilities))) or 'nothing but its arguments'}")
    typer.echo(f"Packages {reveal(', '.join(draft.requirements)) or 'none'}")
    approval = (claims.origin, "approved", claims.approved_at[:10], claims.approved_via)
    typer.echo(f"There: v{offer.packed.version}, {one_line(' '.join(approval))}")
    typer.echo(f"There relied on {one_line(claims.reliability)}; none of that counts here")
    for lines in (claims.accepted, tuple(f"source {url}" for url in claims.sources)):
        for line in lines[:_MOST_CLAIMS]:
            typer.echo(f"  there: {one_line(line, 300)}")
        if len(lines) > _MOST_CLAIMS:
            typer.echo(f"  there: {len(lines) - _MOST_CLAIMS} more, which `--json` lists")
    for label, schema in (("Input", draft.input_schema), ("Output", draft.output_schema)):
        typer.echo(f"\n{label} schema\n{reveal(msgspec.json.encode(schema).decode())}")
    typer.echo(f"\nCode\n{reveal(draft.code)}\nTests\n{reveal(draft.tests)}")
    _warn_of_order(offer)
    if offer.problem:
        typer.echo(reveal(f"It cannot be approved yet: {offer.problem}"))
    else:
        typer.echo(f"Review, test and approve with: alita tools import {pack} --digest {draft.digest}")


def _approve(
    app: AppContext,
    pack: Path,
    opened: Pack,
    tools: tuple[Offered, ...],
    digests: list[str],
    accept: list[str],
) -> bool:
    """Approve the named tools in order, called tools before their callers; return whether all were approved."""
    from alita_tui.app.packs import offered

    offers = [_by_digest(tools, digest, pack) for digest in digests]
    names = [offer.draft.name for offer in sorted(offers, key=tools.index)]
    accepted_names = set(accept)
    for name in names:
        offer = _tool_named(
            offered(app, opened), name
        )  # again, because a tool that it calls may just have been approved
        if offer.state == "here":
            typer.echo(f"{name} runs here already.")
            continue
        if offer.problem or offer.draft.digest != _tool_named(tools, name).draft.digest:
            why = (
                offer.problem
                or "what it calls joined meanwhile, so its digest is another one: look at it again"
            )
            typer.echo(reveal(f"{name} was not approved: {why}"), err=True)
            return False
        _warn_of_order(offer)
        if not _approve_one(app, pack, opened, offer, accepted_names):
            return False
    return True


def _by_digest(tools: tuple[Offered, ...], digest: str, pack: Path) -> Offered:
    from alita_tui.cli.accepting import check_digest

    prefix = digest.lower().removeprefix("sha256:")
    for tool in tools:
        if prefix and tool.draft.digest.startswith(prefix):
            check_digest(
                digest, tool.draft.digest, what=tool.draft.name, show=f"alita tools import {pack} --show"
            )
            return tool
    raise UsageError(
        f"No tool of the pack has the digest {one_line(digest, 70)!r}.",
        hint=f"Look again: alita tools import {pack}",
    )


def _approve_one(app: AppContext, pack: Path, opened: Pack, offer: Offered, accepted_names: set[str]) -> bool:
    from alita_tui.app.packs import approve, differences, tested

    name = offer.draft.name
    typer.echo(f"{name}: reviewed and tested here …", err=True)
    result = asyncio.run(tested(app, offer.draft))
    print_checks(result)
    if result.problem:
        typer.echo(reveal(f"{name} was not approved: {result.problem}"), err=True)
        return False
    for line in differences(offer, result.lock):
        typer.echo(reveal(f"  package {line}"))
    list_risks(result.risks, none="none found: every check passed, nothing asked for")
    own = [risk for risk in names_to_accept(result.risks) if risk in accepted_names]
    accepted = all_accepted(
        result.risks, own, what=str(name), show=f"alita tools import {pack} --show {name}"
    )
    record = approve(app, opened, offer, result, accepted)
    print_approved(record)
    return True


def print_checks(result: Tested) -> None:
    """Print the result of each check and of each of a tool's own tests."""
    attempt = result.build.current
    for check in attempt.gates if attempt else ():
        typer.echo(f"  {check.state:8} {check.gate}: {reveal(check.summary)}")
    for case in attempt.reports[-1].cases if attempt and attempt.reports else ():
        typer.echo(f"  {'pass' if case.passed else 'FAIL'}     {reveal(case.name)}")
