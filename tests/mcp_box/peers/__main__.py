"""`make mcp-peers`: clients and servers that nobody here wrote, each beside alita, as a table.

Clients call approved tools of a home through `alita mcp serve`. Servers are added, approved by digest and called by
`alita` itself; those of npm and PyPI are installed by it, locked, and run in the sandbox.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support import mcp_lab as lab

HERE = Path(__file__).parent
INSPECTOR = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
EVERYTHING = "node_modules/@modelcontextprotocol/server-everything/dist/index.js"
VERSION = "2026.8.31"
"""Of the three servers from npm."""
SECONDS = 600
FAST = '''
from fastmcp import FastMCP

server = FastMCP("counts")


@server.tool
def count_words(text: str) -> int:
    """Count the words of a text."""
    return len(text.split())


server.run()
'''
"""A server of FastMCP."""


class Missed(Exception):
    """What a peer did is not what was expected."""


def alita(home: Path, *words: str) -> str:
    """Run a command of alita; return what it printed. Raise Missed where it fails."""
    command = [sys.executable, "-m", "alita_tui", *words]
    done = subprocess.run(command, env=lab.environ(home), capture_output=True, text=True, timeout=SECONDS)
    if done.returncode:
        raise Missed(f"alita {' '.join(words)}: {done.stderr.strip()[-600:]}")
    return str(done.stdout)


def said(*words: str, home: Path) -> str:
    done = subprocess.run(words, env=lab.environ(home), capture_output=True, text=True, timeout=SECONDS)
    if done.returncode:
        raise Missed(f"exit {done.returncode}: {(done.stderr + done.stdout).strip()[-600:]}")
    return str(done.stdout)


# --- clients ----------------------------------------------------------------------------------


@contextmanager
def served(home: Path) -> Iterator[tuple[str, str]]:
    """Serve a home over HTTP; yield the address and the token."""
    server = subprocess.Popen(
        lab.command("serve", "--http", "127.0.0.1:0"),
        env=lab.environ(home),
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stderr is not None
        url = server.stderr.readline().split()[1]
        (token,) = home.rglob("mcp.token")
        yield url, token.read_text().strip()
    finally:
        server.terminate()
        server.wait()


def typescript(node: str, folder: Path, home: Path, *to: str) -> None:
    """The whole of a client's day: list, call, an error, a picture, and reading what a call left."""
    script = folder / "client.mjs"  # modules are looked for beside it
    shutil.copy(HERE / "client.mjs", script)
    found = json.loads(said(node, str(script), *to, home=home))
    wanted = {
        "server": "alita", "tools": len(lab.ALL), "sum": 5, "failed": True, "picture": True, "table": "a,b\n1,2\n[redacted GitHub token]",
    }  # fmt: skip
    if found != wanted:
        raise Missed(f"{found} instead of {wanted}")


