"""The party with the tests. They import a stand-in for the tool, which passes every call to the judge."""

from __future__ import annotations

import builtins
import os
import random
import sys
import threading
import time
import types
from typing import Any, NoReturn

from alita_tui.sandbox.warden.asserts import imported
from alita_tui.sandbox.warden.child import own_traceback
from alita_tui.sandbox.warden.conditions import Unsupported, meet
from alita_tui.sandbox.warden.confine import allow, share
from alita_tui.sandbox.warden.stand_ins import stand_ins
from alita_tui.sandbox.warden.tool_party import BUILTIN, flush, receive, receive_order, send

FOLDER = "/tmp/tests"
MOST_TEXT = 20_000


class ToolEnded(BaseException):
    """The tool's process ended during a call. No test catches it by `except Exception`."""


class StandIn(types.ModuleType):
    """The tool's module as tests see it: `run`, and exception classes by their names."""

    def __init__(self, name: str) -> None:
        super().__init__(name, "Stands for the tool, whose code runs in another process.")
        self._kinds: dict[str, type[BaseException]] = {}
        self._calls = 0
        self._lock = threading.Lock()
        self._environment = dict(os.environ)

    def run(self, *positional: Any, **keywords: Any) -> Any:
        """Return what the tool's `run` returns for these JSON values, or raise an exception of the same name."""
        with self._lock:
            share(FOLDER)
            self._calls += 1
            try:
                send({"call": self._calls, "given": positional, "named": keywords, **self._surroundings()})
            except (TypeError, ValueError) as error:
                raise TypeError(f"run takes JSON values only: {error}") from None
            answer = receive()
        if "result" in answer:
            return answer["result"]
        raise self._exception_of(answer)

    def __getattr__(self, name: str) -> Any:
        if name[:1].isupper() and name.isidentifier():
            return self._kinds.setdefault(name, type(name, (Exception,), {"__module__": self.__name__}))
        raise AttributeError(f"tests see run and exception classes of {self.__name__} only, not {name}")

    def _surroundings(self) -> dict[str, Any]:
        current = dict(os.environ)
        changed: dict[str, Any] = {
            "environment": {
                name: text for name, text in current.items() if self._environment.get(name) != text
            },
            "without": [name for name in self._environment if name not in current],
            "folder": "" if os.getcwd() == "/tmp" else os.getcwd(),
        }
        return {name: value for name, value in changed.items() if value}

    def _exception_of(self, answer: dict[str, Any]) -> BaseException:
        kinds = answer["kinds"]
        if kinds[:1] == ["ToolEnded"]:
            return ToolEnded(answer["text"])
        own_kinds = [self._kinds[kind] for kind in kinds if kind in self._kinds and kind not in BUILTIN]
        for name in [kind for kind in kinds if kind in BUILTIN] or ["Exception"]:
            builtin_kind = getattr(builtins, name)
            bases = (*own_kinds, builtin_kind) if own_kinds else (builtin_kind,)
            try:
                is_builtin = not own_kinds and name == kinds[0]
                kind = builtin_kind if is_builtin else type(kinds[0], bases, {"__module__": self.__name__})
                exception: BaseException = kind(*answer["args"])
            except (TypeError, ValueError):
                continue
            if answer["trace"]:
                exception.add_note("In the tool's own process:\n" + answer["trace"])
            return exception
        return RuntimeError(answer["text"])


def run_tests() -> NoReturn:
    """Import the tests and run each; report its beginning and how it ended."""
    order = receive_order()
    name = "test_" + order["name"]
    stand_in = sys.modules[order["name"]] = StandIn(order["name"])
    modules = stand_ins(order["scratch"])
    sys.modules |= {module.__name__: module for module in modules if module.__name__ != order["name"]}
    try:
        for module in modules:
            module._reset()
        meet(order["conditions"])
        os.mkdir(FOLDER, 0o700)
        path = f"{FOLDER}/{name}.py"
        with open(path, "w", encoding="utf-8", errors="surrogatepass") as file:
            file.write(order["tests"])
        sys.path.insert(0, FOLDER)
        suite = imported(name, path)
        for module in modules:
            module._keep_as_base()
    except Unsupported as error:
        send({"unsupported": str(error)})
        os._exit(0)
    except BaseException as error:
        send({"failed": {"error": type(error).__name__[:200], "trace": own_traceback()[:MOST_TEXT]}})
        os._exit(0)
    allow(order["limits"]["cpu_seconds"])
    tests = [(label, value) for label, value in list(vars(suite).items()) if label.startswith("test_")]
    tests = [(label, value) for label, value in tests if callable(value) and value is not stand_in]
    if order["conditions"].get("shuffle_seed") is not None:
        random.Random(order["conditions"]["shuffle_seed"]).shuffle(tests)  # noqa: S311  # an order, no secret
    send({"tests": [label for label, _ in tests]})
    for label, test in tests:
        send({"begin": label})
        message, started = "", time.perf_counter()
        try:
            for module in modules:
                module._reset()
            test()
        except BaseException:
            message = own_traceback()[:MOST_TEXT] or "failed"
        duration_ms = (time.perf_counter() - started) * 1000
        send({"end": label, "passed": not message, "message": message, "ms": duration_ms})
    flush()
    send({"done": True})
    os._exit(0)
