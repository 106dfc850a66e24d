"""Remote servers on loopback: one of the real SDK, one that misbehaves, one with an authorization server elsewhere."""

from __future__ import annotations

import asyncio
import base64
import gzip
import hashlib
import json
import secrets
import socket
import ssl
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import mcp_types as t
import uvicorn
from mcp.server.lowlevel import Server
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route


@contextmanager
def running(app: Any, port: int = 0, tls: ssl.SSLContext | None = None) -> Iterator[int]:
    """Serve an ASGI application on a port of loopback."""
    own = socket.socket()
    own.bind(("127.0.0.1", port))
    config = uvicorn.Config(app, log_level="error", access_log=False, ws="none", interface="asgi3")
    config.load()
    config.ssl = tls
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([own],))
    thread.start()
    try:
        yield own.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()
        own.close()


class Remote:
    """An MCP server that wants a header, and what it saw."""

    def __init__(self) -> None:
        self.seen: list[dict[str, str]] = []
        self.mode = ""
        self.sent = 0
        """Bytes of an event that has no end."""
        self.given_up = threading.Event()
        """Set once nobody reads that event any more."""
        self.elsewhere = ""
        self.held, self.release = threading.Event(), threading.Event()
        self.release.set()
        self.inner = self._sdk().streamable_http_app()

    def hold(self) -> None:
        """Answer nothing until it is released; `held` tells that somebody waits."""
        self.held.clear()
        self.release.clear()

    def _sdk(self) -> Server[Any]:
        async def tools(_: Any, __: Any) -> t.ListToolsResult:
            return t.ListToolsResult(
                tools=[
                    t.Tool(name="hi", description="Greets.", input_schema={"type": "object"}),
                    *(
                        [
                            t.Tool(
                                name="tells",
                                description=json.dumps(self.seen[-1]),
                                input_schema={"type": "object"},
                            )
                        ]
                        if self.mode == "tells"
                        else []
                    ),
                ]
            )

        async def call(_: Any, __: Any) -> t.CallToolResult:
            said = (
                json.dumps(self.seen[-1])
                if self.mode == "echo"
                else "hello" * (10**6 if self.mode == "long" else 1)
            )
            return t.CallToolResult(content=[t.TextContent(type="text", text=said)])

        return Server("far", version="1", on_list_tools=tools, on_call_tool=call)

    async def _event_without_end(self) -> AsyncIterator[bytes]:
        try:
            yield b"data: "
            while self.sent < 128 << 20:
                self.sent += 1 << 16
                yield b"x" * (1 << 16)
                await asyncio.sleep(0)
        finally:
            self.given_up.set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            self.seen.append({key.decode(): value.decode() for key, value in scope["headers"]})
            if not self.release.is_set():
                self.held.set()
                await asyncio.to_thread(self.release.wait, 60)
            answer: Response | None = None
            if self.mode == "redirect":
                answer = RedirectResponse(self.elsewhere, status_code=307)
            elif self.mode == "bomb":
                answer = Response(
                    gzip.compress(bytes(64 << 20)),
                    headers={"content-encoding": "gzip", "content-type": "application/json"},
                )
            elif self.mode == "huge":
                answer = Response(b" " * (20 << 20), headers={"content-type": "application/json"})
            elif self.mode == "down":
                answer = Response(status_code=503)
            elif self.mode == f"endless {scope['method']}":
                answer = StreamingResponse(self._event_without_end(), media_type="text/event-stream")
            if answer is not None:
                await answer(scope, receive, send)
                return
        await self.inner(scope, receive, send)


