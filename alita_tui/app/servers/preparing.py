"""Prepares a server in the sandbox from the command that a person typed: locks its wheels, fetches its files."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from alita_tui.app.identity import new_id
from alita_tui.app.servers.book import KnownServer
from alita_tui.app.servers.package_folders import new_folder
from alita_tui.spine.servers import ServerSpec

if TYPE_CHECKING:
    from alita_tui.app.context import AppContext


async def prepared(
    app: AppContext,
    name: str,
    command: tuple[str, ...],
    *,
    requires: tuple[str, ...] = (),
    folder: str = "",
    env: Mapping[str, str],
    network: tuple[str, ...] = (),
    secrets: tuple[str, ...] = (),
) -> KnownServer:
    """Return a sandboxed server for a command, its wheels locked and installed. Raise AlitaError."""
    from alita_tui.mcp_box.remote.commands import fixed_environment, parse_command, script_command
    from alita_tui.sandbox.npm import BINARY, NODE, install
    from alita_tui.sandbox.trees import tree_of

    parts = parse_command(command, requires, folder=folder)
    sandbox = app.sandbox(f"mcp-{new_id()}")
    try:
        lock = await sandbox.lock((NODE,) if parts.npm else parts.requirements, lambda *_: None)
        argv = parts.argv
        if parts.script or parts.npm:
            installed = Path(await sandbox.installed(lock, lambda *_: None))
        if parts.npm and parts.npm != "node":
            folder = str(await asyncio.to_thread(new_folder, app.paths.data, name, new_id()))
            with _removed_on_failure(folder):
                main = (await install(installed, parts.npm, Path(folder))).main
            argv = (BINARY, f"/env/app/{main}", *argv)
        elif parts.npm:
            argv = (BINARY, *argv)
        elif parts.script:
            argv = await asyncio.to_thread(script_command, installed, parts)
    finally:
        await sandbox.close()
    tree = await asyncio.to_thread(lambda: tree_of(Path(folder).absolute())) if folder else None
    spec = ServerSpec(
        name=name,
        argv=argv,
        env=dict(env) if parts.npm else fixed_environment(dict(env)),
        lock=lock.digest,
        folder=tree.path if tree else "",
        tree=tree.digest if tree else "",
        node=bool(parts.npm),
        network=network,
        secrets=secrets,
    )
    return KnownServer(spec=spec, lock=lock)


@contextmanager
def _removed_on_failure(folder: str) -> Iterator[None]:
    """Remove the folder if fetching a package into it fails."""
    try:
        yield
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
