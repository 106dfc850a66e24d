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
    """Send the judge a message. Raise what `messages.encode` raises."""
    data = memoryview(messages.encode(message))
    while data:
        data = data[os.write(3, data) :]


def receive() -> dict[str, Any]:
    """Return the judge's next message; end this process when there is none."""
    return messages.decode(order())


class ServedTool:
    """The imported tool, and what is recorded about it."""

    def __init__(self, order: dict[str, Any]) -> None:
        folder = order["folder"]
        path = f"{folder}/{order['module']}{order['suffix']}"
        if not order["start"]:  # a program could read its own code there
            with open(path, "w", encoding="utf-8", errors="surrogatepass") as file:
                file.write(order["code"])
        for name, data in order["files"].items():
            if "/" in name:
                os.makedirs(os.path.dirname(name), exist_ok=True)
            with open(name, "wb") as input_file:
                input_file.write(binascii.a2b_base64(data))
        sys.path.insert(0, folder)
        self._own_folder = folder
        self.passed: set[int] = set()
        self.accesses: AccessLog | None = None
        self.foreign: Foreign | None = None
        if order["start"]:
            most_bytes = order["limits"]["result_bytes"]
            names = order["parameters"]
            self.foreign = Foreign(order["start"], order["module"], path, order["code"], most_bytes, names)
            self.module: Any = self.foreign
            return
        setattr(builtins, PASSED, self.passed.add)
        self.accesses = AccessLog(path) if order["watch"] else None
        self.module = importlib.import_module(order["module"])

    def answer(self, call: dict[str, Any]) -> None:
        """Call `run` and send the answer; a process that serves only this call adds what it recorded."""
        started, spent = time.perf_counter(), self._spent()
        environment_before = self._surround(call)
        try:
            outcome: dict[str, Any] = {
                "result": self.module.run(*call.get("given", ()), **call.get("named", {}))
            }
        except BaseException as error:
            outcome = described(error)
        times = {
            "ms": (time.perf_counter() - started) * 1000,
            "cpu_ms": (self._spent() - spent) * 1000,
        }
        self._restore(environment_before)
        observations = self.observed() if call.get("fresh") else {}
        flush()
        try:
            send({"answer": call["call"], **outcome, **times, **observations})
        except (TypeError, ValueError, RecursionError, MemoryError) as error:
            text = f"run() returned what is no JSON value: {error}"
            failed = {
                "error": "TypeError",
                "kinds": ["TypeError"],
                "args": [text],
                "text": text,
                "trace": text,
            }
            send({"answer": call["call"], **failed, **times, **observations, "unfit": text})

    def answer_apart(self, call: dict[str, Any]) -> None:
        """Answer a call in a new process, which has seen no other call."""
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
        """Return the processor time in seconds of the processes that run the tool."""
        return time.process_time() + (self.foreign.spent() if self.foreign is not None else 0.0)

    def _surround(self, call: dict[str, Any]) -> dict[str, str]:
        """Set environment and folder to those of the tests; return the environment before."""
        environment_before = dict(os.environ)
        with self._unobserved():
            os.environ.update(call.get("environment", {}))
            for name in call.get("without", ()):
                os.environ.pop(name, None)
            if call.get("folder"):
                with suppress(OSError):
                    os.chdir(call["folder"])
        return environment_before

    def _restore(self, environment_before: dict[str, str]) -> None:
        with self._unobserved():
            if dict(os.environ) != environment_before:
                os.environ.clear()
                os.environ.update(environment_before)
            if len(os.listdir("/tmp")) > 1:
                share(self._own_folder)

    def _unobserved(self) -> AbstractContextManager[None]:
        return self.accesses.paused() if self.accesses else nullcontext()


def flush() -> None:
    """Flush the output, unless the code has closed or replaced a stream."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(BaseException):
            stream.flush()


def described(error: BaseException) -> dict[str, Any]:
    """Return an exception as JSON: the names of its classes from the most derived one, its arguments and its text."""
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
        messages.encode({"given": arguments})
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


def receive_order() -> dict[str, Any]:
    """Receive and return this party's part of the work; set its limits, and make its requirements importable."""
    settle()
    order = receive()
    restrict(order["limits"])
    if order["environment"]:
        sys.path.insert(0, "/env")
    return order


def serve() -> NoReturn:
    """Import the tool, then answer calls until the judge is gone."""
    order = receive_order()
    os.mkdir(order["folder"], 0o700)
    try:
        meet(order["conditions"], foreign=bool(order["start"]))
        announce_broker(order["door"])
        served = ServedTool(order)
    except Unsupported as error:
        send({"unsupported": str(error)})
        os._exit(0)
    except BaseException as error:
        send({"failed": described(error)})
        os._exit(0)
    allow(order["limits"]["cpu_seconds"])
    send({"ready": True})
    while True:
        message = receive()
        if "observed" in message:
            send(served.observed())
        elif message.get("fresh"):
            served.answer_apart(message)
        else:
            served.answer(message)
