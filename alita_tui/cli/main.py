"""The `alita` command: its options, and where each subcommand is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from alita_tui import __version__
from alita_tui.cli.lazy import LazyGroup, Target


class Commands(LazyGroup):
    """All commands of `alita`."""

    targets = {
        "run": Target("alita_tui.cli.tasks:run", "Do one task without a screen."),
        "resume": Target("alita_tui.cli.tasks:resume", "Continue a session where it stopped."),
        "answer": Target("alita_tui.cli.tasks:answer", "Answer a question that a session waits with."),
        "feedback": Target(
            "alita_tui.cli.feedback:feedback", "Say how good an answer was; tools learn from it."
        ),
        "serve": Target(
            "alita_tui.cli.serve:serve",
            "Do tasks in the background, on their schedules too; or --web: the console in a browser.",
        ),
        "attach": Target(
            "alita_tui.cli.serve:attach", "Open the console on a session that the background works on."
        ),
        "demo": Target("alita_tui.cli.tasks:demo", "Try alita with a recorded model."),
        "replay": Target("alita_tui.cli.replays:replay", "Play a session back."),
        "doctor": Target("alita_tui.cli.machine:doctor", "Check settings, models and sandbox."),
        "setup": Target("alita_tui.cli.machine:setup", "Choose provider, model and key in a short wizard."),
        "builds": Target("alita_tui.cli.builds:commands", "Builds that wait for your verdict."),
        "batch": Target(
            "alita_tui.cli.batch:batch", "Do many tasks without a screen, each in a session of its own."
        ),
        "tasks": Target("alita_tui.cli.queue:commands", "The tasks of a session and the queue of them."),
        "audit": Target("alita_tui.cli.audit:commands", "The signed log of every verdict."),
        "policy": Target(
            "alita_tui.cli.policy:commands", "Rules that may approve builds for you; off by default."
        ),
        "tools": Target("alita_tui.cli.tools:commands", "The library of approved tools."),
        "mcp": Target("alita_tui.cli.mcp:commands", "The Model Context Protocol: serve tools, use servers."),
        "skills": Target(
            "alita_tui.cli.skills:commands",
            "Agent Skills by others, approved by digest and told to the agent.",
        ),
        "memory": Target(
            "alita_tui.cli.memory:commands", "What is remembered; correcting, pinning and forgetting it."
        ),
        "artefacts": Target(
            "alita_tui.cli.artefacts:commands", "Files that tasks were given and tools made."
        ),
        "sessions": Target("alita_tui.cli.sessions:commands", "Recorded sessions."),
        "backup": Target(
            "alita_tui.cli.backups:commands", "Backups of the library, the memory and session labels."
        ),
        "sandbox": Target("alita_tui.cli.sandbox:commands", "The containers that tools run in."),
        "worker": Target(
            "alita_tui.cli.worker:worker", "Be part of a cluster that runs `tools map` on several machines."
        ),
        "stats": Target(
            "alita_tui.cli.stats:stats",
            "Show where money and time go, what stands out, and what would help.",
        ),
        "eval": Target(
            "alita_tui.cli.evaluation.commands:commands",
            "Measure on your own tasks: run a suite, compare two runs.",
        ),
        "keys": Target(
            "alita_tui.cli.keys:keys",
            "List the console's keys, say where they are remapped, and check that for conflicts.",
        ),
        "roles": Target(
            "alita_tui.cli.roles:commands", "The kinds of agents that parts of a task can be handed to."
        ),
        "models": Target("alita_tui.cli.models:commands", "Language models."),
        "context": Target(
            "alita_tui.cli.context:context", "What the next model call would send, with tokens."
        ),
        "config": Target("alita_tui.cli.machine:config", "Settings, and where each value comes from."),
    }


cli = typer.Typer(
    name="alita",
    cls=Commands,
    help="An agent that builds its own tools and cannot run one you did not approve.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(value: bool) -> None:
    if value:
        typer.echo(f"alita {__version__}")
        raise typer.Exit


@cli.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    home: Annotated[
        Path | None, typer.Option("--home", help="Keep all data and settings in this folder.", metavar="DIR")
    ] = None,
    session: Annotated[
        str | None, typer.Option("--session", help="Open this session in the console.", metavar="ID")
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", help="Use this model.", metavar="PROVIDER:NAME")
    ] = None,
    project: Annotated[
        str | None, typer.Option("--project", help="Remember for this project.", metavar="NAME")
    ] = None,
    plain: Annotated[
        bool,
        typer.Option(
            "--plain", help="Lines that are only added instead of a full screen; as does ACCESSIBLE=1."
        ),
    ] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Open the console, or run one of the commands below."""
    from alita_tui.app.terminal import want_lines, wants_lines

    context.obj = home
    if plain:
        want_lines()
    if context.invoked_subcommand is None and wants_lines():
        from alita_tui.cli.plain_opening import open_plain

        open_plain(home, session, model, project)
    elif context.invoked_subcommand is None:
        from alita_tui.app.console import open_console

        open_console(home, session, model, project)
    else:
        _pass_to_command(context, {"model": model, "session": session, "project": project})


_TAKES = {
    "run": ("model", "session", "project"),
    "resume": ("model", "session", "project"),
    "answer": ("model", "project"),
}
"""Commands with an option that may also be given before them."""


def _pass_to_command(context: typer.Context, options: dict[str, str | None]) -> None:
    """Pass options that precede a command on to it. Raises UsageError if it does not take one of them."""
    command = context.invoked_subcommand or ""
    present = {name: value for name, value in options.items() if value is not None}
    for name in present:
        if name not in _TAKES.get(command, ()):
            from alita_tui.spine.errors import UsageError

            raise UsageError(
                f"`alita {command}` has no use for --{name}.",
                hint="It goes with `alita` alone, `alita run` and `alita resume`.",
            )
    context.default_map = {command: present}
