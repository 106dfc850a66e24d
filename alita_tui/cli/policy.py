"""`alita policy`: rules that approve in your place, what they would decide, and revoking one."""

from __future__ import annotations

from datetime import date
from typing import Annotated

import typer

from alita_tui.app.context import AppContext
from alita_tui.app.identity import me, now
from alita_tui.app.recordings import known_packages, recording
from alita_tui.app.verdicts import is_proposed
from alita_tui.cli.lazy import group
from alita_tui.cli.output import Json, json_document, table
from alita_tui.config.policy import Policy, revoke_rule
from alita_tui.spine.text import reveal
from alita_tui.store.entry import AuditEntry
from alita_tui.view.policy import Rule, unmet_conditions
from alita_tui.view.queries import build_of

commands = group()
_EXAMPLE = """\
enabled = true

[[rule]]
name = "pure functions"      # network, workspace, model_calls: nothing; requirements: "none"
max_lines = 60
new_tools_only = true
lasting = "task"             # or "library"
until = 2027-01-31
"""


@commands.command("list")
def list_rules(context: typer.Context, json: Json = False) -> None:
    """List the rules, whether each is in force, and how often it was used."""
    app = AppContext.open(context.obj)
    policy = app.policy
    used = _uses(app)
    if json:
        json_document({"enabled": policy.enabled, "rules": policy.rule, "uses": used})
        return
    if not policy.rule:
        typer.echo(f"There are no rules, so you are always asked. They would be in {app.paths.policy}:\n")
        typer.echo(_EXAMPLE)
        return
    today = now().astimezone().date()
    rows = (
        (
            rule.name,
            _state(policy, rule, today),
            str(len(used.get(rule.name, ()))),
            rule.digest[:12],
            rule.reach,
        )
        for rule in policy.rule
    )
    table(("RULE", "STATE", "USED", "SHA256", "COVERS"), rows)


def _state(policy: Policy, rule: Rule, today: date) -> str:
    if not policy.enabled:
        return "off"
    if rule.revoked:
        return "revoked"
    return "expired" if rule.until is not None and today > rule.until else "holds"


@commands.command()
def explain(
    context: typer.Context,
    build: Annotated[str, typer.Argument(help="The id of a waiting build, or its beginning.")],
    json: Json = False,
) -> None:
    """Show for each rule whether it would approve a build, and if not, why not."""
    app = AppContext.open(context.obj)
    parked, envelopes = app.inbox.show(build)
    view = build_of(envelopes, parked.build_id)
    attempt = view.presented if view else None
    if view is None or attempt is None:
        typer.echo(f"The record of {parked.name} v{parked.version} is damaged; no rule is asked.")
        raise typer.Exit(1)
    policy, today = app.policy, now().astimezone().date()
    packages = known_packages(app)
    proposed = is_proposed(recording(app, parked.session_id), parked.build_id)
    always = ("it is a proposal of alita's own",) if proposed else ()
    objections = {
        rule.name: (*always, *unmet_conditions(rule, view, attempt, packages, today)) for rule in policy.rule
    }
    if json:
        json_document({"build": parked, "enabled": policy.enabled, "unmet": objections})
        return
    if not policy.rules:
        typer.echo("No rule is asked: " + ("the policy is off." if policy.rule else "there is none."))
    for name, reasons in objections.items():
        typer.echo(f"{name}: {'would approve it' if not reasons else 'asks you'}")
        for reason in reasons:
            typer.echo(f"  {reveal(reason)}")


@commands.command()
def revoke(context: typer.Context, rule: str) -> None:
    """Revoke a rule for good, and list the tools that it approved."""
    app = AppContext.open(context.obj)
    revoked = revoke_rule(app.paths.policy, rule, f"{now().date()} by {me()}")
    app.audit.append(AuditEntry(
        who=me(), verdict="rule revoked", digest=revoked.digest, name=revoked.name, version=0, session_id="",
        approval_id="", via="cli",
    ))  # fmt: skip
    typer.echo(f"Revoked: {revoked.name}")
    for tool in _uses(app).get(revoked.name, ()):
        typer.echo(f"  it approved {tool}; revoke that with: alita tools revoke {tool.split(' v')[0]}")


def _uses(app: AppContext) -> dict[str, list[str]]:
    """Return the builds that each rule approved, from the audit log."""
    used: dict[str, list[str]] = {}
    for entry in app.audit.entries():
        if entry.via == "policy" and entry.on_build:
            used.setdefault(entry.who.removeprefix("rule "), []).append(f"{entry.name} v{entry.version}")
    return used
