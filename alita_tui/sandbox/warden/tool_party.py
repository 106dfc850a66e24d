"""The party with the tool: it imports the draft's code and answers calls of `run`, nothing else."""

from __future__ import annotations

import binascii
import builtins
import importlib
import os
import sys
import time
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any, NoReturn

from alita_tui.sandbox.warden import messages
from alita_tui.sandbox.warden.access_log import AccessLog
from alita_tui.sandbox.warden.child import announce_broker, limit_of, order, own_traceback
from alita_tui.sandbox.warden.conditions import Unsupported, meet
from alita_tui.sandbox.warden.confine import allow, restrict, settle, share
from alita_tui.sandbox.warden.foreign import Failure, Foreign

BUILTIN = frozenset(
    name
    for name, kind in vars(builtins).items()
    if isinstance(kind, type) and issubclass(kind, BaseException)
)
PASSED = "__alita_passed__"
"""Name of the function that instrumented code calls with the number of a place (`checks.instrumentation`)."""


def send(message: dict[str, Any]) -> None:
    """Send the judge a message. Raise what `messages.written` raises."""
    data = memoryview(messages.written(message))
    while data:
        data = data[os.write(3, data) :]


def receive() -> dict[str, Any]:
    """Return the judge's next message; end this process when there is none."""
    return messages.read(order())


class Served:
    """The imported tool, and what is recorded of it."""

    def __init__(self, part: dict[str, Any]) -> None:
        folder = part["folder"]
        path = f"{folder}/{part['module']}{part['suffix']}"
        if not part["start"]:  # a program could read its own code there
            with open(path, "w", encoding="utf-8", errors="surrogatepass") as file:
                file.write(part["code"])
        for name, data in part["files"].items():
            if "/" in name:
                os.makedirs(os.path.dirname(name), exist_ok=True)
            with open(name, "wb") as input_file:
                input_file.write(binascii.a2b_base64(data))
        sys.path.insert(0, folder)
        self._own = folder
        self.passed: set[int] = set()
        self.accesses: AccessLog | None = None
        self.foreign: Foreign | None = None
        if part["start"]:
            most = part["limits"]["result_bytes"]
            names = part["parameters"]
            self.foreign = Foreign(part["start"], part["module"], path, part["code"], most, names)
            self.module: Any = self.foreign
            return
        setattr(builtins, PASSED, self.passed.add)
        self.accesses = AccessLog(path) if part["watch"] else None
        self.module = importlib.import_module(part["module"])

    def answer(self, call: dict[str, Any]) -> None:
        """Call `run` and send the answer; a process for this call alone adds what it recorded."""
        began, spent = time.perf_counter(), self._spent()
        before = self._surround(call)
        try:
            outcome: dict[str, Any] = {
                "result": self.module.run(*call.get("given", ()), **call.get("named", {}))
            }
        except BaseException as error:
            outcome = described(error)
        times = {
            "ms": (time.perf_counter() - began) * 1000,
            "cpu_ms": (self._spent() - spent) * 1000,
        }
        self._restore(before)
        noted = self.observed() if call.get("fresh") else {}
        flush()
        try:
            send({"answer": call["call"], **outcome, **times, **noted})
        except (TypeError, ValueError, RecursionError, MemoryError) as error:
            text = f"run() returned what is no JSON value: {error}"
            failed = {
                "error": "TypeError",
                "kinds": ["TypeError"],
                "args": [text],
                "text": text,
                "trace": text,
            }
            send({"answer": call["call"], **failed, **times, **noted, "unfit": text})

    def apart(self, call: dict[str, Any]) -> None:
        """Answer a call in a new process, which knows of no other call."""
        with self._unobserved():
            child = os.fork()
        if child == 0:
            try:
                if self.foreign is not None:
                    self.foreign.forget()
                self.answer(call)
            finally:
                os._exit(0)
        status = os.waitpid(child, 0)[1]
        send({"ended": call["call"], "status": status})

    def observed(self) -> dict[str, Any]:
        """Return what was recorded so far."""
        if self.foreign is not None:
            return {"passed": self.foreign.passed(), "seen": []}
        return {"passed": sorted(self.passed), "seen": self.accesses.listed() if self.accesses else []}

    def _spent(self) -> float:
        """Return the processor time in seconds of what runs the tool."""
        return time.process_time() + (self.foreign.spent() if self.foreign is not None else 0.0)

    def _surround(self, call: dict[str, Any]) -> dict[str, str]:
        """Set environment and folder as the tests have them; return the environment as it was."""
        before = dict(os.environ)
        with self._unobserved():
            os.environ.update(call.get("environment", {}))
            for name in call.get("without", ()):
                os.environ.pop(name, None)
            if call.get("folder"):
                with suppress(OSError):
                    os.chdir(call["folder"])
        return before

    def _restore(self, before: dict[str, str]) -> None:
        with self._unobserved():
            if dict(os.environ) != before:
                os.environ.clear()
                os.environ.update(before)
            if len(os.listdir("/tmp")) > 1:
                share(self._own)

    def _unobserved(self) -> AbstractContextManager[None]:
        return self.accesses.paused() if self.accesses else nullcontext()


def flush() -> None:
    """Flush the output, unless the code has closed or replaced a stream."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(BaseException):
            stream.flush()


def described(error: BaseException) -> dict[str, Any]:
    """Return an exception as JSON: its classes upwards, its arguments and its text."""
    if isinstance(error, Failure):
        described_failure = {"error": error.kinds[0], "kinds": error.kinds, "args": [error.text]}
        return {**described_failure, "text": error.text[:2000], "trace": error.trace, "limit": None}
    kinds = [kind.__name__ for kind in type(error).__mro__]
    try:
        text = str(error)[:2000]
    except BaseException:
        text = ""
    try:
        arguments = list(error.args)
        messages.written({"given": arguments})
    except BaseException:
        arguments = [text]
    return {
        "error": kinds[0][:200],
        "kinds": [kind for kind in kinds if kind != "object"][:20],
        "args": arguments,
        "text": text,
        "trace": own_traceback(),
        "limit": limit_of(error),
    }


def instructed() -> dict[str, Any]:
    """Return this party's part of the piece of work, with its limits set and its requirements importable."""
    settle()
    part = receive()
    restrict(part["limits"])
    if part["environment"]:
        sys.path.insert(0, "/env")
    return part


def serve() -> NoReturn:
    """Import the tool, then answer calls until the judge is gone."""
    part = instructed()
    os.mkdir(part["folder"], 0o700)
    try:
        meet(part["conditions"], foreign=bool(part["start"]))
        announce_broker(part["door"])
        served = Served(part)
    except Unsupported as error:
        send({"unsupported": str(error)})
        os._exit(0)
    except BaseException as error:
        send({"failed": described(error)})
        os._exit(0)
    allow(part["limits"]["cpu_seconds"])
    send({"ready": True})
    while True:
        message = receive()
        if "observed" in message:
            send(served.observed())
        elif message.get("fresh"):
            served.apart(message)
        else:
            served.answer(message)
