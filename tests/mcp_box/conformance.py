"""`make mcp-peers`: the official conformance suite against `alita mcp serve --http`, and against the client, as tables.

The tools that the suite looks for by name are approved tools of a home, and run in the sandbox as any. What fails is
listed with the reason; a scenario that fails without one is an error. The client's side is `conformance_client.py`.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import shlex
import sys
import tempfile
from pathlib import Path

from tests.support import mcp_lab as lab

PACKAGE = "node_modules/@modelcontextprotocol/conformance/dist/index.js"
REVISIONS = ("2025-11-25", "2026-07-28")
SCHEMA_2020 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
    "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": lab.TEXT, "city": lab.TEXT}}},
    "properties": {
        "name": lab.TEXT, "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]}, "phone": lab.TEXT, "email": lab.TEXT,
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]}, "else": {"required": ["email"]}, "additionalProperties": False,
}  # fmt: skip
TOOLS = (
    lab.tool("test_simple_text", "def run() -> str:\n    return 'This is a simple text response for testing.'\n", lab.schema()),
    lab.tool("test_image_content", "from pathlib import Path\ndef run() -> None:\n    "
             f"Path('red.png').write_bytes(bytes.fromhex('{lab.PNG}'))\n", lab.schema()),
    lab.tool("test_error_handling", "def run() -> None:\n    raise ValueError('This tool intentionally returns an error for testing')\n", lab.schema()),
    lab.tool("test_tool_with_progress", "import time\ndef run() -> str:\n    for step in (0, 50, 100):\n"
             "        print('step', step, flush=True)\n        time.sleep(0.2)\n    return 'done'\n", lab.schema()),
    lab.tool("json_schema_2020_12_tool", "def run(**given: object) -> str:\n    return 'ok'\n", SCHEMA_2020),
)  # fmt: skip
ASKS = "it is for servers that ask their client; alita never does"
NONE = "not offered"
FIXED = "it looks for a resource of its own; alita serves files of calls alone"
NOT_HERE = {
    "tools-call-audio": "a sound is a resource link", "tools-call-embedded-resource": "a file is a resource link",
    "tools-call-mixed-content": "a file is a resource link", "tools-call-with-logging": NONE,
    "logging-set-level": NONE, "completion-complete": NONE, "resources-subscribe": NONE,
    "resources-unsubscribe": NONE, "tools-call-sampling": ASKS, "tools-call-elicitation": ASKS,
    "elicitation-sep1034-defaults": ASKS, "elicitation-sep1330-enums": ASKS, "resources-read-text": FIXED,
    "resources-read-binary": FIXED, "resources-templates-read": FIXED,
    "prompts-get-simple": "it looks for a prompt of its own; prompts are recipes", "prompts-get-with-args": "the same",
    "prompts-get-embedded-resource": "the same", "prompts-get-with-image": "the same",
    "http-custom-header-server-validation": "it needs a tool that takes an argument from a header",
    "server-stateless": "four of its checks need tools that ask the client or log",
}  # fmt: skip
"""Scenarios that do not apply, or only in part, and why."""


NOT_OF_THE_CLIENT = {
    "elicitation-sep1034-client-defaults": "the client of these runs grants no questions",
    "sep-2322-client-request-state": "the same",
    "auth/basic-cimd": "a warning: alita registers itself, as it has no page on the web that says who it is",
}
"""Client scenarios that do not apply, and why."""


def applies(name: str) -> str:
    """Why a scenario does not apply; empty if it does."""
    return NOT_HERE.get(name, ASKS if name.startswith("input-required-result") else "")


async def said(*words: str) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    out, _ = await process.communicate()
    return process.returncode or 0, out.decode("utf-8", "replace")


async def scenarios(node: str, suite: str, side: str) -> dict[str, tuple[str, ...]]:
    """The scenarios of a side, `server` or `client`, with their revisions; without extensions."""
    _, listed = await said(node, suite, "list", f"--{side}")
    found = re.findall(r"^\s+- (\S+) \[([^\]]+)\]", listed, re.MULTILINE)
    return {name: tuple(given.split(",")) for name, given in found if given != "extension"}


async def run(node: str, folder: Path, only: str) -> int:
    suite = str(folder / PACKAGE)
    wrong = await servers(node, suite, only) + await clients(node, suite, only)
    print(f"{wrong} failed without a reason", file=sys.stderr)
    return 1 if wrong else 0


async def clients(node: str, suite: str, only: str) -> int:
    """Print the table of the client scenarios; return how many fail without a reason."""
    wrong = 0
    command = shlex.join((sys.executable, str(Path(__file__).with_name("conformance_client.py"))))
    print("| client scenario | result | |\n| --- | --- | --- |")
    for name, revisions in (await scenarios(node, suite, "client")).items():
        if only not in name:
            continue
        why, results = NOT_OF_THE_CLIENT.get(name, ""), []
        for revision in [one for one in REVISIONS if one in revisions] or revisions[-1:]:
            with tempfile.TemporaryDirectory(prefix="alita-peers-") as place:
                code, out = await said(
                    node, suite, "client", "--command", command, "--scenario", name, "--spec-version", revision, "-o", place
                )  # fmt: skip
            results.append(f"{'fails' if code else 'passes'} in {revision}")
            if code and not why:
                wrong += 1
                print(out, file=sys.stderr)
        shown = why if any(one.startswith("fails") for one in results) else ""
        print(f"| {name} | {', '.join(results)} | {shown} |", flush=True)
    return wrong


async def servers(node: str, suite: str, only: str) -> int:
    """Print the table of the server scenarios; return how many fail without a reason."""
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="alita-peers-") as place:
        home = lab.furnished(Path(place) / "home", *TOOLS)
        async with lab.http_server(home, "127.0.0.1:0", "--no-token") as url:
            print("| scenario | " + " | ".join(REVISIONS) + " | |\n| --- | --- | --- | --- |")
            for name, revisions in (await scenarios(node, suite, "server")).items():
                if only not in name:
                    continue
                cells, why = [], applies(name)
                for revision in REVISIONS:
                    if revision not in revisions:
                        cells.append("")
                        continue
                    results = str(Path(place) / "results")
                    code, out = await said(
                        node, suite, "server", "--url", url, "--scenario", name, "--spec-version", revision, "-o", results
                    )  # fmt: skip
                    cells.append("passes" if code == 0 else "fails")
                    if code and not why:
                        wrong += 1
                        print(out, file=sys.stderr)
                shown = why if "fails" in cells else ""
                print(f"| {name} | {' | '.join(cells)} | {shown} |", flush=True)
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(prog="make mcp-peers", description=__doc__)
    parser.add_argument("folder", type=Path, help="where npm installed the suite")
    parser.add_argument("--node", default="node", help="a Node.js of version 22 or newer")
    parser.add_argument("--only", default="", help="scenarios whose names hold this")
    given = parser.parse_args()
    return asyncio.run(run(given.node, given.folder, given.only))


if __name__ == "__main__":
    sys.exit(main())
