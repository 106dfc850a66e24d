"""`alita mcp add` and `import`: servers whose tools may be approved; each is started once to list them."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from alita_tui.app.context import AppContext
from alita_tui.app.servers.book import ServerBook
from alita_tui.cli.mcp_servers import (
    Name,
    approve,
    disable,
    enable,
    listed,
    login,
    opens,
    print_server,
    print_tools,
    remove,
    show,
    test,
)
from alita_tui.spine.errors import AlitaError, UsageError
from alita_tui.spine.text import one_line, reveal

if TYPE_CHECKING:
    from alita_tui.app.servers.book import KnownServer

_RED = typer.colors.RED


def register(commands: typer.Typer) -> None:
    """Add the commands about servers to the group of `alita mcp`."""
    commands.command(context_settings={"ignore_unknown_options": True})(add)
    commands.command("import")(import_file)
    for command in (show, approve, test, login, enable, disable, remove):
        commands.command()(command)
    commands.command("list")(listed)


def add(
    context: typer.Context,
    name: Name,
    command: Annotated[
        list[str],
        typer.Argument(metavar="-- COMMAND...|URL", help="How the server is started, or its address."),
    ],
    requires: Annotated[
        list[str] | None,
        typer.Option(
            "--requires", "--with", metavar="PACKAGE", help="A further package, or a bound such as 'mcp<2'."
        ),
    ] = None,
    folder: Annotated[str, typer.Option("--folder", metavar="FOLDER", help="The server's own files.")] = "",
    host: Annotated[
        list[str] | None,
        typer.Option(
            "--host", metavar="HOST:PORT", help="A host that it may talk to while a tool of it runs."
        ),
    ] = None,
    secret: Annotated[
        list[str] | None,
        typer.Option(
            "--secret", metavar="NAME@HOST:PORT", help="A secret that is put into requests to that host."
        ),
    ] = None,
    env: Annotated[
        list[str] | None, typer.Option("--env", metavar="NAME=VALUE", help="A variable; no secret.")
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(
            "--header",
            metavar="HEADER=SECRET",
            help="For an address: a header, and the secret that is its value.",
        ),
    ] = None,
    on_host: Annotated[
        bool, typer.Option("--on-host", help="Run it on this machine with ALL YOUR RIGHTS: no container.")
    ] = False,
    sampling: Annotated[
        int,
        typer.Option("--sampling", metavar="N", min=0, max=20, help="Let it ask your model N times a run."),
    ] = 0,
    elicitation: Annotated[
        bool, typer.Option("--elicitation", help="Let it ask you while one of its tools runs.")
    ] = False,
    root: Annotated[
        list[str] | None,
        typer.Option("--root", metavar="FOLDER", help="A folder it is told of when it asks for roots."),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace a server of this name.")] = False,
) -> None:
    """Add a server and list its tools. None of them runs before you approve it.

    `uvx PACKAGE` and `python -m MODULE` run in a container of their own, from wheels locked by their hashes, without
    network unless --host names it. A URL is a server of somebody else.
    """
    app = AppContext.open(context.obj)
    if not replace:
        ServerBook(app).check_free(name)
    known = _known(
        app, name, tuple(command), requires=tuple(requires or ()), folder=folder, network=tuple(host or ()),
        secrets=tuple(secret or ()), env=_pairs(env, "--env"), headers=_pairs(header, "--header"), on_host=on_host,
    )  # fmt: skip
    known = _with_requests(known, sampling, elicitation=elicitation, roots=root or [])
    _add(app, known, replace=replace)


def _with_requests(known: KnownServer, sampling: int, *, elicitation: bool, roots: list[str]) -> KnownServer:
    """Return the server with the kinds of its own requests that are answered. Raise UsageError."""
    from msgspec.structs import replace

    if roots and known.spec.place == "sandbox":
        raise UsageError(
            "--root is for a server on the host, or by its address: one in the sandbox sees no folder of yours.",
            hint="Its own files are given with --folder.",
        )
    folders = [Path(root).expanduser().absolute() for root in roots]
    for folder in folders:
        if not folder.is_dir():
            raise UsageError(f"There is no folder {one_line(str(folder), 200)}.")
    spec = replace(
        known.spec,
        model_calls=sampling,
        elicitation=elicitation,
        roots=tuple(folder.as_uri() for folder in folders),
    )
    return replace(known, spec=spec)


def _known(
    app: AppContext,
    name: str,
    command: tuple[str, ...],
    *,
    requires: tuple[str, ...] = (),
    folder: str = "",
    network: tuple[str, ...] = (),
    secrets: tuple[str, ...] = (),
    env: dict[str, str],
    headers: dict[str, str],
    on_host: bool = False,
) -> KnownServer:
    from alita_tui.app.servers.book import KnownServer
    from alita_tui.app.servers.preparing import prepared
    from alita_tui.events import Capabilities
    from alita_tui.spine.grants import canonical, faults
    from alita_tui.spine.servers import NAME, ServerSpec

    if not NAME.fullmatch(name):
        raise UsageError(
            f"{one_line(name, 40)!r} is not a name for a server.",
            hint="Use lower-case letters, digits and hyphens.",
        )
    if len(command) == 1 and "://" in command[0]:
        from alita_tui.mcp_box.remote.guard import check_url
        from alita_tui.mcp_box.remote.importing import secret_in_url

        check_url(command[0])
        if problem := secret_in_url(command[0]):
            raise UsageError(
                f"That is not added: {problem}.",
                hint="Keep it as a secret, and name it: --header X-API-Key=NAME sends it, and records the name alone.",
            )
        return KnownServer(spec=ServerSpec(name=name, place="url", url=command[0], headers=headers))
    from alita_tui.mcp_box.remote.importing import secret_typed

    if problem := secret_typed(command, env):
        raise UsageError(
            f"That is not added: {problem}.",
            hint="Keep it as a secret, and name it: --secret NAME@HOST:PORT puts it into requests to that host alone.",
        )
    if headers:
        raise UsageError("--header is for a server by its address.")
    if on_host:
        if requires or network:
            raise UsageError(
                "--with and --host are for a server in the sandbox: on the host it has everything."
            )
        place = Path(folder).absolute()
        argv = (_program(command[0], place), *command[1:])
        spec = ServerSpec(name=name, place="host", argv=argv, folder=str(place), env=env, secrets=secrets)
        return KnownServer(spec=spec)
    asked = Capabilities(network=network, secrets=secrets)
    if wrong := faults(asked):
        raise UsageError(wrong[0])
    asked = canonical(asked)
    typer.echo(f"{name}: locked and installed …", err=True)
    return asyncio.run(
        prepared(
            app,
            name,
            command,
            requires=requires,
            folder=folder,
            env=env,
            network=asked.network,
            secrets=asked.secrets,
        )
    )


def _program(word: str, folder: Path) -> str:
    """Return the absolute path of a program, which no later change of folder alters. Raise UsageError."""
    program = shutil.which(folder / word if "/" in word else word)
    if program is None:
        raise UsageError(f"There is no program {one_line(word, 80)}.")
    return str(Path(program).absolute())


def _add(app: AppContext, known: KnownServer, *, replace: bool) -> None:
    from alita_tui.app.servers.outside_session import look_at

    name = known.spec.name
    if known.spec.place == "host":
        typer.secho(
            f"{name} runs on this machine with ALL YOUR RIGHTS, now and with every call: no wall stands around it.",
            fg=_RED, bold=True, err=True,
        )  # fmt: skip
    typer.echo(f"{name}: started to list its tools …", err=True)
    book = ServerBook(app)
    known = asyncio.run(look_at(app, book.typed(known), opens))
    for tool in book.put_in_place(known, replace=replace):
        typer.echo(f"{tool} was approved of the server that this one replaces: it is suspended.", err=True)
    print_server(known)
    print_tools(app, known)
    typer.echo(f"\nRead one whole with: alita mcp show {name} TOOL")


def _pairs(given: list[str] | None, option: str) -> dict[str, str]:
    pairs = {}
    for pair in given or ():
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise UsageError(f"{option} {one_line(pair, 60)!r} is not of the form NAME=VALUE.")
        pairs[key] = value
    return pairs


def import_file(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Another client's configuration.")],
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="NAME", help="Take this server alone.")
    ] = None,
) -> None:
    """Add the servers of another client's `mcpServers` file; each is started once to list its tools.

    What looks like a secret is not taken from the file, and none of yours is sent where the file says: what to type for
    such a server is printed. A server by its address is added only with --only.
    """
    from alita_tui.mcp_box.remote.importing import servers_in

    app = AppContext.open(context.obj)
    taken = {server.spec.name for server in ServerBook(app).all()}
    failed = False
    for entry in servers_in(file):
        if only and entry.name not in only and entry.called not in only:
            continue
        if entry.name in taken:
            typer.echo(f"{entry.name} is there already.")
            continue
        if entry.off:
            typer.echo(f"{entry.name} is switched off in the file, and was not added.")
            continue
        for problem in entry.notes:
            typer.echo(reveal(f"{entry.name}: {problem}"), err=True)
        problem = entry.problem
        if not problem and not only and "://" in entry.command[0]:
            problem = f"{entry.command[0]} is the file's word alone; --only {entry.name} takes it"
        if problem:
            failed = True
            typer.echo(reveal(f"{entry.name} was not added: {problem}"), err=True)
            continue
        try:
            known = _known(app, entry.name, entry.command, folder=entry.folder, env=entry.env, headers={})
            _add(app, known, replace=False)
        except AlitaError as error:
            failed = True
            typer.echo(reveal(f"{entry.name} was not added: {error}"), err=True)
    raise typer.Exit(1 if failed else 0)
