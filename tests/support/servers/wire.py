"""A small HTTP/1.1 server for model protocols: its own thread and loop, real sockets, faults on demand.

Usable inside a test's event loop and from a test that starts a process.
"""

from __future__ import annotations

import asyncio
import json
import re
import ssl
import threading
from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

from alita_tui.events import ModelErrorKind, ModelRole
from alita_tui.llm.scripted import Script, ScriptReply, choose
from alita_tui.spine.errors import ModelError
from alita_tui.spine.ports.models import Message

STATUSES: dict[ModelErrorKind, int] = {
    "auth": 401, "payment": 402, "not_found": 404, "rate_limit": 429, "overloaded": 503, "server": 500,
    "timeout": 408, "context": 413, "bad_request": 400,
}  # fmt: skip


@dataclass(frozen=True)
class Received:
    """One request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    """Names in lower case."""
    body: Any


@dataclass(frozen=True)
class Fault:
    """What happens instead of, or in the middle of, one proper answer."""

    status: int = 0
    """An HTTP error status; 0: none."""
    body: bytes | None = None
    """Body of the answer; None: the vendor's own for the status."""
    headers: dict[str, str] = field(default_factory=dict)
    after: int = 0
    """Events of the stream that are sent before `then`."""
    then: Literal["go_on", "end", "cut", "reset", "stall", "hold", "send"] = "go_on"
    """`end`: the body ends in good order. `cut`: the connection closes in the middle of it. `reset`: it
    is reset. `stall`: nothing more comes until the client goes. `hold`: the rest comes after `release`.
    `send`: `junk` is sent, then the rest."""
    junk: bytes = b""
    piece: int = 0
    """The body is sent in chunks of so many bytes, each in its own write; 0: one chunk per event."""
    script: ScriptReply | None = None
    """The reply to give instead of the script's."""
    events: tuple[bytes, ...] | None = None
    """The events to send instead of a script's reply, byte for byte."""


