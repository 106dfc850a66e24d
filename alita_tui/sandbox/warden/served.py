"""The party that holds the tool: it imports the draft's code and answers calls of `run`, nothing else."""

from __future__ import annotations

import builtins
import importlib
import os
import struct
import sys
import time
from contextlib import suppress
from typing import Any, NoReturn

from alita_tui.sandbox.warden import words
from alita_tui.sandbox.warden.child import met, open_door, told
from alita_tui.sandbox.warden.conditions import Unsupported, meet
from alita_tui.sandbox.warden.confine import allow, restrict, settle, share
from alita_tui.sandbox.warden.noticed import Notes

BUILTIN = frozenset(
    name for name, one in vars(builtins).items() if isinstance(one, type) and issubclass(one, BaseException)
)
PASSED = "__alita_passed__"
"""Name of the function that instrumented code calls with the number of a place (`checks.instrumentation`)."""


def say(message: dict[str, Any]) -> None:
    """Answer the judge. Raises what `words.written` does."""
    data = memoryview(words.written(message))
    while data:
        data = data[os.write(3, data) :]


def hear() -> dict[str, Any]:
    """The judge's next message; the end of this process when there is none any more."""
    return words.read(_exactly(struct.unpack(">I", _exactly(4))[0]))


def _exactly(count: int) -> bytes:
    data = b""
    while len(data) < count:
        piece = os.read(4, count - len(data))
        if not piece:
            os._exit(0)
        data += piece
    return data


class Served:
    """The imported tool, and what is noted of it."""

    def __init__(self, asked: dict[str, Any]) -> None:
        folder = asked["folder"]
        path = f"{folder}/{asked['module']}.py"
        with open(path, "w", encoding="utf-8", errors="surrogatepass") as file:
            file.write(asked["code"])
        sys.path.insert(0, folder)
        self._own = folder
        self.passed: set[int] = set()
        setattr(builtins, PASSED, self.passed.add)
        self.notes = Notes(path) if asked["watch"] else None
        self.module = importlib.import_module(asked["module"])

    def answer(self, order: dict[str, Any]) -> None:
        """Call `run` and say what came of it; of a process for this call alone, also what was noted."""
        began, spent = time.perf_counter(), time.process_time()
        before = self._surround(order)
        try:
            found: dict[str, Any] = {
                "result": self.module.run(*order.get("given", ()), **order.get("named", {}))
            }
        except BaseException as error:
            found = described(error)
        times = {
            "ms": (time.perf_counter() - began) * 1000,
            "cpu_ms": (time.process_time() - spent) * 1000,
        }
        self._restore(before)
        noted = self.observed() if order.get("fresh") else {}
        flush()
        try:
            say({"answer": order["call"], **found, **times, **noted})
        except (TypeError, ValueError, RecursionError, MemoryError) as error:
            text = f"run() returned what is no JSON value: {error}"
            failed = {
                "error": "TypeError",
                "kinds": ["TypeError"],
                "args": [text],
                "text": text,
                "trace": text,
            }
            say({"answer": order["call"], **failed, **times, **noted, "unfit": text})

    def apart(self, order: dict[str, Any]) -> None:
        """The same in a process of its own, that knows of no other call."""
        if self.notes:
            self.notes.pausing = True
        child = os.fork()
        if self.notes:
            self.notes.pausing = False
        if child == 0:
            try:
                self.answer(order)
            finally:
                os._exit(0)
        status = os.waitpid(child, 0)[1]
        say({"ended": order["call"], "status": status})

    def observed(self) -> dict[str, Any]:
        """What was noted until now."""
        return {"passed": sorted(self.passed), "seen": self.notes.listed() if self.notes else []}

    def _surround(self, order: dict[str, Any]) -> dict[str, str]:
        """Environment and folder as the tests have them; the environment as it was before."""
        before = dict(os.environ)
        if self.notes:
            self.notes.pausing = True
        os.environ.update(order.get("environment", {}))
        for name in order.get("without", ()):
            os.environ.pop(name, None)
        if order.get("folder"):
            try:
                os.chdir(order["folder"])
            except OSError:
                pass
        if self.notes:
            self.notes.pausing = False
        return before

    def _restore(self, before: dict[str, str]) -> None:
        if self.notes:
            self.notes.pausing = True
        if dict(os.environ) != before:
            os.environ.clear()
            os.environ.update(before)
        if len(os.listdir("/tmp")) > 1:
            share(self._own)
        if self.notes:
            self.notes.pausing = False


def flush() -> None:
    """Write out what was printed; a stream that the code has closed or replaced is its own affair."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(BaseException):
            stream.flush()


def described(error: BaseException) -> dict[str, Any]:
    """An exception as JSON: its classes from itself upwards, what it was made with, and what it says."""
    kinds = [one.__name__ for one in type(error).__mro__]
    try:
        text = str(error)[:2000]
    except BaseException:
        text = ""
    try:
        given = list(error.args)
        words.written({"given": given})
    except BaseException:
        given = [text]
    return {
        "error": kinds[0][:200],
        "kinds": [one for one in kinds if one != "object"][:20],
        "args": given,
        "text": text,
        "trace": told(),
        "limit": met(error),
    }


def serve() -> NoReturn:
    """Import the tool, then answer until nobody asks any more."""
    settle()
    asked = hear()
    restrict(asked["limits"])
    if asked["environment"]:
        sys.path.insert(0, "/env")
    os.mkdir(asked["folder"], 0o700)
    try:
        meet(asked["conditions"])
        open_door(asked["door"])
        served = Served(asked)
    except Unsupported as error:
        say({"unsupported": str(error)})
        os._exit(0)
    except BaseException as error:
        say({"failed": described(error)})
        os._exit(0)
    allow(asked["limits"]["cpu_seconds"])
    say({"ready": True})
    while True:
        order = hear()
        if "observed" in order:
            say(served.observed())
        elif order.get("fresh"):
            served.apart(order)
        else:
            served.answer(order)
