"""The Containerfile of an exported server: built as it stands with rootless Podman, run under its own limits.

Its two images are stood in for: this machine's base image for the one with Python, and one with `uv` from the wheel that is
installed here. Everything else is as a person would type it.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from uv import find_uv_bin

from alita_tui.sandbox.host import Host
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.sandbox.setup import repair
from tests.cli.audited import Shell
from tests.mcp_box.exporting import WORDS, register
from tests.mcp_box.exporting_servers import export

pytestmark = [pytest.mark.podman, pytest.mark.walk, pytest.mark.slow]
PYTHON, UV, BUILT = (
    "docker.io/library/python:3.11-slim",
    "ghcr.io/astral-sh/uv:0.13",
    "localhost/alita-test-words",
)
MINUTES = 60.0


@asynccontextmanager
async def stand_ins(host: Host, folder: Path) -> AsyncIterator[None]:
    """Give this machine's images the names that the Containerfile has, and take them away again."""
    folder.mkdir()
    shutil.copy(find_uv_bin(), folder / "uv")
    (folder / "Containerfile").write_text("FROM scratch\nCOPY uv /uv\n")
    opened(folder, host)
    await host.output("podman", "tag", host.settings.tag, PYTHON)
    await host.output("podman", "build", "-t", UV, str(folder), seconds=5 * MINUTES)
    try:
        yield
    finally:
        for name in (
            BUILT,
            UV,
            PYTHON,
        ):  # `rmi` takes one name away, and the image with its last; `untag` takes all
            await host.output("podman", "rmi", "--ignore", name)


def opened(folder: Path, host: Host) -> None:
    """Let the account that runs Podman read a folder."""
    if host.account:
        for path in (folder, *folder.rglob("*")):
            shutil.chown(path, host.account, host.account)


def certificates() -> list[str]:
    """Return the words that give a build the certificates and proxies of this machine."""
    kept = [f"--env={name}={value}" for name, value in os.environ.items() if name.lower().endswith("_proxy")]
    bundle = os.environ.get("SSL_CERT_FILE", "/etc/ssl/certs/ca-certificates.crt")
    mounted = f"--volume={Path(bundle).parent}:{Path(bundle).parent}:ro"
    return [*kept, f"--env=SSL_CERT_FILE={bundle}", mounted, "--network=host"]


def test_the_containerfile_is_built_and_its_server_works_under_its_limits(tmp_path: Path) -> None:
    shell = Shell(tmp_path / "one")
    register(shell, WORDS)
    done = export(shell, "count_words", "--as", "mcp-server", "--pack", "words", "--to", str(tmp_path))
    assert done.exit_code == 0, (done.output, done.exception)
    asyncio.run(built_and_used(tmp_path))


async def built_and_used(tmp_path: Path) -> None:
    settings = EngineSettings(cache_dir=str(tmp_path / "cache"))
    await repair(settings, lambda *_: None)
    host = Host(settings)
    host.prepare()
    area = host.home / f"export-{tmp_path.name}"
    area.mkdir(mode=0o755)
    try:
        async with stand_ins(host, area / "uv"):
            folder = area / "words"
            shutil.copytree(tmp_path / "words", folder)
            opened(folder, host)
            lines = (folder / "Containerfile").read_text().splitlines()
            label = next(line for line in lines if "LABEL run=" in line)
            words = ("podman", "build", "--pull=never", *certificates(), "-t", BUILT, str(folder))
            await host.output(*words, seconds=9 * MINUTES)
            await used(host, shlex.split(label.partition('"')[2].rpartition('"')[0].replace("IMAGE", BUILT)))
    finally:
        shutil.rmtree(area)


async def used(host: Host, words: list[str]) -> None:
    command, *rest = host.command(*words)
    server = StdioServerParameters(command=command, args=rest, env=dict(host.environ))
    async with asyncio.timeout(5 * MINUTES), Client(server, mode="legacy") as client:
        answer = await client.call_tool("count_words", {"text": "a b a"})
        assert answer.structured_content == {"words": {"a": 2, "b": 1}}
        wrong = await client.call_tool("count_words", {"text": 7})
        assert wrong.is_error and "do not fit" in str(wrong.content)
