"""A server in the sandbox from the command that a person typed: its wheels locked, its files in a folder."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from alita_tui.app.identity import new_id
from alita_tui.app.server_files import new_folder
from alita_tui.app.servers import Known
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
) -> Known:
    """Return a boxed server for a command, its wheels locked and installed. Raise AlitaError."""
    from alita_tui.mcp_box.remote.commands import fixed_environment, script_command, taken_apart
    from alita_tui.sandbox.npm import BINARY, NODE, install
    from alita_tui.sandbox.trees import tree_of

    wanted = taken_apart(command, requires, folder=folder)
    sandbox = app.sandbox(f"mcp-{new_id()}")
    try:
        lock = await sandbox.lock((NODE,) if wanted.npm else wanted.requirements, lambda *_: None)
        argv = wanted.argv
        if wanted.script or wanted.npm:
            installed = Path(await sandbox.installed(lock, lambda *_: None))
        if wanted.npm and wanted.npm != "node":
            folder = str(await asyncio.to_thread(new_folder, app.paths.data, name, new_id()))
            with _or_none(folder):
                main = (await install(installed, wanted.npm, Path(folder))).main
            argv = (BINARY, f"/env/app/{main}", *argv)
        elif wanted.npm:
            argv = (BINARY, *argv)
        elif wanted.script:
            argv = await asyncio.to_thread(script_command, installed, wanted)
    finally:
        await sandbox.close()
    tree = await asyncio.to_thread(lambda: tree_of(Path(folder).absolute())) if folder else None
    spec = ServerSpec(
        name=name,
        argv=argv,
        env=dict(env) if wanted.npm else fixed_environment(dict(env)),
        lock=lock.digest,
        folder=tree.path if tree else "",
        tree=tree.digest if tree else "",
        node=bool(wanted.npm),
        network=network,
        secrets=secrets,
    )
    return Known(spec=spec, lock=lock)


@contextmanager
def _or_none(folder: str) -> Iterator[None]:
    """Leave no folder behind into which a package could not be fetched."""
    try:
        yield
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
