"""`alita roles`: the kinds of agents that parts of a task can be handed to."""

from __future__ import annotations

from typing import Any

import msgspec
import typer

from alita_tui.agent.role import Role, Roles
from alita_tui.app.context import AppContext
from alita_tui.app.roles import roles_of
from alita_tui.cli.lazy import group
from alita_tui.cli.output import Json, json_document, table
from alita_tui.spine.errors import RegistryError, UsageError
from alita_tui.spine.text import counted, reveal

commands = group()


@commands.command("list")
def list_roles(context: typer.Context, json: Json = False) -> None:
    """List the roles: what each is for, and what it may do and spend."""
    app = AppContext.open(context.obj)
    roles = roles_of(app)
    if json:
        json_document([_described(role) for role in roles])
        return
    table(
        ("ROLE", "FROM", "SHARE", "MINUTES", "STEPS", "PURPOSE"),
        [
            (
                role.name,
                "you" if role.own else "alita",
                f"{role.share:.0%}",
                f"{role.minutes:g}",
                str(role.steps),
                role.purpose,
            )
            for role in roles
        ],
    )
    typer.echo(f"\nA role of your own is a file NAME.toml in {reveal(str(app.paths.roles))}.")
    _tell_problems(roles)


@commands.command()
def show(context: typer.Context, name: str, json: Json = False) -> None:
    """Show a role whole: what it is told, its actions, tools and models."""
    try:
        role = roles_of(AppContext.open(context.obj))[name]
    except RegistryError as error:
        raise UsageError(error.message, hint=error.hint) from error
    if json:
        json_document(_described(role))
        return
    may = ", ".join((*role.actions, "report"))
    lines = (
        f"{role.name}  ({'yours' if role.own else 'comes with alita'})",
        role.purpose,
        f"May do:     {may}",
        f"Tools:      {', '.join(role.tools) or 'none'}",
        f"Models:     {', '.join(role.models) or 'those of roles.specialist'}",
        f"Limits:     {role.share:.0%} of what is left, {role.minutes:g} minutes, {counted(role.steps, 'step')}",
        f"Done when:  {role.done_when}",
    )
    for line in lines:
        typer.echo(reveal(line))
    typer.echo(f"\n{reveal(role.prompt.strip())}")


@commands.command()
def check(context: typer.Context, json: Json = False) -> None:
    """Check the files of your roles. Exit code 1 if one cannot be used."""
    app = AppContext.open(context.obj)
    roles = roles_of(app)
    if json:
        json_document(
            {"folder": str(app.paths.roles), "roles": [r.name for r in roles], "problems": roles.problems}
        )
    else:
        own = [role.name for role in roles if role.own]
        typer.echo(
            f"{counted(len(list(roles)), 'role')}, {len(own)} of them yours in {reveal(str(app.paths.roles))}"
        )
        _tell_problems(roles)
    raise typer.Exit(1 if roles.problems else 0)


def _described(role: Role) -> dict[str, Any]:
    fields = {field: getattr(role, field) for field in role.__struct_fields__}
    return {"name": role.name, **msgspec.to_builtins(fields)}


def _tell_problems(roles: Roles) -> None:
    for place, problem in roles.problems.items():
        typer.echo(f"wrong: {reveal(place)}: {reveal(problem)}", err=True)