class OAuth:
    """A server that wants a token, and its authorization server on another origin: short-lived, rotating."""

    def __init__(self, lifetime: float = 30.0) -> None:
        self.lifetime = lifetime
        self.log: list[str] = []
        self.remote = Remote()
        self.resource_url = self.issuer = ""
        self.about: dict[str, Any] = {}
        """What the metadata of the authorization server say otherwise."""
        self.challenge = ""
        """Where the server says its own metadata are; empty for where they are."""
        self.token_answer: Response | None = None
        self._clients: dict[str, list[str]] = {}
        self._codes: dict[str, str] = {}
        self._access: dict[str, float] = {}
        self._refresh: dict[str, bool] = {}
        post = ["POST"]
        routes = [
            Route("/.well-known/oauth-authorization-server", self._metadata),
            Route("/r", self._register, methods=post),
            Route("/a", self._authorize),
            Route("/t", self._token, methods=post),
        ]
        self.authorization = Starlette(routes=routes)

    def expire(self) -> None:
        self._access.clear()

    async def resource(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            path = scope["path"]
            known = "/.well-known/oauth-protected-resource"
            if path.startswith(known):
                about = {"resource": self.resource_url + "/mcp", "authorization_servers": [self.issuer]}
                return await JSONResponse(about)(scope, receive, send)
            if path != "/mcp":
                body = (await receive()).get("body", b"")
                self.log.append("leaked" if b"refresh_token" in body else f"resource {path}")
                return await Response(status_code=404)(scope, receive, send)
            given = dict(scope["headers"]).get(b"authorization", b"").decode()
            if self._access.get(given[7:], 0) < time.time():
                self.log.append("401")
                metadata = self.challenge or f"{self.resource_url}{known}/mcp"
                where = f'Bearer resource_metadata="{metadata}"'
                return await Response(status_code=401, headers={"WWW-Authenticate": where})(
                    scope, receive, send
                )
            headers = [(key, b"127.0.0.1:1" if key == b"host" else value) for key, value in scope["headers"]]
            scope = {**scope, "headers": headers}  # the SDK's server knows no other name than loopback's
        await self.remote(scope, receive, send)

    async def _metadata(self, _: Request) -> Response:
        return JSONResponse(
            {
                "issuer": self.issuer, "authorization_endpoint": self.issuer + "/a", "token_endpoint": self.issuer + "/t",
                "registration_endpoint": self.issuer + "/r", "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"], "token_endpoint_auth_methods_supported": ["none"],
                "grant_types_supported": ["authorization_code", "refresh_token"], **self.about,
            }
        )  # fmt: skip

    async def _register(self, request: Request) -> Response:
        asked = await request.json()
        self.log.append("register")
        client = secrets.token_hex(4)
        self._clients[client] = asked["redirect_uris"]
        return JSONResponse({**asked, "client_id": client, "token_endpoint_auth_method": "none"}, 201)

    async def _authorize(self, request: Request) -> Response:
        asked = request.query_params
        known = asked["redirect_uri"] in self._clients.get(asked["client_id"], ())
        self.log.append("authorize" if known else "authorize for a redirect that was not registered")
        code = secrets.token_hex(8)
        self._codes[code] = asked["code_challenge"]
        return RedirectResponse(f"{asked['redirect_uri']}?code={code}&state={asked['state']}")

    async def _token(self, request: Request) -> Response:
        form = {key: str(value) for key, value in (await request.form()).items()}
        self.log.append(form["grant_type"])
        if self.token_answer is not None:
            return self.token_answer
        if form["grant_type"] == "refresh_token":
            if not self._refresh.get(form["refresh_token"]):
                self.log.append("reused: all revoked")
                self._access.clear()
                self._refresh.clear()
                return JSONResponse({"error": "invalid_grant"}, 400)
            self._refresh[form["refresh_token"]] = False
        else:
            digest = hashlib.sha256(form["code_verifier"].encode()).digest()
            if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != self._codes.pop(form["code"], None):
                return JSONResponse({"error": "invalid_grant"}, 400)
        access, refresh = secrets.token_hex(8), secrets.token_hex(8)
        self._access[access], self._refresh[refresh] = time.time() + self.lifetime, True
        return JSONResponse(
            {
                "access_token": access,
                "token_type": "Bearer",
                "expires_in": int(self.lifetime),
                "refresh_token": refresh,
            }
        )


@contextmanager
def oauth_lab(lifetime: float = 30.0) -> Iterator[OAuth]:
    """Both servers, each on a port of its own."""
    lab = OAuth(lifetime)
    with running(lab.resource) as one, running(lab.authorization) as other:
        lab.resource_url, lab.issuer = f"http://127.0.0.1:{one}", f"http://127.0.0.1:{other}"
        yield lab
