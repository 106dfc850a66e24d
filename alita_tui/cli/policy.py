"""`alita policy`: rules that approve in your place, what they would do, and taking one back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from alita_tui.cli.output import Json, json_document, table
from alita_tui.spine.text import reveal

if TYPE_CHECKING:
    from alita_tui.wiring.house import House

app = typer.Typer(
    help="Rules that may approve builds in your place. There are none until you write some.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
_EXAMPLE = """\
enabled = true

[[rule]]
name = "pure functions"      # network, workspace, model_calls: nothing; requirements: "none"
max_lines = 60
new_tools_only = true
lasting = "task"             # or "library"
until = 2027-01-31
"""


@app.command("list")
def list_rules(context: typer.Context, json: Json = False) -> None:
    """List the rules, whether they hold, and how often each was used."""
    from alita_tui.wiring.house import House
    from alita_tui.wiring.identity import now

    house = House.open(context.obj)
    policy = house.policy
    used = _uses(house)
    if json:
        json_document({"enabled": policy.enabled, "rules": policy.rule, "uses": used})
        return
    if not policy.rule:
        typer.echo(f"There are no rules, so you are always asked. They would be in {house.paths.policy}:\n")
        typer.echo(_EXAMPLE)
        return
    today = now().astimezone().date()
    rows = (
        (
            rule.name,
            "off"
            if not policy.enabled
            else "revoked"
            if rule.revoked
            else "expired"
            if rule.until is not None and today > rule.until
            else "holds",
            str(len(used.get(rule.name, ()))),
            rule.digest[:12],
            rule.reach,
        )
        for rule in policy.rule
    )
    table(("RULE", "STATE", "USED", "SHA256", "COVERS"), rows)


@app.command()
def explain(
    context: typer.Context,
    build: Annotated[str, typer.Argument(help="Id of a build that waits, or the beginning of it.")],
    json: Json = False,
) -> None:
    """Say for each rule whether it would approve a build, and if not, why not."""
    from alita_tui.view.policy import unmet
    from alita_tui.view.queries import build_of
    from alita_tui.wiring.house import House
    from alita_tui.wiring.identity import now
    from alita_tui.wiring.records import known_packages

    house = House.open(context.obj)
    parked, envelopes = house.desk.show(build)
    made = build_of(envelopes, parked.build_id)
    attempt = made.presented if made else None
    if made is None or attempt is None:
        typer.echo(f"The record of {parked.name} v{parked.version} is damaged; no rule is asked.")
        raise typer.Exit(1)
    policy, today = house.policy, now().astimezone().date()
    told = {rule.name: unmet(rule, made, attempt, known_packages(house), today) for rule in policy.rule}
    if json:
        json_document({"build": parked, "enabled": policy.enabled, "unmet": told})
        return
    if not policy.rules:
        typer.echo("No rule is asked: " + ("the policy is off." if policy.rule else "there is none."))
    for name, reasons in told.items():
        typer.echo(f"{name}: {'would approve it' if not reasons else 'asks you'}")
        for reason in reasons:
            typer.echo(f"  {reveal(reason)}")


@app.command()
def revoke(context: typer.Context, rule: str) -> None:
    """Take a rule back for good, and list the tools that it approved."""
    from alita_tui.config.policy import revoke_rule
    from alita_tui.wiring.house import House
    from alita_tui.wiring.identity import me, now

    house = House.open(context.obj)
    gone = revoke_rule(house.paths.policy, rule, f"{now().date()} by {me()}")
    house.audit.append(
        who=me(), verdict="rule revoked", digest=gone.digest, name=gone.name, version=0, session_id="",
        approval_id="", via="cli",
    )  # fmt: skip
    typer.echo(f"Revoked: {gone.name}")
    for tool in _uses(house).get(gone.name, ()):
        typer.echo(f"  it approved {tool}; take that back with: alita tools revoke {tool.split(' v')[0]}")


def _uses(house: House) -> dict[str, list[str]]:
    """Rule → the builds that it approved, from the audit log."""
    used: dict[str, list[str]] = {}
    for entry in house.audit.entries():
        if entry.via == "policy" and entry.on_build:
            used.setdefault(entry.who.removeprefix("rule "), []).append(f"{entry.name} v{entry.version}")
    return used
