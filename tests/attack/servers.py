"""Hostile provider servers against the real SDKs: every call ends in time, in a reply or in a typed error.

Run by `make attack`. Each case is one connection to a server that drips, pings for ever, sends garbage, wrong
types, absurd counts, endless output, enormous frames, headers and errors, or breaks HTTP itself.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import random
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

from alita_tui.llm.anthropic_model import AnthropicModel
from alita_tui.llm.openai_model import OpenAIModel
from alita_tui.llm.remote import RemoteModel
from alita_tui.spine.errors import ModelError
from alita_tui.spine.ports.models import Reply
from tests.attack.report import Outcome
from tests.support.servers.anthropic_server import AnthropicServer
from tests.support.servers.lab import CALL, KEY, REQUEST, TEXT
from tests.support.servers.openai_server import DONE, OpenAIServer, chunk

SILENCE = 0.6
"""Seconds of `model.timeout`; fifteen times that is the longest reply."""
LONGEST = 15 * SILENCE + 30.0
"""Seconds that a call may take, with what a loaded machine adds."""
CASES = 400
"""Odd streams of each vendor, beside the cases that need no dice."""
AT_ONCE = 6
ODD: tuple[Any, ...] = (
    None, True, -1, 0, 1.5, 10**30, "", "x" * 5000, "\ud800", "\u202e\x1b[31m", [], [[]], {}, {"a": []}, -(10**9), "NaN", 1e308,
)  # fmt: skip

Send = Callable[[bytes], Any]
Behaviour = Callable[[Send], Any]


@asynccontextmanager
async def hostile(behaviour: Behaviour) -> AsyncIterator[str]:
    """A server that reads one request and then behaves like that; its origin."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def send(data: bytes) -> None:
            writer.write(data)
            await writer.drain()

        try:
            head = await reader.readuntil(b"\r\n\r\n")
            if head.startswith(b"POST"):  # the list of models, which a hint asks for, gets the same
                size = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
                await reader.readexactly(int(size or 0))
            await behaviour(send)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"


def always(*parts: bytes, every: float = 0.0, first: bytes = HEAD) -> Behaviour:
    """These parts again and again, for ever."""

    async def behave(send: Send) -> None:
        await send(first)
        while True:
            for part in parts:
                await send(part)
                await asyncio.sleep(every)

    return behave


def once(*parts: bytes, first: bytes = HEAD, stay: bool = False) -> Behaviour:
    """These parts, then the end, or silence."""

    async def behave(send: Send) -> None:
        for part in (first, *parts):
            await send(part)
        await asyncio.sleep(3600 if stay else 0)

    return behave


def answer(status: int, body: bytes, kind: str = "application/json") -> bytes:
    return (
        f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body
    )