class ModelServer(ABC):
    """Answers with a script's replies. Serves while its context is open, sync or async."""

    def __init__(
        self,
        script: Script | None = None,
        *,
        api_key: str = "",
        delay: float = 0.0,
        tls: Path | None = None,
    ) -> None:
        """With `api_key` another key is refused; `delay` is in seconds per event; `tls` is key and chain."""
        self.tls = tls
        self.script = script
        self.api_key = api_key
        self.delay = delay
        self.requests: list[Received] = []
        self.left = threading.Event()
        """Set when a client went before its answer was complete."""
        self.all_left = threading.Event()
        """Set while no connection is open, once there was one."""
        self.always: ScriptReply | None = None
        self.faults: deque[Fault] = deque()
        """What the next requests meet, in order."""
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._stop: asyncio.Event
        self._released: asyncio.Event
        self._port = 0
        self._thread = threading.Thread(target=self._run, name=type(self).__name__, daemon=True)

    # --- life -----------------------------------------------------------------------------

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    async def __aenter__(self) -> Self:
        return await asyncio.to_thread(self.__enter__)

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.__exit__)

    def plan(self, *faults: Fault) -> None:
        """Each of the next requests meets one of these, in order."""
        self.faults.extend(faults)

    def play(self, reply: ScriptReply) -> None:
        """Every further request gets this reply, and refusals meanwhile do not use it up."""
        self.always = reply

    def release(self) -> None:
        """Let the answers that are held go on."""
        self._loop.call_soon_threadsafe(self._released.set)

    async def client_left(self, timeout: float = 10.0) -> bool:
        """Wait until a client went before its answer was complete."""
        return await asyncio.to_thread(self.left.wait, timeout)

    @property
    def origin(self) -> str:
        return f"http{'s' if self.tls else ''}://127.0.0.1:{self._port}"

    @property
    @abstractmethod
    def base_url(self) -> str:
        """What the SDK is given."""

    # --- the vendor's part ----------------------------------------------------------------

    path: str

    @abstractmethod
    def key_of(self, headers: dict[str, str]) -> str: ...

    @abstractmethod
    def messages_of(self, body: Any) -> list[Message]: ...

    @abstractmethod
    def tool_names(self, body: Any) -> list[str]: ...

    @abstractmethod
    def error_body(self, status: int, text: str) -> Any: ...

    @abstractmethod
    def models_body(self) -> Any: ...

    @abstractmethod
    def stream(self, reply: ScriptReply, body: Any) -> list[bytes]:
        """The events of a reply, each with its blank line."""

    def refusal(self, body: Any) -> tuple[int, Any] | None:
        """The status and body with which the vendor refuses a request; None where it takes it."""
        return None

    def plain_answer(self, path: str) -> Any:
        """What a GET beside the list of models gives; None: nothing."""
        return None

    # --- serving --------------------------------------------------------------------------

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        self._stop, self._released = asyncio.Event(), asyncio.Event()
        talks: set[asyncio.Task[None]] = set()

        async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            talks.add(task)
            self.all_left.clear()
            try:
                while await self._exchange(reader, writer):
                    pass
            except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                pass
            finally:
                talks.discard(task)
                writer.close()
                if not talks:
                    self.all_left.set()

        context = None
        if self.tls is not None:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(self.tls)
        server = await asyncio.start_server(talk, "127.0.0.1", 0, limit=16 << 20, ssl=context)
        self._port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        for task in list(talks):
            task.cancel()
        await asyncio.gather(*talks, return_exceptions=True)

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request and its answer; False when the connection is over."""
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        except asyncio.IncompleteReadError:
            return False
        first, *lines = head.rstrip("\r\n").split("\r\n")
        method, path, _ = first.split(" ", 2)
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        raw = await reader.readexactly(int(headers.get("content-length", 0)))
        body = json.loads(raw) if raw else None
        self.requests.append(Received(method, path, headers, body))
        fault = self.faults.popleft() if self.faults else Fault(script=self.always)
        if fault.status:
            text = f"refused with {fault.status}"
            answer = fault.body if fault.body is not None else self._json(self.error_body(fault.status, text))
            return await self._plain(writer, fault.status, answer, fault.headers)
        if fault.body is not None:
            return await self._plain(writer, 200, fault.body, fault.headers)
        if self.api_key and self.key_of(headers) != self.api_key:
            return await self._plain(writer, 401, self._json(self.error_body(401, "invalid key")), {})
        if method == "GET" and path.partition("?")[0] == "/v1/models":
            return await self._plain(writer, 200, self._json(self.models_body()), {})
        if method == "GET" and (plain := self.plain_answer(path)) is not None:
            return await self._plain(writer, 200, self._json(plain), {})
        if path != self.path or method != "POST":
            return await self._plain(writer, 404, self._json(self.error_body(404, f"no {path}")), {})
        if refused := self.refusal(body):
            return await self._plain(writer, refused[0], self._json(refused[1]), {})
        try:
            events = fault.events if fault.events is not None else self._events(fault, body)
        except ModelError as error:
            status = STATUSES.get(error.kind, 400)
            extra = {} if error.retry_after is None else {"retry-after": f"{error.retry_after:g}"}
            return await self._plain(
                writer, status, self._json(self.error_body(status, error.message)), extra
            )
        return await self._stream(reader, writer, list(events), fault)

    def _events(self, fault: Fault, body: Any) -> list[bytes]:
        reply = fault.script
        if reply is None:
            if self.script is None:
                raise ModelError("bad_request", "this server has no script")
            names = {*self.tool_names(body)}
            reviews = names & {"submit_cases", "submit_answers", "judge"}
            role: ModelRole = "reviewer" if reviews else "orchestrator"
            role = "toolsmith" if "submit_tool" in names else role
            reply = choose(self.script, role, self.messages_of(body))
        if reply.error is not None:
            raise ModelError(reply.error.kind, reply.error.text, retry_after=reply.error.retry_after)
        return self.stream(reply, body)

    async def _stream(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, events: list[bytes], fault: Fault
    ) -> bool:
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
            b"cache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        gone = asyncio.ensure_future(reader.read(1))  # a client that waits for its answer sends nothing
        gone.add_done_callback(lambda read: read.cancelled() or read.exception())  # a reset is no news here
        try:
            broken = fault.then != "go_on"
            for event in events[: fault.after] if broken else events:
                await self._send(writer, event, fault.piece)
                if self.delay:
                    await asyncio.sleep(self.delay)
                if gone.done():
                    self.left.set()
                    return False
            if fault.then in ("stall", "hold"):
                released = asyncio.ensure_future(self._released.wait())
                waited = [gone, released] if fault.then == "hold" else [gone]
                await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
                released.cancel()
                if gone.done():
                    self.left.set()
                    return False
            if fault.then == "reset":
                writer.transport.abort()
                return False
            if fault.then == "cut":
                return False
            if fault.then in ("hold", "send"):
                await self._send(writer, fault.junk, fault.piece)
                for event in events[fault.after :]:
                    await self._send(writer, event, fault.piece)
            writer.write(b"0\r\n\r\n")
            await writer.drain()
        except ConnectionError:
            self.left.set()
            raise
        finally:
            over = gone.done() or not gone.cancel()
        await asyncio.wait([gone])
        return not over

    async def _send(self, writer: asyncio.StreamWriter, data: bytes, piece: int) -> None:
        size = piece or max(len(data), 1)  # no data is no chunk: an empty one would end the body
        for start in range(0, len(data), size):
            part = data[start : start + size]
            writer.write(b"%x\r\n%b\r\n" % (len(part), part))
            await writer.drain()
            if piece:
                await asyncio.sleep(0)

    async def _plain(
        self, writer: asyncio.StreamWriter, status: int, body: bytes, headers: dict[str, str]
    ) -> bool:
        named = {"content-type": "application/json", **headers, "content-length": str(len(body))}
        head = "".join(f"{name}: {value}\r\n" for name, value in named.items())
        writer.write(f"HTTP/1.1 {status} Status\r\n{head}\r\n".encode("latin-1") + body)
        await writer.drain()
        return True

    @staticmethod
    def _json(value: Any) -> bytes:
        return json.dumps(value).encode()


def words(text: str) -> list[str]:
    """Text in the pieces that vendors send: words with their space before them."""
    return re.findall(r"\s*\S+|\s+$", text)


def pieces(text: str, size: int = 24) -> list[str]:
    """Arguments in pieces."""
    return [text[start : start + size] for start in range(0, len(text), size)]