def inspector(node: str, folder: Path, home: Path, *to: str, header: str = "") -> None:
    """List strictly, then call."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as config:
        entry: dict[str, Any] = {"command": to[0], "args": list(to[1:]), "env": lab.environ(home)}
        if header:
            entry = {"type": "streamable-http", "url": to[0], "headers": {"Authorization": header}}
        json.dump({"mcpServers": {"alita": entry}}, config)
        config.flush()
        base = (node, str(folder / INSPECTOR), "--cli", "--config", config.name, "--server", "alita")
        listed = said(*base, "--method", "tools/list", "--strict", home=home)
        if "add_numbers" not in listed:
            raise Missed(f"listed: {listed[-400:]}")
        words = (
            "--method",
            "tools/call",
            "--tool-name",
            "add_numbers",
            "--tool-arg",
            "a=2",
            "--tool-arg",
            "b=3",
        )
        called = said(*base, *words, home=home)
        if '"sum": 5' not in called and '"sum":5' not in called:
            raise Missed(f"called: {called[-400:]}")


# --- servers ----------------------------------------------------------------------------------


def used(home: Path, name: str, tool: str, arguments: dict[str, Any], wants: str, *add: str) -> None:
    """Add a server, approve one tool of it by its digest with its risks, and call it."""
    alita(home, "mcp", "add", name, *add)
    offers = json.loads(alita(home, "mcp", "show", name, "--json"))["tools"]
    (one,) = [one for one in offers if one["name"] == tool]
    approve = ["mcp", "approve", name, "--digest", one["digest"]]
    try:
        alita(home, *approve)
    except Missed:
        whole = alita(home, "mcp", "show", name, tool)
        risks = sorted({word.strip("△:,") for word in whole.split() if word.strip("△:,") in RISKS})
        alita(home, *approve, *(part for risk in risks for part in ("--accept", risk)))
    found = alita(home, "tools", "run", tool, "--input", json.dumps(arguments))
    if wants not in found:
        raise Missed(f"{tool} said {found[-400:]}")


RISKS = (
    "remote-code", "network", "secret", "speaks-to-the-reader", "hidden-characters", "lookalikes", "like-another",
    "capability-words",
)  # fmt: skip


@contextmanager
def everything(node: str, folder: Path, home: Path) -> Iterator[str]:
    """Run server-everything over HTTP; yield its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environ = {**lab.environ(home), "PORT": str(port)}
    server = subprocess.Popen(
        (node, str(folder / EVERYTHING), "streamableHttp"), env=environ, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert server.stderr is not None
        for line in server.stderr:
            if str(port) in line:
                break
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        server.terminate()
        server.wait()


def rows(node: str, folder: Path, place: Path) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield each peer and what is done with it."""
    home, here = lab.furnished(place / "served"), place / "using"
    here.mkdir()
    stdio = lab.command("serve")
    yield "client: TypeScript SDK, stdio", lambda: typescript(node, folder, home, *stdio)
    yield "client: Inspector --cli --strict, stdio", lambda: inspector(node, folder, home, *stdio)

    def over_http(inspect: bool) -> None:
        with served(home) as (url, token):
            if inspect:
                inspector(node, folder, home, url, header=f"Bearer {token}")
            else:
                typescript(node, folder, home, url, token)

    yield "client: TypeScript SDK, HTTP", lambda: over_http(False)
    yield "client: Inspector --cli --strict, HTTP", lambda: over_http(True)
    npx = ("--", "npx")
    package = "@modelcontextprotocol/server-"
    yield "server: server-everything, stdio", lambda: used(
        here, "every", "every_echo", {"message": "hello"}, "hello", *npx, f"{package}everything@{VERSION}"
    )  # fmt: skip

    def by_address() -> None:
        with everything(node, folder, here) as url:
            used(here, "far", "far_echo", {"message": "hello"}, "hello", url)

    yield "server: server-everything, HTTP", by_address
    yield "server: server-filesystem, stdio", lambda: used(
        here, "files", "files_list_allowed_directories", {}, "/tmp", *npx, f"{package}filesystem@{VERSION}", "/tmp"
    )  # fmt: skip
    entity = {"name": "alita", "entityType": "program", "observations": ["it asks"]}
    yield "server: server-memory, stdio", lambda: used(
        here, "memory", "memory_create_entities", {"entities": [entity]}, "it asks", "--env",
        "MEMORY_FILE_PATH=/tmp/memory.json", *npx, f"{package}memory@{VERSION}",
    )  # fmt: skip
    fast = place / "fast"
    fast.mkdir()
    (fast / "server.py").write_text(FAST)
    yield "server: FastMCP, stdio", lambda: used(
        here, "fast", "fast_count_words", {"text": "one two three"}, "3", "--folder", str(fast), "--with", "fastmcp",
        "--", "python", "server.py",
    )  # fmt: skip
    counts = folder / "ts-server"
    shutil.copy(HERE / "server.mjs", counts / "server.mjs")
    yield "server: TypeScript SDK, stdio", lambda: used(
        here, "counts", "counts_count_letters", {"text": "four"}, "4", "--folder", str(counts), "--", "node",
        "server.mjs",
    )  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(prog="make mcp-peers", description=__doc__)
    parser.add_argument("folder", type=Path, help="where npm installed the peers")
    parser.add_argument("--node", default="node", help="a Node.js of version 22 or newer")
    parser.add_argument("--only", default="", help="peers whose names hold this")
    given = parser.parse_args()
    wrong = 0
    os.environ.setdefault("NO_COLOR", "1")
    with tempfile.TemporaryDirectory(prefix="alita-peers-") as place:
        print("| peer | |\n| --- | --- |")
        for name, work in rows(given.node, given.folder.absolute(), Path(place)):
            if given.only not in name:
                continue
            try:
                work()
                print(f"| {name} | passes |", flush=True)
            except (Missed, subprocess.TimeoutExpired, ValueError) as error:
                wrong += 1
                print(f"| {name} | fails: {error} |", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