def fixed(vendor: str) -> Iterator[tuple[str, Behaviour]]:
    """The cases that need no dice."""
    openai = vendor == "openai"
    text = chunk({"content": "word "}) if openai else b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"word "}}\n\n'  # fmt: skip
    empty = chunk({}) if openai else b'event: ping\ndata: {"type":"ping"}\n\n'
    deep = b"[" * 200_000
    zipped = gzip.compress(b"data: {}\n\n" * 1_000_000)
    yield "comments for ever", always(b": keep-alive\n\n", every=0.05)
    yield "pings for ever", always(b"event: ping\ndata: {}\n\n", every=0.05)
    yield "pings at full speed", always(b": x\n\n" * 1000)
    yield "empty events for ever", always(empty, every=0.05)
    yield "one byte at a time", always(*(bytes([one]) for one in text), every=0.1)
    yield "half a header", once(first=b"HTTP/1.1 200 OK\r\ncontent-ty", stay=True)
    yield "nothing at all", once(first=b"", stay=True)
    yield "headers for ever", always(b"x-a: b\r\n", every=0.01, first=b"HTTP/1.1 200 OK\r\n")
    yield "headers at full speed", always(b"x-a: b\r\n" * 1000, first=b"HTTP/1.1 200 OK\r\n")
    yield "go on for ever", always(b"HTTP/1.1 100 Continue\r\n\r\n", every=0.02, first=b"")
    yield "endless output", always(text * 50)
    yield "endless output, slowly", always(text, every=0.2)
    yield "one line without end", always(b"a" * 65536, first=HEAD + b"data: ")
    yield "one event of many lines without end", always(b"data: " + b"a" * 60000 + b"\n")
    yield "a plain body without end", always(b"a" * 65536, first=b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n")  # fmt: skip
    yield "an error without end", always(b"a" * 65536, first=b"HTTP/1.1 500 X\r\ncontent-type: text/html\r\n\r\n")  # fmt: skip
    yield "deep JSON in an event", once(b"data: " + deep + b"\n\n")
    yield "deep JSON in an error", once(first=answer(400, deep))
    yield "an error of five megabytes", once(first=answer(400, b'{"error":"' + b"a" * 5_000_000 + b'"}'))
    yield "an error of odd words", once(first=answer(400, json.dumps({"error": {"message": "\u202e\x1b[31m\x00[b]x[/b]"}}).encode()))  # fmt: skip
    yield "a bomb", once(zipped, first=HEAD.replace(b"\r\n\r\n", b"\r\ncontent-encoding: gzip\r\n\r\n"))
    yield "a bomb as an error", once(zipped, first=b"HTTP/1.1 400 X\r\ncontent-encoding: gzip\r\nconnection: close\r\n\r\n")  # fmt: skip
    yield "a redirect", once(first=b"HTTP/1.1 307 X\r\nlocation: http://169.254.169.254/\r\ncontent-length: 0\r\n\r\n")  # fmt: skip
    yield "no HTTP", once(first=b"SSH-2.0-OpenSSH_9.6\r\n")
    yield "bad chunks", once(b"zz\r\nxx\r\n", first=HEAD.replace(b"connection: close", b"transfer-encoding: chunked"))  # fmt: skip
    yield "no UTF-8", once(b'data: {"choices":[{"delta":{"content":"\xff\xfe"}}]}\n\n')
    yield "done, and then on and on", always(b": x\n\n", every=0.01, first=HEAD + text + DONE)
    for body in (b"", b"null", b"[]", b'"x"', b"1e999", b"{}", b"<html>"):
        for status in (200, 400, 500):
            yield f"{status} {body!r}", once(first=answer(status, body))


def odd_streams(vendor: str, dice: random.Random) -> Iterator[tuple[str, Behaviour]]:
    """Proper streams with some values of a wrong type, absurd counts, or bytes changed. Without end."""
    body = {"stream_options": {"include_usage": True}}
    with OpenAIServer() if vendor == "openai" else AnthropicServer() as server:
        proper = [server.stream(reply, body) for reply in (TEXT, CALL)]
    while True:
        events = dice.choice(proper)
        match dice.randrange(3):
            case 0:
                yield "wrong types", once(*(_mutated(one, dice) for one in events))
            case 1:
                yield "wrong counts", once(*(_counted(one, dice) for one in events))
            case _:
                raw = bytearray(b"".join(events))
                for _ in range(dice.randint(1, 40)):
                    raw[dice.randrange(len(raw))] = dice.randrange(256)
                yield "changed bytes", once(bytes(raw))


def _mutated(event: bytes, dice: random.Random) -> bytes:
    head, tag, said = event.partition(b"data: ")
    if said.startswith(b"[DONE]") or dice.random() < 0.5:
        return event
    value = json.loads(said)
    places = list(_places(value))
    for holder, key in dice.sample(places, min(len(places), dice.randint(1, 3))):
        holder[key] = dice.choice(ODD)
    return head + tag + json.dumps(value).encode() + b"\n\n"


def _counted(event: bytes, dice: random.Random) -> bytes:
    head, tag, said = event.partition(b"data: ")
    if b"usage" not in said:
        return event
    value = json.loads(said)
    for holder, key in list(_places(value)):
        if "tokens" in str(key):
            holder[key] = dice.choice((-5, 10**18, 1.5, "7", None, True, {}, 10**9, 2**63))
    return head + tag + json.dumps(value).encode() + b"\n\n"


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    listed = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in listed:
        yield value, key
        yield from _places(part)


async def ends(vendor: str, behaviour: Behaviour) -> str:
    """What is wrong with how a call of this server ends; empty where it is right."""
    kind: type[RemoteModel] = OpenAIModel if vendor == "openai" else AnthropicModel
    async with hostile(behaviour) as origin:
        base = f"{origin}/v1" if vendor == "openai" else origin
        model = kind("custom", "served-model", api_key=KEY, base_url=base, timeout=SILENCE)
        started, reply = time.monotonic(), None
        try:
            async with asyncio.timeout(LONGEST), aclosing(model.reply(REQUEST)) as pieces:  # type: ignore[type-var]  # async generators
                async for piece in pieces:
                    reply = piece
        except ModelError as error:
            return _wrong_error(error)
        except TimeoutError:
            return f"it did not end within {time.monotonic() - started:.0f} seconds"
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        finally:
            await model.aclose()
        if not isinstance(reply, Reply):
            return "it ended without a reply"
        usage = reply.usage
        counts = (usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.cache_write_tokens)
        good = all(type(one) is int and 0 <= one < 1_000_000 for one in counts)
        return "" if good else f"counts that cannot be: {usage}"


def _wrong_error(error: ModelError) -> str:
    if KEY in str(error):
        return "the key is repeated"
    if len(error.message) > 600 or not error.message.isprintable():
        return f"a message that is long or not printable: {error.message[:80]!r}"
    return "" if error.hint else "no hint"


def attack(share: float, seed: int) -> list[Outcome]:
    """Run a share of the cases, chosen by the seed; one outcome for each vendor's SDK."""
    return [asyncio.run(_attack(vendor, share, seed)) for vendor in ("openai", "anthropic")]


async def _attack(vendor: str, share: float, seed: int) -> Outcome:
    dice = random.Random(f"{vendor} {seed}")
    known = list(fixed(vendor))
    cases = known if share >= 0.5 else dice.sample(known, max(int(len(known) * share), 1))
    odd = odd_streams(vendor, dice)
    cases += [next(odd) for _ in range(int(CASES * share))]
    gate = asyncio.Semaphore(AT_ONCE)
    # Once without a clock: the first call imports the SDK, which takes seconds on a loaded machine.
    await ends(vendor, once(first=answer(400, b"{}")))

    async def one(name: str, behaviour: Behaviour) -> str:
        async with gate:
            wrong = await ends(vendor, behaviour)
        return f"{name}: {wrong}" if wrong else ""

    missed = [wrong for wrong in await asyncio.gather(*(one(*case) for case in cases)) if wrong]
    return Outcome(f"servers.{vendor}", len(cases), len(cases) - len(missed), tuple(missed))
