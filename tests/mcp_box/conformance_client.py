"""Our side of the official conformance suite's client scenarios: connect, list, call each tool, as a session does.

    conformance client --command "python tests/mcp_box/conformance_client.py" --scenario tools_call

The suite appends the address of its server; what else a scenario needs comes in a variable. `make mcp-peers` runs all.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import httpx2

from alita_tui.app.logins import StoredLogin
from alita_tui.mcp_box.remote.http import over_http
from alita_tui.mcp_box.remote.link import Link, LinkError
from alita_tui.mcp_box.remote.oauth import login
from alita_tui.mcp_box.remote.pinning import listing
from alita_tui.spine.address import AddressPolicy
from alita_tui.spine.servers import ServerSpec, pinned
from alita_tui.web.dns import system_resolver

POLICY = AddressPolicy(system_resolver)


async def browser(url: str) -> None:
    async with httpx2.AsyncClient(follow_redirects=True) as client:
        await client.get(url)


def filled(schema: dict[str, Any], focal: dict[str, Any]) -> dict[str, Any]:
    """Arguments of the shape that a schema asks for; for an object, a schema as it was listed."""
    some = {"string": "text", "integer": 1, "number": 1.5, "boolean": True, "array": [], "object": focal}
    return {
        name: some.get(str(one.get("type")), "text") for name, one in (schema.get("properties") or {}).items()
    }


def told() -> dict[str, Any]:
    """What the suite gives a scenario's client: a client that was registered before, or the calls to make."""
    known: dict[str, Any] = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    return known


def registered(kept: StoredLogin) -> None:
    """Keep a client that was registered by hand, as a person would."""
    known = told()
    if known.get("client_id"):
        client = {
            "client_id": known["client_id"], "client_secret": known.get("client_secret"),
            "redirect_uris": ["http://127.0.0.1:8943/callback"], "token_endpoint_auth_method": "client_secret_basic",
        }  # fmt: skip
        kept.write(json.dumps({"client": client, "port": 8943}))


async def main(url: str) -> int:
    kept = StoredLogin(Path(tempfile.mkdtemp()), url)
    registered(kept)
    async with login(url, kept, kept.lock, browser, POLICY, lambda *_: None) as auth:
        link = Link(over_http(url, {}, POLICY, auth), lambda asked: print("asked", asked), mode="auto")
        try:
            await link.open(30)
            spec = ServerSpec(name="suite", place="url", url=url)
            drafts = listing(spec, link.calls_itself, await link.tools()).drafts
            focal: dict[str, Any] = next(
                (one.input_schema for one in drafts if "$defs" in one.input_schema), {}
            )
            calls = told().get("toolCalls") or [
                {"name": pinned(draft).tool_name, "arguments": filled(draft.input_schema, focal)}
                for draft in drafts
            ]
            for call in calls:
                try:
                    print(call["name"], await link.call(call["name"], call["arguments"], 30))
                except LinkError as error:
                    print(call["name"], error)
        except LinkError as error:
            print("failed:", error)
            return 1
        finally:
            await link.close()
    return 0


sys.exit(asyncio.run(main(sys.argv[-1])))
