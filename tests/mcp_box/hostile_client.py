"""A client that keeps to nothing: raw lines to a process that serves a home."""

from __future__ import annotations

import json
import os
import random
import select
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.support import mcp_lab as lab

VERSION = "2025-11-25"
DEEP = 60_000


class Wire:
    """The pipes of a serving process."""

    def __init__(self, home: Path, *, greet: bool = True) -> None:
        self.process = subprocess.Popen(
            lab.command("serve"), env=lab.environ(home), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )  # fmt: skip
        self._kept = b""
        self._number = 1_000_000
        if greet:
            info = {"name": "hostile", "version": "1"}
            self.ask("initialize", protocolVersion=VERSION, capabilities={}, clientInfo=info)
            self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def __enter__(self) -> Wire:
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.code = self.process.wait(30)
        finally:
            self.process.kill()
        assert self.process.stderr is not None and self.process.stdout is not None
        self.said = self.process.stderr.read().decode("utf-8", "replace")
        self.process.stdout.close()
        self.process.stderr.close()

    def raw(self, line: bytes) -> None:
        """Write bytes, reading meanwhile what comes so that neither side waits for the other."""
        assert self.process.stdin is not None and self.process.stdout is not None
        wire = self.process.stdin.fileno()
        view = memoryview(line)
        while view:
            readable, writable, _ = select.select([self.process.stdout], [wire], [], 30)
            assert readable or writable, "it neither reads nor writes"
            if readable:
                self._take()
            if writable:
                view = view[os.write(wire, view[:4096]) :]

    def send(self, message: Any) -> None:
        self.raw(json.dumps(message).encode() + b"\n")

    def _take(self) -> None:
        assert self.process.stdout is not None
        piece = os.read(self.process.stdout.fileno(), 1 << 20)
        assert piece, f"it closed stdout: {self.process.poll()}"
        self._kept += piece

    def lines(self) -> list[Any]:
        """What came until now, whole lines."""
        *found, self._kept = self._kept.split(b"\n")
        return [json.loads(line) for line in found if line.strip()]

    def wait(self, seconds: float = 240) -> None:
        """Wait until more of the process's output has come."""
        assert self.process.stdout is not None
        assert select.select([self.process.stdout], [], [], seconds)[0], "nothing comes"
        self._take()

    def ask(self, method: str, **params: Any) -> Any:
        """The answer to a request; other messages before it are passed over."""
        self._number += 1
        self.send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        return self.answer(self._number)

    def answer(self, number: Any, seconds: float = 240) -> Any:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for message in self.lines():
                if message.get("id") == number:
                    return message
            assert self.process.stdout is not None
            if select.select([self.process.stdout], [], [], 1)[0]:
                self._take()
        raise AssertionError(f"no answer to {number}")

    @property
    def peak_mb(self) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) / 1024


def request(method: str, params: Any, number: Any = 7) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()


def call(arguments: Any, number: Any = 7, name: str = "add_numbers") -> bytes:
    return request("tools/call", {"name": name, "arguments": arguments}, number)


ODD = (
    b"", b"{", b"null", b"[]", b"[1,2]", b'"text"', b"\x00\xff\xfe", b"\xed\xa0\x80", b"{}" * 9,
    b"[" * DEEP, b'{"a":' * DEEP, b"[" * DEEP + b"]" * DEEP,
    b'{"jsonrpc":"2.0","id":1}', b'{"jsonrpc":"1.0","id":1,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":null,"method":"ping"}', b'{"jsonrpc":"2.0","id":{},"method":"ping"}',
    b'{"jsonrpc":"2.0","id":1e400,"method":"ping"}', b'{"jsonrpc":"2.0","id":[1],"method":"tools/list"}',
    b'{"jsonrpc":"2.0","id":7,"result":{}}', b'{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"x"}}',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":999}}',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}',
    b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":"x"}}',
    b'{"jsonrpc":"2.0","method":"notifications/\\u001b[2J"}',
    request("initialize", {"protocolVersion": 3, "capabilities": [], "clientInfo": None}),
    request("initialize", {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": {"name": "\x1b]0;x\x07" * 99, "version": ""}}),
    request("server/discover", {}), request("subscriptions/listen", {}), request("x" * 100_000, {}),
    request("tools/list", {"cursor": "../../etc"}), request("tools/call", None), request("tools/call", {"name": 3}),
    request("tools/call", {"name": "add_numbers", "arguments": [1]}), request("resources/read", {"uri": "file:///etc/passwd"}),
    request("resources/read", {"uri": "alita://artefact/" + "../" * 2000}), request("prompts/get", {"name": "../x"}),
    request("resources/subscribe", {"uri": "x"}), request("logging/setLevel", {"level": "debug"}),
    request("completion/complete", {}), request("sampling/createMessage", {}), request("elicitation/create", {}),
    request("tasks/get", {"taskId": "1"}), request("roots/list", {}),
    call({"a": 1}), call({"a": "1", "b": None}), call({"a": [[[[]]]] * 99, "b": {}}), call({"__class__": 1}),
    call({"a": 1, "b": 2}, name="add_numbers\x00"), call({"a": 1, "b": 2}, name="../add_numbers"),
    call({"a": 1, "b": 2}, name="A" * 200_000), b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"add_numbers","arguments":{"a":"\\ud800","b":1}}}',
    b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"add_numbers","arguments":{"a":NaN,"b":1}}}',
    b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"add_numbers","arguments":{"a":' + b"9" * 5000 + b',"b":"x"}}}',
    b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"add_numbers","arguments":' + b'{"a":' * 900 + b"1" + b"}" * 900 + b"}}",
    b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"add_numbers","arguments":{"a":"x","b":1},"_meta":{"progressToken":{"x":1}}}}',
    b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"add_numbers","name":"boom","arguments":{}}}',
)  # fmt: skip
"""Lines that no client should send."""


def mutated(line: bytes, random: random.Random) -> bytes:
    """A line with some bytes changed, taken out or doubled; still one line."""
    changed = bytearray(line[:20_000] or b"x")
    for _ in range(random.randrange(1, 6)):
        at = random.randrange(len(changed)) if changed else 0
        match random.randrange(4):
            case 0 if changed:
                changed[at] = random.randrange(256)
            case 1:
                del changed[at : at + random.randrange(1, 9)]
            case 2:
                changed[at:at] = changed[at : at + random.randrange(1, 40)]
            case _:
                changed[at:at] = random.choice(
                    (b"null", b'"', b"{", b"]", b"1e999", b"\\ud800", b"-0", b"[[[")
                )
    return bytes(changed).replace(b"\n", b" ")
